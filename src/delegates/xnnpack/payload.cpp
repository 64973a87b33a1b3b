#include "delegates/xnnpack/payload.h"

#include <algorithm>

#include "base/error.h"
#include "delegates/xnnpack/lost_arguments.h"
#include "delegates/xnnpack/payload_constants.h"
#include "delegates/xnnpack/payload_nodes.h"
#include "delegates/xnnpack/payload_values.h"

namespace enr::delegates::xnnpack {

namespace {

using flatbuffer::for_each_table;
using flatbuffer::Table;

std::vector<uint32_t> collect_externals(uint32_t declared, const std::vector<Value>& values) {
  std::vector<uint32_t> externals;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (values[i].is_external_input || values[i].is_external_output) externals.push_back(i);
  }
  if (declared > kMaxArguments || declared < externals.size()) {
    fail_load("num_externs: is ", declared, ", the graph has ", externals.size(), " external values (", kMaxArguments,
              " at most)");
  }
  std::sort(externals.begin(), externals.end(),
            [&](uint32_t a, uint32_t b) { return values[a].external_id < values[b].external_id; });
  for (uint32_t i = 0; i < externals.size(); ++i) {
    const Value& value = values[externals[i]];
    const Value* before = i == 0 ? nullptr : &values[externals[i - 1]];
    if (value.external_id >= declared || (before != nullptr && before->external_id == value.external_id)) {
      fail_load("xvalues[", externals[i], "].external_id: is ", value.external_id, ", expected 0 to ", declared - 1,
                ", each at most once");
    }
    if (before == nullptr || !before->is_external_output) continue;
    if (value.is_external_input) {
      fail_load("xvalues[", externals[i], "].external_id: is ", value.external_id, " for an input, behind that of an",
                " output");
    }
    if (before->external_id + 1 != value.external_id) {
      fail_load("xvalues[", externals[i], "].external_id: is ", value.external_id, ", expected output ",
                before->external_id + 1, kLostArguments);
    }
  }
  if (!externals.empty() && values[externals.back()].external_id + 1 != declared) {
    fail_load("num_externs: is ", declared, ", the last of the graph's external values is ",
              values[externals.back()].external_id, kLostArguments);
  }
  return externals;
}

// Graphs of the first format mark inputs to be quantised at run time; later ones have a node that says so.
void quantise_inputs(DecodedValues& decoded, Payload& payload) {
  for (const uint32_t input : decoded.to_quantise) {
    Value quantised;
    quantised.type = DataType::kQDInt8;
    quantised.dims = decoded.values[input].dims;
    quantised.num_nonbatch_dims = 1;
    const auto index = static_cast<uint32_t>(decoded.values.size());
    decoded.values.push_back(std::move(quantised));
    for (auto& [id, target] : decoded.index_of_id) {
      if (target == input) target = index;
    }
    Node convert;
    convert.type = NodeType::kConvert;
    convert.inputs = {input};
    convert.outputs = {index};
    payload.nodes.push_back(std::move(convert));
  }
}

// Each value is written once, before it is read.
class WriteOrder {
 public:
  explicit WriteOrder(const std::vector<Value>& values) : values_(values), is_ready_(values.size()) {
    for (size_t i = 0; i < values.size(); ++i) is_ready_[i] = values[i].is_constant || values[i].is_external_input;
  }

  void visit(const Node& node) {
    for (const uint32_t input : node.inputs) {
      if (input != kNone && !is_ready_[input]) {
        fail_load(node_type_name(node.type), ".inputs: value ", input, " is read before a node has written it");
      }
    }
    for (const uint32_t output : node.outputs) {
      if (is_ready_[output]) {
        fail_load(node_type_name(node.type), ".outputs: value ", output, " is an input, a constant or written already");
      }
      is_ready_[output] = true;
    }
  }

  void finish() const {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].is_external_output && !is_ready_[i]) {
        fail_load("xvalues[", i, "].flags: an external output that no node writes");
      }
    }
  }

 private:
  const std::vector<Value>& values_;
  std::vector<bool> is_ready_;
};

Payload decode(Bytes bytes, FindNamedData find_named) {
  const PayloadParts parts = split_payload(bytes);
  const flatbuffer::Buffer buffer(parts.flatbuffer, "graph");
  const Table graph = buffer.root();
  Constants constants(graph, parts, find_named);
  DecodedValues decoded = decode_values(graph, constants);
  Payload payload;
  payload.argument_count = graph.scalar<uint32_t>({3, "num_externs"});
  quantise_inputs(decoded, payload);
  std::vector<Node> nodes;
  for_each_table(graph, {1, "xnodes"},
                 [&](const Table& entry, size_t) { nodes.push_back(decode_node(entry, decoded)); });
  const LostConversions lost = restore_lost_arguments(payload.argument_count, nodes, decoded.values);
  payload.externals = collect_externals(payload.argument_count, decoded.values);
  payload.nodes.insert(payload.nodes.end(), lost.before.begin(), lost.before.end());
  WriteOrder order(decoded.values);
  for (const Node& node : payload.nodes) order.visit(node);
  for (size_t i = 0; i < nodes.size(); ++i) {
    flatbuffer::in_field(concat("xnodes[", i, "]"), [&] { order.visit(nodes[i]); });
    payload.nodes.push_back(std::move(nodes[i]));
  }
  for (const Node& node : lost.after) {
    order.visit(node);
    payload.nodes.push_back(node);
  }
  order.finish();
  payload.values = std::move(decoded.values);
  payload.keep_alive = constants.keep_alive();
  return payload;
}

}  // namespace

const char* data_type_name(DataType type) noexcept {
  switch (type) {
    case DataType::kFloat32:
      return "fp32";
    case DataType::kFloat16:
      return "fp16";
    case DataType::kQInt8:
      return "qint8";
    case DataType::kQUInt8:
      return "quint8";
    case DataType::kQInt32:
      return "qint32";
    case DataType::kQCInt8:
      return "qcint8";
    case DataType::kQCInt32:
      return "qcint32";
    case DataType::kQCInt4:
      return "qcint4";
    case DataType::kQDInt8:
      return "qdint8";
    case DataType::kQBInt4:
      return "qbint4";
    case DataType::kInt32:
      return "int32";
    case DataType::kBFloat16:
      return "bf16";
  }
  return "unknown datatype";
}

const char* node_type_name(NodeType type) noexcept {
  static constexpr const char* kNames[] = {"none",
                                           "Add",
                                           "FullyConnected",
                                           "Softmax",
                                           "Sigmoid",
                                           "StaticTranspose",
                                           "Clamp",
                                           "Conv2d",
                                           "Div",
                                           "StaticResizeBilinear2D",
                                           "StaticConstantPad",
                                           "AvgPooling2d",
                                           "Minimum",
                                           "DepthwiseConv2d",
                                           "MaxPooling2d",
                                           "Multiply",
                                           "Subtract",
                                           "Floor",
                                           "Convert",
                                           "GlobalAvgPooling2d",
                                           "StaticReshape",
                                           "ArgMaxPooling2d",
                                           "SquareRoot",
                                           "Ceiling",
                                           "Hardswish",
                                           "LeakyReLU",
                                           "Maximum",
                                           "Negate",
                                           "Square",
                                           "ELU",
                                           "Abs",
                                           "PReLU",
                                           "Concatenate",
                                           "Concatenate3",
                                           "Concatenate4",
                                           "StaticSlice",
                                           "ScaledDotProductAttention",
                                           "BatchMatrixMultiply",
                                           "Concatenate5",
                                           "ConvTranspose2d",
                                           "ReciprocalSquareRoot",
                                           "Log",
                                           "Gelu",
                                           "Tanh",
                                           "Exp",
                                           "Sin",
                                           "Copy",
                                           "Cos"};
  static_assert(std::size(kNames) == static_cast<size_t>(NodeType::kCos) + 1);
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown node";
}

Payload decode_payload(Bytes payload, FindNamedData find_named, std::string_view where) {
  if (where.empty()) return decode(payload, find_named);
  return flatbuffer::in_field(where, [&] { return decode(payload, find_named); });
}

}  // namespace enr::delegates::xnnpack
