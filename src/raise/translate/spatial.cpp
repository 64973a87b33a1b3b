// Pooling, means of whole images, and resizing.

#include <algorithm>

#include "base/error.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

using graph::Op;
using graph::Shape;
using graph::ValueId;

Raised image(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  if (self.order.rank() != 4) fail_execution("rank");
  return {region.arrange(self, channels_last(4)), channels_last(4)};
}

// Kernel, stride, padding at arguments 1 to 3; `out` has the sizes that rounding up may need more padding for.
graph::WindowAttributes window(const Call& call, const Shape& in, size_t out, size_t dilation) {
  const std::vector<int64_t> kernel = call.for_dims(1, 2, {}), stride = call.for_dims(2, 2, kernel),
                             padding = call.for_dims(3, 2, {0}),
                             spread = dilation == 0 ? std::vector<int64_t>{1, 1} : call.for_dims(dilation, 2, {1});
  const std::vector<int64_t>& sizes = call.tensor(out).sizes;
  int64_t end[2];
  for (size_t d = 0; d < 2; ++d) {
    if (kernel[d] < 1 || stride[d] < 1 || spread[d] < 1 || padding[d] < 0 || padding[d] * 2 > kernel[d] ||
        sizes.size() != 4) {
      fail_execution("window");
    }
    const int64_t reach = (sizes[d + 2] - 1) * stride[d] + (kernel[d] - 1) * spread[d] + 1;
    end[d] = std::max(padding[d], reach - in[d + 1] - padding[d]);
  }
  graph::WindowAttributes w;
  w.kernel_height = static_cast<uint32_t>(kernel[0]);
  w.kernel_width = static_cast<uint32_t>(kernel[1]);
  w.stride_height = static_cast<uint32_t>(stride[0]);
  w.stride_width = static_cast<uint32_t>(stride[1]);
  w.dilation_height = static_cast<uint32_t>(spread[0]);
  w.dilation_width = static_cast<uint32_t>(spread[1]);
  w.pad_top = static_cast<uint32_t>(padding[0]);
  w.pad_left = static_cast<uint32_t>(padding[1]);
  w.pad_bottom = static_cast<uint32_t>(end[0]);
  w.pad_right = static_cast<uint32_t>(end[1]);
  return w;
}

bool is_padded(const graph::WindowAttributes& w) { return w.pad_top + w.pad_bottom + w.pad_left + w.pad_right != 0; }

void max_pool(RegionBuilder& region, const Call& call) {
  const Raised self = image(region, call);
  const graph::WindowAttributes w = window(call, region.graph.values[self.id].shape, 6, 4);
  const bool rounds_up = call.flag(5);
  if (!rounds_up && (w.pad_bottom != w.pad_top || w.pad_right != w.pad_left)) fail_execution("sizes");
  region.define(call.value(6), {region.emit(Op::kMaxPool, {self.id}, w), self.order});
}

void average_pool(RegionBuilder& region, const Call& call) {
  const Raised self = image(region, call);
  const graph::WindowAttributes w = window(call, region.graph.values[self.id].shape, 7, 0);
  // The graph's averages never count padding.
  if (call.flag(4) || !call.is_none(6) || (call.flag(5) && is_padded(w))) fail_execution("divisor");
  region.define(call.value(7), {region.emit(Op::kAveragePool, {self.id}, w), self.order});
}

void global_average(RegionBuilder& region, const Call& call, size_t out) {
  const Raised self = image(region, call);
  const ValueId mean = region.emit(Op::kGlobalAverage, {self.id}, graph::GlobalAverageAttributes{true});
  region.define(call.value(out), region.view({mean, self.order}, Shape(call.tensor(out).sizes)));
}

void adaptive_average_pool(RegionBuilder& region, const Call& call) {
  const std::vector<int64_t> size = call.integers(1);
  if (size != std::vector<int64_t>{1, 1} || call.tensor(2).sizes.size() != 4) fail_execution("output size");
  global_average(region, call, 2);
}

// Over height and width.
void mean(RegionBuilder& region, const Call& call) {
  std::vector<int64_t> dims = call.integers(1);
  const size_t rank = call.tensor(0).sizes.size();
  for (int64_t& dim : dims) dim = static_cast<int64_t>(resolve_dim(dim, rank));
  std::sort(dims.begin(), dims.end());
  const bool keeps = call.flag(2);
  if (rank != 4 || dims != std::vector<int64_t>{2, 3} || !call.is_none(3) ||
      call.tensor(4).sizes.size() != (keeps ? 4u : 2u)) {
    fail_execution("dims");
  }
  global_average(region, call, 4);
}

// Sizes are the program's; factors must be their ratio, which the graph's resizing goes by.
void check_factors(const Call& call, size_t factors, const Shape& in, const std::vector<int64_t>& out) {
  if (out.size() != 4) fail_execution("rank");
  if (call.is_none(factors)) {
    const std::vector<int64_t> asked = call.integers(1);
    if (asked.size() != 2 || asked[0] != out[2] || asked[1] != out[3]) fail_execution("output size");
    return;
  }
  const std::vector<double> given = call.reals(factors);
  if (!call.is_none(1) || given.size() != 2) fail_execution("factors");
  for (size_t d = 0; d < 2; ++d) {
    if (static_cast<double>(in[d + 1]) * given[d] != static_cast<double>(out[d + 2])) fail_execution("factors");
  }
}

void resize(RegionBuilder& region, const Call& call, Op op, bool align_corners, size_t factors) {
  const Raised self = image(region, call);
  const std::vector<int64_t>& out = call.tensor(factors + 1).sizes;
  check_factors(call, factors, region.graph.values[self.id].shape, out);
  const graph::ResizeAttributes attributes{static_cast<uint32_t>(out[2]), static_cast<uint32_t>(out[3]), align_corners};
  region.define(call.value(factors + 1), {region.emit(op, {self.id}, attributes), self.order});
}

void bilinear(RegionBuilder& region, const Call& call) { resize(region, call, Op::kResizeBilinear, call.flag(2), 3); }
void nearest(RegionBuilder& region, const Call& call) { resize(region, call, Op::kResizeNearest, false, 2); }

constexpr NamedTranslation kRows[] = {
    {"aten::max_pool2d_with_indices.out", max_pool},
    {"aten::avg_pool2d.out", average_pool},
    {"aten::_adaptive_avg_pool2d.out", adaptive_average_pool},
    {"aten::adaptive_avg_pool2d.out", adaptive_average_pool},
    {"aten::mean.out", mean},
    {"aten::upsample_bilinear2d.vec_out", bilinear},
    {"aten::upsample_nearest2d.vec_out", nearest},
};

}  // namespace

Translation find_spatial(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
