#pragma once

// What an instruction set offers for 8-bit elementwise operations; qelementwise.h is the family's public face. [0] is
// for int8, [1] for uint8. Functions run on the calling thread.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

struct QBinaryParams;

// One output pixel of a bilinear resize: four input pixels and the weights of the right and the lower ones, in 2048ths.
struct QBilinear {
  const void *top_left, *top_right, *bottom_left, *bottom_right;
  int32_t right, lower;
};

// One output pixel of an average pool: `taken` is what the zero points add to the sum; bounds are less the zero point.
struct QAverage {
  const void* pixels;  // the first one's first channel
  size_t rows, columns, row_stride, pixel_stride;
  int32_t taken;
  float scale, low, high;
  int32_t zero_point;
};

struct QElementwiseTable {
  // out[i] = op(a[i * a_step], b[i * b_step]); steps are 0 or 1.
  void (*binary[2])(const QBinaryParams& params, size_t n, const void* a, size_t a_step, const void* b, size_t b_step,
                    void* out) noexcept;
  void (*apply_lut)(const uint8_t* table, const uint8_t* in, uint8_t* out, size_t n) noexcept;
  void (*clamp[2])(const void* in, void* out, size_t n, int32_t min, int32_t max) noexcept;
  // sums[i] = the sum over `rows` rows of in[row * stride + i], i < n.
  void (*sum_rows[2])(const void* in, size_t rows, size_t stride, size_t n, int32_t* sums) noexcept;
  // out[i] = round(sums[i] * scale + shift), saturated.
  void (*scale_sums[2])(const int32_t* sums, size_t n, float scale, float shift, void* out) noexcept;
  // out[i] = the sum of channel i over the window, less `taken`, scaled, rounded and clamped.
  void (*average[2])(const QAverage& window, size_t channels, void* out) noexcept;
  void (*bilinear[2])(const QBilinear& pixel, size_t channels, void* out) noexcept;
};

const QElementwiseTable& qelementwise_table();

}  // namespace enr::kernels
