// Enlarging and shrinking by interpolation along each spatial dim: one and three dims, bicubic, Lanczos, nearest-exact.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/resize/filter.h"
#include "kernels/resize/resize.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/image/scale_limit.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

using OptionalScale = std::optional<double>;

// How one spatial dim changes.
struct Axis {
  int64_t input = 1, output = 1;
  OptionalScale scale;  // output / input, where the caller gave it

  // Input positions from one output position to the next.
  double step(bool align_corners) const noexcept {
    if (align_corners) return output > 1 ? static_cast<double>(input - 1) / static_cast<double>(output - 1) : 0;
    return scale && *scale > 0 ? 1 / *scale : static_cast<double>(input) / static_cast<double>(output);
  }
  double centre(int64_t i, bool align_corners) const noexcept {
    const double step_size = step(align_corners);
    return align_corners ? step_size * static_cast<double>(i) : step_size * (static_cast<double>(i) + 0.5) - 0.5;
  }
};

template <size_t kDims>
using Axes = std::array<Axis, kDims>;

template <size_t kDims>
Axes<kDims> axes_of(const Tensor& self, Sizes output_size, const std::array<OptionalScale, kDims>& scales) {
  require_rank(self, kDims + 2, "self");
  if (self.size(1) < 1) fail_execution("self: expected channels, got shape ", self.sizes());
  if (output_size.size() != kDims) {
    fail_execution("output_size: expected ", kDims, kDims == 1 ? " size" : " sizes", ", got ", output_size);
  }
  Axes<kDims> axes;
  for (size_t d = 0; d < kDims; ++d) {
    axes[d] = {self.size(2 + d), output_size[d], scales[d]};
    if (axes[d].output < 1) fail_execution("output_size: expected at least 1, got ", output_size);
    if (axes[d].input < 1) fail_execution("self: expected pixels, got shape ", self.sizes());
    if (scales[d] && !leaves_pixels(*scales[d], axes[d].input))
      fail_execution("scales: expected a scale that leaves some of ", axes[d].input, " pixels, got ", *scales[d]);
  }
  return axes;
}

Shape resized_shape(const Tensor& self, Sizes output_size) {
  Shape shape(self.sizes());
  std::copy(output_size.begin(), output_size.end(), shape.items.begin() + 2);
  return shape;
}

kernels::ResizeShape planes_shape(int64_t planes, const Axis& rows, const Axis& columns) {
  kernels::ResizeShape shape;
  shape.channels = static_cast<size_t>(planes);
  shape.input_height = static_cast<size_t>(rows.input);
  shape.input_width = static_cast<size_t>(columns.input);
  shape.output_height = static_cast<size_t>(rows.output);
  shape.output_width = static_cast<size_t>(columns.output);
  shape.scale_height = rows.scale;
  shape.scale_width = columns.scale;
  return shape;
}

// A dim that stays as it is.
Axis kept(int64_t size) { return {size, size, std::nullopt}; }

// --- through the two-dimensional kernels: planes are resized, then the depth of columns of whole planes ---

template <class T>
void linear(OpContext& context, const Tensor& self, const Axes<3>& axes, bool align_corners, Tensor& out) {
  const int64_t planes = self.size(0) * self.size(1);
  const T* in = row_major_as<T>(context, self);
  RowMajorOut result(context, out, dtype_of<T>);
  const auto& [depth, rows, columns] = axes;
  T* middle = result.template as<T>();
  const bool is_flat = depth.input == depth.output;
  const int64_t image = rows.output * columns.output;
  if (!is_flat) middle = context.scratch_of<T>(static_cast<size_t>(planes * depth.input * image));
  kernels::resize_bilinear_nchw<T>(planes_shape(planes * depth.input, rows, columns), align_corners, in, middle);
  if (!is_flat) {
    kernels::resize_bilinear_nchw<T>(planes_shape(planes, depth, kept(image)), align_corners, middle,
                                     result.template as<T>());
  }
  result.commit();
}

void linear(OpContext& context, const Tensor& self, const Axes<3>& axes, bool align_corners, Tensor& out) {
  if (out.numel() == 0) return;
  (self.dtype == DType::kFloat64 ? &linear<double> : &linear<float>)(context, self, axes, align_corners, out);
}

void upsample_linear1d_out(OpContext& context, const Tensor& self, Sizes output_size, bool align_corners,
                           OptionalScale scales, Tensor& out) {
  require_floating(self.dtype, "self");
  require_same_dtype(out, self.dtype, "out");
  const Axes<1> axes = axes_of<1>(self, output_size, {scales});
  context.resize(out, resized_shape(self, output_size));
  linear(context, self, {kept(1), kept(1), axes[0]}, align_corners, out);
}

void upsample_trilinear3d_out(OpContext& context, const Tensor& self, Sizes output_size, bool align_corners,
                              OptionalScale scales_d, OptionalScale scales_h, OptionalScale scales_w, Tensor& out) {
  require_floating(self.dtype, "self");
  require_same_dtype(out, self.dtype, "out");
  const Axes<3> axes = axes_of<3>(self, output_size, {scales_d, scales_h, scales_w});
  context.resize(out, resized_shape(self, output_size));
  linear(context, self, axes, align_corners, out);
}

void nearest(OpContext& context, const Tensor& self, const Axes<3>& axes, Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t planes = self.size(0) * self.size(1);
  const auto& [depth, rows, columns] = axes;
  const size_t element = dtype_size(self.dtype);
  RowMajorOut result(context, out);
  std::byte* middle = result.data();
  const bool is_flat = depth.input == depth.output;
  const int64_t image = rows.output * columns.output;
  if (!is_flat) middle = context.scratch(static_cast<size_t>(planes * depth.input * image) * element);
  kernels::resize_nearest_nchw(planes_shape(planes * depth.input, rows, columns), row_major(context, self), middle,
                               element);
  if (!is_flat) {
    kernels::resize_nearest_nchw(planes_shape(planes, depth, kept(image)), middle, result.data(), element);
  }
  result.commit();
}

void upsample_nearest1d_out(OpContext& context, const Tensor& self, Sizes output_size, OptionalScale scales,
                            Tensor& out) {
  require_same_dtype(out, self.dtype, "out");
  const Axes<1> axes = axes_of<1>(self, output_size, {scales});
  context.resize(out, resized_shape(self, output_size));
  nearest(context, self, {kept(1), kept(1), axes[0]}, out);
}

void upsample_nearest3d_out(OpContext& context, const Tensor& self, Sizes output_size, OptionalScale scales_d,
                            OptionalScale scales_h, OptionalScale scales_w, Tensor& out) {
  require_same_dtype(out, self.dtype, "out");
  const Axes<3> axes = axes_of<3>(self, output_size, {scales_d, scales_h, scales_w});
  context.resize(out, resized_shape(self, output_size));
  nearest(context, self, axes, out);
}

// --- nearest-exact: the input pixel under the centre of the output pixel ---

template <size_t kDims>
void nearest_exact(OpContext& context, const Tensor& self, Sizes output_size,
                   const std::array<OptionalScale, kDims>& scales, Tensor& out) {
  require_same_dtype(out, self.dtype, "out");
  const Axes<kDims> given = axes_of<kDims>(self, output_size, scales);
  context.resize(out, resized_shape(self, output_size));
  if (out.numel() == 0) return;
  Axes<3> axes;
  std::copy(given.begin(), given.end(), axes.end() - kDims);
  std::array<std::vector<int64_t>, 3> from;
  for (size_t d = 0; d < 3; ++d) {
    const auto step = static_cast<float>(axes[d].step(false));  // eager computes positions in float32
    for (int64_t i = 0; i < axes[d].output; ++i) {
      const auto position = static_cast<int64_t>(std::floor((static_cast<float>(i) + 0.5f) * step));
      from[d].push_back(std::clamp<int64_t>(position, 0, axes[d].input - 1));
    }
  }
  const std::byte* in = row_major(context, self);
  RowMajorOut result(context, out);
  const auto run = [&]<class T>() {
    const auto* source = reinterpret_cast<const T*>(in);
    T* to = reinterpret_cast<T*>(result.data());
    const int64_t rows = self.size(0) * self.size(1) * axes[0].output * axes[1].output;
    parallel_ranges(static_cast<size_t>(rows), 64, [&](size_t begin, size_t end) {
      for (size_t r = begin; r < end; ++r) {
        const auto row = static_cast<int64_t>(r);
        const int64_t y = from[1][static_cast<size_t>(row % axes[1].output)];
        const int64_t z = from[0][static_cast<size_t>(row / axes[1].output % axes[0].output)];
        const int64_t plane = row / axes[1].output / axes[0].output;
        const T* line = source + ((plane * axes[0].input + z) * axes[1].input + y) * axes[2].input;
        T* target = to + row * axes[2].output;
        for (size_t x = 0; x < from[2].size(); ++x) target[x] = line[from[2][x]];
      }
    });
  };
  switch (dtype_size(self.dtype)) {
    case 1:
      run.template operator()<uint8_t>();
      break;
    case 2:
      run.template operator()<uint16_t>();
      break;
    case 4:
      run.template operator()<uint32_t>();
      break;
    case 8:
      run.template operator()<uint64_t>();
      break;
    default:
      run.template operator()<Element>();
  }
  result.commit();
}

void upsample_nearest_exact1d_out(OpContext& context, const Tensor& self, Sizes output_size, OptionalScale scales,
                                  Tensor& out) {
  nearest_exact<1>(context, self, output_size, {scales}, out);
}
void upsample_nearest_exact2d_out(OpContext& context, const Tensor& self, Sizes output_size, OptionalScale scales_h,
                                  OptionalScale scales_w, Tensor& out) {
  nearest_exact<2>(context, self, output_size, {scales_h, scales_w}, out);
}
void upsample_nearest_exact3d_out(OpContext& context, const Tensor& self, Sizes output_size, OptionalScale scales_d,
                                  OptionalScale scales_h, OptionalScale scales_w, Tensor& out) {
  nearest_exact<3>(context, self, output_size, {scales_d, scales_h, scales_w}, out);
}

// --- bicubic, Lanczos: weighted sums of neighbours, along the width first ---

// What each output position reads: `count` weights from input position first[i]; positions are clamped to the line.
struct Taps {
  size_t count = 0;
  std::vector<int64_t> first;
  std::vector<double> weights;
};

// Keys' cubic convolution.
double cubic(double x, double a) noexcept {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

Taps cubic_taps(const Axis& axis, bool align_corners) {
  Taps taps;
  taps.count = 4;
  for (int64_t i = 0; i < axis.output; ++i) {
    const double centre = axis.centre(i, align_corners), below = std::floor(centre);
    taps.first.push_back(static_cast<int64_t>(below) - 1);
    for (int t = -1; t <= 2; ++t) taps.weights.push_back(cubic(centre - below - t, -0.75));
  }
  return taps;
}

double antialiased_cubic(double x) noexcept { return cubic(x, -0.5); }

double sinc(double x) noexcept { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }
double lanczos(double x) noexcept { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; }

// Where the image shrinks, the kernel, which reaches `radius` far, widens with it; weights add up to one.
template <double (*kernel)(double), int radius>
Taps antialiased_taps(const Axis& axis, bool align_corners) {
  const double step = axis.step(align_corners), spread = std::max(step, 1.0), support = radius * spread;
  Taps taps;
  taps.count = static_cast<size_t>(std::ceil(support)) * 2 + 1;
  for (int64_t i = 0; i < axis.output; ++i) {
    const double centre = step * (static_cast<double>(i) + 0.5);
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5), 0);
    const int64_t end = std::min(static_cast<int64_t>(centre + support + 0.5), axis.input);
    std::vector<double> weights(taps.count, 0.0);
    double total = 0;
    for (int64_t p = begin; p < end && p - begin < static_cast<int64_t>(taps.count); ++p) {
      total += weights[static_cast<size_t>(p - begin)] = kernel((static_cast<double>(p) - centre + 0.5) / spread);
    }
    taps.first.push_back(begin);
    for (const double weight : weights) taps.weights.push_back(total == 0 ? weight : weight / total);
  }
  return taps;
}

// [outer, size, inner] to [outer, taps, inner].
template <class T>
void weighted_sums(const Taps& taps, size_t outer, int64_t size, size_t inner, const T* in, T* out) {
  const size_t outputs = taps.first.size();
  parallel_ranges(outer * outputs, std::max<size_t>(1, 4096 / (inner * taps.count)), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const T* from = in + i / outputs * static_cast<size_t>(size) * inner;
      T* to = out + i * inner;
      std::fill_n(to, inner, T{0});
      for (size_t t = 0; t < taps.count; ++t) {
        const auto weight = static_cast<T>(taps.weights[i % outputs * taps.count + t]);
        if (weight == 0) continue;
        const int64_t position = std::clamp<int64_t>(taps.first[i % outputs] + static_cast<int64_t>(t), 0, size - 1);
        const T* row = from + static_cast<size_t>(position) * inner;
        for (size_t k = 0; k < inner; ++k) to[k] += weight * row[k];
      }
    }
  });
}

template <class T>
void filter_image(OpContext& context, const Tensor& self, const Axes<2>& axes, const Taps& rows, const Taps& columns,
                  Tensor& out) {
  const auto planes = static_cast<size_t>(self.size(0) * self.size(1));
  const auto width = static_cast<size_t>(axes[1].output);
  T* middle = context.scratch_of<T>(planes * static_cast<size_t>(axes[0].input) * width);
  weighted_sums(columns, planes * static_cast<size_t>(axes[0].input), axes[1].input, 1, row_major_as<T>(context, self),
                middle);
  RowMajorOut result(context, out, dtype_of<T>);
  weighted_sums(rows, planes, axes[0].input, width, middle, result.template as<T>());
  result.commit();
}

// With the weights of positions that clamping makes one added up.
kernels::Filter<double> byte_filter(const Taps& taps, int64_t size) {
  kernels::Filter<double> filter(taps.first.size(), taps.count);
  for (size_t i = 0; i < taps.first.size(); ++i) {
    const int64_t begin = std::clamp<int64_t>(taps.first[i], 0, size - 1);
    filter.begin[i] = static_cast<size_t>(begin);
    for (size_t t = 0; t < taps.count; ++t) {
      const int64_t position = std::clamp<int64_t>(taps.first[i] + static_cast<int64_t>(t), 0, size - 1);
      filter.weights[i * taps.count + static_cast<size_t>(position - begin)] += taps.weights[i * taps.count + t];
      filter.count[i] = std::max(filter.count[i], static_cast<size_t>(position - begin) + 1);
    }
  }
  return filter;
}

void filter_bytes(OpContext& context, const Tensor& self, const Axes<2>& axes, const Taps& rows, const Taps& columns,
                  Tensor& out) {
  kernels::ResizeShape shape;
  shape.channels = static_cast<size_t>(self.size(0) * self.size(1));
  shape.input_height = static_cast<size_t>(axes[0].input);
  shape.input_width = static_cast<size_t>(axes[1].input);
  shape.output_height = static_cast<size_t>(axes[0].output);
  shape.output_width = static_cast<size_t>(axes[1].output);
  RowMajorOut result(context, out);
  kernels::resize_bytes_nchw(shape, byte_filter(rows, axes[0].input), byte_filter(columns, axes[1].input),
                             row_major_as<uint8_t>(context, self), result.as<uint8_t>());
  result.commit();
}

template <Taps (*taps)(const Axis&, bool)>
void upsample_taps2d_out(OpContext& context, const Tensor& self, Sizes output_size, bool align_corners,
                         OptionalScale scales_h, OptionalScale scales_w, Tensor& out) {
  if (self.dtype != DType::kUInt8) require_floating(self.dtype, "self");
  require_same_dtype(out, self.dtype, "out");
  const Axes<2> axes = axes_of<2>(self, output_size, {scales_h, scales_w});
  context.resize(out, resized_shape(self, output_size));
  if (out.numel() == 0) return;
  const auto run = self.dtype == DType::kFloat64 ? &filter_image<double>
                   : self.dtype == DType::kUInt8 ? &filter_bytes
                                                 : &filter_image<float>;
  run(context, self, axes, taps(axes[0], align_corners), taps(axes[1], align_corners), out);
}

}  // namespace

void register_upsample(OperatorTable& table) {
  table.add<upsample_linear1d_out>("aten::upsample_linear1d.out", "self, output_size, align_corners, scales, out");
  table.add<upsample_trilinear3d_out>("aten::upsample_trilinear3d.out",
                                      "self, output_size, align_corners, scales_d, scales_h, scales_w, out");
  table.add<upsample_nearest1d_out>("aten::upsample_nearest1d.out", "self, output_size, scales, out");
  table.add<upsample_nearest3d_out>("aten::upsample_nearest3d.out",
                                    "self, output_size, scales_d, scales_h, scales_w, out");
  table.add<upsample_nearest_exact1d_out>("aten::_upsample_nearest_exact1d.out", "self, output_size, scales, out");
  table.add<upsample_nearest_exact2d_out>("aten::_upsample_nearest_exact2d.out",
                                          "self, output_size, scales_h, scales_w, out");
  table.add<upsample_nearest_exact3d_out>("aten::_upsample_nearest_exact3d.out",
                                          "self, output_size, scales_d, scales_h, scales_w, out");
  table.add<upsample_taps2d_out<cubic_taps>>("aten::upsample_bicubic2d.out",
                                             "self, output_size, align_corners, scales_h, scales_w, out");
  table.add<upsample_taps2d_out<antialiased_taps<antialiased_cubic, 2>>>(
      "aten::_upsample_bicubic2d_aa.out", "self, output_size, align_corners, scales_h, scales_w, out");
  table.add<upsample_taps2d_out<antialiased_taps<lanczos, 3>>>(
      "aten::_upsample_lanczos2d_aa.out", "self, output_size, align_corners, scales_h, scales_w, out");
}

}  // namespace enr::ops
