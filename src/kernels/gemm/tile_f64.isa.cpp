#include "kernels/gemm/tile_f64.h"
#include "kernels/gemm/row_product.h"
#include "kernels/isa.h"
#include "kernels/simd/sums.h"

namespace enr::kernels::ENR_ISA {

namespace {

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr size_t kRows = 8;
#else
constexpr size_t kRows = 6;
#endif
constexpr size_t kVectors = 2, kLanesF64 = kLanes<double>, kWidth = kVectors * kLanesF64;

// R rows of kCount vectors of columns.
template <size_t R, size_t kCount>
ENR_INLINE void compute_vectors(const TileF64& tile) {
  F64 sum[R][kCount] = {};
  const double* b = tile.panel;
  for (size_t k = 0; k < tile.k; ++k, b += kWidth) {
    F64 right[kCount];
    for (size_t v = 0; v < kCount; ++v) right[v] = load(b + v * kLanesF64);
#pragma GCC unroll 8
    for (size_t i = 0; i < R; ++i) {
      const F64 left = splat(tile.a[i * tile.a_stride + k]);
      for (size_t v = 0; v < kCount; ++v) sum[i][v] = fma(left, right[v], sum[i][v]);
    }
  }
  const size_t rest = tile.columns - (kCount - 1) * kLanesF64;  // columns of the last vector
#pragma GCC unroll 8
  for (size_t i = 0; i < R; ++i) {
    for (size_t v = 0; v < kCount; ++v) {
      const size_t at = i * tile.c_stride + v * kLanesF64;
      const bool is_whole = v + 1 < kCount || rest == kLanesF64;
      F64 value = splat(tile.alpha) * sum[i][v];
      if (tile.addend != nullptr) {
        value += splat(tile.beta) * (is_whole ? load(tile.addend + at) : load_first(tile.addend + at, rest));
      }
      if (is_whole) {
        store(tile.c + at, value);
      } else {
        store_first(tile.c + at, value, rest);
      }
    }
  }
}

template <size_t R>
void compute_tile(const TileF64& tile) {
  if (tile.columns > kLanesF64) return compute_vectors<R, kVectors>(tile);
  compute_vectors<R, 1>(tile);
}

void pack(const double* b, size_t row_stride, size_t k, double* panel) {
  for (size_t i = 0; i < k; ++i, b += row_stride, panel += kWidth) {
    for (size_t v = 0; v < kVectors; ++v) store(panel + v * kLanesF64, load(b + v * kLanesF64));
  }
}

double dot(const double* a, const double* b, size_t k) {
  F64 sums[4] = {};
  size_t i = 0;
  for (; i + 4 * kLanesF64 <= k; i += 4 * kLanesF64) {
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) sums[v] = fma(load(a + i + v * kLanesF64), load(b + i + v * kLanesF64), sums[v]);
  }
  for (; i + kLanesF64 <= k; i += kLanesF64) sums[0] = fma(load(a + i), load(b + i), sums[0]);
  if (i < k) sums[1] = fma(load_first(a + i, k - i), load_first(b + i, k - i), sums[1]);
  return add_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <size_t R = 1>
void fill(F64Kernels& kernels) {
  kernels.tile[R - 1] = compute_tile<R>;
  if constexpr (R < kRows) fill<R + 1>(kernels);
}

}  // namespace

const F64Kernels& f64_kernels() {
  static const F64Kernels kernels = [] {
    F64Kernels k = {};
    k.rows = kRows;
    k.width = kWidth;
    k.pack = pack;
    k.dot = dot;
    k.row = multiply_row<double>;
    fill(k);
    return k;
  }();
  return kernels;
}

}  // namespace enr::kernels::ENR_ISA
