#include <algorithm>
#include <utility>

#include "graph/passes.h"

namespace enr::graph {

void remove_dead_nodes(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (const ValueId id : graph.arguments) needed[id] = needed[id] || graph.values[id].is_output;
  std::vector<Node> kept;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return needed[id]; })) continue;
    for (const ValueId id : node.inputs) {
      if (id != kNoValue) needed[id] = true;
    }
    if (node.post.residual != kNoValue) needed[node.post.residual] = true;
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
}

bool is_float(const Graph& graph, const Node& node) {
  return graph.values[node.inputs[0]].dtype == DType::kFloat32 &&
         graph.values[node.outputs[0]].dtype == DType::kFloat32;
}

bool is_product(Op op) noexcept {
  return op == Op::kConv || op == Op::kDepthwise || op == Op::kConvTranspose || op == Op::kFullyConnected;
}

ValueId add_value_like(Graph& graph, ValueId like, ValueId of) {
  Value value;
  value.dtype = graph.values[like].dtype;
  value.quantization = graph.values[like].quantization;
  value.was_signed = graph.values[like].was_signed;
  value.shape = graph.values[of].shape;
  return graph.add_value(std::move(value));
}

Node conversion(ValueId from, ValueId to, uint32_t origin) {
  Node node;
  node.op = Op::kConvert;
  node.inputs = {from};
  node.outputs = {to};
  node.origin = origin;
  return node;
}

void remove_nodes(Graph& graph, const std::vector<bool>& gone) {
  size_t kept = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (gone[n]) continue;
    if (kept != n) graph.nodes[kept] = std::move(graph.nodes[n]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

void optimize(Graph& graph) {
  remove_dead_nodes(graph);
  widen_halves(graph);
  compute_mixtures_in_float(graph);
  dequantize_constants(graph);
  separate_requantization(graph);
  merge_conversions(graph);
  merge_transposes(graph);
  merge_padding(graph);
  fold_channel_constants(graph);
  merge_activations(graph);
  fuse_activations(graph);
  tabulate_levels(graph);
  merge_groups(graph);
  remove_dead_nodes(graph);
  store_levels_unsigned(graph);
}

}  // namespace enr::graph
