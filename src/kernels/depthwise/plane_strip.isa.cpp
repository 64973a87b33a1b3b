#include "kernels/depthwise/plane_strip.h"

#include "kernels/isa.h"
#include "kernels/simd/hide.h"
#include "kernels/simd/strided.h"

namespace enr::kernels::ENR_ISA {

namespace {

template <size_t kStride>
void copy_phases(const float* input, size_t width, size_t pad_left, size_t any_stride, size_t phase_width, float* row) {
  const size_t stride = kStride != 0 ? kStride : any_stride;
  for (size_t first = 0; first < stride && first < width; ++first) {
    const size_t column = pad_left + first;
    float* to = row + column % stride * phase_width + column / stride;
    const size_t count = (width - first + stride - 1) / stride;
    for (size_t i = 0; i < count; i += kF32Lanes) {
      const size_t left = count - i < kF32Lanes ? count - i : kF32Lanes;
      store(to + i, load_strided<kStride>(input + first + i * stride, stride, left));
    }
  }
}

void copy_row(const float* input, size_t width, size_t pad_left, size_t stride, size_t phase_width,
              float* row) noexcept {
  if (stride == 1) return copy_phases<1>(input, width, pad_left, stride, phase_width, row);
  if (stride == 2) return copy_phases<2>(input, width, pad_left, stride, phase_width, row);
  copy_phases<0>(input, width, pad_left, stride, phase_width, row);
}

ENR_INLINE void put(float* output, F32 sum, F32 min, F32 max, size_t count) {
  sum = min_keep_nan(max_keep_nan(sum, min), max);
  if (count >= kF32Lanes) {
    store(output, sum);
  } else {
    store_first(output, sum, count);
  }
}

// kRows output rows of a 3x3 kernel without vertical dilation: weights stay in registers, an input register serves
// every output row it belongs to.
template <int kStride, int kRows>
void convolve_3x3(const PlaneStrip& s, const float* scratch, const float* weights, float bias, float* output) {
  constexpr int input_rows = (kRows - 1) * kStride + 3;
  F32 w[9];
#pragma GCC unroll 9
  for (int t = 0; t < 9; ++t) {
    w[t] = splat(weights[t]);
    hide(w[t]);
  }
  const F32 min = splat(s.min), max = splat(s.max);
  const size_t offset_0 = s.column_offset[0], offset_1 = s.column_offset[1], offset_2 = s.column_offset[2];
  for (size_t x = 0; x < s.output_width; x += kF32Lanes) {
    F32 sum[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sum[r] = splat(bias);
    const float* row = scratch + x;
#pragma GCC unroll 16
    for (int i = 0; i < input_rows; ++i, row += s.row_pitch) {
      F32 v[3] = {load(row + offset_0), load(row + offset_1), load(row + offset_2)};
#pragma GCC unroll 3
      for (int k = 0; k < 3; ++k) {
        hide(v[k]);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const int ky = i - r * kStride;
          if (ky >= 0 && ky < 3) sum[r] = fma(v[k], w[ky * 3 + k], sum[r]);
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) put(output + (size_t)r * s.output_width + x, sum[r], min, max, s.output_width - x);
  }
}

template <int kRows>
void convolve_any(const PlaneStrip& s, const float* scratch, const float* weights, float bias, float* output) {
  const F32 min = splat(s.min), max = splat(s.max);
  const size_t row_step = s.stride_height * s.row_pitch;
  for (size_t x = 0; x < s.output_width; x += kF32Lanes) {
    F32 sum[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sum[r] = splat(bias);
    const float *tap_row = scratch + x, *weight = weights;
    for (size_t ky = 0; ky < s.kernel_height; ++ky, tap_row += s.tap_row_pitch) {
      for (size_t kx = 0; kx < s.kernel_width; ++kx, ++weight) {
        const F32 w = splat(*weight);
        const float* p = tap_row + s.column_offset[kx];
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r, p += row_step) sum[r] = fma(load(p), w, sum[r]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) put(output + (size_t)r * s.output_width + x, sum[r], min, max, s.output_width - x);
  }
}

using Convolve = void (*)(const PlaneStrip&, const float*, const float*, float, float*);

void convolve(const PlaneStrip& s, size_t rows, const float* scratch, const float* weights, float bias,
              float* output) noexcept {
  Convolve four = convolve_any<4>, one = convolve_any<1>;
  if (s.kernel_height == 3 && s.kernel_width == 3 && s.tap_row_pitch == s.row_pitch) {
    if (s.stride_height == 1) four = convolve_3x3<1, 4>, one = convolve_3x3<1, 1>;
    if (s.stride_height == 2) four = convolve_3x3<2, 4>, one = convolve_3x3<2, 1>;
  }
  const size_t step = s.stride_height * s.row_pitch;
  for (size_t y = 0; y < rows;) {
    if (rows < 4) {
      one(s, scratch + y * step, weights, bias, output + y * s.output_width);
      ++y;
      continue;
    }
    const size_t first = y + 4 <= rows ? y : rows - 4;  // the last four overlap the ones before
    four(s, scratch + first * step, weights, bias, output + first * s.output_width);
    y = first + 4;
  }
}

}  // namespace

const PlaneStripKernels& plane_strip_kernels() {
  static const PlaneStripKernels table = {kF32Lanes, copy_row, convolve};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
