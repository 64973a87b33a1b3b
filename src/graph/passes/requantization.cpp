#include "graph/passes.h"

namespace enr::graph {

namespace {

bool keeps_integers(Op op) {
  switch (op) {
    case Op::kSlice:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kPad:
    case Op::kCopy:
    case Op::kMaxPool:
    case Op::kResizeBilinear:
    case Op::kResizeNearest:
      return true;
    default:
      return false;
  }
}

bool has_one_scale(const Value& value) { return value.quantization.kind == Quantization::Kind::kPerTensor; }

}  // namespace

void separate_requantization(Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    nodes.push_back(std::move(node));
    Node& mover = nodes.back();
    if (!keeps_integers(mover.op)) continue;
    const Value& in = graph.values[mover.inputs[0]];
    const ValueId result = mover.outputs[0];
    if (!has_one_scale(in) || !has_one_scale(graph.values[result]) || in.dtype != graph.values[result].dtype ||
        same_quantization(in, graph.values[result])) {
      continue;
    }
    mover.outputs[0] = add_value_like(graph, mover.inputs[0], result);
    nodes.push_back(requantization(mover.outputs[0], result, mover.origin));
  }
  graph.nodes = std::move(nodes);
}

Node requantization(ValueId from, ValueId to, uint32_t origin) {
  Node node;
  node.op = Op::kUnary;
  UnaryAttributes identity{kernels::Unary::kScale, {}};
  identity.params.a = 1.0;
  node.attributes = identity;
  node.inputs = {from};
  node.outputs = {to};
  node.origin = origin;
  return node;
}

}  // namespace enr::graph
