// Products of what is quantised at run time multiply its levels instead of the reals they stand for.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "graph/passes.h"

namespace enr::graph {

namespace {

constexpr uint32_t kBlockInputs = 32;  // blocks of scales have a multiple of these inputs

bool fits_4_bits(const Value& value) {
  const auto* levels = reinterpret_cast<const int8_t*>(value.data);
  return std::all_of(levels, levels + value.shape.numel(), [](int8_t level) { return level >= -8 && level <= 7; });
}

// [outputs, inputs] of levels that fit 4 bits, two to a byte.
ValueId add_4_bit(Graph& graph, ValueId id) {
  const Value value = graph.values[id];
  const auto rows = static_cast<size_t>(value.shape[0]), columns = static_cast<size_t>(value.shape[1]);
  const ValueId packed = graph.derive(DType::kQUInt4x2, value.shape, value.data, "in 4 bits", [&](std::byte* out) {
    const auto* level = reinterpret_cast<const int8_t*>(value.data);
    for (size_t row = 0; row < rows; ++row, out += (columns + 1) / 2) {
      for (size_t i = 0; i < columns; ++i) out[i / 2] |= static_cast<std::byte>((*level++ + 8) << (i % 2 * 4));
    }
  });
  graph.values[packed].quantization = value.quantization;
  return packed;
}

class Levels {
 public:
  explicit Levels(Graph& g) : graph(g), writers(find_writers(g)) {}

  void run() {
    std::vector<Node> old = graph.nodes;
    for (Node& node : old) {
      if (multiplies(node)) take_levels(node);
      nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(nodes);
  }

 private:
  // How the operand of a product comes from a quantisation.
  struct Origin {
    const Node* quantization = nullptr;
    std::vector<const Node*> movement;  // of the dequantised value, the last in front
  };

  static bool multiplies(const Node& node) {
    return node.op == Op::kFullyConnected || node.op == Op::kConv || node.op == Op::kConvTranspose;
  }

  static bool has_one_scale(const Node& quantization) {
    const auto* chosen = std::get_if<ChosenAttributes>(&quantization.attributes);
    return chosen != nullptr && !chosen->by_row;
  }

  const Node* writer(ValueId id) const { return writers[id] == kNoValue ? nullptr : &graph.nodes[writers[id]]; }

  Origin find_origin(ValueId id) const {
    Origin origin;
    bool keeps_rows = true;
    const Node* node = writer(id);
    for (; node != nullptr && (node->op == Op::kReshape || node->op == Op::kTranspose) && node->post.is_empty();
         node = writer(node->inputs[0])) {
      const Shape &from = graph.values[node->inputs[0]].shape, &to = graph.values[node->outputs[0]].shape;
      keeps_rows &= node->op == Op::kReshape && from.rank() != 0 && to.rank() != 0 && from.back() == to.back();
      origin.movement.push_back(node);
    }
    if (node == nullptr || node->op != Op::kConvert) return {};
    const Node* quantization = writer(node->inputs[0]);
    const Quantization& q = graph.values[node->inputs[0]].quantization;
    if (quantization == nullptr || q.kind != Quantization::Kind::kPerRow || q.nonbatch_dims != 1) return {};
    if (!keeps_rows && !has_one_scale(*quantization)) return {};
    origin.quantization = quantization;
    return origin;
  }

  void take_levels(Node& node) {
    const Origin origin = find_origin(node.inputs[0]);
    if (origin.quantization == nullptr) return;
    const bool is_image = node.op != Op::kFullyConnected;
    if (is_image && !has_one_scale(*origin.quantization)) return;  // rows of channels are not rows of a convolution
    const ValueId filter = find_filter(node);
    if (filter == kNoValue) return;
    node.inputs[0] = levels_of(node.inputs[0], origin, is_image ? 3 : 1);
    node.inputs[1] = filter;
  }

  // The weights as there are kernels for; kNoValue where there are none.
  ValueId find_filter(const Node& node) const {
    const ValueId id = node.inputs[1];
    const Value& filter = graph.values[id];
    const Quantization& q = filter.quantization;
    const bool is_linear = node.op == Op::kFullyConnected;
    const bool transposed = is_linear && node.as<MatmulAttributes>().transposed;
    if (!filter.is_constant() || filter.dtype != DType::kInt8) return kNoValue;
    if (q.kind == Quantization::Kind::kPerBlock) {
      if (filter.shape.rank() != 2 || filter.shape[1] % q.group_size != 0) return kNoValue;
      const bool has_kernel = is_linear && !transposed && q.group_size % kBlockInputs == 0 && fits_4_bits(filter);
      return has_kernel ? add_4_bit(graph, id) : kNoValue;
    }
    if (q.kind == Quantization::Kind::kPerTensor) return q.zero_point == 0 ? id : kNoValue;
    if (q.kind != Quantization::Kind::kPerChannel || q.channel_dim != (transposed ? 1 : 0)) return kNoValue;
    return is_linear && !transposed && fits_4_bits(filter) ? add_4_bit(graph, id) : id;
  }

  // Levels of what the movements give. Moved are the reals, since rows have their parameters behind them.
  ValueId levels_of(ValueId moved, const Origin& origin, uint8_t nonbatch_dims) {
    const Node& quantization = *origin.quantization;
    if (origin.movement.empty() && nonbatch_dims == 1) return quantization.outputs[0];
    ValueId& known = known_.try_emplace({moved, nonbatch_dims}, kNoValue).first->second;
    if (known != kNoValue) return known;
    ValueId real = quantization.inputs[0];
    for (size_t i = origin.movement.size(); i-- > 0;) {
      Node movement = *origin.movement[i];
      movement.inputs = {real};
      real = add_value_like(graph, movement.outputs[0], movement.outputs[0]);
      movement.outputs = {real};
      nodes.push_back(std::move(movement));
    }
    Node again = quantization;
    again.inputs = {real};
    known = add_value_like(graph, quantization.outputs[0], real);
    graph.values[known].quantization.nonbatch_dims = nonbatch_dims;
    again.outputs = {known};
    nodes.push_back(std::move(again));
    return known;
  }

  Graph& graph;
  std::vector<uint32_t> writers;
  std::vector<Node> nodes;
  std::map<std::pair<ValueId, uint8_t>, ValueId> known_;
};

}  // namespace

void multiply_levels(Graph& graph) {
  Levels(graph).run();
  remove_dead_nodes(graph);
}

}  // namespace enr::graph
