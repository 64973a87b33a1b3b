#include "graph/passes.h"

namespace enr::graph {

namespace {

// Products with weights that are computed have no epilogue.
bool has_constant_weights(const Graph& graph, const Node& node) {
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
  return graph.values[node.inputs[1]].is_constant() && (bias == kNoValue || graph.values[bias].is_constant());
}

bool takes_residual(const Graph& graph, const Node& node) {
  return is_product(node.op) && node.post.is_empty() && is_float(graph, node) &&
         is_floating(graph.values[node.inputs[1]].dtype) && has_constant_weights(graph, node);
}

}  // namespace

void fuse_residuals(Graph& graph) {
  const auto readers = find_readers(graph);
  const auto writers = find_writers(graph);
  std::vector<bool> gone(graph.nodes.size(), false);
  for (Node& node : graph.nodes) {
    if (node.op != Op::kBinary || node.as<BinaryAttributes>().op != kernels::Binary::kAdd || !is_float(graph, node))
      continue;
    if (!(graph.values[node.inputs[0]].shape == graph.values[node.inputs[1]].shape)) continue;
    // Where both operands come from convolutions, the later one takes the other in.
    ValueId host = kNoValue, other = kNoValue;
    for (size_t side = 0; side < 2; ++side) {
      const ValueId candidate = node.inputs[side];
      const uint32_t writer = writers[candidate];
      if (writer == kNoValue || readers[candidate].size() != 1 || graph.values[candidate].is_external() ||
          gone[writer] || !takes_residual(graph, graph.nodes[writer])) {
        continue;
      }
      if (host != kNoValue && writer < writers[host]) continue;
      host = candidate;
      other = node.inputs[1 - side];
    }
    if (host == kNoValue) continue;
    // The convolution moves to the addition's place, where both its inputs and the other operand are known.
    Node& writer = graph.nodes[writers[host]];
    gone[writers[host]] = true;
    const Post post = node.post;
    const ValueId out = node.outputs[0];
    node = writer;
    node.post = post;
    node.post.residual = other;
    node.outputs[0] = out;
  }
  remove_nodes(graph, gone);
}

}  // namespace enr::graph
