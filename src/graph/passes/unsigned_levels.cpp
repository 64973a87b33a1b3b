#include <cstddef>
#include <numeric>
#include <vector>

#include "graph/passes.h"
#include "kernels/qgemm/qgemm.h"

namespace enr::graph {

namespace {

bool is_signed_level(const Value& value) { return value.dtype == DType::kInt8 && is_per_tensor(value); }

// Sets of values that have to be of one dtype, as the nodes between them compute in it.
class Sets {
 public:
  explicit Sets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t of(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<size_t> parent_;
};

// The node's operands that are signed levels, but for a product's weights.
template <class Body>
void each_level(const Graph& graph, Node& node, const Body& body) {
  const auto visit = [&](ValueId& id) {
    if (id != kNoValue && is_signed_level(graph.values[id])) body(id);
  };
  const size_t count = is_product(node.op) ? 1 : node.inputs.size();
  for (size_t i = 0; i < count; ++i) visit(node.inputs[i]);
  for (ValueId& id : node.outputs) visit(id);
  visit(node.post.residual);
}

void make_unsigned(Value& value) {
  value.dtype = DType::kUInt8;
  value.quantization.zero_point += kUnsignedOffset;
  value.was_signed = true;
}

ValueId add_unsigned_constant(Graph& graph, ValueId id) {
  const Value signed_value = graph.values[id];
  const size_t count = static_cast<size_t>(signed_value.shape.numel());
  const ValueId made =
      graph.derive(DType::kUInt8, signed_value.shape, signed_value.data, "unsigned", [&](std::byte* out) {
        for (size_t i = 0; i < count; ++i) out[i] = signed_value.data[i] ^ std::byte{kUnsignedOffset};
      });
  graph.values[made].quantization = signed_value.quantization;
  make_unsigned(graph.values[made]);
  return made;
}

}  // namespace

void store_levels_unsigned(Graph& graph) {
  if (!kernels::qgemm_reads_unsigned()) return;
  Sets sets(graph.values.size());
  std::vector<bool> stays(graph.values.size(), false);
  for (Node& node : graph.nodes) {
    ValueId first = kNoValue;
    each_level(graph, node, [&](ValueId id) {
      if (first == kNoValue) first = id;
      // Conversions take any dtypes, but have no kernel between two of these.
      sets.join(first, id);
    });
  }
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (is_signed_level(graph.values[id]) && graph.values[id].is_external()) stays[sets.of(id)] = true;
  }
  for (Node& node : graph.nodes) {
    each_level(graph, node, [&](ValueId& id) {
      if (graph.values[id].is_constant() && !stays[sets.of(id)]) id = add_unsigned_constant(graph, id);
    });
  }
  for (ValueId id = 0; id < stays.size(); ++id) {
    Value& value = graph.values[id];
    if (!is_signed_level(value) || value.is_constant() || stays[sets.of(id)]) continue;
    make_unsigned(value);
  }
}

}  // namespace enr::graph
