// Rows that are quantised at run time, and dequantised again, by a chain of elementary operators: what exporters make
// of torchao's operators where those are decomposed. The chain becomes two conversions.

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "graph/passes.h"

namespace enr::graph {

namespace {

using kernels::Binary;
using kernels::Reduce;
using kernels::Unary;

constexpr double kLowest = -128, kHighest = 127, kInfinity = std::numeric_limits<double>::infinity();

class Chains {
 public:
  explicit Chains(Graph& g) : graph(g), writers(find_writers(g)) {}

  void run() {
    std::vector<Node> nodes;
    const size_t count = graph.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const Node& node = graph.nodes[n];
      if (const std::optional<Rows> rows = match(node)) {
        Value levels;
        levels.dtype = DType::kInt8;
        levels.shape = graph.values[node.outputs[0]].shape;
        levels.quantization.kind = Quantization::Kind::kPerRow;
        const ValueId id = graph.add_value(std::move(levels));
        nodes.push_back(conversion(rows->real, id, node.origin));
        nodes.back().attributes = ChosenAttributes{rows->epsilon, true};
        nodes.push_back(conversion(id, node.outputs[0], node.origin));
      } else {
        nodes.push_back(node);
      }
    }
    graph.nodes = std::move(nodes);
  }

 private:
  struct Rows {
    ValueId real = kNoValue;
    float epsilon = 0;
  };

  // What the value is a view of.
  ValueId base(ValueId id) const {
    while (writers[id] != kNoValue && graph.nodes[writers[id]].op == Op::kReshape)
      id = graph.nodes[writers[id]].inputs[0];
    return id;
  }

  const Node* writer(ValueId id, Op op) const {
    id = base(id);
    if (writers[id] == kNoValue) return nullptr;
    const Node& node = graph.nodes[writers[id]];
    return node.op == op && node.post.is_empty() ? &node : nullptr;
  }
  const Node* writer(ValueId id, Binary op) const {
    const Node* node = writer(id, Op::kBinary);
    return node != nullptr && node->as<BinaryAttributes>().op == op ? node : nullptr;
  }
  const Node* writer(ValueId id, Unary op) const {
    const Node* node = writer(id, Op::kUnary);
    return node != nullptr && node->as<UnaryAttributes>().op == op ? node : nullptr;
  }
  const Node* clamp(ValueId id, double low, double high) const {
    const Node* node = writer(id, Unary::kClamp);
    if (node == nullptr) return nullptr;
    const kernels::LoopParams& limits = node->as<UnaryAttributes>().params;
    return limits.a == low && limits.b == high ? node : nullptr;
  }

  bool is_number(ValueId id, float number) const {
    const Value& value = graph.values[id];
    return value.is_constant() && value.dtype == DType::kFloat32 && value.shape.numel() == 1 &&
           *reinterpret_cast<const float*>(value.data) == number;
  }

  // The smallest (largest) of 0 and the numbers of each row of x.
  bool is_extreme(ValueId id, Reduce op, ValueId x) const {
    const Node* limited = op == Reduce::kMin ? clamp(id, -kInfinity, 0) : clamp(id, 0, kInfinity);
    const Node* reduced = limited == nullptr ? nullptr : writer(limited->inputs[0], Op::kReduce);
    if (reduced == nullptr || base(reduced->inputs[0]) != base(x)) return false;
    const auto& attributes = reduced->as<ReduceAttributes>();
    const Shape& rows = graph.values[reduced->inputs[0]].shape;
    return attributes.op == op && attributes.dims == 1u << (rows.rank() - 1) &&
           rows.back() == graph.values[x].shape.back();
  }

  // max((largest - smallest) / 255, epsilon)
  std::optional<float> match_scale(ValueId id, ValueId x) const {
    const Node* limited = writer(id, Unary::kClamp);
    if (limited == nullptr || limited->as<UnaryAttributes>().params.b != kInfinity) return std::nullopt;
    const Node* quotient = writer(limited->inputs[0], Binary::kDiv);
    if (quotient == nullptr || !is_number(quotient->inputs[1], kHighest - kLowest)) return std::nullopt;
    const Node* range = writer(quotient->inputs[0], Binary::kSub);
    if (range == nullptr || !is_extreme(range->inputs[0], Reduce::kMax, x) ||
        !is_extreme(range->inputs[1], Reduce::kMin, x)) {
      return std::nullopt;
    }
    return static_cast<float>(limited->as<UnaryAttributes>().params.a);
  }

  // -128 - round(smallest / scale), within the limits
  bool is_zero_point(ValueId id, ValueId scale, ValueId x) const {
    const Node* limited = clamp(id, kLowest, kHighest);
    const Node* difference = limited == nullptr ? nullptr : writer(limited->inputs[0], Binary::kSub);
    if (difference == nullptr || !is_number(difference->inputs[0], kLowest)) return false;
    const Node* rounded = writer(difference->inputs[1], Unary::kRound);
    const Node* quotient = rounded == nullptr ? nullptr : writer(rounded->inputs[0], Binary::kDiv);
    return quotient != nullptr && is_extreme(quotient->inputs[0], Reduce::kMin, x) &&
           base(quotient->inputs[1]) == base(scale);
  }

  bool is_inverse(ValueId id, ValueId scale) const {
    if (const Node* product = writer(id, Binary::kMul); product != nullptr && is_number(product->inputs[1], 1))
      id = product->inputs[0];
    const Node* reciprocal = writer(id, Unary::kReciprocal);
    return reciprocal != nullptr && base(reciprocal->inputs[0]) == base(scale);
  }

  // The x of clamp(round(x / scale) + zero point).
  ValueId match_levels(ValueId id, ValueId scale, ValueId& zero_point) const {
    const Node* limited = clamp(id, kLowest, kHighest);
    const Node* sum = limited == nullptr ? nullptr : writer(limited->inputs[0], Binary::kAdd);
    if (sum == nullptr) return kNoValue;
    const Node* rounded = writer(sum->inputs[0], Unary::kRound);
    const Node* product = rounded == nullptr ? nullptr : writer(rounded->inputs[0], Binary::kMul);
    if (product == nullptr || !is_inverse(product->inputs[1], scale) || !spreads(sum->inputs[1], sum->outputs[0]) ||
        !spreads(product->inputs[1], product->outputs[0])) {
      return kNoValue;
    }
    zero_point = sum->inputs[1];
    return product->inputs[0];
  }

  // Whether a value has one number for each row of another.
  bool spreads(ValueId id, ValueId rows) const {
    const Shape &shape = graph.values[id].shape, &whole = graph.values[rows].shape;
    if (whole.rank() == 0 || shape.rank() != whole.rank() || shape.back() != 1) return false;
    return shape.numel() == whole.numel() / whole.back();
  }

  // (levels - zero point) * scale
  std::optional<Rows> match(const Node& node) const {
    if (node.op != Op::kBinary || node.as<BinaryAttributes>().op != Binary::kMul || !node.post.is_empty())
      return std::nullopt;
    const ValueId scale = node.inputs[1], out = node.outputs[0];
    const Node* difference = writer(node.inputs[0], Binary::kSub);
    if (difference == nullptr || !spreads(scale, out) || !spreads(difference->inputs[1], difference->outputs[0]))
      return std::nullopt;
    ValueId zero_point = kNoValue;
    const ValueId x = match_levels(difference->inputs[0], scale, zero_point);
    if (x == kNoValue || base(zero_point) != base(difference->inputs[1])) return std::nullopt;
    const std::optional<float> epsilon = match_scale(scale, x);
    if (!epsilon || !is_zero_point(zero_point, scale, x) || !(graph.values[x].shape == graph.values[out].shape))
      return std::nullopt;
    return Rows{x, *epsilon};
  }

  Graph& graph;
  std::vector<uint32_t> writers;
};

}  // namespace

void convert_rows(Graph& graph) {
  Chains(graph).run();
  remove_dead_nodes(graph);
}

}  // namespace enr::graph
