#include "kernels/pool/plane_kernels.h"

#include "kernels/isa.h"
#include "kernels/simd/strided.h"

namespace enr::kernels::ENR_ISA {

namespace {

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
