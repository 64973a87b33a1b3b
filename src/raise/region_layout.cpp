// The order of dims in memory: how the builder brings values into the one that is asked for, and what views,
// permutations and slices make of it.

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/mapped_pages.h"
#include "kernels/transpose/strided_copy.h"
#include "raise/region_builder.h"

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

namespace {

// The dim of `to` that is the dim `d` of `from`.
std::optional<uint8_t> find_dim(const Shape& from, size_t d, const Shape& to) {
  for (size_t i = 0; i < to.rank(); ++i) {
    if (to[i] == from[d] && to.product(0, i) == from.product(0, d)) return static_cast<uint8_t>(i);
  }
  return std::nullopt;
}

}  // namespace

ValueId RegionBuilder::reshaped(ValueId id, const Shape& shape) {
  if (graph.values[id].shape == shape) return id;
  const graph::Value from = graph.values[id];
  if (from.is_constant()) {
    graph::Quantization quantization = from.quantization;
    if (quantization.kind == graph::Quantization::Kind::kPerChannel) {
      const std::optional<uint8_t> dim = find_dim(from.shape, quantization.channel_dim, shape);
      if (!dim) return reshaped(dequantized(id), shape);
      quantization.channel_dim = *dim;
    }
    const ValueId to = graph.add_constant(from.dtype, shape, from.owner, from.data);
    graph.values[to].quantization = std::move(quantization);
    return to;
  }
  ValueId& known = arranged_.try_emplace({id, concat("view", shape.dims())}, kNoValue).first->second;
  if (known == kNoValue) known = emit(Op::kReshape, {id}, graph::ReshapeAttributes{shape, std::nullopt});
  return known;
}

ValueId RegionBuilder::transposed(ValueId id, const Shape& permutation) {
  if (graph.values[id].quantization.kind == graph::Quantization::Kind::kPerBlock) id = dequantized(id);
  ValueId& known = arranged_.try_emplace({id, concat("transpose", permutation.dims())}, kNoValue).first->second;
  if (known != kNoValue) return known;
  if (!graph.values[id].is_constant()) {
    return known = emit(Op::kTranspose, {id}, graph::TransposeAttributes{permutation});
  }
  const graph::Value from = graph.values[id];
  Shape to = permutation;
  for (size_t i = 0; i < to.rank(); ++i) to[i] = from.shape[static_cast<size_t>(permutation[i])];
  const std::string how = concat("permuted ", from.shape.dims(), permutation.dims());
  const ValueId moved = derive(from.dtype, to, from.data, how, [&](std::byte* data) {
    const size_t element = dtype_size(from.dtype);
    kernels::permute(data, from.data, from.shape.dims(), permutation.dims(), element);
    release_pages(from.data, static_cast<size_t>(to.numel()) * element);  // what is packed later is this copy
  });
  graph.values[moved].quantization = from.quantization;
  for (size_t i = 0; i < permutation.rank(); ++i) {
    if (permutation[i] == int64_t{from.quantization.channel_dim})
      graph.values[moved].quantization.channel_dim = static_cast<uint8_t>(i);
  }
  return known = moved;
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

}  // namespace enr::raise
