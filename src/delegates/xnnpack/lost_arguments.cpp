#include "delegates/xnnpack/lost_arguments.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace enr::delegates::xnnpack {

namespace {

// Quantised values that are read, but written by nobody, and the other way round.
struct LooseEnds {
  std::vector<uint32_t> sources, sinks;
};

LooseEnds find_loose_ends(const std::vector<Value>& values, const std::vector<Node>& nodes) {
  std::vector<bool> is_read(values.size()), is_written(values.size());
  for (const Node& node : nodes) {
    for (const uint32_t input : node.inputs) {
      if (input != kNone) is_read[input] = true;
    }
    for (const uint32_t output : node.outputs) is_written[output] = true;
  }
  LooseEnds ends;
  for (uint32_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    const bool is_quantised = value.type == DataType::kQInt8 || value.type == DataType::kQUInt8;
    if (!is_quantised || value.is_constant || value.is_external_input || value.is_external_output) continue;
    if (is_read[i] && !is_written[i]) ends.sources.push_back(i);
    if (is_written[i] && !is_read[i]) ends.sinks.push_back(i);
  }
  return ends;
}

uint32_t add_argument(std::vector<Value>& values, uint32_t like, uint32_t position, bool is_input) {
  Value value;
  value.type = DataType::kFloat32;
  value.dims = values[like].dims;
  value.external_id = position;
  value.is_external_input = is_input;
  value.is_external_output = !is_input;
  values.push_back(std::move(value));
  return static_cast<uint32_t>(values.size() - 1);
}

Node conversion(uint32_t from, uint32_t to) {
  Node node;
  node.type = NodeType::kConvert;
  node.inputs = {from};
  node.outputs = {to};
  return node;
}

struct Positions {
  std::vector<uint32_t> missing;
  uint32_t inputs_end = 0, outputs_begin = 0;  // of those that are there
};

Positions find_positions(uint32_t argument_count, const std::vector<Value>& values) {
  Positions positions;
  positions.outputs_begin = argument_count;
  std::vector<bool> is_given(argument_count);
  for (const Value& value : values) {
    if ((!value.is_external_input && !value.is_external_output) || value.external_id >= argument_count) continue;
    is_given[value.external_id] = true;
    if (value.is_external_input) {
      positions.inputs_end = std::max(positions.inputs_end, value.external_id + 1);
    } else {
      positions.outputs_begin = std::min(positions.outputs_begin, value.external_id);
    }
  }
  for (uint32_t i = 0; i < argument_count; ++i) {
    if (!is_given[i]) positions.missing.push_back(i);
  }
  return positions;
}

}  // namespace

LostConversions restore_lost_arguments(uint32_t argument_count, const std::vector<Node>& nodes,
                                       std::vector<Value>& values) {
  if (argument_count > kMaxArguments) return {};
  const auto [missing, inputs_end, outputs_begin] = find_positions(argument_count, values);
  if (missing.empty()) return {};
  const auto [sources, sinks] = find_loose_ends(values, nodes);
  const size_t inputs = sources.size();
  if (missing.size() != inputs + sinks.size()) return {};
  if (inputs > 0 && missing[inputs - 1] >= outputs_begin) return {};
  if (!sinks.empty() && missing[inputs] < inputs_end) return {};
  LostConversions lost;
  for (size_t i = 0; i < inputs; ++i) {
    lost.before.push_back(conversion(add_argument(values, sources[i], missing[i], true), sources[i]));
  }
  for (size_t i = 0; i < sinks.size(); ++i) {
    lost.after.push_back(conversion(sinks[i], add_argument(values, sinks[i], missing[inputs + i], false)));
  }
  return lost;
}

void restore_lost_graph(Payload& payload, std::span<const program::Tensor* const> arguments) {
  if (!payload.values.empty() || payload.argument_count == 0) return;
  const auto is_float = [](const program::Tensor* tensor) {
    return tensor != nullptr && (tensor->dtype == DType::kFloat32 || tensor->dtype == DType::kFloat16);
  };
  const bool passes_on = payload.argument_count == 2 && arguments.size() == 2 && is_float(arguments[0]) &&
                         arguments[0]->sizes.size() <= kMaxRank && is_float(arguments[1]) &&
                         arguments[0]->dtype == arguments[1]->dtype && arguments[0]->sizes == arguments[1]->sizes &&
                         arguments[0]->dim_order == arguments[1]->dim_order;
  if (!passes_on) {
    fail_load("num_externs: is ", payload.argument_count, ", the graph has no values", kLostArguments);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    Value value;
    value.type = arguments[i]->dtype == DType::kFloat32 ? DataType::kFloat32 : DataType::kFloat16;
    for (const uint8_t dim : arguments[i]->dim_order) value.dims.push_back(arguments[i]->sizes[dim]);
    if (value.dims.empty()) value.dims = {1};
    value.external_id = i;
    value.is_external_input = i == 0;
    value.is_external_output = i == 1;
    payload.values.push_back(std::move(value));
    payload.externals.push_back(i);
  }
  Node copy;
  copy.type = NodeType::kCopy;
  copy.inputs = {0};
  copy.outputs = {1};
  payload.nodes.push_back(std::move(copy));
}

}  // namespace enr::delegates::xnnpack
