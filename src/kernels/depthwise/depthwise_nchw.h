#pragma once

// Depthwise convolution of float32 NCHW planes, for callers whose images are planar anyway: no transposing, no packing.

#include "kernels/depthwise/depthwise.h"

namespace enr::kernels {

// Whether depthwise_nchw is faster for the shape than transposing to NHWC and back.
bool prefers_depthwise_nchw(const DepthwiseShape& shape) noexcept;

// weights are [output channels, kernel_height, kernel_width] as ATen has them; bias may be null. Pixel strides are
// ignored. The result is clamped; a NaN stays. Uses the thread pool where large. Input and output must not overlap.
void depthwise_nchw(const DepthwiseShape& shape, const float* weights, const float* bias, const float* input,
                    float* output, float min = -std::numeric_limits<float>::infinity(),
                    float max = std::numeric_limits<float>::infinity()) noexcept;

}  // namespace enr::kernels
