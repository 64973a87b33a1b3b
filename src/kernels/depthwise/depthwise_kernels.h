#pragma once

// The per-ISA loops of the depthwise family.
//
// Packed weights: for each block of `lanes` output channels its biases, then its taps row by row, each `lanes` floats;
// the last block is filled up with zeros.

#include <stddef.h>

namespace enr::kernels {

// One image; what does not change from row to row.
struct DepthwiseCall {
  const float* packed;
  size_t input_height, input_width, output_width;
  size_t channels;  // of the output
  size_t multiplier;
  size_t kernel_height, kernel_width, stride_height, stride_width, dilation_height, dilation_width, pad_top, pad_left;
  size_t input_pixel_stride, output_pixel_stride, residual_stride;
  float residual_scale, min, max;
};

// Blocks [block_begin, block_end) of output row y. input points to the image's first pixel, output and residual (may be
// null) to the row's first pixel.
using DepthwiseRowFunction = void (*)(const DepthwiseCall& call, size_t y, size_t block_begin, size_t block_end,
                                      const float* input, float* output, const float* residual) noexcept;

struct DepthwiseKernels {
  size_t lanes;
  // Dilation width and multiplier 1; any kernel height.
  DepthwiseRowFunction width3_stride1;
  DepthwiseRowFunction width3_stride2;
  DepthwiseRowFunction width5_stride1;
  DepthwiseRowFunction width5_stride2;
  DepthwiseRowFunction any;
  // Rows y and y + 1 of a 3x3 kernel with stride and dilation 1, where all rows of the kernel exist for both.
  DepthwiseRowFunction pair3;
};

const DepthwiseKernels& depthwise_kernels();

}  // namespace enr::kernels
