// Matrix products. Transposed operands are read as they lie in memory.

#include "base/error.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

using graph::MatmulAttributes;
using graph::Op;
using graph::Shape;
using graph::ValueId;

// Whether the last two dims are swapped in memory and everything else is in row-major order.
bool is_transposed(const RegionBuilder& region, const Raised& matrix) {
  Order order = row_major(matrix.order.rank());
  std::swap(order[order.rank() - 1], order[order.rank() - 2]);
  return region.has_order(matrix, order) && !region.has_order(matrix, row_major(order.rank()));
}

ValueId right_operand(RegionBuilder& region, const Raised& b, bool transposed) {
  Order order = row_major(b.order.rank());
  if (transposed) std::swap(order[order.rank() - 1], order[order.rank() - 2]);
  return region.arrange(b, order);
}

ValueId multiply(RegionBuilder& region, const Raised& a, const Raised& b, const Raised* bias) {
  const bool transposed = is_transposed(region, b);
  const ValueId left = region.arrange(a, row_major(a.order.rank())), right = right_operand(region, b, transposed);
  if (!region.is_constant(b) || b.order.rank() != 2) {
    return region.emit(Op::kBatchMatmul, {left, right}, MatmulAttributes{transposed});
  }
  std::vector<ValueId> operands{left, right};
  if (bias != nullptr) operands.push_back(bias->id);
  return region.emit(Op::kFullyConnected, std::move(operands), MatmulAttributes{!transposed});
}

void require_product(const RegionBuilder& region, const Raised& a, const Raised& b, size_t rank) {
  const Shape left = region.sizes(a), right = region.sizes(b);
  if (left.rank() != rank || right.rank() != rank || left[rank - 1] != right[rank - 2] ||
      (rank == 3 && left[0] != right[0])) {
    fail_execution("shapes ", left.dims(), " and ", right.dims(), " do not multiply");
  }
}

void mm(RegionBuilder& region, const Call& call) {
  const Raised a = region.read(call.value(0)), b = region.read_as_stored(call.value(1));
  require_product(region, a, b, 2);
  region.define(call.value(2), {multiply(region, a, b, nullptr), row_major(2)});
}

// Where sizes vary, exporters repeat a weight for every matrix of the batch.
Raised without_repeats(RegionBuilder& region, const Raised& b) {
  const Raised* once = region.repeated(b.id);
  if (once == nullptr || once->order.rank() != 3 || region.sizes(*once)[0] != 1) return b;
  const Shape sizes = region.sizes(*once), whole = region.sizes(b);
  if (sizes[1] != whole[1] || sizes[2] != whole[2]) return b;
  return region.view(*once, {sizes[1], sizes[2]});
}

void bmm(RegionBuilder& region, const Call& call) {
  const Raised a = region.read(call.value(0)), b = region.read(call.value(1));
  require_product(region, a, b, 3);
  region.define(call.value(2), {multiply(region, a, without_repeats(region, b), nullptr), row_major(3)});
}

Raised add(RegionBuilder& region, ValueId product, const Raised& addend, size_t rank) {
  const ValueId other = region.arrange(addend, row_major(std::max(rank, addend.order.rank())));
  return {region.emit(Op::kBinary, {product, other}, graph::BinaryAttributes{kernels::Binary::kAdd}), row_major(rank)};
}

// A row that a fully connected node takes as its bias.
bool is_bias(const RegionBuilder& region, const Raised& addend, const Raised& weight, int64_t outputs) {
  return region.is_constant(weight) && region.is_constant(addend) && addend.order.rank() == 1 &&
         region.numel(addend) == outputs;
}

void addmm(RegionBuilder& region, const Call& call) {
  const Raised addend = region.read(call.value(0)), a = region.read(call.value(1));
  const Raised b = region.read_as_stored(call.value(2));
  require_product(region, a, b, 2);
  if (call.number(3) != 1 || call.number(4) != 1) fail_execution("factors");
  if (is_bias(region, addend, b, region.sizes(b)[1])) {
    return region.define(call.value(5), {multiply(region, a, b, &addend), row_major(2)});
  }
  region.define(call.value(5), add(region, multiply(region, a, b, nullptr), addend, 2));
}

void linear(RegionBuilder& region, const Call& call) {
  const Raised input = region.read(call.value(0)), weight = region.read_as_stored(call.value(1));
  if (weight.order.rank() != 2 || input.order.rank() == 0) fail_execution("ranks");
  const size_t rank = input.order.rank();
  const Raised right = region.permute(weight, {1, 0});
  if (call.is_none(2)) {
    return region.define(call.value(3), {multiply(region, input, right, nullptr), row_major(rank)});
  }
  const Raised bias = region.read(call.value(2));
  const int64_t outputs = region.sizes(weight)[0];
  if (bias.order.rank() != 1 || region.numel(bias) != outputs) fail_execution("bias");
  if (is_bias(region, bias, weight, outputs)) {
    return region.define(call.value(3), {multiply(region, input, right, &bias), row_major(rank)});
  }
  if (rank < 2) fail_execution("a vector");
  region.define(call.value(3), add(region, multiply(region, input, right, nullptr), bias, rank));
}

constexpr NamedTranslation kRows[] = {
    {"aten::mm.out", mm},
    {"aten::bmm.out", bmm},
    {"aten::addmm.out", addmm},
    {"aten::linear.out", linear},
};

}  // namespace

Translation find_matmul(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
