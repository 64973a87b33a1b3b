#include <memory>

#include "base/error.h"
#include "graph/lower/geometry.h"
#include "graph/lower/quantized_filter.h"

namespace enr::graph {

namespace {

template <class ConvolutionPlan>
struct StaticConvStep : Step {
  explicit StaticConvStep(const ConvolutionPlan& p) : plan(p) {}
  ConvolutionPlan plan;
  StaticFilter filter;
  uint32_t in = 0, out = 0, scratch = 0;

  void run(const Frame& frame) const noexcept override {
    plan.run({.kind = kernels::QKind::kStatic,
              .input = frame.in<void>(in),
              .packed = filter.packed->data(),
              .output = frame.out<void>(out),
              .input_zero_point = filter.input_zero_point,
              .output_range = filter.output},
             frame.out<void>(scratch));
  }
};

template <class ConvolutionPlan>
struct DynamicConvStep : Step {
  explicit DynamicConvStep(const ConvolutionPlan& p) : plan(p) {}
  ConvolutionPlan plan;
  std::shared_ptr<const AlignedBuffer> packed;
  kernels::QClamp clamp;
  size_t parameters_offset = 0;
  uint32_t in = 0, out = 0, scratch = 0;

  void run(const Frame& frame) const noexcept override {
    const auto* images = reinterpret_cast<const kernels::Quantization*>(frame.in<std::byte>(in) + parameters_offset);
    plan.run({.kind = kernels::QKind::kDynamic,
              .input = frame.in<void>(in),
              .packed = packed->data(),
              .output = frame.out<void>(out),
              .images = images,
              .clamp = clamp},
             frame.out<void>(scratch));
  }
};

template <class ConvStep>
void finish(Lowering& lowering, const Node& node, ConvStep& step) {
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.scratch = lowering.scratch(step.plan.workspace_bytes());
  step.operations = convolution_operations(lowering, node);
}

template <class ConvolutionPlan>
void add_conv(Lowering& lowering, const Node& node, const ConvolutionPlan& plan, const std::string& geometry) {
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  if (is_per_tensor(in) && is_per_tensor(out) && in.dtype == out.dtype) {
    auto& step = lowering.add<StaticConvStep<ConvolutionPlan>>(node, "conv int8", plan);
    step.filter = pack_static_conv(lowering, node, node.inputs[0], plan, geometry);
    return finish(lowering, node, step);
  }
  if (!is_per_row(in) || in.quantization.nonbatch_dims != 3 || out.dtype != DType::kFloat32) {
    fail_no_kernel(lowering, node);
  }
  const std::vector<float> scales = filter_scales(lowering.value(node.inputs[1]));
  const kernels::QConvWeights weights = filter_weights(lowering, node);
  const float* bias = constant_bias(lowering, node);
  auto& step = lowering.add<DynamicConvStep<ConvolutionPlan>>(node, "conv dynamic int8", plan);
  step.packed = lowering.pack(
      node.inputs[1], concat("qd", geometry, ' ', scales_key(scales), " bias ", static_cast<const void*>(bias)),
      plan.packed_bytes(),
      [&](void* packed) { plan.pack_dynamic(weights, {scales.data(), scales.size(), nullptr, bias}, packed); });
  step.clamp = {node.post.min, node.post.max};
  step.parameters_offset = row_parameters_offset(in);
  finish(lowering, node, step);
  Post rest = node.post;
  rest.min = -std::numeric_limits<float>::infinity();
  rest.max = std::numeric_limits<float>::infinity();
  lower_post(lowering, node, rest);
}

struct DepthwiseStep : Step {
  kernels::DepthwiseShape geometry;
  StaticFilter filter;
  uint32_t in = 0, out = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::qdepthwise(geometry, filter.packed->data(), frame.in<void>(in), filter.input_zero_point, filter.output,
                        frame.out<void>(out));
  }
};

}  // namespace

void lower_quantized_conv(Lowering& lowering, const Node& node) {
  if (node.op == Op::kConv) {
    const kernels::ConvShape s = conv_shape(lowering, node);
    const kernels::QConvFormat format = is_per_tensor(lowering.value(node.inputs[0]))
                                            ? kernels::choose_static_format(s, filter_weights(lowering, node).type)
                                            : kernels::QConvFormat::kGemm;
    return add_conv(lowering, node, kernels::QConvPlan(s, format), conv_packing(s, format));
  }
  const kernels::ConvTransposeShape s = conv_transpose_shape(lowering, node);
  add_conv(lowering, node, kernels::QConvTransposePlan(s),
           concat("conv transpose ", s.output_channels, 'x', s.kernel_height, 'x', s.kernel_width, 'x',
                  s.input_channels, '/', s.groups, " stride ", s.stride_height, 'x', s.stride_width, " dilation ",
                  s.dilation_height, 'x', s.dilation_width, " pad ", s.pad_top, 'x', s.pad_left));
}

void lower_quantized_depthwise(Lowering& lowering, const Node& node) {
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  if (!is_per_tensor(in) || !is_per_tensor(out) || in.dtype != out.dtype) fail_no_kernel(lowering, node);
  auto& step = lowering.add<DepthwiseStep>(node, "depthwise int8");
  step.geometry = depthwise_shape(lowering, node, node.inputs[0]);
  step.filter = pack_static_depthwise(lowering, node, node.inputs[0], step.geometry);
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.operations = convolution_operations(lowering, node);
}

}  // namespace enr::graph
