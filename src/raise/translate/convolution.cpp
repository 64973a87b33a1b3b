// Convolutions of one and two spatial dims, and the batch norm that follows them.

#include "base/error.h"
#include "kernels/conv/phases.h"
#include "kernels/norm/norm.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

using graph::kNoValue;
using graph::Op;
using graph::Shape;
using graph::ValueId;

// ATen's filters, [O, I / groups, h, w] or, where transposed, [I, O / groups, h, w], as the graph has them.
ValueId filter(RegionBuilder& region, const Raised& weight, int64_t groups, bool transposed, bool depthwise) {
  const Shape sizes = region.sizes(weight);
  const int64_t height = sizes.rank() == 4 ? sizes[2] : 1, width = sizes.back();
  if (transposed) {
    const Raised parts = region.view(weight, {groups, sizes[0] / groups, sizes[1], height, width});
    return region.reshaped(region.arrange(parts, {0, 2, 3, 4, 1}),
                           {sizes[1] * groups, height, width, sizes[0] / groups});
  }
  Order order = channels_last(sizes.rank());
  if (depthwise) std::swap(order[0], order[order.rank() - 1]);
  const ValueId id = region.arrange(weight, order);
  if (depthwise) return region.reshaped(id, {1, height, width, sizes[0]});
  return region.reshaped(id, {sizes[0], height, width, sizes[1]});
}

// The input with its channels last, and a height of 1 where it has one spatial dim.
ValueId image(RegionBuilder& region, const Raised& input) {
  const size_t rank = input.order.rank();
  const ValueId id = region.arrange(input, channels_last(rank));
  if (rank == 4) return id;
  const Shape& shape = region.graph.values[id].shape;
  return region.reshaped(id, {shape[0], 1, shape[1], shape[2]});
}

Raised planes(RegionBuilder& region, ValueId image, size_t rank) {
  if (rank == 4) return {image, channels_last(4)};
  const Shape& shape = region.graph.values[image].shape;
  return {region.reshaped(image, {shape[0], shape[2], shape[3]}), channels_last(3)};
}

uint32_t narrow(int64_t value) {
  if (value < 0 || value > (1 << 20)) fail_execution("a size of ", value);
  return static_cast<uint32_t>(value);
}

void convolution(RegionBuilder& region, const Call& call) {
  const Raised input = region.read(call.value(0)), weight = region.read_as_stored(call.value(1));
  const size_t rank = input.order.rank();
  if ((rank != 3 && rank != 4) || weight.order.rank() != rank || !region.is_constant(weight)) {
    fail_execution("not a convolution of images with a constant filter");
  }
  const size_t dims = rank - 2;
  const bool transposed = call.flag(6);
  const std::vector<int64_t> stride = call.for_dims(3, dims, {1}), padding = call.for_dims(4, dims, {0}),
                             dilation = call.for_dims(5, dims, {1}), adjustment = call.for_dims(7, dims, {0});
  const int64_t groups = call.integer(8);
  const Shape sizes = region.sizes(weight);
  const int64_t channels = region.sizes(input)[1];
  if (groups < 1 || sizes[0] % groups != 0 || channels != (transposed ? sizes[0] : sizes[1] * groups)) {
    fail_execution("groups or channels do not fit");
  }
  graph::WindowAttributes window;
  window.groups = narrow(groups);
  window.kernel_height = dims == 2 ? narrow(sizes[2]) : 1;
  window.kernel_width = narrow(sizes.back());
  window.stride_width = narrow(stride.back());
  window.dilation_width = narrow(dilation.back());
  window.pad_left = window.pad_right = narrow(padding.back());
  if (transposed) window.adjustment_width = narrow(adjustment.back());
  if (dims == 2) {
    window.stride_height = narrow(stride[0]);
    window.dilation_height = narrow(dilation[0]);
    window.pad_top = window.pad_bottom = narrow(padding[0]);
    if (transposed) window.adjustment_height = narrow(adjustment[0]);
  }
  if (window.stride_height * window.stride_width * window.dilation_height * window.dilation_width == 0) {
    fail_execution("a stride or dilation of 0");
  }
  if (transposed && kernels::has_too_many_phases(window.stride_height, window.stride_width)) fail_execution("strides");
  const bool depthwise = !transposed && groups == channels && groups > 1;
  std::vector<ValueId> operands{image(region, input), filter(region, weight, groups, transposed, depthwise)};
  if (!call.is_none(2)) {
    const Raised bias = region.read(call.value(2));
    const int64_t outputs = transposed ? sizes[1] * groups : sizes[0];
    if (bias.order.rank() != 1 || region.numel(bias) != outputs || !region.is_constant(bias)) fail_execution("bias");
    operands.push_back(bias.id);
  }
  const Op op = transposed ? Op::kConvTranspose : depthwise ? Op::kDepthwise : Op::kConv;
  region.define(call.value(9), planes(region, region.emit(op, std::move(operands), window), rank));
}

// Scale and shift of each channel; a pass of the graph folds them into the convolution in front.
void batch_norm(RegionBuilder& region, const Call& call) {
  const Raised input = region.read(call.value(0));
  const size_t rank = input.order.rank();
  if (rank < 2 || call.is_none(3) || call.is_none(4)) fail_execution("no channels or statistics");
  const auto channels = static_cast<size_t>(region.sizes(input)[1]);
  const auto vector = [&](size_t argument) -> const float* {
    if (call.is_none(argument)) return nullptr;
    const Raised value = call.tensor(argument).dtype == DType::kFloat32 ? region.read(call.value(argument))
                                                                        : region.read_converted(call.value(argument));
    if (value.order.rank() != 1 || static_cast<size_t>(region.numel(value)) != channels) fail_execution("parameters");
    return region.constant_data(value);
  };
  std::vector<float> factors(channels), shifts(channels);
  kernels::batch_norm_fold(DType::kFloat32, vector(1), vector(2), vector(3), vector(4), call.number(6), factors.data(),
                           shifts.data(), channels);
  Order order = region.has_order(input, channels_last(rank)) ? channels_last(rank) : row_major(rank);
  Shape shape = order;
  for (size_t i = 0; i < rank; ++i) shape[i] = order[i] == 1 ? static_cast<int64_t>(channels) : 1;
  const ValueId scaled = region.emit(Op::kBinary, {region.arrange(input, order), region.constant(shape, factors)},
                                     graph::BinaryAttributes{kernels::Binary::kMul});
  region.define(call.value(7), {region.emit(Op::kBinary, {scaled, region.constant(shape, shifts)},
                                            graph::BinaryAttributes{kernels::Binary::kAdd}),
                                order});
}

constexpr NamedTranslation kRows[] = {
    {"aten::convolution.out", convolution},
    {"aten::_native_batch_norm_legit_no_training.out", batch_norm},
};

}  // namespace

Translation find_convolution(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
