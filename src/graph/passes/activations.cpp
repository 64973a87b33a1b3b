#include <algorithm>
#include <cmath>

#include "graph/passes.h"

namespace enr::graph {

namespace {

using kernels::Binary;
using kernels::Unary;

const UnaryAttributes* as_unary(const Node& node, Unary op) {
  const auto* unary = std::get_if<UnaryAttributes>(&node.attributes);
  return node.op == Op::kUnary && unary->op == op && node.post.is_empty() ? unary : nullptr;
}

// Nodes whose lowering does a post, in their kernel or tile by tile behind it.
bool takes_activation(Op op) {
  switch (op) {
    case Op::kConv:
    case Op::kDepthwise:
    case Op::kConvTranspose:
    case Op::kFullyConnected:
    case Op::kBinary:
    case Op::kUnary:
      return true;
    default:
      return false;
  }
}

bool takes_clamp(Op op) {
  return takes_activation(op) || op == Op::kBatchMatmul || op == Op::kAveragePool || op == Op::kMaxPool ||
         op == Op::kGlobalAverage;
}

bool is_quantized_clamp(const Graph& graph, const Node& node) {
  const Value &in = graph.values[node.inputs[0]], &out = graph.values[node.outputs[0]];
  return is_clamp(node.as<UnaryAttributes>()) && in.dtype == out.dtype &&
         in.quantization.kind == Quantization::Kind::kPerTensor &&
         out.quantization.kind == Quantization::Kind::kPerTensor;
}

// Whether the writer of a quantised operand may clamp it: to other parameters only where it has the numbers before they
// are rounded, and rounds them once, as XNNPACK does.
bool takes_quantized_clamp(const Graph& graph, const Node& writer, const Node& clamp) {
  if (same_quantization(graph.values[clamp.inputs[0]], graph.values[clamp.outputs[0]])) return true;
  return is_product(writer.op) || writer.op == Op::kAveragePool ||
         (writer.op == Op::kUnary && is_clamp(writer.as<UnaryAttributes>()));
}

}  // namespace

bool is_clamp(const UnaryAttributes& unary) { return unary.op == Unary::kClamp || unary.op == Unary::kRelu; }

void compose_clamp(Post& post, const UnaryAttributes& clamp) {
  const float low = clamp.op == Unary::kRelu ? 0.0f : static_cast<float>(clamp.params.a);
  const float high =
      clamp.op == Unary::kRelu ? std::numeric_limits<float>::infinity() : static_cast<float>(clamp.params.b);
  post.min = std::min(std::max(post.min, low), high);
  post.max = std::min(std::max(post.max, low), high);
}

void merge_activations(Graph& graph) {
  const auto readers = find_readers(graph);
  const auto writers = find_writers(graph);
  for (Node& node : graph.nodes) {
    if (node.op != Op::kBinary || node.as<BinaryAttributes>().op != Binary::kMul || !is_float(graph, node)) continue;
    for (size_t side = 0; side < 2; ++side) {
      const ValueId gate = node.inputs[side], x = node.inputs[1 - side];
      if (writers[gate] == kNoValue || gate == x || readers[gate].size() != 1 || graph.values[gate].is_external())
        continue;
      const Node& writer = graph.nodes[writers[gate]];
      if (as_unary(writer, Unary::kSigmoid) == nullptr || writer.inputs[0] != x) continue;
      node.op = Op::kUnary;
      node.attributes = UnaryAttributes{Unary::kSilu, {}};
      node.inputs = {x};
      break;
    }
  }
  remove_dead_nodes(graph);
}

void fuse_activations(Graph& graph) {
  const auto readers = find_readers(graph);
  auto writers = find_writers(graph);
  std::vector<bool> gone(graph.nodes.size(), false);
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (node.op != Op::kUnary || !node.post.is_empty()) continue;
    if (!is_float(graph, node) && !is_quantized_clamp(graph, node)) continue;
    const ValueId in = node.inputs[0];
    if (writers[in] == kNoValue || readers[in].size() != 1 || graph.values[in].is_external()) continue;
    Node& writer = graph.nodes[writers[in]];
    const auto& unary = node.as<UnaryAttributes>();
    if (writer.post.activation) continue;
    if (!is_float(graph, node) && !takes_quantized_clamp(graph, writer, node)) continue;
    if (is_clamp(unary) && takes_clamp(writer.op)) {
      compose_clamp(writer.post, unary);
    } else if (takes_activation(writer.op) && is_float(graph, node)) {
      writer.post.activation = unary;
    } else {
      continue;
    }
    writer.outputs[0] = node.outputs[0];
    writers[node.outputs[0]] = writers[in];
    gone[n] = true;
  }
  size_t kept = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (gone[n]) continue;
    if (kept != n) graph.nodes[kept] = std::move(graph.nodes[n]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

}  // namespace enr::graph
