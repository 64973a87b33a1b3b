// Sums, means and extremes over dims.

#include "base/error.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

using graph::Shape;
using kernels::Reduce;

// The dims at argument 1; bit d: dim d.
uint32_t dims_of(const Call& call, size_t rank) {
  uint32_t dims = 0;
  if (!call.is_none(1)) {
    for (const int64_t dim : call.integers(1)) dims |= 1u << resolve_dim(dim, rank);
  }
  return dims != 0 ? dims : (1u << rank) - 1;
}

void reduce(RegionBuilder& region, const Call& call, Reduce op, size_t out) {
  const Raised self = region.read(call.value(0));
  const size_t rank = self.order.rank();
  if (rank == 0) fail_execution("a scalar");
  const uint32_t dims = dims_of(call, rank);
  graph::ReduceAttributes attributes{op, 0};
  for (size_t i = 0; i < rank; ++i) attributes.dims |= (dims >> self.order[i] & 1) << i;
  const Raised reduced{region.emit(graph::Op::kReduce, {self.id}, attributes), self.order};
  if (call.flag(2)) return region.define(call.value(out), reduced);
  const Shape sizes = region.sizes(reduced);
  Shape kept;
  for (size_t d = 0; d < rank; ++d) {
    if ((dims >> d & 1) == 0) kept.push_back(sizes[d]);
  }
  region.define(call.value(out), region.view(reduced, kept));
}

template <Reduce op>
void extreme(RegionBuilder& region, const Call& call) {
  reduce(region, call, op, 3);
}

// With the dtype of the result at argument 3.
template <Reduce op>
void total(RegionBuilder& region, const Call& call) {
  if (!call.is_none(3)) fail_execution("dtype");
  const size_t rank = call.tensor(0).sizes.size();
  if (op == Reduce::kMean && rank == 4 && dims_of(call, rank) == 0b1100)
    return average_images(region, call, 4, call.flag(2));
  reduce(region, call, op, 4);
}

constexpr NamedTranslation kRows[] = {
    {"aten::mean.out", total<Reduce::kMean>},
    {"aten::sum.IntList_out", total<Reduce::kSum>},
    {"aten::amin.out", extreme<Reduce::kMin>},
    {"aten::amax.out", extreme<Reduce::kMax>},
};

}  // namespace

Translation find_reduction(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
