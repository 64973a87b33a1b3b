#include <memory>

#include "base/error.h"
#include "graph/lower/epilogue.h"
#include "graph/lowering.h"
#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"

namespace enr::graph {

namespace {

const float* constant_floats(const Lowering& lowering, const Node& node, ValueId id, const char* what) {
  if (id == kNoValue) return nullptr;
  const Value& value = lowering.value(id);
  if (!value.is_constant() || value.dtype != DType::kFloat32) {
    fail_execution("node ", node.origin, " (", op_name(node.op), "): ", what, " is not a float32 constant");
  }
  return reinterpret_cast<const float*>(value.data);
}

struct Filter {
  const float* weights;
  const float* bias;
};

Filter find_filter(const Lowering& lowering, const Node& node) {
  return {constant_floats(lowering, node, node.inputs[1], "filter"),
          constant_floats(lowering, node, node.inputs.size() > 2 ? node.inputs[2] : kNoValue, "bias")};
}

// Fields that ConvShape, ConvTransposeShape and DepthwiseShape share.
template <class ConvolutionShape>
ConvolutionShape common_shape(const Lowering& lowering, const Node& node) {
  const auto& window = node.as<WindowAttributes>();
  const ValueId in = node.inputs[0], out = node.outputs[0];
  ConvolutionShape s;
  s.batch = lowering.dim(in, 0);
  s.input_height = lowering.dim(in, 1);
  s.input_width = lowering.dim(in, 2);
  s.kernel_height = window.kernel_height;
  s.kernel_width = window.kernel_width;
  s.stride_height = window.stride_height;
  s.stride_width = window.stride_width;
  s.dilation_height = window.dilation_height;
  s.dilation_width = window.dilation_width;
  s.pad_top = window.pad_top;
  s.pad_left = window.pad_left;
  s.input_pixel_stride = lowering.row_stride(in);
  s.output_pixel_stride = lowering.row_stride(out);
  return s;
}

double convolution_operations(const Lowering& lowering, const Node& node) {
  const Shape& filter = lowering.shape(node.inputs[1]);
  const auto pixels =
      static_cast<double>(lowering.shape(node.op == Op::kConvTranspose ? node.inputs[0] : node.outputs[0]).rows());
  return 2.0 * pixels * static_cast<double>(filter.numel());
}

template <class ConvolutionPlan>
struct ConvStep : Step {
  ConvolutionPlan plan{typename std::decay_t<decltype(std::declval<ConvolutionPlan>().shape())>{}};
  std::shared_ptr<const AlignedBuffer> packed;
  Epilogue epilogue;
  uint32_t in = 0, out = 0, scratch = 0;

  void run(const Frame& frame) const noexcept override {
    plan.run(frame.in<float>(in), packed->data(), frame.out<float>(out), epilogue.bind(frame),
             frame.out<void>(scratch));
  }
};

template <class ConvolutionPlan>
ConvStep<ConvolutionPlan>& add_convolution(Lowering& lowering, const Node& node, const ConvolutionPlan& plan,
                                           const std::string& name, const std::string& packing) {
  const Filter filter = find_filter(lowering, node);
  auto& step = lowering.add<ConvStep<ConvolutionPlan>>(node, name);
  step.plan = plan;
  step.packed = lowering.cache_of(node.inputs[1]).get(filter.weights, packing, [&] {
    AlignedBuffer buffer(plan.packed_bytes());
    plan.pack(filter.weights, filter.bias, buffer.data());
    return buffer;
  });
  step.epilogue = Epilogue(lowering, node);
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.scratch = lowering.scratch(plan.workspace_bytes());
  step.operations = convolution_operations(lowering, node);
  return step;
}

struct DepthwiseStep : Step {
  kernels::DepthwiseShape geometry;
  std::shared_ptr<const AlignedBuffer> packed;
  Epilogue epilogue;
  uint32_t in = 0, out = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::depthwise(geometry, packed->data(), frame.in<float>(in), frame.out<float>(out), epilogue.bind(frame));
  }
};

const char* format_name(kernels::ConvWeights format) {
  switch (format) {
    case kernels::ConvWeights::kWinograd2:
      return "conv winograd 2";
    case kernels::ConvWeights::kWinograd4:
      return "conv winograd 4";
    default:
      return "conv";
  }
}

}  // namespace

void lower_conv(Lowering& lowering, const Node& node) {
  const auto& window = node.as<WindowAttributes>();
  auto s = common_shape<kernels::ConvShape>(lowering, node);
  s.input_channels = lowering.dim(node.inputs[0], 3);
  s.output_channels = lowering.dim(node.outputs[0], 3);
  s.groups = window.groups;
  s.pad_bottom = window.pad_bottom;
  s.pad_right = window.pad_right;
  const Filter filter = find_filter(lowering, node);
  kernels::ConvWeights format;
  {
    const std::lock_guard<std::mutex> lock(lowering.context.mutex);
    format = lowering.context.conv_formats.try_emplace(filter.weights, kernels::choose_conv_weights(s)).first->second;
  }
  const kernels::ConvPlan plan(s, format);
  add_convolution(
      lowering, node, plan, format_name(format),
      concat("conv ", static_cast<int>(format), ' ', s.output_channels, 'x', s.kernel_height, 'x', s.kernel_width, 'x',
             s.input_channels, '/', s.groups, " bias ", static_cast<const void*>(filter.bias)));
}

void lower_conv_transpose(Lowering& lowering, const Node& node) {
  const auto& window = node.as<WindowAttributes>();
  auto s = common_shape<kernels::ConvTransposeShape>(lowering, node);
  s.input_channels = lowering.dim(node.inputs[0], 3);
  s.output_channels = lowering.dim(node.outputs[0], 3);
  s.groups = window.groups;
  s.pad_bottom = window.pad_bottom;
  s.pad_right = window.pad_right;
  s.adjustment_height = window.adjustment_height;
  s.adjustment_width = window.adjustment_width;
  const Filter filter = find_filter(lowering, node);
  const kernels::ConvTransposePlan plan(s);
  add_convolution(
      lowering, node, plan, "conv transpose",
      concat("conv transpose ", s.output_channels, 'x', s.kernel_height, 'x', s.kernel_width, 'x', s.input_channels,
             '/', s.groups, " stride ", s.stride_height, 'x', s.stride_width, " dilation ", s.dilation_height, 'x',
             s.dilation_width, " pad ", s.pad_top, 'x', s.pad_left, " bias ", static_cast<const void*>(filter.bias)));
}

void lower_depthwise(Lowering& lowering, const Node& node) {
  const Filter filter = find_filter(lowering, node);
  auto s = common_shape<kernels::DepthwiseShape>(lowering, node);
  s.channels = lowering.dim(node.inputs[0], 3);
  s.multiplier = lowering.dim(node.outputs[0], 3) / s.channels;
  s.output_height = lowering.dim(node.outputs[0], 1);
  s.output_width = lowering.dim(node.outputs[0], 2);
  auto& step = lowering.add<DepthwiseStep>(node, "depthwise");
  step.geometry = s;
  step.packed =
      lowering.cache_of(node.inputs[1])
          .get(filter.weights,
               concat("depthwise ", s.channels, 'x', s.multiplier, 'x', s.kernel_height, 'x', s.kernel_width, " bias ",
                      static_cast<const void*>(filter.bias)),
               [&] {
                 AlignedBuffer buffer(kernels::depthwise_packed_bytes(s));
                 kernels::depthwise_pack(s, filter.weights, s.output_channels(), 1, filter.bias, buffer.data());
                 return buffer;
               });
  step.epilogue = Epilogue(lowering, node);
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.operations = convolution_operations(lowering, node);
}

}  // namespace enr::graph
