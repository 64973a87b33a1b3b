#include "ops/image/convolution_arguments.h"

#include <algorithm>

namespace enr::ops {

namespace {

int64_t entry(Sizes list, size_t dim, const char* what) {
  if (list.size() == 1) return list[0];
  if (dim >= list.size()) fail_execution(what, ": expected one entry for each spatial dim, got ", list);
  return list[dim];
}

}  // namespace

Shape ConvolutionArguments::output_sizes(size_t rank) const {
  Shape shape;
  if (rank == spatial + 2) shape.push_back(batch);
  shape.push_back(output_channels);
  for (size_t d = 3 - spatial; d < 3; ++d) shape.push_back(output[d]);
  return shape;
}

ConvolutionArguments convolution_arguments(const Tensor& input, const Tensor& weight, const Tensor* bias, Sizes stride,
                                           Sizes padding, Sizes dilation, bool transposed, Sizes output_padding,
                                           int64_t groups) {
  ConvolutionArguments a;
  if (weight.rank < 3 || weight.rank > 5) fail_execution("weight: expected rank 3 to 5, got shape ", weight.sizes());
  a.spatial = weight.rank - 2u;
  if (input.rank != a.spatial + 2 && input.rank != a.spatial + 1) {
    fail_execution("input: expected rank ", a.spatial + 2, " for weight ", weight.sizes(), ", got shape ",
                   input.sizes());
  }
  const bool batched = input.rank == a.spatial + 2;
  a.transposed = transposed;
  a.groups = groups;
  a.batch = batched ? input.size(0) : 1;
  a.input_channels = input.size(batched ? 1 : 0);
  a.output_channels = weight.size(transposed ? 1 : 0);
  if (transposed && __builtin_mul_overflow(a.output_channels, groups, &a.output_channels)) {
    fail_execution("groups: ", groups, " times ", weight.size(1), " output channels are too many");
  }
  if (groups < 1 || a.input_channels % groups != 0 || a.output_channels % groups != 0) {
    fail_execution("groups: ", groups, " does not divide ", a.input_channels, " input and ", a.output_channels,
                   " output channels");
  }
  const int64_t expected = transposed ? a.input_channels : a.input_channels / groups;
  if (weight.size(transposed ? 0 : 1) != expected) {
    fail_execution("weight: shape ", weight.sizes(), " with ", groups, " groups does not fit input ", input.sizes());
  }
  if (weight.dtype != input.dtype) {
    fail_execution("weight: expected ", dtype_name(input.dtype), ", got ", dtype_name(weight.dtype));
  }
  if (bias != nullptr && (bias->rank != 1 || bias->size(0) != a.output_channels || bias->dtype != input.dtype)) {
    fail_execution("bias: expected ", dtype_name(input.dtype), " [", a.output_channels, "], got ", describe(*bias));
  }
  for (size_t d = 0; d < a.spatial; ++d) {
    const size_t at = 3 - a.spatial + d;
    a.input[at] = input.size((batched ? 2u : 1u) + d);
    a.kernel[at] = weight.size(2 + d);
    a.stride[at] = entry(stride, d, "stride");
    a.padding[at] = entry(padding, d, "padding");
    a.dilation[at] = entry(dilation, d, "dilation");
    a.output_padding[at] = transposed ? entry(output_padding, d, "output_padding") : 0;
    if (a.stride[at] < 1) fail_execution("stride: expected at least 1, got ", stride);
    if (a.dilation[at] < 1) fail_execution("dilation: expected at least 1, got ", dilation);
    if (a.padding[at] < 0) fail_execution("padding: expected at least 0, got ", padding);
    if (a.output_padding[at] < 0 || (transposed && a.output_padding[at] >= std::max(a.stride[at], a.dilation[at]))) {
      fail_execution("output_padding: ", output_padding, " must be at least 0 and smaller than stride or dilation");
    }
    if (a.kernel[at] < 1) fail_execution("weight: empty kernel in ", weight.sizes());
    constexpr int64_t kLimit = int64_t{1} << 40;  // keeps the sums below far from overflowing
    if (std::max({a.input[at], a.kernel[at], a.stride[at], a.padding[at], a.dilation[at]}) > kLimit ||
        a.kernel[at] > kLimit / a.dilation[at] || a.input[at] > kLimit / a.stride[at]) {
      fail_execution("sizes, strides, paddings and dilations are too large");
    }
    const int64_t reach = a.dilation[at] * (a.kernel[at] - 1) + 1;
    a.output[at] = transposed ? (a.input[at] - 1) * a.stride[at] - 2 * a.padding[at] + reach + a.output_padding[at]
                              : (a.input[at] + 2 * a.padding[at] - reach) / a.stride[at] + 1;
    if (!transposed && a.input[at] + 2 * a.padding[at] < reach) {
      fail_execution("input: padded size ", a.input[at] + 2 * a.padding[at], " is smaller than the kernel's reach ",
                     reach);
    }
    if (a.output[at] < 0) fail_execution("input: shape ", input.sizes(), " gives a negative output size");
  }
  return a;
}

}  // namespace enr::ops
