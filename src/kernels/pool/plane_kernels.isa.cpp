#include "kernels/pool/plane_kernels.h"

#include "kernels/isa.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

namespace {

// Every second float of a (from 0 on) and of b (from 1 on): with b loaded lanes - 1 floats after a, every second float
// of memory, and nothing past the last one is read.
ENR_INLINE F32 every_second(F32 a, F32 b) {
#if defined(__AVX512F__)
  const __m512i index = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  return (F32)_mm512_permutex2var_ps((__m512)a, index, (__m512)b);
#elif defined(__AVX2__)
  const __m256i index_a = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6),
                index_b = _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7);
  return (F32)_mm256_blend_ps(_mm256_permutevar8x32_ps((__m256)a, index_a),
                              _mm256_permutevar8x32_ps((__m256)b, index_b), 0xf0);
#else
  return __builtin_shufflevector(a, b, 0, 2, 5, 7);
#endif
}

// `count` floats from p on, kStride (0: `stride`) apart; the other lanes are 0.
template <size_t kStride>
ENR_INLINE F32 load_strided(const float* p, size_t stride, size_t count) {
  if constexpr (kStride == 1) {
    return count == kF32Lanes ? load(p) : load_first(p, count);
  } else if constexpr (kStride == 2) {
    if (count == kF32Lanes) return every_second(load(p), load(p + kF32Lanes - 1));
    const size_t span = 2 * count - 1;
    if (span < kF32Lanes) return every_second(load_first(p, span), F32{});
    return every_second(load(p), load_first(p + kF32Lanes - 1, span - (kF32Lanes - 1)));
  } else {
    F32 v{};
    for (size_t i = 0; i < count; ++i) v[i] = p[i * stride];
    return v;
  }
}

ENR_INLINE void store_indices(int64_t* index, I32 v, size_t count) {
  int32_t narrow[kF32Lanes];
  store(narrow, v);
  for (size_t i = 0; i < count; ++i) index[i] = narrow[i];
}

// The first lane's offset in 0, stride, 2 * stride, ...
ENR_INLINE I32 steps(size_t stride) {
  I32 v;
#pragma GCC unroll 16
  for (size_t i = 0; i < kF32Lanes; ++i) v[i] = (int32_t)i;
  return v * (int32_t)stride;
}

template <size_t kStride>
void max_columns(const PlaneRow& row, const float* input, float* output, int64_t* index, int32_t position) {
  const I32 lane_offsets = steps(row.stride_width);
  for (size_t x = 0; x < row.count; x += kF32Lanes) {
    const size_t count = row.count - x < kF32Lanes ? row.count - x : kF32Lanes;
    const size_t column = x * row.stride_width;
    F32 best = splat(-__builtin_inff());
    I32 where = lane_offsets + (position + (int32_t)column);
    for (size_t i = 0; i < row.rows; ++i) {
      for (size_t j = 0; j < row.kernel_width; ++j) {
        const size_t offset = i * row.row_step + j * row.dilation_width + column;
        const F32 v = load_strided<kStride>(input + offset, row.stride_width, count);
        const I32 taken = (v > best) | (v != v);
        best = taken ? v : best;
        where = taken ? lane_offsets + (position + (int32_t)offset) : where;
      }
    }
    if (count == kF32Lanes) {
      store(output + x, best);
    } else {
      store_first(output + x, best, count);
    }
    if (index != nullptr) store_indices(index + x, where, count);
  }
}

template <size_t kStride>
void average_columns(const PlaneRow& row, float divisor, const float* input, float* output) {
  for (size_t x = 0; x < row.count; x += kF32Lanes) {
    const size_t count = row.count - x < kF32Lanes ? row.count - x : kF32Lanes;
    F32 sum{};
    for (size_t i = 0; i < row.rows; ++i) {
      for (size_t j = 0; j < row.kernel_width; ++j) {
        sum += load_strided<kStride>(input + i * row.row_step + j + x * row.stride_width, row.stride_width, count);
      }
    }
    const F32 mean = sum / splat(divisor);
    if (count == kF32Lanes) {
      store(output + x, mean);
    } else {
      store_first(output + x, mean, count);
    }
  }
}

void max(const PlaneRow& row, const float* input, float* output, int64_t* index, int32_t position) noexcept {
  if (row.stride_width == 1) return max_columns<1>(row, input, output, index, position);
  if (row.stride_width == 2) return max_columns<2>(row, input, output, index, position);
  max_columns<0>(row, input, output, index, position);
}

void average(const PlaneRow& row, float divisor, const float* input, float* output) noexcept {
  if (row.stride_width == 1) return average_columns<1>(row, divisor, input, output);
  if (row.stride_width == 2) return average_columns<2>(row, divisor, input, output);
  average_columns<0>(row, divisor, input, output);
}

float sum(size_t rows, size_t row_step, size_t columns, const float* input) noexcept {
  F32 total[4] = {};
  for (size_t i = 0; i < rows; ++i, input += row_step) {
    size_t j = 0;
    F32 line[4] = {};  // one for each row: the error grows with its length only
    for (; j + 4 * kF32Lanes <= columns; j += 4 * kF32Lanes) {
#pragma GCC unroll 4
      for (size_t r = 0; r < 4; ++r) line[r] += load(input + j + r * kF32Lanes);
    }
    for (; j + kF32Lanes <= columns; j += kF32Lanes) line[0] += load(input + j);
    if (j < columns) line[1] += load_first(input + j, columns - j);
#pragma GCC unroll 4
    for (size_t r = 0; r < 4; ++r) total[r] += line[r];
  }
  const F32 lanes = (total[0] + total[1]) + (total[2] + total[3]);
  float result = 0.0f;
  for (size_t i = 0; i < kF32Lanes; ++i) result += lanes[i];
  return result;
}

}  // namespace

const PlaneKernels& plane_kernels() {
  static const PlaneKernels table = {max, average, sum};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
