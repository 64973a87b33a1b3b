#include <algorithm>

#include "graph/passes.h"
#include "kernels/qelementwise/qelementwise.h"

namespace enr::graph {

namespace {

// How many of the node's inputs have to be of the kind of its result.
size_t activation_count(const Node& node) { return is_product(node.op) ? 1 : node.inputs.size(); }

// Whether there is a kernel where all of the node's values are of the same 8-bit dtype.
bool has_integer_kernel(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::kBinary:
      return has_integer_binary(graph, node);
    case Op::kBatchMatmul:
    case Op::kArgMaxPool:
    case Op::kReduce:
    case Op::kSoftmax:
    case Op::kLayerNorm:
    case Op::kGroupNorm:
    case Op::kResizeNearest:
      return false;
    default:
      return true;
  }
}

bool computes_in_float(const Graph& graph, const Node& node) {
  if (node.op == Op::kConvert || node.outputs.size() != 1) return false;
  const Value& out = graph.values[node.outputs[0]];
  if (!is_per_tensor(out) && out.dtype != DType::kFloat32) return false;
  bool any_integers = is_per_tensor(out), same = true;
  for (size_t i = 0; i < activation_count(node); ++i) {
    const Value& in = graph.values[node.inputs[i]];
    if (!is_per_tensor(in) && in.dtype != DType::kFloat32) return false;
    any_integers |= is_per_tensor(in);
    same &= in.dtype == out.dtype;
  }
  return any_integers && (!same || !has_integer_kernel(graph, node));
}

class FloatValues {
 public:
  explicit FloatValues(Graph& graph) : graph_(graph), floats_(graph.values.size(), kNoValue) {}

  void compute_in_float(Node node) {
    for (size_t i = 0; i < activation_count(node); ++i) {
      if (is_per_tensor(graph_.values[node.inputs[i]])) node.inputs[i] = dequantized(node.inputs[i], node.origin);
    }
    const ValueId result = node.outputs[0];
    if (!is_per_tensor(graph_.values[result])) {
      nodes.push_back(std::move(node));
      return;
    }
    const ValueId real = add_float(graph_.values[result].shape);
    node.outputs[0] = real;
    const uint32_t origin = node.origin;
    nodes.push_back(std::move(node));
    nodes.push_back(conversion(real, result, origin));
  }

  std::vector<Node> nodes;

 private:
  ValueId add_float(const Shape& shape) {
    Value value;
    value.shape = shape;
    return graph_.add_value(std::move(value));
  }

  ValueId dequantized(ValueId id, uint32_t origin) {
    if (floats_[id] == kNoValue) {
      floats_[id] = add_float(graph_.values[id].shape);
      nodes.push_back(conversion(id, floats_[id], origin));
    }
    return floats_[id];
  }

  Graph& graph_;
  std::vector<ValueId> floats_;
};

}  // namespace

bool has_integer_binary(const Graph& graph, const Node& node) {
  const auto scale = [&](ValueId id) { return graph.values[id].quantization.scale; };
  const float a = scale(node.inputs[0]), b = scale(node.inputs[1]), result = scale(node.outputs[0]);
  switch (node.as<BinaryAttributes>().op) {
    case kernels::Binary::kAdd:
    case kernels::Binary::kSub:
      return kernels::qadd_supports(a, b, result);
    case kernels::Binary::kMul:
      return kernels::qmul_supports(a, b, result);
    default:
      return false;
  }
}

void compute_mixtures_in_float(Graph& graph) {
  FloatValues floats(graph);
  for (Node& node : graph.nodes) {
    if (computes_in_float(graph, node)) {
      floats.compute_in_float(std::move(node));
    } else {
      floats.nodes.push_back(std::move(node));
    }
  }
  graph.nodes = std::move(floats.nodes);
}

}  // namespace enr::graph
