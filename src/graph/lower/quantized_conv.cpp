#include <memory>

#include "base/error.h"
#include "graph/lower/geometry.h"
#include "graph/lower/quantized.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qdepthwise/qdepthwise.h"

namespace enr::graph {

namespace {

kernels::QConvWeights weights_of(const Lowering& lowering, const Node& node) {
  const Value& filter = lowering.value(node.inputs[1]);
  if (!filter.is_constant() || (filter.dtype != DType::kInt8 && filter.dtype != DType::kUInt8)) {
    fail_no_kernel(lowering, node);
  }
  const bool is_unsigned = filter.dtype == DType::kUInt8;
  return {is_unsigned ? kernels::QWeightType::kUInt8 : kernels::QWeightType::kInt8, filter.data,
          is_unsigned ? filter.quantization.zero_point : 0};
}

kernels::QStatic static_quantization(const Lowering& lowering, const Node& node, const std::vector<float>& scales) {
  const Value& in = lowering.value(node.inputs[0]);
  return {in.dtype == DType::kUInt8, in.quantization.zero_point, scales.data(), scales.size()};
}

std::string static_key(const kernels::QConvWeights& weights, const kernels::QStatic& quantization, const int32_t* bias,
                       const std::vector<float>& scales) {
  return concat(' ', static_cast<int>(weights.type), ' ', weights.zero_point, ' ', quantization.is_unsigned, ' ',
                quantization.input_zero_point, ' ', scales_key(scales), " bias ", static_cast<const void*>(bias));
}

template <class ConvolutionPlan>
struct StaticConvStep : Step {
  explicit StaticConvStep(const ConvolutionPlan& p) : plan(p) {}
  ConvolutionPlan plan;
  std::shared_ptr<const AlignedBuffer> packed;
  kernels::QOutput output;
  int32_t input_zero_point = 0;
  uint32_t in = 0, out = 0, scratch = 0;

  void run(const Frame& frame) const noexcept override {
    plan.run({.kind = kernels::QKind::kStatic,
              .input = frame.in<void>(in),
              .packed = packed->data(),
              .output = frame.out<void>(out),
              .input_zero_point = input_zero_point,
              .output_range = output},
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
  const kernels::QConvWeights weights = weights_of(lowering, node);
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  if (is_per_tensor(in) && is_per_tensor(out) && in.dtype == out.dtype) {
    const std::vector<float> scales = requantization_scales(lowering, node);
    const kernels::QStatic quantization = static_quantization(lowering, node, scales);
    const int32_t* bias = constant_int32(lowering, node, node.inputs.size() > 2 ? node.inputs[2] : kNoValue);
    auto& step = lowering.add<StaticConvStep<ConvolutionPlan>>(node, "conv int8", plan);
    step.packed = lowering.pack(node.inputs[1], "q" + geometry + static_key(weights, quantization, bias, scales),
                                plan.packed_bytes(),
                                [&](void* packed) { plan.pack_static(weights, bias, quantization, packed); });
    step.output = quantized_output(out, node.post);
    step.input_zero_point = in.quantization.zero_point;
    return finish(lowering, node, step);
  }
  if (!is_per_row(in) || in.quantization.nonbatch_dims != 3 || out.dtype != DType::kFloat32) {
    fail_no_kernel(lowering, node);
  }
  const std::vector<float> scales = filter_scales(lowering.value(node.inputs[1]));
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
  std::shared_ptr<const AlignedBuffer> packed;
  kernels::QOutput output;
  int32_t input_zero_point = 0;
  uint32_t in = 0, out = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::qdepthwise(geometry, packed->data(), frame.in<void>(in), input_zero_point, output, frame.out<void>(out));
  }
};

}  // namespace

void lower_quantized_conv(Lowering& lowering, const Node& node) {
  if (node.op == Op::kConv) {
    const kernels::ConvShape s = conv_shape(lowering, node);
    const kernels::QConvFormat format =
        is_per_tensor(lowering.value(node.inputs[0])) ? kernels::choose_static_format(s) : kernels::QConvFormat::kGemm;
    return add_conv(lowering, node, kernels::QConvPlan(s, format),
                    concat(format == kernels::QConvFormat::kWinograd ? "conv winograd " : "conv ", s.output_channels,
                           'x', s.kernel_height, 'x', s.kernel_width, 'x', s.input_channels, '/', s.groups));
  }
  const kernels::ConvTransposeShape s = conv_transpose_shape(lowering, node);
  add_conv(lowering, node, kernels::QConvTransposePlan(s),
           concat("conv transpose ", s.output_channels, 'x', s.kernel_height, 'x', s.kernel_width, 'x',
                  s.input_channels, '/', s.groups, " stride ", s.stride_height, 'x', s.stride_width, " dilation ",
                  s.dilation_height, 'x', s.dilation_width, " pad ", s.pad_top, 'x', s.pad_left));
}

void lower_quantized_depthwise(Lowering& lowering, const Node& node) {
  const kernels::QConvWeights weights = weights_of(lowering, node);
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  if (!is_per_tensor(in) || !is_per_tensor(out) || in.dtype != out.dtype) fail_no_kernel(lowering, node);
  const kernels::DepthwiseShape s = depthwise_shape(lowering, node, node.inputs[0]);
  const std::vector<float> scales = requantization_scales(lowering, node);
  const kernels::QStatic quantization = static_quantization(lowering, node, scales);
  const int32_t* bias = constant_int32(lowering, node, node.inputs.size() > 2 ? node.inputs[2] : kNoValue);
  auto& step = lowering.add<DepthwiseStep>(node, "depthwise int8");
  step.geometry = s;
  step.packed =
      lowering.pack(node.inputs[1],
                    concat("qdepthwise ", s.channels, 'x', s.multiplier, 'x', s.kernel_height, 'x', s.kernel_width) +
                        static_key(weights, quantization, bias, scales),
                    kernels::qdepthwise_packed_bytes(s), [&](void* packed) {
                      kernels::qdepthwise_pack(s, weights.type, weights.data, weights.zero_point, s.output_channels(),
                                               1, bias, quantization, packed);
                    });
  step.output = quantized_output(out, node.post);
  step.input_zero_point = in.quantization.zero_point;
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.operations = convolution_operations(lowering, node);
}

}  // namespace enr::graph
