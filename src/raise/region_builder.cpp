#include "raise/region_builder.h"

#include <algorithm>

#include "base/error.h"
#include "graph/infer.h"
#include "kernels/transpose/strided_copy.h"
#include "program/overlap.h"

namespace enr::raise {

using graph::kNoValue;
using graph::Op;
using graph::Shape;
using graph::ValueId;

Order row_major(size_t rank) {
  Order order;
  for (size_t d = 0; d < rank; ++d) order.push_back(static_cast<int64_t>(d));
  return order;
}

Order channels_last(size_t rank) {
  if (rank < 3) return row_major(rank);
  Order order{0};
  for (size_t d = 2; d < rank; ++d) order.push_back(static_cast<int64_t>(d));
  order.push_back(1);
  return order;
}

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

bool is_row_major(const program::Tensor& tensor) {
  for (size_t d = 0; d < tensor.dim_order.size(); ++d) {
    if (tensor.dim_order[d] != d) return false;
  }
  return true;
}

}  // namespace

// Exporters drop views whose sizes are fixed: the result is then a value without an instruction, in the memory of what
// it is a view of.
const Raised* RegionBuilder::find_alias(uint32_t value) {
  const program::Tensor* tensor = placed_tensor(value);
  if (tensor == nullptr) return nullptr;
  for (size_t i = defined_.size(); i-- > 0;) {
    const program::Tensor* base = placed_tensor(defined_[i]);
    if (base == nullptr || !program::overlap(*tensor, *base)) continue;
    const auto known = raised_.find(defined_[i]);
    if (known == raised_.end() || is_condition(defined_[i]) || base->placement.offset != tensor->placement.offset ||
        base->size_bytes != tensor->size_bytes || tensor->dtype != base->dtype || !is_row_major(*base) ||
        !is_row_major(*tensor) || tensor->sizes.size() > graph::kMaxRank) {
      fail_execution("value ", value, " shares memory with value ", defined_[i]);
    }
    set(value, view(known->second, Shape(tensor->sizes)));
    return &raised_[value];
  }
  return nullptr;
}

Raised RegionBuilder::read(uint32_t value) {
  if (is_condition(value)) fail_execution("value ", value, " has no node");
  if (const auto known = raised_.find(value); known != raised_.end()) return known->second;
  if (const Raised* alias = find_alias(value)) return *alias;
  const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
  if (tensor == nullptr || tensor->dtype != DType::kFloat32 || tensor->dynamism != program::Dynamism::kStatic ||
      tensor->sizes.size() > graph::kMaxRank || tensor->size_bytes == 0) {
    fail_execution("value ", value, " is not a float32 tensor of fixed sizes");
  }
  Raised raised;
  graph::Value in;
  for (const uint8_t dim : tensor->dim_order) {
    raised.order.push_back(dim);
    in.shape.push_back(tensor->sizes[dim]);
  }
  if (tensor->storage == program::Storage::kConstant) {
    raised.id = graph.add_constant(DType::kFloat32, in.shape, nullptr, tensor->bytes.data());
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

bool is_result(const program::Value& value, DType dtype, const Shape& sizes) {
  const auto* tensor = std::get_if<program::Tensor>(&value);
  return tensor != nullptr && tensor->dtype == dtype && tensor->dynamism == program::Dynamism::kStatic &&
         tensor->storage != program::Storage::kConstant && std::ranges::equal(sizes, tensor->sizes);
}

}  // namespace

void RegionBuilder::define(uint32_t value, const Raised& result) {
  if (!is_result(method_.values[value], DType::kFloat32, sizes(result))) {
    fail_execution("value ", value, " is not the result");
  }
  overwrite(value, result);
}

void RegionBuilder::define_condition(uint32_t value, const Raised& condition, const Shape& sizes) {
  const DType dtype = condition.meaning == Meaning::kZeros ? DType::kFloat32 : DType::kBool;
  if (!is_result(method_.values[value], dtype, sizes)) fail_execution("value ", value, " is not the result");
  overwrite(value, condition);
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

const float* RegionBuilder::constant_data(const Raised& raised) const {
  if (!is_constant(raised)) fail_execution("value is not constant");
  return reinterpret_cast<const float*>(graph.values[raised.id].data);
}

ValueId RegionBuilder::emit(Op op, std::vector<ValueId> operands, graph::Attributes attributes) {
  graph::Node node;
  node.op = op;
  node.inputs = std::move(operands);
  node.outputs = {graph.add_value({})};
  node.attributes = std::move(attributes);
  node.origin = origin_;
  graph::infer_shapes(graph, node);
  const ValueId out = node.outputs[0];
  graph.nodes.push_back(std::move(node));
  return out;
}

ValueId RegionBuilder::constant(const Shape& shape, std::vector<float> data) {
  const uint64_t size_bytes = data.size() * sizeof(float);
  if (size_bytes > constant_bytes_) fail_execution("too many constants in other layouts");
  constant_bytes_ -= size_bytes;
  auto owner = std::make_shared<const std::vector<float>>(std::move(data));
  const float* floats = owner->data();
  return graph.add_constant(DType::kFloat32, shape, std::move(owner), floats);
}

namespace {

// The dims that are not of size 1, in this order.
std::vector<size_t> nonunit(const Order& order, const Shape& sizes) {
  std::vector<size_t> dims;
  for (const int64_t d : order) {
    if (sizes[static_cast<size_t>(d)] != 1) dims.push_back(static_cast<size_t>(d));
  }
  return dims;
}

}  // namespace

bool RegionBuilder::has_order(const Raised& raised, const Order& order) const {
  const Shape by_dim = sizes(raised);
  return nonunit(raised.order, by_dim) == nonunit(order, by_dim);
}

ValueId RegionBuilder::arrange(const Raised& raised, const Order& order) {
  const size_t added = order.rank() - raised.order.rank();
  if (added == 0 && raised.order == order) return raised.id;
  Order from;
  Shape shape;
  for (size_t d = 0; d < added; ++d) {
    from.push_back(static_cast<int64_t>(d));
    shape.push_back(1);
  }
  for (size_t i = 0; i < raised.order.rank(); ++i) {
    from.push_back(raised.order[i] + static_cast<int64_t>(added));
    shape.push_back(graph.values[raised.id].shape[i]);
  }
  Shape where = from, to = from, permutation = from;
  for (size_t i = 0; i < from.rank(); ++i) where[static_cast<size_t>(from[i])] = static_cast<int64_t>(i);
  bool moves = false;
  int64_t previous = -1;
  for (size_t i = 0; i < order.rank(); ++i) {
    permutation[i] = where[static_cast<size_t>(order[i])];
    to[i] = shape[static_cast<size_t>(permutation[i])];
    if (to[i] == 1) continue;
    moves |= permutation[i] < previous;
    previous = permutation[i];
  }
  return moves ? transposed(reshaped(raised.id, shape), permutation) : reshaped(raised.id, to);
}

ValueId RegionBuilder::reshaped(ValueId id, const Shape& shape) {
  if (graph.values[id].shape == shape) return id;
  const graph::Value& from = graph.values[id];
  if (from.is_constant()) return graph.add_constant(from.dtype, shape, from.owner, from.data);
  ValueId& known = arranged_.try_emplace({id, concat("view", shape.dims())}, kNoValue).first->second;
  if (known == kNoValue) known = emit(Op::kReshape, {id}, graph::ReshapeAttributes{shape, std::nullopt});
  return known;
}

ValueId RegionBuilder::transposed(ValueId id, const Shape& permutation) {
  ValueId& known = arranged_.try_emplace({id, concat("transpose", permutation.dims())}, kNoValue).first->second;
  if (known != kNoValue) return known;
  if (!graph.values[id].is_constant()) {
    return known = emit(Op::kTranspose, {id}, graph::TransposeAttributes{permutation});
  }
  const graph::Value from = graph.values[id];
  std::vector<float> data(static_cast<size_t>(from.shape.numel()));
  Shape to = permutation;
  for (size_t i = 0; i < to.rank(); ++i) to[i] = from.shape[static_cast<size_t>(permutation[i])];
  kernels::permute(data.data(), from.data, from.shape.dims(), permutation.dims(), sizeof(float));
  return known = constant(to, std::move(data));
}

// A whole order from that of the dims that are not of size 1; those of size 1 go where the order looks familiar.
Order RegionBuilder::order_of(const std::vector<size_t>& dims, const Shape& sizes) const {
  for (const Order& familiar : {row_major(sizes.rank()), channels_last(sizes.rank())}) {
    if (nonunit(familiar, sizes) == dims) return familiar;
  }
  Order order;
  for (size_t d = 0; d < sizes.rank(); ++d) {
    if (sizes[d] == 1) order.push_back(static_cast<int64_t>(d));
  }
  for (const size_t d : dims) order.push_back(static_cast<int64_t>(d));
  return order;
}

Raised RegionBuilder::view(const Raised& raised, const Shape& to) {
  const Shape from = sizes(raised);
  if (from.numel() != to.numel()) fail_execution("a view of ", from.dims(), " as ", to.dims());
  // Groups of dims that hold the same elements before and after.
  struct Group {
    std::vector<size_t> in, out;
    size_t position = 0;  // of the last dim in memory
    bool together = true;
  };
  const std::vector<size_t> in = nonunit(row_major(from.rank()), from), out = nonunit(row_major(to.rank()), to);
  const std::vector<size_t> memory = nonunit(raised.order, from);
  const auto position = [&](size_t dim) {
    return static_cast<size_t>(std::find(memory.begin(), memory.end(), dim) - memory.begin());
  };
  std::vector<Group> groups;
  for (size_t i = 0, j = 0; i < in.size() && j < out.size();) {
    Group group{{in[i]}, {out[j]}};
    int64_t a = from[in[i++]], b = to[out[j++]];
    while (a != b) {
      if (a < b) {
        group.in.push_back(in[i]);
        a *= from[in[i++]];
      } else {
        group.out.push_back(out[j]);
        b *= to[out[j++]];
      }
    }
    group.position = position(group.in.back());
    for (size_t k = 1; k < group.in.size(); ++k)
      group.together &= position(group.in[k - 1]) + 1 == position(group.in[k]);
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.position < b.position; });
  ValueId id = raised.id;
  if (!std::all_of(groups.begin(), groups.end(), [](const Group& group) { return group.together; })) {
    std::vector<size_t> dims;
    for (const Group& group : groups) dims.insert(dims.end(), group.in.begin(), group.in.end());
    id = arrange(raised, order_of(dims, from));
  }
  std::vector<size_t> dims;
  for (const Group& group : groups) dims.insert(dims.end(), group.out.begin(), group.out.end());
  const Order order = order_of(dims, to);
  Shape shape = order;
  for (size_t i = 0; i < order.rank(); ++i) shape[i] = to[static_cast<size_t>(order[i])];
  return {reshaped(id, shape), order};
}

Raised RegionBuilder::permute(const Raised& raised, const Order& dims) const {
  Order inverse = dims, order = dims;
  for (size_t d = 0; d < dims.rank(); ++d) inverse[static_cast<size_t>(dims[d])] = static_cast<int64_t>(d);
  for (size_t i = 0; i < dims.rank(); ++i) order[i] = inverse[static_cast<size_t>(raised.order[i])];
  return {raised.id, order};
}

Raised RegionBuilder::slice(const Raised& raised, size_t dim, int64_t start, int64_t size) {
  const size_t rank = raised.order.rank();
  if (sizes(raised)[dim] == size) return raised;
  Raised from = raised;
  // Slices of familiar orders are mostly views; others would be copied now and rearranged later.
  const Order familiar = has_order(raised, channels_last(rank)) ? channels_last(rank) : row_major(rank);
  from = {arrange(raised, familiar), familiar};
  graph::SliceAttributes slice{Shape(std::vector<int64_t>(rank, 0)), graph.values[from.id].shape};
  for (size_t i = 0; i < rank; ++i) {
    if (from.order[i] != static_cast<int64_t>(dim)) continue;
    slice.offsets[i] = start;
    slice.sizes[i] = size;
  }
  from.id = emit(Op::kSlice, {from.id}, slice);
  return from;
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
    Order order;
    for (const uint8_t dim : tensor.dim_order) order.push_back(dim);
    ValueId id = arrange(known->second, order);
    const graph::Value& result = graph.values[id];
    if (result.is_external() || result.is_constant()) id = emit(Op::kCopy, {id});
    graph.values[id].is_output = true;
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
