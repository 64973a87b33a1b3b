// Pooling, averages of whole images, and resizing.

#include <algorithm>
#include <cmath>

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

// Kernel, stride, padding at arguments 1 to 3. Rounding up may need more padding at the end.
graph::WindowAttributes window(const Call& call, const Shape& in, bool rounds_up, size_t dilation) {
  const std::vector<int64_t> kernel = call.for_dims(1, 2, {}), stride = call.for_dims(2, 2, kernel),
                             padding = call.for_dims(3, 2, {0}),
                             spread = dilation == 0 ? std::vector<int64_t>{1, 1} : call.for_dims(dilation, 2, {1});
  int64_t end[2];
  for (size_t d = 0; d < 2; ++d) {
    if (kernel[d] < 1 || stride[d] < 1 || spread[d] < 1 || padding[d] < 0 ||
        std::max({kernel[d], stride[d], spread[d], padding[d]}) > 1 << 20 || padding[d] * 2 > kernel[d]) {
      fail_execution("window");
    }
    const int64_t reach = (kernel[d] - 1) * spread[d] + 1, room = in[d + 1] + 2 * padding[d] - reach;
    if (room < 0) fail_execution("a window larger than the image");
    int64_t steps = (rounds_up ? room + stride[d] - 1 : room) / stride[d];
    if (rounds_up && steps * stride[d] >= in[d + 1] + padding[d]) --steps;  // windows begin in the image
    end[d] = std::max(padding[d], steps * stride[d] + reach - in[d + 1] - padding[d]);
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
  const graph::WindowAttributes w = window(call, region.graph.values[self.id].shape, call.flag(5), 4);
  region.define(call.value(6), {region.emit(Op::kMaxPool, {self.id}, w), self.order});
}

void average_pool(RegionBuilder& region, const Call& call) {
  const Raised self = image(region, call);
  const graph::WindowAttributes w = window(call, region.graph.values[self.id].shape, call.flag(4), 0);
  // The graph's averages never count padding.
  if (call.flag(4) || !call.is_none(6) || (call.flag(5) && is_padded(w))) fail_execution("divisor");
  region.define(call.value(7), {region.emit(Op::kAveragePool, {self.id}, w), self.order});
}

void adaptive_average_pool(RegionBuilder& region, const Call& call) {
  const std::vector<int64_t> size = call.integers(1);
  if (size != std::vector<int64_t>{1, 1}) fail_execution("output size");
  average_images(region, call, 2, true);
}

// Height and width of the result; factors must be whole ratios of sizes, which the graph's resizing goes by.
std::vector<int64_t> resized(const Call& call, size_t factors, const Shape& in) {
  if (call.is_none(factors)) {
    std::vector<int64_t> asked = call.integers(1);
    if (asked.size() != 2 || asked[0] < 1 || asked[1] < 1 || std::max(asked[0], asked[1]) > 1 << 20)
      fail_execution("output size");
    return asked;
  }
  const std::vector<double> given = call.reals(factors);
  if (!call.is_none(1) || given.size() != 2) fail_execution("factors");
  std::vector<int64_t> out;
  for (size_t d = 0; d < 2; ++d) {
    const double size = static_cast<double>(in[d + 1]) * given[d];
    if (!(size >= 1 && size <= 1 << 20) || size != std::floor(size)) fail_execution("factors");
    out.push_back(static_cast<int64_t>(size));
  }
  return out;
}

void resize(RegionBuilder& region, const Call& call, Op op, bool align_corners, size_t factors) {
  const Raised self = image(region, call);
  const std::vector<int64_t> out = resized(call, factors, region.graph.values[self.id].shape);
  const graph::ResizeAttributes attributes{static_cast<uint32_t>(out[0]), static_cast<uint32_t>(out[1]), align_corners};
  region.define(call.value(factors + 1), {region.emit(op, {self.id}, attributes), self.order});
}

void bilinear(RegionBuilder& region, const Call& call) { resize(region, call, Op::kResizeBilinear, call.flag(2), 3); }
void nearest(RegionBuilder& region, const Call& call) { resize(region, call, Op::kResizeNearest, false, 2); }

constexpr NamedTranslation kRows[] = {
    {"aten::max_pool2d_with_indices.out", max_pool},           {"aten::avg_pool2d.out", average_pool},
    {"aten::_adaptive_avg_pool2d.out", adaptive_average_pool}, {"aten::adaptive_avg_pool2d.out", adaptive_average_pool},
    {"aten::upsample_bilinear2d.vec_out", bilinear},           {"aten::upsample_nearest2d.vec_out", nearest},
};

}  // namespace

void average_images(RegionBuilder& region, const Call& call, size_t out, bool keeps_dims) {
  const Raised self = image(region, call);
  const Raised mean{region.emit(Op::kGlobalAverage, {self.id}, graph::GlobalAverageAttributes{true}), self.order};
  const Shape sizes = region.sizes(mean);
  region.define(call.value(out), keeps_dims ? mean : region.view(mean, {sizes[0], sizes[1]}));
}

Translation find_spatial(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
