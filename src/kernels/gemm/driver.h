#pragma once

// The loops around the tiles: cache blocks within a task, and tasks for the pool.

#include <cstddef>

#include "base/ranges.h"
#include "kernels/convert/convert.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/panels.h"

namespace enr::kernels {

// What weights of 16 bits take: to be multiplied as they are by few rows, to be widened for more.
struct HalfWeights {
  const GemmKernels::FewRows* few_rows;
  ConvertFn widen;
};

// A product's operands. The packed weights' panels say n and k.
struct Product {
  size_t m;
  const float* a;
  size_t a_stride;
  const void* b;
  float* c;
  size_t c_stride;
  const HalfWeights* half = nullptr;  // of weights of 16 bits
};

// Rows and panels of C, and the part of the depth to sum over.
struct Block {
  size_t row, row_end, panel, panel_end, depth, depth_end;
};

// On the calling thread. `row` is a multiple of the tile's rows. Sums that start at depth 0 have the bias and the
// residual in them; those that reach the whole depth are clamped and activated.
void compute_block(const Product& product, const Panels& panels, const GemmEpilogue& epilogue,
                   const Block& block) noexcept;

// Packed weights that stay in the first-level cache beside a tile's rows.
inline constexpr size_t kNearFloats = 6 * 1024;

// Lets tiles that share the weights at tile.b fetch those that come next: weights often come from memory, and the
// processor's own prefetching leaves a tile of 14 rows at 30% of its speed.
class FetchAhead {
 public:
  // Fetches nothing new.
  explicit FetchAhead(GemmTiles& tile) noexcept : first_(static_cast<const std::byte*>(tile.b)) {
    tile.ahead_step_bytes = tile.ahead_tile_bytes = 0;
    tile.ahead_by_lines = true;
  }

  // `next` is where the next `rows` of float32 weights are; the last weights may name themselves.
  FetchAhead(GemmTiles& tile, size_t tiles, const float* next, size_t rows) noexcept : FetchAhead(tile) {
    if (tile.b == nullptr) return;  // a product without inner elements reads no weights
    const size_t row_bytes = tile.b_stride * sizeof(float);
    tiles == 1 ? fetch_further_on(tile, row_bytes) : fetch_shares(tile, tiles, next, rows, row_bytes);
  }

  // The single tile fetches what lies a little behind what it reads.
  void fetch_further_on(GemmTiles& tile, size_t row_bytes) noexcept {
    constexpr size_t kAheadBytes = 8192;
    first_ += kAheadBytes;
    tile.ahead_step_bytes = row_bytes;
    tile.ahead_by_lines = false;
  }

  // Each tile fetches its share of `rows` rows at `next`.
  void fetch_shares(GemmTiles& tile, size_t tiles, const void* next, size_t rows, size_t row_bytes) noexcept {
    first_ = static_cast<const std::byte*>(next);
    step_ = rows * row_bytes / tiles;
    tile.ahead_tile_bytes = step_;
    tile.ahead_step_bytes = row_bytes / tiles;
    tile.ahead_by_lines = kAheadSteps * tile.ahead_step_bytes <= 64;
    if (tile.ahead_by_lines) tile.ahead_step_bytes = kAheadSteps * row_bytes / tiles;
  }

  const void* part(size_t i) const noexcept { return first_ + i * step_; }

 private:
  const std::byte* first_ = nullptr;
  size_t step_ = 0;
};

// How a grid of row tiles by panels is cut into tasks: each of the two counts is at least 1.
struct TaskGrid {
  size_t rows, columns;
};
TaskGrid plan_tasks(size_t m, const Panels& panels) noexcept;

// `rows` in `tiles` nearly equal tiles, the larger ones first: body(first tile, how many follow it, rows of each).
template <class Body>
void for_each_size(size_t rows, size_t tiles, const Body& body) {
  const size_t size = rows / tiles, larger = rows % tiles;
  if (larger != 0) body(size_t{0}, larger, size + 1);
  if (size != 0) body(larger, tiles - larger, size);
}

}  // namespace enr::kernels
