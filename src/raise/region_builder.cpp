#include "raise/region_builder.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "graph/infer.h"
#include "graph/passes.h"
#include "program/overlap.h"

namespace enr::raise {

constexpr int64_t kMaxElements = int64_t{1} << 31;

using graph::kNoValue;
using graph::Op;
using graph::Shape;
using graph::ValueId;

void RegionBuilder::begin(uint32_t instruction) {
  origin_ = instruction;
  mark_ = {graph.values.size(), graph.nodes.size(), defined_.size(), inputs.size()};
  undo_.clear();
}

void RegionBuilder::roll_back() {
  graph.values.resize(mark_.values);
  graph.nodes.resize(mark_.nodes);
  defined_.resize(mark_.defined);
  inputs.resize(mark_.inputs);
  while (!undo_.empty()) {
    auto [value, before] = undo_.back();
    undo_.pop_back();
    raised_.erase(value);
    if (before) raised_[value] = *before;
  }
  repeated_.erase(repeated_.lower_bound(static_cast<ValueId>(mark_.values)), repeated_.end());
  std::erase_if(arranged_, [&](const auto& entry) { return entry.second >= mark_.values; });
}

void RegionBuilder::set(uint32_t value, std::optional<Raised> raised) {
  const auto known = raised_.find(value);
  undo_.push_back({value, known == raised_.end() ? std::nullopt : std::optional(known->second)});
  if (raised) {
    raised_[value] = *raised;
  } else {
    raised_.erase(value);
  }
}

const program::Tensor* RegionBuilder::placed_tensor(uint32_t value) const {
  const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
  return tensor != nullptr && program::is_placed(*tensor) ? tensor : nullptr;
}

namespace {

bool contains(const std::vector<uint32_t>& values, uint32_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool is_byte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }

// Halves are computed in float32 between what comes in and what goes out.
bool is_computed(DType dtype) { return dtype == DType::kFloat32 || is_half_kind(dtype); }

bool is_row_major(const program::Tensor& tensor) {
  for (size_t d = 0; d < tensor.dim_order.size(); ++d) {
    if (tensor.dim_order[d] != d) return false;
  }
  return true;
}

}  // namespace

namespace {

// Whether they are the same elements in the same memory.
bool is_view_of(const program::Tensor& tensor, const program::Tensor& base) {
  return base.placement.offset == tensor.placement.offset && base.size_bytes == tensor.size_bytes &&
         tensor.dtype == base.dtype && is_row_major(base) && is_row_major(tensor) &&
         tensor.sizes.size() <= graph::kMaxRank;
}

bool has_fixed_sizes(const program::Tensor& tensor) { return tensor.dynamism == program::Dynamism::kStatic; }

}  // namespace

// Exporters drop views whose sizes are fixed: the result is then a value without an instruction, in the memory of what
// it is a view of.
const Raised* RegionBuilder::find_alias(uint32_t value) {
  const program::Tensor* tensor = placed_tensor(value);
  if (tensor == nullptr) return nullptr;
  const auto add = [&](const Raised& base) {
    Raised alias = view(base, Shape(tensor->sizes));
    alias.meaning = base.meaning;
    set(value, alias);
    return &raised_[value];
  };
  for (size_t i = defined_.size(); i-- > 0;) {
    const program::Tensor* base = placed_tensor(defined_[i]);
    if (base == nullptr || !program::overlap(*tensor, *base)) continue;
    const auto known = raised_.find(defined_[i]);
    const bool has_elements = known != raised_.end() && (known->second.meaning == Meaning::kElements ||
                                                         known->second.meaning == Meaning::kLevels);
    if (!has_elements || !is_view_of(*tensor, *base)) {
      fail_execution("value ", value, " shares memory with value ", defined_[i]);
    }
    if (!has_fixed_sizes(*tensor) || !has_fixed_sizes(*base))
      fail_execution("value ", value, " is a view of sizes that vary");
    return add(known->second);
  }
  // Two names of what comes in are one input.
  for (const Port& port : inputs) {
    const program::Tensor* base = placed_tensor(port.value);
    const auto known = raised_.find(port.value);
    if (base == nullptr || known == raised_.end() || base->placement.arena != tensor->placement.arena ||
        !is_view_of(*tensor, *base) || !has_fixed_sizes(*tensor) || !has_fixed_sizes(*base)) {
      continue;
    }
    return add(known->second);
  }
  return nullptr;
}

Raised RegionBuilder::read_as_stored(uint32_t value) {
  Raised raised = read_tensor(value, {});
  const graph::Value& known = graph.values[raised.id];
  if (is_computed(known.dtype)) return raised;
  const auto& tensor = std::get<program::Tensor>(method_.values[value]);
  if (!graph::is_quantized_constant(known) || !is_computed(tensor.dtype))
    fail_execution("value ", value, " is not of floats");
  return raised;
}

Raised RegionBuilder::read(uint32_t value) {
  Raised raised = read_as_stored(value);
  raised.id = dequantized(raised.id);
  return raised;
}

Raised RegionBuilder::read_quantized(uint32_t value, const graph::Quantization& quantization) {
  const Raised raised = read_tensor(value, quantization);
  graph::Value as_asked;
  as_asked.dtype = graph.values[raised.id].dtype;
  as_asked.quantization = quantization;
  if (!same_quantization(graph.values[raised.id], as_asked)) fail_execution("value ", value, " has other parameters");
  return raised;
}

Raised RegionBuilder::read_tensor(uint32_t value, const graph::Quantization& quantization) {
  if (is_condition(value)) fail_execution("value ", value, " has no node");
  if (const auto known = raised_.find(value); known != raised_.end()) return known->second;
  if (const Raised* alias = find_alias(value)) {
    if (alias->meaning != Meaning::kElements) fail_execution("value ", value, " has no node");
    return *alias;
  }
  const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
  const bool is_quantized = quantization.kind != graph::Quantization::Kind::kNone;
  if (tensor == nullptr || !(is_quantized ? is_byte(tensor->dtype) : is_computed(tensor->dtype)) ||
      tensor->sizes.size() > graph::kMaxRank) {
    fail_execution("value ", value, " is not a tensor that is computed");
  }
  const std::vector<int64_t>& sizes = outside_sizes(value, *tensor);
  Raised raised;
  graph::Value in;
  in.dtype = tensor->dtype;
  in.quantization = quantization;
  for (const uint8_t dim : tensor->dim_order) {
    raised.order.push_back(dim);
    in.shape.push_back(sizes[dim]);
  }
  if (in.shape.numel() == 0) fail_execution("value ", value, " is empty");
  if (tensor->storage == program::Storage::kConstant) {
    raised.id = graph.add_constant(in.dtype, in.shape, nullptr, tensor->bytes.data());
  } else {
    in.is_input = true;
    raised.id = graph.add_value(std::move(in));
    inputs.push_back({value, raised.id});
  }
  set(value, raised);
  return raised;
}

Raised RegionBuilder::read_condition(uint32_t value) {
  if (!is_condition(value)) fail_execution("value ", value, " is not a known condition");
  return raised_[value];
}

bool RegionBuilder::is_condition(uint32_t value) const {
  const auto known = raised_.find(value);
  return known != raised_.end() && known->second.meaning != Meaning::kElements;
}

namespace {

bool fits(const program::Tensor& tensor, const Shape& sizes) {
  if (tensor.storage == program::Storage::kConstant) return false;
  if (tensor.dynamism == program::Dynamism::kStatic) return std::ranges::equal(sizes, tensor.sizes);
  return sizes.rank() == tensor.sizes.size() &&
         (!tensor.is_memory_planned() ||
          static_cast<uint64_t>(sizes.numel()) * dtype_size(tensor.dtype) <= tensor.size_bytes);
}

}  // namespace

void RegionBuilder::check_result(uint32_t value, const Raised& result) const {
  const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
  const graph::Value& known = graph.values[result.id];
  const bool is_real = is_computed(known.dtype) || graph::is_quantized_constant(known);
  if (tensor == nullptr || !(is_real ? is_computed(tensor->dtype) : tensor->dtype == known.dtype) ||
      !fits(*tensor, sizes(result))) {
    fail_execution("value ", value, " is not the result");
  }
}

void RegionBuilder::define(uint32_t value, const Raised& result) {
  check_result(value, result);
  overwrite(value, result);
}

void RegionBuilder::define_view(uint32_t value, const Raised& result) {
  check_result(value, result);
  set(value, result);
  defined_.push_back(value);
}

void RegionBuilder::define_condition(uint32_t value, const Raised& condition, const Shape& sizes) {
  const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
  const bool is_bool = condition.meaning != Meaning::kZeros;
  if (tensor == nullptr || (is_bool ? tensor->dtype != DType::kBool : !is_computed(tensor->dtype)) ||
      !fits(*tensor, sizes)) {
    fail_execution("value ", value, " is not the result");
  }
  overwrite(value, condition);
}

void RegionBuilder::define_unwritten(uint32_t value, const Raised& raised, const Shape& sizes, DType dtype) {
  const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
  if (tensor == nullptr || tensor->dtype != dtype || !fits(*tensor, sizes))
    fail_execution("value ", value, " is not the result");
  overwrite(value, raised);
}

void RegionBuilder::overwrite(uint32_t value, const Raised& result) {
  // What shared the memory is gone.
  if (const program::Tensor* placed = placed_tensor(value)) {
    std::vector<uint32_t> gone;
    for (const auto& [other, raised] : raised_) {
      const program::Tensor* tensor = placed_tensor(other);
      if (tensor != nullptr && program::overlap(*placed, *tensor)) gone.push_back(other);
    }
    for (const uint32_t other : gone) set(other, std::nullopt);
  }
  set(value, result);
  defined_.push_back(value);
}

Shape RegionBuilder::sizes(const Raised& raised) const {
  Shape sizes = raised.order;
  const Shape& shape = graph.values[raised.id].shape;
  for (size_t i = 0; i < shape.rank(); ++i) sizes[static_cast<size_t>(raised.order[i])] = shape[i];
  return sizes;
}

namespace {

// Constants that passes made are packed once more for the region.
constexpr size_t kMaxOwnedBytes = 1 << 20;

bool is_plain_float(const graph::Graph& graph) {
  size_t owned = 0;
  for (const graph::Value& value : graph.values) {
    if (value.dtype != DType::kFloat32) return false;
    if (value.owner != nullptr) owned += static_cast<size_t>(value.shape.numel()) * sizeof(float);
  }
  // The weights of convolutions would be packed in another format than the delegate's own.
  return owned <= kMaxOwnedBytes && std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const graph::Node& node) {
           return node.op == Op::kConv && graph.values[node.inputs[1]].shape.product(1, 3) > 1;
         });
}

Order memory_order(const program::Tensor& tensor) {
  Order order;
  for (const uint8_t dim : tensor.dim_order) order.push_back(dim);
  return order;
}

}  // namespace

void RegionBuilder::append(const graph::Graph& delegate, std::span<const uint32_t> args) {
  const uint64_t size = delegate.values.size() + delegate.nodes.size();
  if (size > appended_) fail_execution("too many delegates");
  appended_ -= size;
  const auto tensor_of = [&](size_t i) -> const program::Tensor& {
    return std::get<program::Tensor>(method_.values[args[i]]);
  };
  for (size_t i = 0; i < args.size(); ++i) {
    if (tensor_of(i).dynamism != program::Dynamism::kStatic || tensor_of(i).dtype != DType::kFloat32)
      fail_execution("value ", args[i], " is not a float32 tensor of fixed sizes");
  }
  if (!is_plain_float(delegate)) fail_execution("a delegate of its own");
  std::vector<ValueId> ids(delegate.values.size(), kNoValue);
  for (size_t i = 0; i < args.size(); ++i) {
    const ValueId argument = delegate.arguments[i];
    if (!delegate.values[argument].is_input) continue;
    const Raised raised = read(args[i]);
    ids[argument] = arrange(raised, memory_order(tensor_of(i)));
    if (!(graph.values[ids[argument]].shape == delegate.values[argument].shape)) fail_execution("other shapes");
  }
  for (ValueId v = 0; v < ids.size(); ++v) {
    if (ids[v] != kNoValue) continue;
    graph::Value value = delegate.values[v];
    value.is_input = value.is_output = false;
    ids[v] = graph.add_value(std::move(value));
  }
  const auto moved = [&](ValueId id) { return id == kNoValue ? kNoValue : ids[id]; };
  for (graph::Node node : delegate.nodes) {
    for (auto* operands : {&node.inputs, &node.outputs}) {
      for (ValueId& id : *operands) id = moved(id);
    }
    node.post.residual = moved(node.post.residual);
    node.origin = origin_;
    graph.nodes.push_back(std::move(node));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const ValueId argument = delegate.arguments[i];
    if (!delegate.values[argument].is_output) continue;
    const Order order = memory_order(tensor_of(i));
    const graph::Shape& shape = delegate.values[argument].shape;
    if (order.rank() != shape.rank()) fail_execution("other ranks");
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (tensor_of(i).sizes[static_cast<size_t>(order[d])] != shape[d]) fail_execution("other shapes");
    }
    define(args[i], {ids[argument], order});
  }
}

ValueId RegionBuilder::emit(Op op, std::vector<ValueId> operands, graph::Attributes attributes) {
  graph::Node node;
  node.op = op;
  node.inputs = std::move(operands);
  node.outputs = {graph.add_value({})};
  node.attributes = std::move(attributes);
  node.origin = origin_;
  graph::infer_shapes(graph, node);
  for (const ValueId id : node.inputs) {
    if (id == kNoValue || !graph::is_quantized_constant(graph.values[id])) continue;
    // Passes may have to dequantise it.
    if (arranged_.try_emplace({id, "reserved"}, id).second) reserve(graph.values[id].shape.numel() * sizeof(float));
  }
  const ValueId out = node.outputs[0];
  if (const ValueId folded = fold(node); folded != kNoValue) return folded;
  if (op == Op::kReshape || op == Op::kTranspose || op == Op::kSlice || op == Op::kCopy) {
    const graph::Value& moved = graph.values[node.inputs[0]];
    graph.values[out].dtype = moved.dtype;
    graph.values[out].quantization = moved.quantization;
  }
  graph.nodes.push_back(std::move(node));
  return out;
}

const std::vector<int64_t>& RegionBuilder::outside_sizes(uint32_t value, const program::Tensor& tensor) const {
  if (tensor.dynamism == program::Dynamism::kStatic || outside_sizes_ == nullptr) return tensor.sizes;
  const auto known = outside_sizes_->find(value);
  if (known == outside_sizes_->end()) fail_execution("value ", value, " has no known sizes");
  return known->second;
}

std::vector<int64_t> RegionBuilder::sizes_of(uint32_t value) {
  if (const auto known = raised_.find(value); known != raised_.end()) {
    if (is_condition(value)) fail_execution("value ", value, " has no node");
    const Shape shape = sizes(known->second);
    return {shape.begin(), shape.end()};
  }
  const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
  if (tensor == nullptr) fail_execution("value ", value, " is no tensor");
  const std::vector<int64_t> known = outside_sizes(value, *tensor);
  if (tensor->dynamism != program::Dynamism::kStatic && !contains(measured_, value)) measured_.push_back(value);
  return known;
}

Shape checked_shape(std::span<const int64_t> sizes) {
  if (sizes.size() > graph::kMaxRank) fail_execution(sizes.size(), " dims");
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 1 || size > kMaxElements / count) fail_execution("sizes ", sizes);
    count *= size;
  }
  return Shape(sizes);
}

const Raised* RegionBuilder::repeated(ValueId id) const {
  const auto known = repeated_.find(id);
  return known != repeated_.end() ? &known->second : nullptr;
}

bool RegionBuilder::reads_input(uint32_t value) const {
  return std::any_of(inputs.begin(), inputs.end(), [&](const Port& port) { return port.value == value; });
}

void RegionBuilder::finish(const std::vector<uint32_t>& wanted) {
  for (const uint32_t value : wanted) {
    const auto known = raised_.find(value);
    if (known == raised_.end()) continue;
    if (is_condition(value)) fail_execution("value ", value, " has no node");
    const auto& tensor = std::get<program::Tensor>(method_.values[value]);
    ValueId id = dequantized(arrange(known->second, memory_order(tensor)));
    const graph::Value& result = graph.values[id];
    if (result.is_external() || result.is_constant()) id = emit(Op::kCopy, {id});
    graph.values[id].is_output = true;
    graph.values[id].dtype = tensor.dtype;
    outputs.push_back({value, id});
  }
  for (const auto* ports : {&inputs, &outputs}) {
    for (const Port& port : *ports) {
      graph.values[port.id].argument = static_cast<uint32_t>(graph.arguments.size());
      graph.arguments.push_back(port.id);
    }
  }
}

}  // namespace enr::raise
