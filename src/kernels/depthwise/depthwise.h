#pragma once

// Depthwise convolution of float32 NHWC images: output channel k reads input channel k / multiplier. Sizes and strides
// count floats. Results do not depend on the number of threads.

#include <cstddef>

#include "kernels/gemm/gemm.h"

namespace enr::kernels {

// The bottom and right padding follow from the output's size.
struct DepthwiseShape {
  size_t batch = 1;
  size_t input_height = 1, input_width = 1;
  size_t output_height = 1, output_width = 1;
  size_t channels = 1;    // of the input
  size_t multiplier = 1;  // output channels for each input channel
  size_t kernel_height = 1, kernel_width = 1;
  size_t stride_height = 1, stride_width = 1;
  size_t dilation_height = 1, dilation_width = 1;
  size_t pad_top = 0, pad_left = 0;
  size_t input_pixel_stride = 0,
         output_pixel_stride = 0;  // from pixel to pixel; 0 means channels, channels * multiplier

  size_t output_channels() const noexcept { return channels * multiplier; }
};

// Weights are packed once, in the layout of the active instruction set; packed must be 64-byte aligned. What is packed
// depends on channels, multiplier and kernel size only.
size_t depthwise_packed_bytes(const DepthwiseShape& shape) noexcept;

// Element (y, x, k) of the weights is at weights[(y * kernel_width + x) * tap_stride + k * channel_stride]: strides
// (output channels, 1) for XNNPACK's [1, kh, kw, C], (1, kernel_height * kernel_width) for ATen's [C, 1, kh, kw].
// bias may be null.
void depthwise_pack(const DepthwiseShape& shape, const float* weights, size_t tap_stride, size_t channel_stride,
                    const float* bias, void* packed) noexcept;

// output = activation(clamp(convolution + bias + scale * residual)), see GemmEpilogue; a row is one output pixel, but
// the activation may get several pixels at once where they are contiguous. Uses the thread pool where large. Input and
// output must not overlap.
void depthwise(const DepthwiseShape& shape, const void* packed, const float* input, float* output,
               const GemmEpilogue& epilogue = {}) noexcept;

// Output rows [row_begin, row_end) of one image, on the calling thread; input, output and residual point to that
// image's first pixel (as if whole). For callers that keep a producer's rows in cache.
void depthwise_rows(const DepthwiseShape& shape, const void* packed, const float* input, float* output,
                    size_t row_begin, size_t row_end, const GemmEpilogue& epilogue = {}) noexcept;

// Channels [channel, channel_end) of all of an image, on the calling thread, with multiplier 1. Channels start at a
// multiple of depthwise_channel_step(), and end at one or at the last. input and output point to the first pixel's
// channel `channel`, the epilogue's residual to its channel 0.
size_t depthwise_channel_step() noexcept;
void depthwise_channels(const DepthwiseShape& shape, const void* packed, const float* input, float* output,
                        size_t channel, size_t channel_end, const GemmEpilogue& epilogue = {}) noexcept;

}  // namespace enr::kernels
