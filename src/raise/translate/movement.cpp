// Operators that only move elements: most cost nothing, since a value knows the order of its dims.

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "program/overlap.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

using graph::Op;
using graph::Shape;
using graph::ValueId;

void copy(RegionBuilder& region, const Call& call, size_t out) {
  region.define(call.value(out), region.read_as_stored(call.value(0)));
}

void alias(RegionBuilder& region, const Call& call) { copy(region, call, 1); }
void clone(RegionBuilder& region, const Call& call) { copy(region, call, 2); }

// Scalars of a model are often integer constants that every call converts.
void to_copy(RegionBuilder& region, const Call& call) {
  const DType dtype = call.tensor(0).dtype, to = call.tensor(3).dtype;
  if (dtype != to && (is_half_kind(dtype) || (dtype == DType::kFloat32 && is_half_kind(to)))) {
    const Raised self = region.read(call.value(0));
    const graph::Value& value = region.graph.values[self.id];
    const bool is_computed = !value.is_external() && !value.is_constant();
    // The region goes on in float32, but what a program converts to or from halves is rounded as they are.
    if (is_half_kind(to) || is_computed) {
      const ValueId half = region.emit(Op::kConvert, {self.id});
      region.graph.values[half].dtype = is_half_kind(to) ? to : dtype;
      return region.define(call.value(3), {region.emit(Op::kConvert, {half}), self.order});
    }
  }
  if (dtype == DType::kFloat32 && is_integer(to)) {
    Raised levels = region.read(call.value(0));
    if (!region.has_levels(levels.id, to)) fail_execution("not known to be integers");
    levels.meaning = Meaning::kLevels;
    return region.define_unwritten(call.value(3), levels, region.sizes(levels), to);
  }
  if (dtype == DType::kFloat32 || is_half_kind(dtype)) return copy(region, call, 3);
  if (region.is_levels(call.value(0))) {
    const Raised levels = region.read_levels(call.value(0));
    return region.define(call.value(3), {levels.id, levels.order});
  }
  region.define(call.value(3), region.read_converted(call.value(0)));
}

// What keeps its elements may be read as the integers it is.
Raised read_any(RegionBuilder& region, uint32_t value) {
  return region.is_levels(value) ? region.read_levels(value) : region.read_as_stored(value);
}

void define_any(RegionBuilder& region, const Call& call, size_t out, Raised result, Meaning meaning) {
  result.meaning = meaning;
  if (meaning == Meaning::kElements) return region.define(call.value(out), result);
  region.define_unwritten(call.value(out), result, region.sizes(result), call.tensor(0).dtype);
}

Raised viewed(RegionBuilder& region, const Call& call, const Raised& self) {
  std::vector<int64_t> asked = call.integers(1);
  const auto inferred = std::find(asked.begin(), asked.end(), -1);
  if (inferred != asked.end()) {
    *inferred = 1;
    *inferred = region.numel(self) / checked_shape(asked).numel();
  }
  return region.view(self, checked_shape(asked));
}

void view(RegionBuilder& region, const Call& call) {
  const Raised self = read_any(region, call.value(0));
  define_any(region, call, 2, viewed(region, call, self), self.meaning);
}

// As exporters write them, at the place of what they view.
void view_in_place(RegionBuilder& region, const Call& call) {
  const program::Tensor &base = call.tensor(0), &out = call.tensor(2);
  if (!program::is_placed(base) || !program::is_placed(out) || base.placement.arena != out.placement.arena ||
      base.placement.offset != out.placement.offset || base.dtype != out.dtype) {
    fail_execution("a view of other memory");
  }
  region.define_view(call.value(2), viewed(region, call, region.read_as_stored(call.value(0))));
}

void unsqueeze(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  Shape to = region.sizes(self);
  if (to.rank() == graph::kMaxRank) fail_execution("rank");
  const size_t dim = call.dim(1, to.rank() + 1);
  to.push_back(1);
  std::rotate(&to[dim], &to[to.rank() - 1], &to[to.rank() - 1] + 1);
  region.define(call.value(2), region.view(self, to));
}

void squeeze(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const Shape from = region.sizes(self);
  std::vector<bool> goes(from.rank(), false);
  for (const int64_t dim : call.integers(1)) goes[resolve_dim(dim, from.rank())] = true;
  Shape to;
  for (size_t d = 0; d < from.rank(); ++d) {
    if (!goes[d] || from[d] != 1) to.push_back(from[d]);
  }
  region.define(call.value(2), region.view(self, to));
}

constexpr int64_t kMaxRepeats = 1 << 16;  // they take memory

// What is repeated is multiplied by ones, which is exact.
void expand(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const Shape from = region.sizes(self);
  const std::vector<int64_t> asked = call.integers(1);
  if (asked.size() > graph::kMaxRank || from.rank() > asked.size()) fail_execution("size");
  const size_t added = asked.size() - from.rank();
  std::vector<int64_t> whole(asked), times(asked);
  for (size_t d = 0; d < asked.size(); ++d) {
    whole[d] = d < added ? 1 : from[d - added];
    const bool repeats = asked[d] != whole[d] && (asked[d] != -1 || d < added);
    if (repeats && (whole[d] != 1 || asked[d] < 1)) fail_execution("size");
    times[d] = repeats ? asked[d] : 1;
  }
  const Raised seen = region.view(self, checked_shape(whole));
  const int64_t repeats = checked_shape(times).numel();
  if (repeats == 1) return region.define(call.value(3), seen);
  if (repeats > kMaxRepeats) fail_execution("many repeats");
  Shape shape = seen.order;
  for (size_t i = 0; i < shape.rank(); ++i) shape[i] = times[static_cast<size_t>(seen.order[i])];
  const std::vector<float> ones(static_cast<size_t>(repeats), 1.0f);
  const graph::BinaryAttributes product{kernels::Binary::kMul};
  const ValueId repeated = region.emit(Op::kBinary, {seen.id, region.constant(shape, ones)}, product);
  region.set_repeated(repeated, seen);
  region.define(call.value(3), {repeated, seen.order});
}

void permute(RegionBuilder& region, const Call& call) {
  const Raised self = read_any(region, call.value(0));
  const std::vector<int64_t> dims = call.integers(1);
  const size_t rank = self.order.rank();
  if (dims.size() != rank) fail_execution("dims");
  Order order;
  std::vector<bool> seen(rank, false);
  for (const int64_t dim : dims) {
    const size_t d = resolve_dim(dim, rank);
    if (seen[d]) fail_execution("dims");
    seen[d] = true;
    order.push_back(static_cast<int64_t>(d));
  }
  define_any(region, call, 2, region.permute(self, order), self.meaning);
}

void transpose(RegionBuilder& region, const Call& call) {
  const Raised self = read_any(region, call.value(0));
  Order order = row_major(self.order.rank());
  std::swap(order[call.dim(1, order.rank())], order[call.dim(2, order.rank())]);
  define_any(region, call, 3, region.permute(self, order), self.meaning);
}

void slice(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const Shape sizes = region.sizes(self);
  const size_t dim = call.dim(1, sizes.rank());
  const int64_t size = sizes[dim];
  if (call.integer(4) != 1) fail_execution("step");
  const auto bound = [&](size_t argument, int64_t missing) {
    int64_t at = call.is_none(argument) ? missing : call.integer(argument);
    if (at < 0) at = std::max<int64_t>(at, -size) + size;
    return std::min(at, size);
  };
  const int64_t start = bound(2, 0), end = bound(3, size);
  if (end <= start) fail_execution("nothing left");
  region.define(call.value(5), region.slice(self, dim, start, end - start));
}

Raised select(RegionBuilder& region, const Raised& self, size_t dim, int64_t index) {
  const Shape sizes = region.sizes(self);
  const Raised row = region.slice(self, dim, index, 1);
  Shape to;
  for (size_t d = 0; d < sizes.rank(); ++d) {
    if (d != dim) to.push_back(sizes[d]);
  }
  return region.view(row, to);
}

void select(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const Shape sizes = region.sizes(self);
  const size_t dim = call.dim(1, sizes.rank());
  const int64_t index = call.integer(2);
  if (index < -sizes[dim] || index >= sizes[dim]) fail_execution("index");
  region.define(call.value(3), select(region, self, dim, index < 0 ? index + sizes[dim] : index));
}

void unbind(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const size_t dim = call.dim(1, self.order.rank());
  const std::vector<uint32_t>& outs = call.tensors(2);
  if (static_cast<int64_t>(outs.size()) != region.sizes(self)[dim]) fail_execution("count");
  for (size_t i = 0; i < outs.size(); ++i) {
    region.define(outs[i], select(region, self, dim, static_cast<int64_t>(i)));
  }
}

void split(RegionBuilder& region, const Call& call, size_t dim, const std::vector<int64_t>& parts) {
  const Raised self = region.read(call.value(0));
  const std::vector<uint32_t>& outs = call.tensors(3);
  const int64_t whole = region.sizes(self)[dim];
  int64_t start = 0;
  for (const int64_t size : parts) {
    if (size <= 0 || size > whole - start) fail_execution("parts");
    start += size;
  }
  if (outs.size() != parts.size() || start != whole) fail_execution("parts");
  start = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    region.define(outs[i], region.slice(self, dim, start, parts[i]));
    start += parts[i];
  }
}

void split_with_sizes(RegionBuilder& region, const Call& call) {
  split(region, call, call.dim(2, call.tensor(0).sizes.size()), call.integers(1));
}

void split_evenly(RegionBuilder& region, const Call& call) {
  const size_t dim = call.dim(2, call.tensor(0).sizes.size());
  const int64_t size = call.integer(1);
  if (size <= 0) fail_execution("split size");
  std::vector<int64_t> parts;
  for (int64_t left = region.sizes(region.read(call.value(0)))[dim]; left > 0; left -= size)
    parts.push_back(std::min(left, size));
  split(region, call, dim, parts);
}

void cat(RegionBuilder& region, const Call& call) {
  std::vector<Raised> parts;
  for (const uint32_t value : call.tensors(0)) parts.push_back(region.read(value));
  if (parts.empty()) fail_execution("no tensors");
  const size_t rank = parts[0].order.rank();
  const size_t dim = call.dim(1, rank);
  // In the order of the largest part: others are rearranged.
  const Raised* largest = &parts[0];
  for (const Raised& part : parts) {
    if (part.order.rank() != rank) fail_execution("ranks");
    if (region.numel(part) > region.numel(*largest)) largest = &part;
  }
  const Order order = largest->order;
  std::vector<ValueId> operands;
  for (const Raised& part : parts) operands.push_back(region.arrange(part, order));
  uint32_t axis = 0;
  while (order[axis] != static_cast<int64_t>(dim)) ++axis;
  const ValueId out =
      operands.size() == 1 ? operands[0] : region.emit(Op::kConcat, std::move(operands), graph::ConcatAttributes{axis});
  region.define(call.value(2), {out, order});
}

constexpr int64_t kMaxPadding = 1 << 30;

void pad(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const size_t rank = self.order.rank();
  const std::vector<int64_t> amounts = call.integers(1);
  if (amounts.size() % 2 != 0 || amounts.size() / 2 > rank) fail_execution("pad");
  Shape before = self.order, after = self.order;
  for (size_t i = 0; i < rank; ++i) {
    const size_t pair = rank - 1 - static_cast<size_t>(self.order[i]);  // the last dim comes first
    before[i] = pair * 2 < amounts.size() ? amounts[pair * 2] : 0;
    after[i] = pair * 2 < amounts.size() ? amounts[pair * 2 + 1] : 0;
    if (before[i] < 0 || after[i] < 0 || std::max(before[i], after[i]) > kMaxPadding) fail_execution("crops, or much");
  }
  const graph::PadAttributes attributes{before, after, static_cast<float>(call.number(2))};
  region.define(call.value(3), {region.emit(Op::kPad, {self.id}, attributes), self.order});
}

constexpr NamedTranslation kRows[] = {
    {"aten::alias_copy.out", alias},
    {"aten::detach_copy.out", alias},
    {"aten::lift_fresh_copy.out", alias},
    {"aten::clone.out", clone},
    {"dim_order_ops::_clone_dim_order.out", to_copy},
    {"dim_order_ops::_to_dim_order_copy.out", to_copy},
    {"aten::_to_copy.out", to_copy},
    {"aten::view_copy.out", view},
    {"executorch_prim::et_view.default", view_in_place},
    {"aten::_unsafe_view.out", view},
    {"aten::unsqueeze_copy.out", unsqueeze},
    {"aten::squeeze_copy.dims_out", squeeze},
    {"aten::expand_copy.out", expand},
    {"aten::permute_copy.out", permute},
    {"aten::transpose_copy.int_out", transpose},
    {"aten::slice_copy.Tensor_out", slice},
    {"aten::select_copy.int_out", select},
    {"aten::unbind_copy.int_out", unbind},
    {"aten::split_with_sizes_copy.out", split_with_sizes},
    {"aten::split_copy.Tensor_out", split_evenly},
    {"aten::cat.out", cat},
    {"aten::constant_pad_nd.out", pad},
};

}  // namespace

Translation find_movement(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
