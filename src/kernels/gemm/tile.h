#pragma once

// What the gemm's driver and its instruction-set files agree on: packed panels and the tile function. C headers only.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// Tiles of C, one below the other, of as many rows as the function is for, by one panel of packed weights. The sum runs
// over `taps` pieces of A of k floats each (a plain product has one, a convolution one for each contiguous piece of its
// window); piece t of row i starts at a[t] + i * a_stride. The weights of all pieces follow one another in the panel.
struct GemmTiles {
  size_t count;
  const float* const* a;
  size_t taps;
  size_t a_stride;
  size_t k;
  // One row for each k of each tap, of which the panel's width is read: float32, for the functions of 16-bit weights
  // what their bits stand for.
  const void* b;
  size_t b_stride;  // elements
  // Of combined weights alone: the second ones, whose rows lie as b's do.
  const void* b_second;
  float factor;
  // What to fetch meanwhile, in steps of ahead_step_bytes: a row's width of bytes for each k, or a cache line for every
  // kAheadSteps of them, because fetching takes turns with the multiplications.
  const void* ahead;
  size_t ahead_step_bytes;
  size_t ahead_tile_bytes;  // from what one tile fetches to what the next one does
  bool ahead_by_lines;
  float* c;
  size_t c_stride;
  size_t columns;     // of C, at most the panel's width
  const float* bias;  // as many floats as the panel is wide; null: zeros
  // Where the sums start besides the bias: a residual to be scaled, or partial sums of an earlier block. Null: nothing.
  const float* addend;
  size_t addend_stride;
  float addend_scale;
  float min, max;
};

using TilesFunction = void (*)(const GemmTiles& tiles);

inline constexpr size_t kMaxTileRows = 16;
inline constexpr size_t kMaxHalfRows = 4;
inline constexpr size_t kAheadSteps = 4;

// What weights made of two are: the first's sum or difference with the second, or with `factor` times the second.
enum GemmCombination { kSum, kDifference, kScaledSum, kCombinations };

struct GemmKernels {
  size_t rows;          // of a full tile
  size_t width;         // of a full panel
  size_t narrow_width;  // of the last panel where what remains fits
  // By number of rows - 1: a panel of full width, a narrow one.
  TilesFunction wide[kMaxTileRows];
  TilesFunction narrow[kMaxTileRows];
  // The same of few rows by half or bfloat16 weights, one behind the other, which are widened as they are multiplied.
  struct FewRows {
    TilesFunction wide[kMaxHalfRows];
    TilesFunction narrow[kMaxHalfRows];
  };
  FewRows half, bfloat16;
  // For weights made of two in registers: packed, all of the panel's columns C's. They fetch ahead for each k.
  TilesFunction combined_wide[kCombinations][kMaxTileRows];
  TilesFunction combined_narrow[kCombinations][kMaxTileRows];
};

const GemmKernels& gemm_kernels();

struct PackKernels {
  // One panel's rows of weights, times scale, from `columns` neighbouring columns of a [k, n] matrix or as many rows of
  // an [n, k] one. The panel's lanes past `columns` become 0.
  void (*pack_columns)(const float* source, size_t stride, size_t columns, size_t width, size_t k, float scale,
                       float* out);
  void (*pack_rows)(const float* source, size_t stride, size_t columns, size_t width, size_t k, float scale,
                    float* out);
  // out[j] = the product of a and row j of b, for a few rows of A.
  void (*dot)(const float* a, const float* b, size_t b_stride, size_t n, size_t k, float* out);
  // c[j] = sum of a[i] * b[i * b_stride + j] for i < k, j < columns; k > 0.
  void (*row)(const float* a, const float* b, size_t b_stride, size_t k, size_t columns, float* c);
};

const PackKernels& pack_kernels();

}  // namespace enr::kernels
