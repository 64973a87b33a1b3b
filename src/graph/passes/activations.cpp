#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

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

namespace {

// Activations that exporters take apart: each node looks for the others behind its operands.
class Patterns {
 public:
  explicit Patterns(Graph& g) : graph(g), readers(find_readers(g)), writers(find_writers(g)) {}

  void match(Node& node) const {
    if (node.op != Op::kBinary || !node.post.is_empty() || !is_float(graph, node)) return;
    const Binary op = node.as<BinaryAttributes>().op;
    const auto become = [&](Unary function, ValueId x) {
      if (!(graph.values[x].shape == graph.values[node.outputs[0]].shape)) return false;
      node.op = Op::kUnary;
      node.attributes = UnaryAttributes{function, {}};
      node.inputs = {x};
      return true;
    };
    for (size_t side = 0; side < 2; ++side) {
      const ValueId a = node.inputs[side], b = node.inputs[1 - side];
      if (op == Binary::kMul) {
        if (is_function_of(a, Unary::kSigmoid, b) && become(Unary::kSilu, b)) return;
        if (is_function_of(a, Unary::kHardSigmoid, b) && become(Unary::kHardSwish, b)) return;
      } else if (op == Binary::kDiv && side == 0 && number_of(b) == 6.0f) {
        const ValueId gate = from_0_to_6(a);
        if (gate != kNoValue && become(Unary::kHardSigmoid, gate)) return;
        const ValueId gated = gated_from_0_to_6(a);
        if (gated != kNoValue && become(Unary::kHardSwish, gated)) return;
      }
    }
  }

 private:
  // The node that computes the value for one reader; null where there is none, or it does more.
  const Node* only_writer(ValueId id) const {
    if (writers[id] == kNoValue || readers[id].size() != 1 || graph.values[id].is_external()) return nullptr;
    const Node& node = graph.nodes[writers[id]];
    return node.post.is_empty() ? &node : nullptr;
  }

  const Node* only_writer(ValueId id, Binary op) const {
    const Node* node = only_writer(id);
    return node != nullptr && node->op == Op::kBinary && node->as<BinaryAttributes>().op == op ? node : nullptr;
  }

  bool is_function_of(ValueId id, Unary function, ValueId x) const {
    const Node* node = only_writer(id);
    return node != nullptr && as_unary(*node, function) != nullptr && node->inputs[0] == x;
  }

  std::optional<float> number_of(ValueId id) const {
    const Value& value = graph.values[id];
    if (!value.is_constant() || value.dtype != DType::kFloat32 || value.shape.numel() != 1) return std::nullopt;
    return *reinterpret_cast<const float*>(value.data);
  }

  // The x of clamp(x + 3, 0, 6), which may be two clamps in turn.
  ValueId from_0_to_6(ValueId id) const {
    std::vector<const UnaryAttributes*> clamps;  // the last in front
    const Node* node = only_writer(id);
    for (; node != nullptr && node->op == Op::kUnary && is_clamp(node->as<UnaryAttributes>());
         node = only_writer(node->inputs[0])) {
      clamps.push_back(&node->as<UnaryAttributes>());
    }
    Post post;
    for (size_t i = clamps.size(); i-- > 0;) compose_clamp(post, *clamps[i]);
    if (node == nullptr || post.min != 0.0f || post.max != 6.0f) return kNoValue;
    if (node->op == Op::kUnary) {
      const auto& unary = node->as<UnaryAttributes>();
      return unary.op == Unary::kScale && unary.params.a == 1 && unary.params.b == 3 ? node->inputs[0] : kNoValue;
    }
    if (node->op != Op::kBinary || node->as<BinaryAttributes>().op != Binary::kAdd) return kNoValue;
    if (number_of(node->inputs[1]) == 3.0f) return node->inputs[0];
    return number_of(node->inputs[0]) == 3.0f ? node->inputs[1] : kNoValue;
  }

  // The x of x * clamp(x + 3, 0, 6).
  ValueId gated_from_0_to_6(ValueId id) const {
    const Node* product = only_writer(id, Binary::kMul);
    if (product == nullptr) return kNoValue;
    const auto [a, b] = std::pair(product->inputs[0], product->inputs[1]);
    return from_0_to_6(a) == b ? b : from_0_to_6(b) == a ? a : kNoValue;
  }

  Graph& graph;
  std::vector<std::vector<uint32_t>> readers;
  std::vector<uint32_t> writers;
};

}  // namespace

void merge_activations(Graph& graph) {
  const Patterns patterns(graph);
  for (Node& node : graph.nodes) patterns.match(node);
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
  remove_nodes(graph, gone);
}

}  // namespace enr::graph
