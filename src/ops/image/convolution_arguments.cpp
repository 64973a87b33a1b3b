#include "ops/image/convolution_arguments.h"

#include <algorithm>

#include "ops/type_rules.h"

namespace enr::ops {

namespace {

std::array<int64_t, 3> entries(Sizes list, size_t spatial, int64_t least, const char* what) {
  if (list.size() != 1 && list.size() != spatial) {
    fail_execution(what, ": expected one number or ", spatial, ", one for each spatial dim, got ", list);
  }
  std::array<int64_t, 3> result{least, least, least};
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t number = list[list.size() == 1 ? 0 : d];
    if (number < least) fail_execution(what, ": expected at least ", least, ", got ", list);
    result[3 - spatial + d] = number;
  }
  return result;
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
    fail_execution("groups: expected a number to multiply ", weight.size(1), " output channels with, got ", groups);
  }
  if (groups < 1 || a.input_channels % groups != 0 || a.output_channels % groups != 0) {
    fail_execution("groups: expected a divisor of ", a.input_channels, " input and ", a.output_channels,
                   " output channels, got ", groups);
  }
  const int64_t expected = transposed ? a.input_channels : a.input_channels / groups;
  if (weight.size(transposed ? 0 : 1) != expected) {
    fail_execution("weight: expected size ", expected, " in dim ", transposed ? 0 : 1, " for ", groups,
                   " groups of input ", input.sizes(), ", got shape ", weight.sizes());
  }
  if (weight.dtype != input.dtype) {
    fail_execution("weight: expected ", dtype_name(input.dtype), ", got ", dtype_name(weight.dtype));
  }
  if (bias != nullptr && (bias->rank != 1 || bias->size(0) != a.output_channels)) {
    fail_execution("bias: expected shape [", a.output_channels, "], got ", bias->sizes());
  }
  if (bias != nullptr && !is_complex(input.dtype)) require_real(bias->dtype, "bias");
  if (a.output_channels < 1) fail_execution("weight: expected at least one output channel, got ", weight.sizes());
  a.stride = entries(stride, a.spatial, 1, "stride");
  a.padding = entries(padding, a.spatial, 0, "padding");
  a.dilation = entries(dilation, a.spatial, 1, "dilation");
  a.output_padding = entries(output_padding, a.spatial, 0, "output_padding");
  for (size_t d = 0; d < a.spatial; ++d) {
    const size_t at = 3 - a.spatial + d;
    a.input[at] = input.size((batched ? 2u : 1u) + d);
    a.kernel[at] = weight.size(2 + d);
    if (!transposed) {
      a.output_padding[at] = 0;
    } else if (a.output_padding[at] >= std::max(a.stride[at], a.dilation[at])) {
      fail_execution("output_padding: expected less than stride or dilation, got ", output_padding);
    }
    if (a.kernel[at] < 1) fail_execution("weight: expected a kernel of at least 1, got shape ", weight.sizes());
    if (a.input[at] < 1) fail_execution("input: expected spatial dims of at least 1, got shape ", input.sizes());
    constexpr int64_t kLimit = int64_t{1} << 40;  // keeps the sums below far from overflowing
    if (std::max({a.input[at], a.kernel[at], a.stride[at], a.padding[at], a.dilation[at]}) > kLimit ||
        a.kernel[at] > kLimit / a.dilation[at] || a.input[at] > kLimit / a.stride[at]) {
      fail_execution("input: expected sizes, strides, paddings and dilations below ", kLimit, ", got shape ",
                     input.sizes(), ", stride ", stride, ", padding ", padding, " and dilation ", dilation);
    }
    const int64_t reach = a.dilation[at] * (a.kernel[at] - 1) + 1;
    a.output[at] = transposed ? (a.input[at] - 1) * a.stride[at] - 2 * a.padding[at] + reach + a.output_padding[at]
                              : (a.input[at] + 2 * a.padding[at] - reach) / a.stride[at] + 1;
    if (!transposed && a.input[at] + 2 * a.padding[at] < reach) {
      fail_execution("input: expected a padded size of at least the kernel's reach, ", reach, ", got ",
                     a.input[at] + 2 * a.padding[at]);
    }
    if (a.output[at] < 0) fail_execution("input: expected more than padding cuts off, got shape ", input.sizes());
  }
  return a;
}

}  // namespace enr::ops
