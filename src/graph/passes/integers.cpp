#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "graph/passes.h"
#include "kernels/qelementwise/qelementwise.h"

namespace enr::graph {

namespace {

constexpr size_t kMaxMovements = 8;  // in a row

using kernels::Unary;

bool is_dequantization(const Graph& graph, const Node& node) {
  const Value &in = graph.values[node.inputs[0]], &out = graph.values[node.outputs[0]];
  return node.op == Op::kConvert && is_per_tensor(in) && !in.is_constant() && out.dtype == DType::kFloat32;
}

bool is_quantization(const Graph& graph, const Node& node) {
  const Value &in = graph.values[node.inputs[0]], &out = graph.values[node.outputs[0]];
  return node.op == Op::kConvert && in.dtype == DType::kFloat32 && is_per_tensor(out);
}

bool is_movement(const Node& node) {
  return (node.op == Op::kReshape || node.op == Op::kTranspose || node.op == Op::kSlice) && node.post.is_empty();
}

bool is_plain_clamp(const Node& node) {
  return node.op == Op::kUnary && node.post.is_empty() && is_clamp(node.as<UnaryAttributes>());
}

// What is dequantised and then moved is moved first.
void sink_dequantizations(Graph& graph) {
  std::vector<ValueId> integers_of(graph.values.size(), kNoValue);
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    const ValueId in = node.inputs[0], out = node.outputs[0];
    if (is_movement(node) && integers_of[in] != kNoValue) {
      const ValueId moved = add_value_like(graph, integers_of[in], out);
      node.inputs[0] = integers_of[in];
      node.outputs[0] = moved;
      integers_of[out] = moved;
      const uint32_t origin = node.origin;
      nodes.push_back(std::move(node));
      nodes.push_back(conversion(moved, out, origin));
      continue;
    }
    if (is_dequantization(graph, node)) integers_of[out] = in;
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

// What is moved and then clamped or quantised is moved last.
bool raise_over_movement(Graph& graph) {
  const auto readers = find_readers(graph);
  const auto writers = find_writers(graph);
  bool changed = false;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    const ValueId in = node.inputs[0];
    if ((!is_quantization(graph, node) && !is_plain_clamp(node)) || in >= writers.size() || writers[in] == kNoValue ||
        readers[in].size() != 1 || graph.values[in].is_external() || !is_movement(graph.nodes[writers[in]])) {
      continue;
    }
    Node& movement = graph.nodes[writers[in]];
    const ValueId between = add_value_like(graph, node.outputs[0], movement.inputs[0]);
    std::swap(node.op, movement.op);
    std::swap(node.attributes, movement.attributes);
    node.inputs = {between};
    movement.outputs = {between};
    changed = true;
  }
  return changed;
}

class IntegerNodes {
 public:
  explicit IntegerNodes(Graph& g)
      : graph(g), readers(find_readers(g)), writers(find_writers(g)), gone(g.nodes.size(), false) {}

  void run() {
    for (size_t n = 0; n < gone.size(); ++n) {
      if (is_quantization(graph, graph.nodes[n])) match(static_cast<uint32_t>(n));
    }
    std::vector<Node> nodes;
    for (size_t n = 0; n < gone.size(); ++n) {
      for (auto& [before, node] : inserted) {
        if (before == n) nodes.push_back(std::move(node));
      }
      if (!gone[n]) nodes.push_back(std::move(graph.nodes[n]));
    }
    graph.nodes = std::move(nodes);
  }

 private:
  // The node that computes the value for one reader; kNoValue where there is none.
  uint32_t only_writer(ValueId id) const {
    return readers[id].size() == 1 && !graph.values[id].is_external() ? writers[id] : kNoValue;
  }

  ValueId integers_of(ValueId id) const {
    if (id == kNoValue || writers[id] == kNoValue) return kNoValue;
    const Node& writer = graph.nodes[writers[id]];
    return is_dequantization(graph, writer) ? writer.inputs[0] : kNoValue;
  }

  void match(uint32_t quantization) {
    const ValueId out = graph.nodes[quantization].outputs[0];
    std::vector<uint32_t> between{quantization};  // which the new node does too: clamps, the last in front
    uint32_t n = only_writer(graph.nodes[quantization].inputs[0]);
    while (n != kNoValue && is_plain_clamp(graph.nodes[n]) && integers_of(graph.nodes[n].inputs[0]) == kNoValue) {
      between.push_back(n);
      n = only_writer(graph.nodes[n].inputs[0]);
    }
    if (n == kNoValue) return;
    Node node = graph.nodes[n];
    if (!node.post.is_empty() || node.outputs.size() != 1 || gone[n]) return;
    node.outputs[0] = out;
    for (size_t i = between.size(); i-- > 1;) compose_clamp(node.post, graph.nodes[between[i]].as<UnaryAttributes>());
    if (!become_integer(node, n)) return;
    for (const uint32_t index : between) gone[index] = true;
    writers[out] = n;
    graph.nodes[n] = std::move(node);
  }

  bool become_integer(Node& node, uint32_t index) {
    switch (node.op) {
      case Op::kConv:
      case Op::kConvTranspose:
        return take_operand(node, 0) && take_weights(node, 0);
      case Op::kDepthwise:
        return take_operand(node, 0) && take_weights(node, 3);
      case Op::kFullyConnected:
        return take_operand(node, 0) && take_weights(node, node.as<MatmulAttributes>().transposed ? 1 : 0);
      case Op::kBinary:
        return take_operand(node, 0) && take_operand(node, 1) && has_integer_binary(graph, node);
      case Op::kUnary:
        return take_operand(node, 0) && become_table(node);
      case Op::kAveragePool:
      case Op::kGlobalAverage:
        return take_operand(node, 0);
      case Op::kMaxPool:
        return take_operand(node, 0) && same_quantization(graph.values[node.inputs[0]], graph.values[node.outputs[0]]);
      case Op::kConcat:
        return node.post.is_empty() && take_parts(node, index);
      default:
        return false;
    }
  }

  bool become_table(Node& node) const {
    auto& unary = node.as<UnaryAttributes>();
    if (unary.op == Unary::kLeakyRelu) return false;  // XNNPACK's rule has a slope of 8 bits
    if (is_clamp(unary) && !same_quantization(graph.values[node.inputs[0]], graph.values[node.outputs[0]])) {
      Post clamp;
      compose_clamp(clamp, unary);
      compose_clamp(clamp, {Unary::kClamp, {node.post.min, node.post.max}});
      node.post = clamp;
      unary = {Unary::kScale, {1.0}};
    }
    return true;
  }

  bool take_operand(Node& node, size_t i) const {
    const ValueId integers = integers_of(node.inputs[i]);
    if (integers == kNoValue || graph.values[integers].dtype != graph.values[node.outputs[0]].dtype) return false;
    node.inputs[i] = integers;
    return true;
  }

  // Parts of other scales take those of the result, rounded as the two conversions do.
  bool take_parts(Node& node, uint32_t index) {
    const ValueId out = node.outputs[0];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!take_operand(node, i)) return false;
    }
    for (ValueId& part : node.inputs) {
      if (same_quantization(graph.values[part], graph.values[out])) continue;
      const ValueId rescaled = add_value_like(graph, out, part);
      inserted.emplace_back(index, requantization(part, rescaled, node.origin));
      part = rescaled;
    }
    return true;
  }

  // Products of bytes whose sums fit into 32 bits, and the bias too.
  bool take_weights(const Node& node, size_t channel_dim) const {
    const Value& filter = graph.values[node.inputs[1]];
    const Quantization& q = filter.quantization;
    const bool per_tensor = is_per_tensor(filter) && (filter.dtype == DType::kUInt8 || q.zero_point == 0);
    const bool per_channel =
        filter.dtype == DType::kInt8 && q.kind == Quantization::Kind::kPerChannel && q.channel_dim == channel_dim;
    if (filter.shape.numel() == 0) return false;
    const int64_t products = filter.shape.numel() / filter.shape[channel_dim];
    constexpr int64_t kMaxProducts = (int64_t{1} << 30) / (255 * 255);
    if (!filter.is_constant() || (!per_tensor && !per_channel) || products > kMaxProducts) return false;
    const float in_scale = graph.values[node.inputs[0]].quantization.scale;
    const float out_scale = graph.values[node.outputs[0]].quantization.scale;
    std::vector<float> scales = per_channel ? *q.scales : std::vector<float>{q.scale};
    for (float& scale : scales) {
      const float ratio = kernels::requantization_scale(in_scale, scale, out_scale);
      if (!(ratio >= 0x1p-32f && ratio < 0x1p8f)) return false;  // XNNPACK's limits
      scale *= in_scale;
    }
    return node.inputs.size() < 3 || node.inputs[2] == kNoValue || fits(graph.values[node.inputs[2]], scales);
  }

  // Whether a bias has some 30 bits of the products' quanta.
  static bool fits(const Value& bias, const std::vector<float>& quanta) {
    if (!bias.is_constant() || bias.dtype != DType::kFloat32) return false;
    const auto* reals = reinterpret_cast<const float*>(bias.data);
    for (size_t c = 0; c < static_cast<size_t>(bias.shape.numel()); ++c) {
      if (!(std::abs(reals[c] / quanta[quanta.size() == 1 ? 0 : c]) < 0x1p30f)) return false;
    }
    return true;
  }

  Graph& graph;
  std::vector<std::vector<uint32_t>> readers;
  std::vector<uint32_t> writers;
  std::vector<bool> gone;
  std::vector<std::pair<uint32_t, Node>> inserted;  // before the node of this index
};

}  // namespace

void compute_in_integers(Graph& graph) {
  convert_rows(graph);
  multiply_levels(graph);
  const auto converts = [&](const Node& node) { return is_dequantization(graph, node); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), converts)) return;
  sink_dequantizations(graph);
  remove_dead_nodes(graph);
  for (size_t i = 0; i < kMaxMovements && raise_over_movement(graph); ++i) {
  }
  IntegerNodes(graph).run();
  remove_dead_nodes(graph);
}

}  // namespace enr::graph
