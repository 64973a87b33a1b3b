#pragma once

// The graph of a region while its operators are translated. A value of the program is a value of the graph plus the
// order of its dims in memory, so that permutations cost nothing until somebody needs another order.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/plan.h"
#include "program/program.h"

namespace enr::raise {

// The dim at each place in memory, outermost first.
using Order = graph::Shape;

// What a value's elements are. Conditions and zeros have no node: they only matter to the operator that knows a pattern
// of them, and have the sizes of a value.
enum class Meaning : uint8_t {
  kElements,         // those of the graph's value
  kIsMinusInfinity,  // of the graph's value, for each element
  kIsNotMinusInfinity,
  kAnyIsNot,  // of each line along `dim`
  kAllAre,
  kZeros,  // as many as the graph's value has elements
  // Of the graph's value, quantised at run time: scale and zero point, and the integers.
  kScale,
  kZeroPoint,
  kIntegers,
  kLevels,  // integers; as reals they are the graph's value
};

struct Raised {
  graph::ValueId id = graph::kNoValue;
  Order order;
  Meaning meaning = Meaning::kElements;
  uint32_t dim = 0;
  // Of what is quantised at run time: each row has its own parameters, or all have the same, of this least scale.
  bool by_row = false;
  float epsilon = 0;
};

Order row_major(size_t rank);
// [N, ..., C] of dims [N, C, ...].
Order channels_last(size_t rank);

// Throws where these are no sizes of a value that is computed.
graph::Shape checked_shape(std::span<const int64_t> sizes);

// One value that crosses the border of a region.
struct Port {
  uint32_t value = 0;  // of the method
  graph::ValueId id = graph::kNoValue;
};

class RegionBuilder {
 public:
  // Of tensors whose sizes vary, by value.
  using Sizes = std::map<uint32_t, std::vector<int64_t>>;

  // `constant_bytes`: how much may still be allocated for constants in other layouts. `appended`: how many values and
  // nodes of delegates may still be looked at. `context`: keeps constants for the graphs that share it; null where no
  // other does. `sizes`: of tensors from outside; null where all are as declared.
  RegionBuilder(const program::Method& method, uint64_t& constant_bytes, uint64_t& appended,
                graph::PlanContext* context, const Sizes* sizes = nullptr)
      : method_(method), constant_bytes_(constant_bytes), appended_(appended), outside_sizes_(sizes) {
    if (context != nullptr) graph.derived = &context->own_weights;
  }

  // The instruction translated next. What it adds is taken back by roll_back, if it turns out not to fit.
  void begin(uint32_t instruction);
  void roll_back();

  // --- for translations; what does not fit throws ---

  // A tensor argument: computed in the region, a constant, or an input of the region. Only float32 and halves.
  Raised read(uint32_t value);
  // The same of integers that stand for reals.
  Raised read_quantized(uint32_t value, const graph::Quantization& quantization);
  // As read(); but a constant that the program dequantises comes as its integers, which the graph dequantises where a
  // node of floats reads them.
  Raised read_as_stored(uint32_t value);
  // A constant of another real dtype, as float32.
  Raised read_converted(uint32_t value);
  // Whether a value is of integers that the graph has as reals, or a constant of bytes, which is read as a quantised
  // constant of scale 1.
  bool is_levels(uint32_t value);
  Raised read_levels(uint32_t value);
  // Whether the graph's value has only integers of this dtype, if no NaN.
  bool has_levels(graph::ValueId id, DType dtype) const;
  // A condition, or zeros; throws where the value is none.
  Raised read_condition(uint32_t value);
  // The instruction's result; its sizes must be those the program declares, or fit into them where they vary.
  void define(uint32_t value, const Raised& result);
  // A result that lies in the memory of what it was made of, which keeps its value.
  void define_view(uint32_t value, const Raised& result);
  void define_condition(uint32_t value, const Raised& condition, const graph::Shape& sizes);
  // Something else that has no node.
  void define_unwritten(uint32_t value, const Raised& raised, const graph::Shape& sizes, DType dtype);

  graph::Shape sizes(const Raised& raised) const;  // by dim
  // Of any tensor, which need not be one that read() takes.
  std::vector<int64_t> sizes_of(uint32_t value);
  int64_t numel(const Raised& raised) const { return graph.values[raised.id].shape.numel(); }
  bool is_constant(const Raised& raised) const { return graph.values[raised.id].is_constant(); }
  const float* constant_data(const Raised& raised) const;

  // Appends a delegate's graph; `args` are the values of its arguments.
  void append(const graph::Graph& delegate, std::span<const uint32_t> args);
  // Appends a node of one result.
  graph::ValueId emit(graph::Op op, std::vector<graph::ValueId> inputs, graph::Attributes attributes = {});
  graph::ValueId constant(const graph::Shape& shape, std::span<const float> floats);
  // The integers of a constant tensor in row-major order.
  Raised quantized_constant(const program::Tensor& tensor, const graph::Quantization& quantization);
  // a - b where b is a constant of zeros; and constant levels with factors for each line of the last dim as their
  // scales. Nothing where they are something else.
  std::optional<Raised> difference(const Raised& a, const Raised& b) const;
  std::optional<Raised> scaled_levels(const Raised& a, const Raised& factors);
  // As graph::Graph::derive.
  graph::ValueId derive(DType dtype, const graph::Shape& shape, const void* source, const std::string& how,
                        FunctionRef<void(std::byte*)> fill);

  // The value with its dims in this order in memory; where `order` has more dims, leading ones of size 1 are added.
  graph::ValueId arrange(const Raised& raised, const Order& order);
  // The same elements seen with another shape in memory.
  graph::ValueId reshaped(graph::ValueId id, const graph::Shape& shape);
  // Whether memory is in this order but for dims of size 1.
  bool has_order(const Raised& raised, const Order& order) const;

  // Remembers that `id` repeats `from` along dims of size 1; and what a value repeats, null where it is none of these.
  void set_repeated(graph::ValueId id, const Raised& from) { repeated_[id] = from; }
  const Raised* repeated(graph::ValueId id) const;

  // ATen's view: elements in row-major order of dims.
  Raised view(const Raised& raised, const graph::Shape& sizes);
  Raised permute(const Raised& raised, const Order& dims) const;
  Raised slice(const Raised& raised, size_t dim, int64_t start, int64_t size);

  // --- for the region ---

  const std::vector<uint32_t>& defined() const noexcept { return defined_; }
  // Those of the last instruction.
  std::span<const uint32_t> newly_defined() const noexcept { return std::span(defined_).subspan(mark_.defined); }
  bool reads_input(uint32_t value) const;
  bool is_condition(uint32_t value) const;
  // Makes those of `wanted` (defined values) that nothing has overwritten arguments of the graph, behind the inputs.
  void finish(const std::vector<uint32_t>& outputs);
  std::vector<Port> inputs, outputs;
  // Tensors from outside, of sizes that vary, that only the sizes of are looked at.
  const std::vector<uint32_t>& measured() const noexcept { return measured_; }
  graph::Graph graph;

 private:
  using Key = std::pair<graph::ValueId, std::string>;

  const program::Tensor* placed_tensor(uint32_t value) const;
  const Raised* find_alias(uint32_t value);
  graph::ValueId transposed(graph::ValueId id, const graph::Shape& permutation);
  graph::ValueId dequantized(graph::ValueId id);
  // The result of a node that only reads constants, where it can be computed now; kNoValue elsewhere.
  graph::ValueId fold(const graph::Node& node);
  void reserve(uint64_t size_bytes);
  // What computes the value, behind views of it; null where nothing does.
  const graph::Node* writer(graph::ValueId id) const;
  bool is_whole(graph::ValueId id, int depth) const;
  Order order_of(const std::vector<size_t>& nonunit, const graph::Shape& sizes) const;

  const std::vector<int64_t>& outside_sizes(uint32_t value, const program::Tensor& tensor) const;
  Raised read_tensor(uint32_t value, const graph::Quantization& quantization);
  void set(uint32_t value, std::optional<Raised> raised);
  void check_result(uint32_t value, const Raised& result) const;
  void overwrite(uint32_t value, const Raised& result);

  const program::Method& method_;
  uint64_t& constant_bytes_;
  uint64_t& appended_;
  const Sizes* outside_sizes_;
  std::vector<uint32_t> measured_;
  uint32_t origin_ = 0;
  std::map<uint32_t, Raised> raised_;  // what is in the values' memory now
  std::vector<uint32_t> defined_;
  std::map<Key, graph::ValueId> arranged_;
  std::map<graph::ValueId, Raised> repeated_;
  // At begin(), and what changed since.
  struct {
    size_t values = 0, nodes = 0, defined = 0, inputs = 0;
  } mark_;
  std::vector<std::pair<uint32_t, std::optional<Raised>>> undo_;
};

}  // namespace enr::raise
