#include <array>
#include <memory>
#include <vector>

#include "base/error.h"
#include "graph/lower/epilogue.h"
#include "graph/lower/geometry.h"
#include "graph/lower/pointwise.h"
#include "graph/lowering.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/winograd.h"
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

template <class ConvolutionPlan>
struct ConvStep : Step {
  explicit ConvStep(ConvolutionPlan&& p) : plan(std::move(p)) {}
  ConvolutionPlan plan;
  std::shared_ptr<const AlignedBuffer> packed;
  Epilogue epilogue;
  uint32_t in = 0, out = 0, scratch = 0;

  void run(const Frame& frame) const noexcept override {
    plan.run(frame.in<float>(in), packed->data(), frame.out<float>(out), epilogue.bind(frame),
             frame.out<void>(scratch));
  }
};

// Reads several images; see Node::parts.
struct PartsStep : ConvStep<kernels::ConvPlan> {
  using ConvStep::ConvStep;
  std::vector<uint32_t> inputs;

  void run(const Frame& frame) const noexcept override {
    std::array<const float*, kMaxConvParts> images;
    for (size_t i = 0; i < inputs.size(); ++i) images[i] = frame.in<float>(inputs[i]);
    plan.run_parts(images.data(), packed->data(), frame.out<float>(out), epilogue.bind(frame),
                   frame.out<void>(scratch));
  }
};

std::vector<kernels::ConvPart> conv_parts(const Lowering& lowering, const Node& node) {
  using Resize = kernels::ConvPart::Resize;
  std::vector<kernels::ConvPart> parts;
  for (size_t i = 0; i < node.parts.size(); ++i) {
    const ValueId image = node.part_input(i);
    kernels::ConvPart part;
    part.channels = static_cast<size_t>(node.parts[i].channels);
    part.pixel_stride = lowering.row_stride(image);
    if (const Node* resize = node.parts[i].resize.get()) {
      part.resize = resize->op == Op::kResizeNearest ? Resize::kNearest : Resize::kBilinear;
      part.align_corners = resize->as<ResizeAttributes>().align_corners;
      part.height = lowering.dim(image, 1);
      part.width = lowering.dim(image, 2);
    }
    parts.push_back(part);
  }
  return parts;
}

template <class S, class ConvolutionPlan>
S& add_convolution(Lowering& lowering, const Node& node, ConvolutionPlan plan, const std::string& name,
                   const std::string& packing) {
  const Filter filter = find_filter(lowering, node);
  auto& step = lowering.add<S>(node, name, std::move(plan));
  step.packed = lowering.pack(node.inputs[1], packing, step.plan.packed_bytes(),
                              [&](void* packed) { step.plan.pack(filter.weights, filter.bias, packed); });
  step.epilogue = Epilogue(lowering, node);
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.scratch = lowering.scratch(step.plan.workspace_bytes());
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

// More than this of weights passes through the last cache without staying there.
constexpr size_t kCachedWeightBytes = 32u << 20;

kernels::WeightsPlace weights_place(const Graph& graph) {
  size_t bytes = 0;
  for (const Value& value : graph.values) {
    if (value.is_constant()) bytes += value_bytes(value);
  }
  return bytes > kCachedWeightBytes ? kernels::WeightsPlace::kMemory : kernels::WeightsPlace::kCache;
}

std::string conv_packing(const kernels::ConvShape& s, kernels::ConvWeights format, const Filter& filter) {
  return concat("conv ", static_cast<int>(format), ' ', s.output_channels, 'x', s.kernel_height, 'x', s.kernel_width,
                'x', s.input_channels, '/', s.groups, " bias ", static_cast<const void*>(filter.bias));
}

const char* format_name(kernels::ConvWeights format) {
  switch (format) {
    case kernels::ConvWeights::kWinograd2:
      return "conv winograd 2";
    case kernels::ConvWeights::kWinograd3:
      return "conv winograd 3";
    case kernels::ConvWeights::kWinograd4:
      return "conv winograd 4";
    case kernels::ConvWeights::kWinogradHalf:
      return "conv winograd 2x4";
    default:
      return "conv";
  }
}

}  // namespace

kernels::ConvWeights conv_format(const Graph& graph, const Node& node, PlanContext& context) {
  const kernels::ConvShape s = conv_shape(graph, node);
  // The same filter may be used with other strides as well.
  if (!kernels::fits_winograd(s)) return kernels::ConvWeights::kGemm;
  const std::lock_guard<std::mutex> lock(context.mutex);
  const std::byte* filter = graph.values[node.inputs[1]].data;
  const auto known = context.conv_formats.find(filter);
  if (known != context.conv_formats.end()) return known->second;
  return context.conv_formats[filter] = kernels::choose_conv_weights(s, weights_place(graph));
}

void lower_conv(Lowering& lowering, const Node& node) {
  const kernels::ConvShape s = conv_shape(lowering, node);
  const Filter filter = find_filter(lowering, node);
  const kernels::ConvWeights format = conv_format(lowering.graph, node, lowering.context);
  const std::string packing = conv_packing(s, format, filter);
  if (node.parts.empty()) {
    add_convolution<ConvStep<kernels::ConvPlan>>(lowering, node, kernels::ConvPlan(s, format), format_name(format),
                                                 packing);
    return;
  }
  auto& step = add_convolution<PartsStep>(lowering, node, kernels::ConvPlan(s, format, conv_parts(lowering, node)),
                                          concat(format_name(format), " of parts"), packing);
  for (size_t part = 0; part < node.parts.size(); ++part) step.inputs.push_back(node.part_input(part));
}

PackedConv pack_conv(Lowering& lowering, const Node& node) {
  const kernels::ConvShape s = conv_shape(lowering, node);
  const Filter filter = find_filter(lowering, node);
  constexpr auto kFormat = kernels::ConvWeights::kGemm;
  PackedConv conv{kernels::ConvPlan(s, kFormat), nullptr, Epilogue(lowering, node)};
  conv.packed = lowering.pack(node.inputs[1], conv_packing(s, kFormat, filter), conv.plan.packed_bytes(),
                              [&](void* packed) { conv.plan.pack(filter.weights, filter.bias, packed); });
  return conv;
}

void lower_conv_transpose(Lowering& lowering, const Node& node) {
  const kernels::ConvTransposeShape s = conv_transpose_shape(lowering, node);
  add_convolution<ConvStep<kernels::ConvTransposePlan>>(
      lowering, node, kernels::ConvTransposePlan(s), "conv transpose",
      concat("conv transpose ", s.output_channels, 'x', s.kernel_height, 'x', s.kernel_width, 'x', s.input_channels,
             '/', s.groups, " stride ", s.stride_height, 'x', s.stride_width, " dilation ", s.dilation_height, 'x',
             s.dilation_width, " pad ", s.pad_top, 'x', s.pad_left, " bias ",
             static_cast<const void*>(find_filter(lowering, node).bias)));
}

std::shared_ptr<const AlignedBuffer> pack_depthwise(const Lowering& lowering, const Node& node,
                                                    const kernels::DepthwiseShape& s) {
  const Filter filter = find_filter(lowering, node);
  return lowering.pack(node.inputs[1],
                       concat("depthwise ", s.channels, 'x', s.multiplier, 'x', s.kernel_height, 'x', s.kernel_width,
                              " bias ", static_cast<const void*>(filter.bias)),
                       kernels::depthwise_packed_bytes(s), [&](void* packed) {
                         kernels::depthwise_pack(s, filter.weights, s.output_channels(), 1, filter.bias, packed);
                       });
}

PackedPointwise pack_pointwise(Lowering& lowering, const Node& node) {
  const Filter filter = find_filter(lowering, node);
  const Shape& shape = lowering.shape(node.inputs[1]);
  PackedPointwise pointwise;
  pointwise.n = static_cast<size_t>(shape[0]);
  pointwise.k = static_cast<size_t>(shape[3]);
  pointwise.a_stride = lowering.row_stride(node.inputs[0]);
  pointwise.packed = lowering.pack(
      node.inputs[1], concat("gemm 0 ", pointwise.n, 'x', pointwise.k, " bias ", static_cast<const void*>(filter.bias)),
      kernels::gemm_packed_bytes(pointwise.n, pointwise.k), [&](void* packed) {
        kernels::gemm_pack(kernels::WeightLayout::kOutputMajor, pointwise.n, pointwise.k, filter.weights, pointwise.k,
                           filter.bias, packed);
      });
  pointwise.epilogue = Epilogue(lowering, node);
  return pointwise;
}

void lower_depthwise(Lowering& lowering, const Node& node) {
  const kernels::DepthwiseShape s = depthwise_shape(lowering, node, node.inputs[0]);
  auto& step = lowering.add<DepthwiseStep>(node, "depthwise");
  step.geometry = s;
  step.packed = pack_depthwise(lowering, node, s);
  step.epilogue = Epilogue(lowering, node);
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  step.operations = convolution_operations(lowering, node);
}

}  // namespace enr::graph
