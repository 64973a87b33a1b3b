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

// Lets the i-th of `tiles` tiles that share the weights at `b` fetch its part of those that come next: weights often
// come from memory, and the processor's own prefetching leaves a tile of 14 rows at 30% of its speed. `next` is where
// the next ones are; the last weights may name themselves.
inline void fetch_ahead(GemmTile& tile, size_t i, size_t tiles, const float* next, size_t rows) noexcept {
  constexpr size_t kAheadFloats = 2048;
  tile.ahead = nullptr;
  tile.ahead_step_bytes = 0;
  tile.ahead_by_lines = true;
  if (tile.b == nullptr) return;  // a product without inner elements reads no weights
  if (tiles == 1) {
    tile.ahead = tile.b + kAheadFloats;
    tile.ahead_step_bytes = tile.b_stride * sizeof(float);
    tile.ahead_by_lines = false;
    return;
  }
  tile.ahead = next + rows * tile.b_stride * i / tiles;
  tile.ahead_step_bytes = tile.b_stride * sizeof(float) / tiles;
  tile.ahead_by_lines = kAheadSteps * tile.ahead_step_bytes <= 64;
  if (tile.ahead_by_lines) tile.ahead_step_bytes = kAheadSteps * tile.b_stride * sizeof(float) / tiles;
}

// How a grid of row tiles by panels is cut into tasks: each of the two counts is at least 1.
struct TaskGrid {
  size_t rows, columns;
};
TaskGrid plan_tasks(size_t m, const Panels& panels) noexcept;

// The i-th of `parts` nearly equal ranges of [0, count). The larger ones are spread out, so that runs of ranges are
// nearly equal too.
struct Range {
  size_t begin, end;
};
inline Range part_of(size_t count, size_t parts, size_t i) noexcept {
  return {count * i / parts, count * (i + 1) / parts};
}

}  // namespace enr::kernels
