#pragma once

// The checked arguments of a convolution, shared by the forward and the backward operator.

#include <array>
#include <cstdint>

#include "ops/shapes.h"
#include "ops/tensor.h"

namespace enr::ops {

// Depth, height and width; dims the operator does not have are of size and stride 1 without padding.
struct ConvolutionArguments {
  size_t spatial = 2;
  bool transposed = false;
  int64_t groups = 1;
  int64_t batch = 1;
  int64_t input_channels = 0, output_channels = 0;
  std::array<int64_t, 3> input{1, 1, 1};
  std::array<int64_t, 3> output{1, 1, 1};
  std::array<int64_t, 3> kernel{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1};
  std::array<int64_t, 3> padding{0, 0, 0};
  std::array<int64_t, 3> dilation{1, 1, 1};
  std::array<int64_t, 3> output_padding{0, 0, 0};

  // The result's shape, for an input of that rank (with or without a batch).
  Shape output_sizes(size_t rank) const;
};

// Throws with the argument's name where they do not fit together.
ConvolutionArguments convolution_arguments(const Tensor& input, const Tensor& weight, const Tensor* bias, Sizes stride,
                                           Sizes padding, Sizes dilation, bool transposed, Sizes output_padding,
                                           int64_t groups);

}  // namespace enr::ops
