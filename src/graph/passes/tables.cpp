#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "graph/passes.h"
#include "kernels/quantize/quantize.h"

namespace enr::graph {

namespace {

constexpr size_t kLevels = 256;
constexpr size_t kMaxNodes = 24;  // of one function

// The numbers of all levels, in the order of their bytes; or one number, which is the same for all.
using Numbers = std::vector<float>;

template <class T>
Numbers dequantized_levels(const Quantization& q) {
  T levels[kLevels];
  for (size_t i = 0; i < kLevels; ++i) levels[i] = static_cast<T>(static_cast<uint8_t>(i));
  Numbers numbers(kLevels);
  kernels::dequantize(levels, numbers.data(), kLevels, kernels::Quantization{q.scale, q.zero_point});
  return numbers;
}

template <class T>
void quantize_levels(const Numbers& numbers, const Quantization& q, uint8_t* bytes) {
  T levels[kLevels];
  kernels::quantize(numbers.data(), levels, kLevels, kernels::Quantization{q.scale, q.zero_point},
                    std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  for (size_t i = 0; i < kLevels; ++i) bytes[i] = static_cast<uint8_t>(levels[i]);
}

std::optional<Numbers> computed(const kernels::Loop& loop, const kernels::LoopParams& params, const Numbers& a,
                                const Numbers& b) {
  if (!loop || loop.out != DType::kFloat32 || loop.in[0] != DType::kFloat32) return std::nullopt;
  Numbers out(std::max(a.size(), b.size()));
  const void* in[2] = {a.data(), b.data()};
  const uint8_t step[2] = {a.size() == out.size(), b.size() == out.size()};
  loop.run(out.data(), in, step, out.size(), params);
  return out;
}

std::optional<Numbers> computed(const UnaryAttributes& unary, const Numbers& x) {
  return computed(kernels::unary_loop(unary.op, DType::kFloat32), unary.params, x, x);
}

// Follows real values back to the one 8-bit value that they are functions of.
class Levels {
 public:
  Levels(const Graph& graph, const std::vector<uint32_t>& writers) : graph_(graph), writers_(writers) {}

  // Of each level of source(), what the value is; nothing where it is no function of one value's levels.
  std::optional<Numbers> numbers(ValueId id) {
    const Value& value = graph_.values[id];
    if (value.dtype != DType::kFloat32 || ++nodes_ > kMaxNodes) return std::nullopt;
    if (value.is_constant()) return constant(value);
    if (writers_[id] == kNoValue) return std::nullopt;
    const Node& node = graph_.nodes[writers_[id]];
    if (node.post.residual != kNoValue) return std::nullopt;
    std::optional<Numbers> result = result_of(node);
    if (result && node.post.clamps()) {
      UnaryAttributes clamp{kernels::Unary::kClamp, {}};
      clamp.params.a = node.post.min;
      clamp.params.b = node.post.max;
      result = computed(clamp, *result);
    }
    if (result && node.post.activation) result = computed(*node.post.activation, *result);
    return result;
  }

  ValueId source() const { return source_; }

 private:
  static std::optional<Numbers> constant(const Value& value) {
    if (value.shape.numel() != 1) return std::nullopt;
    return Numbers{*reinterpret_cast<const float*>(value.data)};
  }

  std::optional<Numbers> result_of(const Node& node) {
    if (node.op == Op::kConvert) return levels(node.inputs[0]);
    if (node.op != Op::kUnary && node.op != Op::kBinary) return std::nullopt;
    const std::optional<Numbers> a = numbers(node.inputs[0]);
    if (!a) return std::nullopt;
    if (node.op == Op::kUnary) return computed(node.as<UnaryAttributes>(), *a);
    const std::optional<Numbers> b = numbers(node.inputs[1]);
    if (!b) return std::nullopt;
    return computed(kernels::binary_loop(node.as<BinaryAttributes>().op, DType::kFloat32), {}, *a, *b);
  }

  std::optional<Numbers> levels(ValueId id) {
    const Value& value = graph_.values[id];
    if (!is_per_tensor(value) || value.is_constant() || (source_ != kNoValue && source_ != id)) return std::nullopt;
    source_ = id;
    return value.dtype == DType::kUInt8 ? dequantized_levels<uint8_t>(value.quantization)
                                        : dequantized_levels<int8_t>(value.quantization);
  }

  const Graph& graph_;
  const std::vector<uint32_t>& writers_;
  ValueId source_ = kNoValue;
  size_t nodes_ = 0;
};

}  // namespace

void tabulate_levels(Graph& graph) {
  const auto writers = find_writers(graph);
  for (Node& node : graph.nodes) {
    const Value& out = graph.values[node.outputs[0]];
    const ValueId real = node.inputs[0];
    if (node.op != Op::kConvert || !is_per_tensor(out) || !node.post.is_empty() || writers[real] == kNoValue) continue;
    Levels levels(graph, writers);
    const std::optional<Numbers> numbers = levels.numbers(real);
    if (!numbers || numbers->size() != kLevels) continue;
    const Value& source = graph.values[levels.source()];
    if (source.dtype != out.dtype || !std::ranges::equal(source.shape, out.shape)) continue;
    auto table = std::make_shared<UnaryAttributes::Table>();
    if (out.dtype == DType::kUInt8) {
      quantize_levels<uint8_t>(*numbers, out.quantization, table->data());
    } else {
      quantize_levels<int8_t>(*numbers, out.quantization, table->data());
    }
    const auto* last = std::get_if<UnaryAttributes>(&graph.nodes[writers[real]].attributes);
    node.op = Op::kUnary;
    node.attributes = UnaryAttributes{last != nullptr ? last->op : kernels::Unary::kScale, {}, std::move(table)};
    node.inputs = {levels.source()};
  }
  remove_dead_nodes(graph);
}

}  // namespace enr::graph
