#pragma once

// The per-ISA loops of NHWC pooling, one output row at a time.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// One row of outputs. The window's rows are already cut to the image: `input` points to the first one's first pixel.
// Strides and steps count elements.
struct PoolRow {
  size_t rows;           // input rows in the window
  size_t row_step;       // from one to the next
  size_t first_tap_row;  // position of the first in the kernel
  size_t input_width, output_width, channels;
  size_t kernel_width, stride_width, dilation_width, pad_left, pad_right;
  size_t pixel_stride, output_pixel_stride;
};

template <class T>
using MaxRowFunction = void (*)(const PoolRow& row, const T* input, T* output, T min, T max) noexcept;

// The sum over a window is divided by divisor where that is not 0; else by the number of its elements inside the image,
// if padded_rows is 0, or by padded_rows times its columns inside the padded image.
using AverageRowFunction = void (*)(const PoolRow& row, float divisor, size_t padded_rows, const float* input,
                                    float* output, float min, float max) noexcept;

// output may be null.
using ArgmaxRowFunction = void (*)(const PoolRow& row, const float* input, float* output, uint32_t* index) noexcept;

// Means over `pixels` pixels of `channels` channels.
using GlobalAverageFunction = void (*)(size_t pixels, size_t channels, size_t pixel_stride, const float* input,
                                       float* output, float min, float max) noexcept;

struct PoolKernels {
  size_t lanes;  // floats in a register
  MaxRowFunction<float> max_f32;
  MaxRowFunction<int8_t> max_i8;
  MaxRowFunction<uint8_t> max_u8;
  AverageRowFunction average;
  ArgmaxRowFunction argmax;
  GlobalAverageFunction global_average;
};

const PoolKernels& pool_kernels();

}  // namespace enr::kernels
