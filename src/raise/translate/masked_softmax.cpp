// How exporters write a softmax whose fully masked rows are zero:
//
//   where(logical_not(any(logical_not(eq(scores, -inf)), dim)), full_like(scores, 0), softmax(scores, dim))
//
// Its conditions have no nodes; the result is one node. In other company these operators stay as they are.

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

using graph::Op;
using graph::Shape;

Raised with_meaning(Raised of, Meaning meaning) {
  of.meaning = meaning;
  return of;
}

void equals(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const double other = call.number(1);
  if (!std::isinf(other) || other > 0) fail_execution("another number than negative infinity");
  region.define_condition(call.value(2), with_meaning(self, Meaning::kIsMinusInfinity), region.sizes(self));
}

Shape with_size_1(Shape sizes, size_t dim) {
  sizes[dim] = 1;
  return sizes;
}

void logical_not(RegionBuilder& region, const Call& call) {
  const Raised self = region.read_condition(call.value(0));
  if (self.meaning == Meaning::kIsMinusInfinity) {
    return region.define_condition(call.value(1), with_meaning(self, Meaning::kIsNotMinusInfinity), region.sizes(self));
  }
  if (self.meaning != Meaning::kAnyIsNot) fail_execution("another condition");
  const Shape sizes = with_size_1(region.sizes(self), self.dim);
  region.define_condition(call.value(1), with_meaning(self, Meaning::kAllAre), sizes);
}

void any(RegionBuilder& region, const Call& call) {
  Raised self = region.read_condition(call.value(0));
  const Shape sizes = region.sizes(self);
  self.dim = static_cast<uint32_t>(call.dim(1, sizes.rank()));
  if (self.meaning != Meaning::kIsNotMinusInfinity || !call.flag(2)) fail_execution("another condition");
  region.define_condition(call.value(3), with_meaning(self, Meaning::kAnyIsNot), with_size_1(sizes, self.dim));
}

void full_like(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  if (call.number(1) != 0) fail_execution("not zero");
  region.define_condition(call.value(3), with_meaning(self, Meaning::kZeros), region.sizes(self));
}

void where(RegionBuilder& region, const Call& call) {
  const Raised condition = region.read_condition(call.value(0)), zeros = region.read_condition(call.value(1));
  const Raised softmax = region.read(call.value(2));
  if (condition.meaning != Meaning::kAllAre || zeros.meaning != Meaning::kZeros) fail_execution("another condition");
  const auto& nodes = region.graph.nodes;
  const auto writer = std::find_if(nodes.rbegin(), nodes.rend(),
                                   [&](const graph::Node& node) { return node.outputs[0] == softmax.id; });
  if (writer == nodes.rend() || writer->op != Op::kSoftmax || writer->as<graph::SoftmaxAttributes>().logarithm ||
      softmax.order.back() != static_cast<int64_t>(condition.dim) || condition.order.rank() != softmax.order.rank() ||
      !(region.sizes(zeros) == region.sizes(softmax))) {
    fail_execution("not a softmax of the scores");
  }
  const Raised scores{condition.id, condition.order};
  const graph::ValueId in = writer->inputs[0];
  if (region.arrange(scores, softmax.order) != in) fail_execution("a softmax of other scores");
  region.define(call.value(3), {region.emit(Op::kSoftmax, {in}, graph::SoftmaxAttributes{false, true}), softmax.order});
}

constexpr NamedTranslation kRows[] = {
    {"aten::eq.Scalar_out", equals},    {"aten::logical_not.out", logical_not}, {"aten::any.out", any},
    {"aten::full_like.out", full_like}, {"aten::where.self_out", where},
};

}  // namespace

Translation find_masked_softmax(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
