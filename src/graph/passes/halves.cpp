#include <algorithm>
#include <memory>
#include <vector>

#include "graph/passes.h"
#include "kernels/convert/convert.h"

namespace enr::graph {

namespace {

class Widening {
 public:
  explicit Widening(Graph& g) : graph(g), replacement(g.values.size(), kNoValue) {}

  void run() {
    find_packed_filters();
    const size_t count = graph.values.size();
    for (ValueId id = 0; id < count; ++id) {
      if (is_half_kind(graph.values[id].dtype)) widen(id);
    }
    for (Node& node : graph.nodes) {
      for (ValueId& id : node.inputs) redirect(id);
      for (ValueId& id : node.outputs) redirect(id);
      redirect(node.post.residual);
      // What converted between halves and floats has nothing left to do.
      const bool same = node.op == Op::kConvert &&
                        graph.values[node.inputs[0]].dtype == graph.values[node.outputs[0]].dtype &&
                        graph.values[node.inputs[0]].dtype == DType::kFloat32;
      if (same) node.op = Op::kCopy;
    }
    graph.nodes.insert(graph.nodes.begin(), before.begin(), before.end());
    graph.nodes.insert(graph.nodes.end(), after.begin(), after.end());
  }

 private:
  // Filters of fully connected nodes are widened while they are packed.
  void find_packed_filters() {
    is_packed.resize(graph.values.size(), false);
    std::vector<bool> is_other(graph.values.size(), false);
    for (const Node& node : graph.nodes) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == kNoValue) continue;
        (node.op == Op::kFullyConnected && i == 1 ? is_packed : is_other)[node.inputs[i]] = true;
      }
    }
    for (ValueId id = 0; id < graph.values.size(); ++id) {
      is_packed[id] = is_packed[id] && !is_other[id] && graph.values[id].is_constant();
    }
  }

  void redirect(ValueId& id) const {
    if (id != kNoValue && id < replacement.size() && replacement[id] != kNoValue) id = replacement[id];
  }

  void widen(ValueId id) {
    if (is_packed[id]) return;
    if (graph.values[id].is_constant()) return widen_constant(graph.values[id]);
    if (!graph.values[id].is_external()) {
      graph.values[id].dtype = DType::kFloat32;
      return;
    }
    Value wide;
    wide.shape = graph.values[id].shape;
    replacement[id] = graph.add_value(wide);
    Node convert;
    convert.op = Op::kConvert;
    const bool is_input = graph.values[id].is_input;
    convert.inputs = {is_input ? id : replacement[id]};
    convert.outputs = {is_input ? replacement[id] : id};
    (is_input ? before : after).push_back(std::move(convert));
  }

  static void widen_constant(Value& value) {
    const auto count = static_cast<size_t>(value.shape.numel());
    auto floats = std::make_shared<AlignedBuffer>(AlignedBuffer::zeroed(count * sizeof(float)));
    kernels::convert(value.dtype, value.data, DType::kFloat32, floats->data(), count);
    value.data = floats->data();
    value.owner = std::move(floats);
    value.dtype = DType::kFloat32;
  }

  Graph& graph;
  std::vector<ValueId> replacement;
  std::vector<bool> is_packed;
  std::vector<Node> before, after;
};

}  // namespace

void widen_halves(Graph& graph) {
  const bool any = std::any_of(graph.values.begin(), graph.values.end(),
                               [](const Value& value) { return is_half_kind(value.dtype); });
  if (any) Widening(graph).run();
}

}  // namespace enr::graph
