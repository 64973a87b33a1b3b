#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/passes.h"
#include "kernels/convert/convert.h"

namespace enr::graph {

namespace {

class Widening {
 public:
  explicit Widening(Graph& g) : graph(g), replacement(g.values.size(), kNoValue) {}

  void run() {
    find_kept();
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
  // Filters of fully connected nodes are packed, but for those with a bias that is computed.
  bool packs_filter(const Node& node) const {
    if (node.op != Op::kFullyConnected) return false;
    return node.inputs.size() < 3 || node.inputs[2] == kNoValue || graph.values[node.inputs[2]].is_constant();
  }

  // Constants stay as they are where nothing reads them or only the packing of fully connected nodes, which widens.
  void find_kept() {
    is_kept.resize(graph.values.size(), true);
    for (const Node& node : graph.nodes) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != kNoValue && (i != 1 || !packs_filter(node))) is_kept[node.inputs[i]] = false;
      }
    }
    for (ValueId id = 0; id < graph.values.size(); ++id) is_kept[id] = is_kept[id] && graph.values[id].is_constant();
    keep_rounding();
  }

  // Values between two conversions stay too: the first one rounds.
  void keep_rounding() {
    std::vector<bool> is_between(graph.values.size(), true);
    std::vector<bool> is_converted(graph.values.size(), false);
    for (const Node& node : graph.nodes) {
      const bool converts = node.op == Op::kConvert;
      for (const ValueId id : node.inputs) {
        if (id != kNoValue && !converts) is_between[id] = false;
      }
      for (const ValueId id : node.outputs) is_converted[id] = converts;
      if (node.post.residual != kNoValue) is_between[node.post.residual] = false;
    }
    for (ValueId id = 0; id < graph.values.size(); ++id) {
      if (is_between[id] && is_converted[id] && !graph.values[id].is_external()) is_kept[id] = true;
    }
  }

  void redirect(ValueId& id) const {
    if (id != kNoValue && id < replacement.size() && replacement[id] != kNoValue) id = replacement[id];
  }

  void widen(ValueId id) {
    if (is_kept[id]) return;
    if (graph.values[id].is_constant()) return widen_constant(id);
    if (!graph.values[id].is_external()) {
      graph.values[id].dtype = DType::kFloat32;
      return;
    }
    Value wide;
    wide.shape = graph.values[id].shape;
    replacement[id] = graph.add_value(wide);
    if (graph.values[id].is_input) {
      before.push_back(conversion(id, replacement[id], 0));
    } else {
      after.push_back(conversion(replacement[id], id, 0));
    }
  }

  void widen_constant(ValueId id) {
    const Value& value = graph.values[id];
    const auto count = static_cast<size_t>(value.shape.numel());
    const std::string how = concat("widened ", static_cast<int>(value.dtype), ' ', value.shape.dims());
    const DType dtype = value.dtype;
    const std::byte* data = value.data;
    replacement[id] = graph.derive(DType::kFloat32, value.shape, data, how, [&](std::byte* floats) {
      kernels::convert(dtype, data, DType::kFloat32, floats, count);
    });
  }

  Graph& graph;
  std::vector<ValueId> replacement;
  std::vector<bool> is_kept;
  std::vector<Node> before, after;
};

}  // namespace

void widen_halves(Graph& graph) {
  const bool any = std::any_of(graph.values.begin(), graph.values.end(),
                               [](const Value& value) { return is_half_kind(value.dtype); });
  if (any) Widening(graph).run();
}

}  // namespace enr::graph
