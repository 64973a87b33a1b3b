#pragma once

// The per-ISA loops of the resize family, float32.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// Output columns whose sources are computed at once.
inline constexpr size_t kResizeChunk = 256;

// For each output column its two input columns and the weight of the second.
struct LinearColumns {
  int32_t low[kResizeChunk], high[kResizeChunk];
  float weight[kResizeChunk];
};

struct ResizeKernels {
  // NHWC: `count` output pixels between the input rows top and bottom, whose second has weight `weight`. Strides in
  // floats.
  void (*bilinear_nhwc)(const LinearColumns& columns, size_t count, size_t channels, const float* top,
                        const float* bottom, float weight, size_t input_stride, float* output,
                        size_t output_stride) noexcept;
  // output[i] = input[low[i]] * (1 - weight[i]) + input[high[i]] * weight[i]
  void (*stretch_row)(const LinearColumns& columns, size_t count, const float* input, float* output) noexcept;
  // output[i] = top[i] * (1 - weight) + bottom[i] * weight
  void (*blend_rows)(const float* top, const float* bottom, float weight, size_t count, float* output) noexcept;
  // output[i] = input[columns[i]]
  void (*pick_row_32)(const uint32_t* columns, size_t count, const uint32_t* input, uint32_t* output) noexcept;
};

const ResizeKernels& resize_kernels();

}  // namespace enr::kernels
