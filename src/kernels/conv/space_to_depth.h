#pragma once

// Convolutions of stride 2 as ones of stride 1: every square of 2x2 pixels becomes one pixel of four times the channels
// (space to depth), of whose taps each holds four of the kernel's.

#include <cstddef>

#include "kernels/conv/conv.h"

namespace enr::kernels {

// The convolution of stride 1, which needs no padding: shape's is part of its image. shape: with stride 2, dilation 1,
// one group, and its pixel strides filled in.
ConvShape space_to_depth_shape(const ConvShape& shape) noexcept;

// The image of that convolution, contiguous pixels. Uses the thread pool.
void space_to_depth(const ConvShape& shape, const float* input, float* out) noexcept;

// Of a tap's four quarters of channels in the order of space_to_depth, where in shape's kernel the quarter's weights
// are; a quarter outside of it has zeros.
struct KernelTap {
  size_t y, x;
};
inline KernelTap space_to_depth_tap(size_t tap_y, size_t tap_x, size_t quarter) noexcept {
  return {2 * tap_y + quarter / 2, 2 * tap_x + quarter % 2};
}

}  // namespace enr::kernels
