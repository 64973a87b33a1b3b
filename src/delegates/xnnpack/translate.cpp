#include "delegates/xnnpack/translate.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "delegates/xnnpack/attention.h"

namespace enr::delegates::xnnpack {

namespace {

using graph::Op;
using kernels::Binary;
using kernels::Unary;
using Encoding = graph::Quantization::Kind;

DType storage_type(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return DType::kFloat32;
    case DataType::kFloat16:
      return DType::kFloat16;
    case DataType::kBFloat16:
      return DType::kBFloat16;
    case DataType::kQInt8:
    case DataType::kQCInt8:
    case DataType::kQDInt8:
      return DType::kInt8;
    case DataType::kQUInt8:
      return DType::kUInt8;
    case DataType::kQInt32:
    case DataType::kQCInt32:
    case DataType::kInt32:
      return DType::kInt32;
    case DataType::kQCInt4:
    case DataType::kQBInt4:
      return DType::kQUInt4x2;
  }
  return DType::kFloat32;
}

Encoding encoding(DataType type) {
  switch (type) {
    case DataType::kQInt8:
    case DataType::kQUInt8:
    case DataType::kQInt32:
      return Encoding::kPerTensor;
    case DataType::kQCInt8:
    case DataType::kQCInt32:
    case DataType::kQCInt4:
      return Encoding::kPerChannel;
    case DataType::kQBInt4:
      return Encoding::kPerBlock;
    case DataType::kQDInt8:
      return Encoding::kPerRow;
    default:
      return Encoding::kNone;
  }
}

graph::Value translate_value(const Value& from) {
  graph::Value to;
  to.dtype = storage_type(from.type);
  to.shape = graph::Shape(from.dims);
  to.quantization.kind = encoding(from.type);
  to.quantization.scale = from.scale;
  to.quantization.zero_point = from.zero_point;
  to.quantization.channel_dim = static_cast<uint8_t>(from.channel_dim);
  to.quantization.group_size = from.group_size;
  to.quantization.nonbatch_dims = static_cast<uint8_t>(from.num_nonbatch_dims);
  if (!from.scales.empty()) to.quantization.scales = std::make_shared<const std::vector<float>>(from.scales);
  if (from.is_constant) {
    static constexpr std::byte kEmpty{};  // constants of no elements need an address too
    to.data = from.data.empty() ? &kEmpty : from.data.data();
  }
  to.is_input = from.is_external_input;
  to.is_output = from.is_external_output;
  return to;
}

std::optional<Unary> unary_of(NodeType type) {
  switch (type) {
    case NodeType::kSigmoid:
      return Unary::kSigmoid;
    case NodeType::kClamp:
      return Unary::kClamp;
    case NodeType::kFloor:
      return Unary::kFloor;
    case NodeType::kSquareRoot:
      return Unary::kSqrt;
    case NodeType::kCeiling:
      return Unary::kCeil;
    case NodeType::kHardswish:
      return Unary::kHardSwish;
    case NodeType::kLeakyRelu:
      return Unary::kLeakyRelu;
    case NodeType::kNegate:
      return Unary::kNeg;
    case NodeType::kSquare:
      return Unary::kSquare;
    case NodeType::kElu:
      return Unary::kElu;
    case NodeType::kAbs:
      return Unary::kAbs;
    case NodeType::kReciprocalSquareRoot:
      return Unary::kRsqrt;
    case NodeType::kLog:
      return Unary::kLog;
    case NodeType::kGelu:
      return Unary::kGelu;
    case NodeType::kTanh:
      return Unary::kTanh;
    case NodeType::kExp:
      return Unary::kExp;
    case NodeType::kSin:
      return Unary::kSin;
    case NodeType::kCos:
      return Unary::kCos;
    default:
      return std::nullopt;
  }
}

std::optional<Binary> binary_of(NodeType type) {
  switch (type) {
    case NodeType::kAdd:
      return Binary::kAdd;
    case NodeType::kSubtract:
      return Binary::kSub;
    case NodeType::kMultiply:
      return Binary::kMul;
    case NodeType::kDivide:
      return Binary::kDiv;
    case NodeType::kMinimum:
      return Binary::kMinimum;
    case NodeType::kMaximum:
      return Binary::kMaximum;
    case NodeType::kPRelu:
      return Binary::kPrelu;
    default:
      return std::nullopt;
  }
}

graph::UnaryAttributes unary_attributes(const Node& from, Unary op) {
  graph::UnaryAttributes unary{op, {}};
  if (op == Unary::kClamp) {
    unary.params.a = from.output_min;
    unary.params.b = from.output_max;
  } else if (op == Unary::kElu) {
    unary.params.a = from.value;
    unary.params.b = 1.0;
  } else {
    unary.params.a = from.value;
  }
  return unary;
}

graph::WindowAttributes window_attributes(const Node& from) {
  const Window& w = from.window;
  graph::WindowAttributes to;
  to.kernel_height = w.kernel_height;
  to.kernel_width = w.kernel_width;
  to.stride_height = w.stride_height;
  to.stride_width = w.stride_width;
  // Average pooling is written with a dilation of 0.
  to.dilation_height = std::max<uint32_t>(w.dilation_height, 1);
  to.dilation_width = std::max<uint32_t>(w.dilation_width, 1);
  to.pad_top = w.pad_top;
  to.pad_left = w.pad_left;
  to.pad_bottom = w.pad_bottom;
  to.pad_right = w.pad_right;
  to.groups = from.groups;
  to.adjustment_height = from.adjustment_height;
  to.adjustment_width = from.adjustment_width;
  return to;
}

graph::ReshapeAttributes reshape_attributes(const Node& from) {
  graph::ReshapeAttributes reshape{graph::Shape(from.new_shape), std::nullopt};
  for (uint32_t d = 0; d < from.new_shape.size(); ++d) {
    if (from.new_shape[d] == 0) reshape.inferred = d;
  }
  return reshape;
}

uint32_t resolve_axis(const Payload& payload, const Node& from) {
  const auto rank = static_cast<int32_t>(payload.values[from.inputs[0]].dims.size());
  return static_cast<uint32_t>(from.axis < 0 ? from.axis + rank : from.axis);
}

void set_operation(const Payload& payload, const Node& from, graph::Node& to) {
  if (const auto unary = unary_of(from.type)) {
    to.op = Op::kUnary;
    to.attributes = unary_attributes(from, *unary);
    return;
  }
  if (const auto binary = binary_of(from.type)) {
    to.op = Op::kBinary;
    to.attributes = graph::BinaryAttributes{*binary};
    return;
  }
  switch (from.type) {
    case NodeType::kFullyConnected:
      to.op = Op::kFullyConnected;
      to.attributes = graph::MatmulAttributes{(from.flags & kFlagTransposeWeights) != 0};
      return;
    case NodeType::kBatchMatrixMultiply:
      to.op = Op::kBatchMatmul;
      to.attributes = graph::MatmulAttributes{(from.flags & kFlagTransposeWeights) != 0};
      return;
    case NodeType::kConv2d:
      to.op = Op::kConv;
      break;
    case NodeType::kDepthwiseConv2d:
      to.op = Op::kDepthwise;
      break;
    case NodeType::kConvTranspose2d:
      to.op = Op::kConvTranspose;
      break;
    case NodeType::kAveragePooling2d:
      to.op = Op::kAveragePool;
      break;
    case NodeType::kMaxPooling2d:
      to.op = Op::kMaxPool;
      break;
    case NodeType::kArgMaxPooling2d:
      to.op = Op::kArgMaxPool;
      break;
    case NodeType::kGlobalAveragePooling2d:
      to.op = Op::kGlobalAverage;
      to.attributes = graph::GlobalAverageAttributes{(from.flags & kFlagKeepDims) != 0};
      return;
    case NodeType::kSoftmax:
      to.op = Op::kSoftmax;
      to.attributes = graph::SoftmaxAttributes{};
      return;
    case NodeType::kStaticTranspose:
      to.op = Op::kTranspose;
      to.attributes =
          graph::TransposeAttributes{graph::Shape(std::vector<int64_t>(from.perm.begin(), from.perm.end()))};
      return;
    case NodeType::kStaticReshape:
      to.op = Op::kReshape;
      to.attributes = reshape_attributes(from);
      return;
    case NodeType::kStaticSlice:
      to.op = Op::kSlice;
      to.attributes = graph::SliceAttributes{graph::Shape(from.offsets), graph::Shape(from.sizes)};
      return;
    case NodeType::kConstantPad:
      to.op = Op::kPad;
      to.attributes = graph::PadAttributes{graph::Shape(from.pre_pad), graph::Shape(from.post_pad), from.value};
      return;
    case NodeType::kConcatenate2:
      to.op = Op::kConcat;
      to.attributes = graph::ConcatAttributes{resolve_axis(payload, from)};
      return;
    case NodeType::kResizeBilinear2d:
      to.op = Op::kResizeBilinear;
      to.attributes = graph::ResizeAttributes{from.new_height, from.new_width, (from.flags & kFlagAlignCorners) != 0};
      return;
    case NodeType::kConvert:
      to.op = Op::kConvert;
      return;
    case NodeType::kCopy:
      to.op = Op::kCopy;
      return;
    default:
      fail_load("no computation for ", node_type_name(from.type));
  }
  to.attributes = window_attributes(from);
}

// Elsewhere the format has the field, but nothing reads it.
bool honours_output_range(NodeType type) {
  switch (type) {
    case NodeType::kAdd:
    case NodeType::kSubtract:
    case NodeType::kMultiply:
    case NodeType::kDivide:
    case NodeType::kFullyConnected:
    case NodeType::kConv2d:
    case NodeType::kDepthwiseConv2d:
    case NodeType::kConvTranspose2d:
    case NodeType::kAveragePooling2d:
    case NodeType::kMaxPooling2d:
    case NodeType::kGlobalAveragePooling2d:
      return true;
    default:
      return false;
  }
}

bool is_convolution(NodeType type) {
  return type == NodeType::kConv2d || type == NodeType::kDepthwiseConv2d || type == NodeType::kConvTranspose2d;
}

// A bias that is computed is added behind the convolution, whose own is packed with its filter.
void add_computed_bias(const Node& from, graph::Node& convolution, graph::Graph& to) {
  const graph::Value& result = to.values[from.outputs[0]];
  graph::Value sum;
  sum.dtype = result.dtype;
  sum.shape = result.shape;
  graph::Node addition;
  addition.op = Op::kBinary;
  addition.attributes = graph::BinaryAttributes{Binary::kAdd};
  addition.origin = convolution.origin;
  addition.post = std::exchange(convolution.post, {});
  addition.outputs = convolution.outputs;
  convolution.outputs = {to.add_value(std::move(sum))};
  addition.inputs = {convolution.outputs[0], std::exchange(convolution.inputs[2], graph::kNoValue)};
  to.nodes.push_back(std::move(convolution));
  to.nodes.push_back(std::move(addition));
}

}  // namespace

graph::Graph translate(const Payload& payload) {
  graph::Graph to;
  for (const Value& value : payload.values) to.values.push_back(translate_value(value));
  for (uint32_t i = 0; i < payload.externals.size(); ++i) {
    to.values[payload.externals[i]].argument = i;
    to.arguments.push_back(payload.externals[i]);
  }
  for (uint32_t n = 0; n < payload.nodes.size(); ++n) {
    const Node& from = payload.nodes[n];
    if (from.type == NodeType::kScaledDotProductAttention) {
      const bool one_head = payload.values[from.inputs[1]].dims.size() < payload.values[from.inputs[0]].dims.size();
      translate_attention(from, n, one_head, to);
      continue;
    }
    graph::Node node;
    node.origin = n;
    node.inputs.assign(from.inputs.begin(), from.inputs.end());
    node.outputs.assign(from.outputs.begin(), from.outputs.end());
    try {
      set_operation(payload, from, node);
    } catch (const Error& error) {
      fail_load("node ", n, ": ", error.what());
    }
    if (honours_output_range(from.type)) {
      node.post.min = from.output_min;
      node.post.max = from.output_max;
    }
    if (is_convolution(from.type) && from.inputs[2] != kNone && !payload.values[from.inputs[2]].is_constant) {
      add_computed_bias(from, node, to);
    } else {
      to.nodes.push_back(std::move(node));
    }
  }
  return to;
}

}  // namespace enr::delegates::xnnpack
