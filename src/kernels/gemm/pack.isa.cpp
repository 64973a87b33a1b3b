#include "kernels/gemm/row_product.h"
#include "kernels/gemm/tile.h"
#include "kernels/isa.h"
#include "kernels/simd/partial.h"
#include "kernels/simd/sums.h"
#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

namespace {

void pack_columns(const float* source, size_t stride, size_t columns, size_t width, size_t k, float scale, float* out) {
  const F32 factor = splat(scale);
  for (size_t p = 0; p < k; ++p, source += stride, out += width) {
    size_t j = 0;
    for (; j + kF32Lanes <= columns; j += kF32Lanes) store(out + j, load(source + j) * factor);
    if (j < columns) {
      store(out + j, load_first(source + j, columns - j) * factor);
      j += kF32Lanes;
    }
    for (; j < width; j += kF32Lanes) store(out + j, F32{});
  }
}

// The first or the last halves of both vectors, lane by lane in turn.
ENR_INLINE F32 mix_low(F32 a, F32 b) {
#if ENR_VECTOR_BYTES == 64
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif ENR_VECTOR_BYTES == 32
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
#endif
}
ENR_INLINE F32 mix_high(F32 a, F32 b) {
#if ENR_VECTOR_BYTES == 64
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif ENR_VECTOR_BYTES == 32
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

// Mixing row i with row i + lanes / 2, as often as it takes to double 1 to lanes, exchanges rows and columns.
ENR_INLINE void transpose(F32 (&rows)[kF32Lanes]) {
#pragma GCC unroll 4
  for (size_t doubled = 1; doubled < kF32Lanes; doubled *= 2) {
    F32 mixed[kF32Lanes];
#pragma GCC unroll 8
    for (size_t i = 0; i < kF32Lanes / 2; ++i) {
      mixed[2 * i] = mix_low(rows[i], rows[i + kF32Lanes / 2]);
      mixed[2 * i + 1] = mix_high(rows[i], rows[i + kF32Lanes / 2]);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < kF32Lanes; ++i) rows[i] = mixed[i];
  }
}

void pack_rows(const float* source, size_t stride, size_t columns, size_t width, size_t k, float scale, float* out) {
  const F32 factor = splat(scale);
  for (size_t first = 0; first < width; first += kF32Lanes) {
    const size_t count = columns <= first ? 0 : columns - first < kF32Lanes ? columns - first : kF32Lanes;
    for (size_t p = 0; p < k; p += kF32Lanes) {
      const size_t steps = k - p < kF32Lanes ? k - p : kF32Lanes;
      F32 rows[kF32Lanes];
      const float* from = source + first * stride + p;
      if (count == kF32Lanes && steps == kF32Lanes) {
        for (size_t i = 0; i < kF32Lanes; ++i) rows[i] = load(from + i * stride) * factor;
      } else {
        for (size_t i = 0; i < kF32Lanes; ++i) {
          rows[i] = i < count ? load_first(from + i * stride, steps) * factor : F32{};
        }
      }
      transpose(rows);
      float* to = out + p * width + first;
      if (steps == kF32Lanes) {
        for (size_t i = 0; i < kF32Lanes; ++i) store(to + i * width, rows[i]);
      } else {
        for (size_t i = 0; i < steps; ++i) store(to + i * width, rows[i]);
      }
    }
  }
}

template <size_t Rows>
ENR_INLINE void dot_some(const float* a, const float* b, size_t b_stride, size_t k, float* out) {
  F32 sum[Rows] = {};
  size_t p = 0;
  for (; p + kF32Lanes <= k; p += kF32Lanes) {
    const F32 value = load(a + p);
    for (size_t i = 0; i < Rows; ++i) sum[i] = fma(value, load(b + i * b_stride + p), sum[i]);
  }
  if (p < k) {
    const F32 value = load_first(a + p, k - p);
    for (size_t i = 0; i < Rows; ++i) sum[i] = fma(value, load_first(b + i * b_stride + p, k - p), sum[i]);
  }
  for (size_t i = 0; i < Rows; ++i) out[i] = add_lanes(sum[i]);
}

void dot(const float* a, const float* b, size_t b_stride, size_t n, size_t k, float* out) {
  constexpr size_t kAtOnce = 8;
  size_t j = 0;
  for (; j + kAtOnce <= n; j += kAtOnce) dot_some<kAtOnce>(a, b + j * b_stride, b_stride, k, out + j);
  for (; j < n; ++j) dot_some<1>(a, b + j * b_stride, b_stride, k, out + j);
}

}  // namespace

const PackKernels& pack_kernels() {
  static const PackKernels kernels = {pack_columns, pack_rows, dot, multiply_row<float>};
  return kernels;
}

}  // namespace enr::kernels::ENR_ISA
