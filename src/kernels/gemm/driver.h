#pragma once

// The loops around the tiles: cache blocks within a task, and tasks for the pool.

#include <cstddef>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/panels.h"

namespace enr::kernels {

// A product's operands. The packed weights' panels say n and k.
struct Product {
  size_t m;
  const float* a;
  size_t a_stride;
  const float* b;
  float* c;
  size_t c_stride;
};

// Rows [row, row_end) by panels [panel, panel_end) on the calling thread. `row` is a multiple of the tile's rows.
void compute_block(const Product& product, const Panels& panels, const GemmEpilogue& epilogue, size_t row,
                   size_t row_end, size_t panel, size_t panel_end) noexcept;

// How a grid of row tiles by panels is cut into tasks: each of the two counts is at least 1.
struct TaskGrid {
  size_t rows, columns;
};
TaskGrid plan_tasks(size_t m, const Panels& panels) noexcept;

// The i-th of `parts` nearly equal ranges of [0, count).
struct Range {
  size_t begin, end;
};
inline Range part_of(size_t count, size_t parts, size_t i) noexcept {
  const size_t size = count / parts, larger = count % parts;
  const size_t begin = i * size + (i < larger ? i : larger);
  return {begin, begin + size + (i < larger ? 1 : 0)};
}

}  // namespace enr::kernels
