#include "graph/graph.h"

#include <utility>

#include "base/error.h"
#include "kernels/quantize/quantize.h"

namespace enr::graph {

const char* op_name(Op op) noexcept {
  switch (op) {
    case Op::kConv:
      return "convolution";
    case Op::kDepthwise:
      return "depthwise convolution";
    case Op::kConvTranspose:
      return "transposed convolution";
    case Op::kFullyConnected:
      return "fully connected";
    case Op::kBatchMatmul:
      return "batch matmul";
    case Op::kBinary:
      return "binary";
    case Op::kUnary:
      return "unary";
    case Op::kAveragePool:
      return "average pool";
    case Op::kMaxPool:
      return "max pool";
    case Op::kArgMaxPool:
      return "argmax pool";
    case Op::kGlobalAverage:
      return "global average";
    case Op::kReduce:
      return "reduce";
    case Op::kSoftmax:
      return "softmax";
    case Op::kLayerNorm:
      return "layer norm";
    case Op::kGroupNorm:
      return "group norm";
    case Op::kConcat:
      return "concatenate";
    case Op::kSlice:
      return "slice";
    case Op::kReshape:
      return "reshape";
    case Op::kTranspose:
      return "transpose";
    case Op::kPad:
      return "pad";
    case Op::kResizeBilinear:
      return "resize bilinear";
    case Op::kResizeNearest:
      return "resize nearest";
    case Op::kConvert:
      return "convert";
    case Op::kCopy:
      return "copy";
  }
  return "";
}

Value as_signed(Value value) {
  if (!value.was_signed) return value;
  value.dtype = DType::kInt8;
  value.quantization.zero_point -= kUnsignedOffset;
  value.was_signed = false;
  return value;
}

int32_t quantize_value(const Value& value, float real) noexcept {
  const kernels::Quantization quantization{value.quantization.scale, value.quantization.zero_point};
  if (value.was_signed) {
    const kernels::Quantization of_signed{quantization.scale, quantization.zero_point - kUnsignedOffset};
    return kernels::quantize_bound<int8_t>(real, of_signed) + kUnsignedOffset;
  }
  return value.dtype == DType::kUInt8 ? kernels::quantize_bound<uint8_t>(real, quantization)
                                      : kernels::quantize_bound<int8_t>(real, quantization);
}

bool is_per_tensor(const Value& value) noexcept {
  return (value.dtype == DType::kInt8 || value.dtype == DType::kUInt8) &&
         value.quantization.kind == Quantization::Kind::kPerTensor;
}

bool same_quantization(const Value& a, const Value& b) noexcept {
  return a.dtype == b.dtype && a.quantization.kind == b.quantization.kind &&
         a.quantization.scale == b.quantization.scale && a.quantization.zero_point == b.quantization.zero_point;
}

ValueId Graph::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Graph::add_constant(DType dtype, const Shape& shape, std::shared_ptr<const void> owner, const void* data) {
  Value value;
  value.dtype = dtype;
  value.shape = shape;
  value.data = static_cast<const std::byte*>(data);
  value.owner = std::move(owner);
  return add_value(std::move(value));
}

ValueId Graph::derive(DType dtype, const Shape& shape, const void* source, const std::string& how,
                      FunctionRef<void(std::byte*)> fill) {
  const auto make = [&] {
    AlignedBuffer buffer = AlignedBuffer::zeroed(static_cast<size_t>(shape.numel()) * dtype_size(dtype));
    fill(buffer.data());
    return buffer;
  };
  std::shared_ptr<const AlignedBuffer> owner;
  if (derived != nullptr) {
    owner = derived->get(source, concat(how, " as ", static_cast<int>(dtype), ' ', shape.dims()), make);
  } else {
    owner = std::make_shared<const AlignedBuffer>(make());
  }
  const std::byte* data = owner->data();
  return add_constant(dtype, shape, std::move(owner), data);
}

std::vector<std::vector<uint32_t>> find_readers(const Graph& graph) {
  std::vector<std::vector<uint32_t>> readers(graph.values.size());
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId input : graph.nodes[n].inputs) {
      if (input != kNoValue) readers[input].push_back(n);
    }
    if (graph.nodes[n].post.residual != kNoValue) readers[graph.nodes[n].post.residual].push_back(n);
  }
  return readers;
}

std::vector<uint32_t> find_writers(const Graph& graph) {
  std::vector<uint32_t> writers(graph.values.size(), kNoValue);
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId output : graph.nodes[n].outputs) writers[output] = n;
  }
  return writers;
}

}  // namespace enr::graph
