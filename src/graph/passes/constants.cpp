#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapped_pages.h"
#include "graph/passes.h"

namespace enr::graph {

namespace {

template <class T>
void dequantize(const Value& value, std::span<float> floats) {
  const auto* integers = reinterpret_cast<const T*>(value.data);
  const Quantization& q = value.quantization;
  const size_t channels = q.scales != nullptr ? q.scales->size() : 1;
  const auto inner =
      q.kind == Quantization::Kind::kPerBlock
          ? q.group_size
          : static_cast<size_t>(q.scales != nullptr ? value.shape.product(size_t{q.channel_dim} + 1, value.shape.rank())
                                                    : value.shape.numel());
  for (size_t i = 0; i < floats.size(); ++i) {
    const float scale = q.scales != nullptr ? (*q.scales)[i / inner % channels] : q.scale;
    const int32_t zero_point = q.scales != nullptr ? 0 : q.zero_point;
    floats[i] = scale * static_cast<float>(integers[i] - zero_point);
  }
}

std::string key(const Value& value) {
  const Quantization& q = value.quantization;
  std::string key = concat("dequantized ", static_cast<int>(value.dtype), ' ', value.shape.dims(), ' ', q.zero_point,
                           ' ', +q.channel_dim, ' ', q.group_size, ' ');
  const std::span<const float> scales =
      q.scales != nullptr ? std::span<const float>(*q.scales) : std::span(&q.scale, 1);
  return key.append(reinterpret_cast<const char*>(scales.data()), scales.size_bytes());
}

}  // namespace

bool is_quantized_constant(const Value& value) {
  return value.is_constant() && value.quantization.kind != Quantization::Kind::kNone &&
         (value.dtype == DType::kInt8 || value.dtype == DType::kUInt8 || value.dtype == DType::kInt32);
}

ValueId add_dequantized(Graph& graph, ValueId id) {
  const Value value = graph.values[id];
  const auto count = static_cast<size_t>(value.shape.numel());
  return graph.derive(DType::kFloat32, value.shape, value.data, key(value), [&](std::byte* data) {
    const std::span<float> floats(reinterpret_cast<float*>(data), count);
    if (value.dtype == DType::kInt8) dequantize<int8_t>(value, floats);
    if (value.dtype == DType::kUInt8) dequantize<uint8_t>(value, floats);
    if (value.dtype == DType::kInt32) dequantize<int32_t>(value, floats);
    release_pages(value.data, count * dtype_size(value.dtype));
  });
}

void dequantize_constants(Graph& graph) {
  std::vector<ValueId> floats_of(graph.values.size(), kNoValue);
  for (Node& node : graph.nodes) {
    if (node.op == Op::kConvert || !is_float(graph, node)) continue;
    for (ValueId& id : node.inputs) {
      if (id == kNoValue || !is_quantized_constant(graph.values[id])) continue;
      if (floats_of[id] == kNoValue) floats_of[id] = add_dequantized(graph, id);
      id = floats_of[id];
    }
  }
}

void merge_conversions(Graph& graph) {
  const auto writers = find_writers(graph);
  const auto has_one_scale = [](const Value& value) {
    return value.quantization.kind == Quantization::Kind::kPerTensor;
  };
  for (Node& node : graph.nodes) {
    const ValueId in = node.inputs[0];
    if (node.op != Op::kConvert || writers[in] == kNoValue || graph.values[in].dtype != DType::kFloat32) continue;
    const Node& writer = graph.nodes[writers[in]];
    const Value& out = graph.values[node.outputs[0]];
    if (writer.op != Op::kConvert || !has_one_scale(out)) continue;
    const Value& source = graph.values[writer.inputs[0]];
    if (source.is_constant() || !has_one_scale(source) || source.dtype != out.dtype) continue;
    node.inputs[0] = writer.inputs[0];
    if (same_quantization(source, out)) {
      node.op = Op::kCopy;
    } else {
      node = requantization(node.inputs[0], node.outputs[0], node.origin);
    }
  }
  remove_dead_nodes(graph);
}

}  // namespace enr::graph
