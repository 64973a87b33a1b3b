// Softmax and normalisations.

#include "base/error.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

using graph::Op;
using graph::Shape;
using graph::ValueId;

// The memory order with this dim innermost.
Order with_last(const Order& order, size_t dim) {
  Order result;
  for (const int64_t d : order) {
    if (d != static_cast<int64_t>(dim)) result.push_back(d);
  }
  result.push_back(static_cast<int64_t>(dim));
  return result;
}

template <bool logarithm>
void softmax(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  if (self.order.rank() == 0 || call.flag(2)) fail_execution("a scalar, or another dtype");
  const Order order = with_last(self.order, call.dim(1, self.order.rank()));
  region.define(call.value(3),
                {region.emit(Op::kSoftmax, {region.arrange(self, order)}, graph::SoftmaxAttributes{logarithm}), order});
}

// Weight and bias, as operands behind the input. A bias alone would be taken for a weight.
void add_parameters(RegionBuilder& region, const Call& call, size_t weight, int64_t count,
                    std::vector<ValueId>& operands) {
  if (call.is_none(weight) && !call.is_none(weight + 1)) fail_execution("a bias without weight");
  for (const size_t argument : {weight, weight + 1}) {
    if (call.is_none(argument)) break;
    const Raised parameter = region.read(call.value(argument));
    if (region.numel(parameter) != count) fail_execution("parameters");
    operands.push_back(region.reshaped(region.arrange(parameter, row_major(parameter.order.rank())), {count}));
  }
}

void layer_norm(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const Shape sizes = region.sizes(self);
  const std::vector<int64_t> normalized = call.integers(1);
  const size_t rank = sizes.rank();
  if (normalized.empty() || normalized.size() > rank) fail_execution("normalized_shape");
  const size_t outer = rank - normalized.size();
  Order order;
  for (const int64_t d : self.order) {
    if (static_cast<size_t>(d) < outer) order.push_back(d);
  }
  int64_t columns = 1;
  for (size_t d = outer; d < rank; ++d) {
    if (sizes[d] != normalized[d - outer]) fail_execution("normalized_shape");
    columns *= sizes[d];
    order.push_back(static_cast<int64_t>(d));
  }
  for (const size_t argument : {size_t{2}, size_t{3}}) {
    if (!call.is_none(argument) && call.tensor(argument).sizes != normalized) fail_execution("parameters");
  }
  const ValueId in = region.arrange(self, order);
  const Shape shape = region.graph.values[in].shape;
  std::vector<ValueId> operands{region.reshaped(in, {sizes.numel() / columns, columns})};
  if (normalized.size() == 1) operands[0] = in;
  add_parameters(region, call, 2, columns, operands);
  const graph::NormAttributes attributes{call.number(4), 1};
  const ValueId out = region.emit(Op::kLayerNorm, std::move(operands), attributes);
  region.define(call.value(5), {region.reshaped(out, shape), order});
}

void group_norm(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const Shape sizes = region.sizes(self);
  const int64_t batch = call.integer(3), channels = call.integer(4), spatial = call.integer(5),
                groups = call.integer(6);
  if (sizes.rank() < 2 || sizes[0] != batch || sizes[1] != channels || spatial != sizes.numel() / (batch * channels) ||
      groups < 1 || channels % groups != 0) {
    fail_execution("sizes");
  }
  for (const size_t argument : {size_t{1}, size_t{2}}) {
    if (!call.is_none(argument) && call.tensor(argument).sizes.size() != 1) fail_execution("parameters");
  }
  const Order order = row_major(sizes.rank());
  std::vector<ValueId> operands{region.reshaped(region.arrange(self, order), {batch, channels, spatial})};
  add_parameters(region, call, 1, channels, operands);
  const graph::NormAttributes attributes{call.number(7), static_cast<uint32_t>(groups)};
  const ValueId out = region.emit(Op::kGroupNorm, std::move(operands), attributes);
  region.define(call.value(8), {region.reshaped(out, sizes), order});
}

constexpr NamedTranslation kRows[] = {
    {"aten::_softmax.out", softmax<false>},
    {"aten::_log_softmax.out", softmax<true>},
    {"aten::native_layer_norm.out", layer_norm},
    {"aten::native_group_norm.out", group_norm},
};

}  // namespace

Translation find_norm(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
