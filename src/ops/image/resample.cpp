// Resizing images: upsample_bilinear2d, upsample_nearest2d, the antialiased bilinear one, grid_sampler_2d.

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "base/thread_pool.h"
#include "kernels/resize/resize.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

using OptionalSizes = std::optional<Sizes>;
using OptionalFactors = std::optional<std::span<const double>>;

struct Target {
  int64_t height = 0, width = 0;
  std::optional<double> scale_height, scale_width;
};

Target target_of(const Tensor& input, OptionalSizes output_size, OptionalFactors factors) {
  require_rank(input, 4, "input");
  if (output_size.has_value() == factors.has_value()) {
    fail_execution("output_size: exactly one of output_size and scale_factors must be given");
  }
  Target t;
  if (output_size) {
    if (output_size->size() != 2) fail_execution("output_size: expected two sizes, got ", *output_size);
    t.height = (*output_size)[0];
    t.width = (*output_size)[1];
  } else {
    if (factors->size() != 2) fail_execution("scale_factors: expected two factors, got ", *factors);
    t.scale_height = (*factors)[0];
    t.scale_width = (*factors)[1];
    t.height = Scalar(static_cast<double>(input.size(2)) * (*factors)[0]).to<int64_t>();
    t.width = Scalar(static_cast<double>(input.size(3)) * (*factors)[1]).to<int64_t>();
  }
  if (t.height < 1 || t.width < 1)
    fail_execution("output_size: expected at least 1, got [", t.height, ", ", t.width, "]");
  if (input.size(2) < 1 || input.size(3) < 1) fail_execution("input: empty image ", input.sizes());
  return t;
}

Target target_of(const Tensor& input, Sizes output_size, std::optional<double> scale_height,
                 std::optional<double> scale_width) {
  Target target = target_of(input, OptionalSizes(output_size), std::nullopt);
  // A step of more than the whole input would give no output, and tables without end.
  const auto require_scale = [](const std::optional<double>& scale, int64_t size, const char* what) {
    if (!scale || *scale <= 0 || *scale * static_cast<double>(size + 1) >= 1) return;
    fail_execution(what, ": ", *scale, " leaves nothing of ", size, " pixels");
  };
  require_scale(scale_height, input.size(2), "scales_h");
  require_scale(scale_width, input.size(3), "scales_w");
  target.scale_height = scale_height;
  target.scale_width = scale_width;
  return target;
}

kernels::ResizeShape resize_shape(const Tensor& input, const Target& t) {
  kernels::ResizeShape s;
  s.batch = static_cast<size_t>(input.size(0));
  s.channels = static_cast<size_t>(input.size(1));
  s.input_height = static_cast<size_t>(input.size(2));
  s.input_width = static_cast<size_t>(input.size(3));
  s.output_height = static_cast<size_t>(t.height);
  s.output_width = static_cast<size_t>(t.width);
  s.scale_height = t.scale_height;
  s.scale_width = t.scale_width;
  return s;
}

void bilinear(OpContext& context, const Tensor& input, const Target& target, bool align_corners, Tensor& out) {
  require_dtype(out, input.dtype, "out");
  context.resize(out, {input.size(0), input.size(1), target.height, target.width});
  if (out.numel() == 0) return;
  const kernels::ResizeShape shape = resize_shape(input, target);
  const auto run = [&]<class T>() {
    const auto* from = reinterpret_cast<const T*>(row_major(context, input));
    RowMajorOut result(context, out);
    if constexpr (std::is_same_v<T, uint8_t>) {
      kernels::resize_bilinear_bytes_nchw(shape, align_corners, from, result.as<T>());
    } else {
      kernels::resize_bilinear_nchw<T>(shape, align_corners, from, result.as<T>());
    }
    result.commit();
  };
  switch (input.dtype) {
    case DType::kFloat32:
      return run.operator()<float>();
    case DType::kFloat64:
      return run.operator()<double>();
    case DType::kFloat16:
      return run.operator()<Half>();
    case DType::kBFloat16:
      return run.operator()<BFloat16>();
    case DType::kUInt8:
      return run.operator()<uint8_t>();
    default:
      fail_execution("input: dtype ", dtype_name(input.dtype), " cannot be interpolated");
  }
}

void upsample_bilinear2d_vec_out(OpContext& context, const Tensor& input, OptionalSizes output_size, bool align_corners,
                                 OptionalFactors scale_factors, Tensor& out) {
  bilinear(context, input, target_of(input, output_size, scale_factors), align_corners, out);
}
void upsample_bilinear2d_out(OpContext& context, const Tensor& self, Sizes output_size, bool align_corners,
                             std::optional<double> scales_h, std::optional<double> scales_w, Tensor& out) {
  bilinear(context, self, target_of(self, output_size, scales_h, scales_w), align_corners, out);
}

void nearest(OpContext& context, const Tensor& input, const Target& target, Tensor& out) {
  require_dtype(out, input.dtype, "out");
  context.resize(out, {input.size(0), input.size(1), target.height, target.width});
  if (out.numel() == 0) return;
  RowMajorOut result(context, out);
  kernels::resize_nearest_nchw(resize_shape(input, target), row_major(context, input), result.data(),
                               dtype_size(input.dtype));
  result.commit();
}

void upsample_nearest2d_vec_out(OpContext& context, const Tensor& input, OptionalSizes output_size,
                                OptionalFactors scale_factors, Tensor& out) {
  nearest(context, input, target_of(input, output_size, scale_factors), out);
}
void upsample_nearest2d_out(OpContext& context, const Tensor& self, Sizes output_size, std::optional<double> scales_h,
                            std::optional<double> scales_w, Tensor& out) {
  nearest(context, self, target_of(self, output_size, scales_h, scales_w), out);
}

void upsample_bilinear2d_aa_out(OpContext& context, const Tensor& self, Sizes output_size, bool align_corners,
                                std::optional<double> scales_h, std::optional<double> scales_w, Tensor& out) {
  const Target target = target_of(self, output_size, scales_h, scales_w);
  require_dtype(out, self.dtype, "out");
  context.resize(out, {self.size(0), self.size(1), target.height, target.width});
  if (out.numel() == 0) return;
  const kernels::ResizeShape shape = resize_shape(self, target);
  // The half types interpolate in float.
  const auto run = [&]<class T>() {
    const T* from = row_major_as<T>(context, self);
    RowMajorOut result(context, out, dtype_of<T>);
    if constexpr (std::is_same_v<T, uint8_t>) {
      kernels::resize_bilinear_antialias_bytes_nchw(shape, align_corners, from, result.template as<T>());
    } else {
      kernels::resize_bilinear_antialias_nchw<T>(shape, align_corners, from, result.template as<T>());
    }
    result.commit();
  };
  switch (self.dtype) {
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
      return run.operator()<float>();
    case DType::kFloat64:
      return run.operator()<double>();
    case DType::kUInt8:
      return run.operator()<uint8_t>();
    default:
      fail_execution("self: dtype ", dtype_name(self.dtype), " cannot be interpolated");
  }
}

// --- grid_sampler_2d ---

enum class Interpolation { kBilinear, kNearest, kBicubic };
enum class GridPadding { kZeros, kBorder, kReflection };

struct Sampler {
  Interpolation interpolation;
  GridPadding padding;
  bool align_corners;
};

// From [-1, 1] to pixel coordinates.
double unnormalize(double coordinate, int64_t size, bool align_corners) {
  return align_corners ? (coordinate + 1) / 2 * static_cast<double>(size - 1)
                       : ((coordinate + 1) * static_cast<double>(size) - 1) / 2;
}

// Mirrors at twice_low / 2 and twice_high / 2.
double reflect(double coordinate, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return 0;
  const double low = static_cast<double>(twice_low) / 2;
  const double span = static_cast<double>(twice_high - twice_low) / 2;
  const double distance = std::abs(coordinate - low);
  const double extra = std::fmod(distance, span);
  return std::fmod(std::floor(distance / span), 2.0) == 0 ? extra + low : span - extra + low;
}

double pad_coordinate(double coordinate, int64_t size, const Sampler& s) {
  if (s.padding == GridPadding::kZeros) return coordinate;
  if (s.padding == GridPadding::kReflection) {
    coordinate = s.align_corners ? reflect(coordinate, 0, 2 * (size - 1)) : reflect(coordinate, -1, 2 * size - 1);
  }
  // NaN clamps to 0, as eager's min(max(...)).
  return std::min(static_cast<double>(size - 1), std::fmax(coordinate, 0.0));
}

// A whole number, or far outside where the coordinate has no int.
int64_t whole(double coordinate) { return Scalar(std::clamp(coordinate, -1e9, 1e9)).to<int64_t>(); }

void cubic_weights(double t, std::array<double, 4>& w) {
  constexpr double kA = -0.75;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  w = {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

// The pixels one output reads, with weights; offset -1 stands for zero.
struct Taps {
  std::array<int64_t, 16> offset;
  std::array<double, 16> weight;
  size_t count = 0;

  void add(int64_t y, int64_t x, int64_t height, int64_t width, double w) {
    const bool inside = y >= 0 && y < height && x >= 0 && x < width;
    offset[count] = inside ? y * width + x : -1;
    weight[count++] = w;
  }
};

Taps taps_of(double grid_x, double grid_y, int64_t height, int64_t width, const Sampler& s) {
  Taps taps;
  const double raw_x = unnormalize(grid_x, width, s.align_corners);
  const double raw_y = unnormalize(grid_y, height, s.align_corners);
  if (s.interpolation == Interpolation::kBicubic) {
    const double x0 = std::floor(raw_x);
    const double y0 = std::floor(raw_y);
    std::array<double, 4> wx, wy;
    cubic_weights(raw_x - x0, wx);
    cubic_weights(raw_y - y0, wy);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const int64_t y = whole(pad_coordinate(y0 - 1 + i, height, s));
        const int64_t x = whole(pad_coordinate(x0 - 1 + j, width, s));
        taps.add(y, x, height, width, wy[static_cast<size_t>(i)] * wx[static_cast<size_t>(j)]);
      }
    }
    return taps;
  }
  const double x = pad_coordinate(raw_x, width, s);
  const double y = pad_coordinate(raw_y, height, s);
  if (s.interpolation == Interpolation::kNearest) {
    taps.add(whole(std::nearbyint(y)), whole(std::nearbyint(x)), height, width, 1);
    return taps;
  }
  const int64_t x0 = whole(std::floor(x));
  const int64_t y0 = whole(std::floor(y));
  const double fx = x - static_cast<double>(x0);
  const double fy = y - static_cast<double>(y0);
  taps.add(y0, x0, height, width, (1 - fy) * (1 - fx));
  taps.add(y0, x0 + 1, height, width, (1 - fy) * fx);
  taps.add(y0 + 1, x0, height, width, fy * (1 - fx));
  taps.add(y0 + 1, x0 + 1, height, width, fy * fx);
  return taps;
}

template <class T>
void sample_grid(OpContext& context, const Tensor& input, const Tensor& grid, const Sampler& s, Tensor& out) {
  const T* in = row_major_as<T>(context, input);
  const T* where = row_major_as<T>(context, grid);
  RowMajorOut result(context, out, dtype_of<T>);
  T* to = result.template as<T>();
  const int64_t channels = input.size(1);
  const int64_t height = input.size(2);
  const int64_t width = input.size(3);
  const int64_t pixels = grid.size(1) * grid.size(2);
  parallel_ranges(static_cast<size_t>(input.size(0) * pixels), 256, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto n = static_cast<int64_t>(i) / pixels;
      const int64_t pixel = static_cast<int64_t>(i) % pixels;
      const Taps taps = taps_of(where[2 * i], where[2 * i + 1], height, width, s);
      for (int64_t c = 0; c < channels; ++c) {
        const T* plane = in + (n * channels + c) * height * width;
        T sum = 0;
        for (size_t t = 0; t < taps.count; ++t) {
          if (taps.offset[t] >= 0) sum += plane[taps.offset[t]] * static_cast<T>(taps.weight[t]);
        }
        to[(n * channels + c) * pixels + pixel] = sum;
      }
    }
  });
  result.commit();
}

void grid_sampler_2d_out(OpContext& context, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                         int64_t padding_mode, bool align_corners, Tensor& out) {
  require_rank(input, 4, "input");
  require_rank(grid, 4, "grid");
  require_dtype(grid, input.dtype, "grid");
  require_dtype(out, input.dtype, "out");
  if (!is_floating(input.dtype)) fail_execution("input: expected a floating dtype, got ", dtype_name(input.dtype));
  if (grid.size(3) != 2 || grid.size(0) != input.size(0)) {
    fail_execution("grid: expected shape [", input.size(0), ", height, width, 2], got ", grid.sizes());
  }
  if (interpolation_mode < 0 || interpolation_mode > 2)
    fail_execution("interpolation_mode: expected 0 to 2, got ", interpolation_mode);
  if (padding_mode < 0 || padding_mode > 2) fail_execution("padding_mode: expected 0 to 2, got ", padding_mode);
  if (input.size(2) < 1 || input.size(3) < 1) fail_execution("input: empty image ", input.sizes());
  context.resize(out, {input.size(0), input.size(1), grid.size(1), grid.size(2)});
  if (out.numel() == 0) return;
  const Sampler sampler{static_cast<Interpolation>(interpolation_mode), static_cast<GridPadding>(padding_mode),
                        align_corners};
  if (input.dtype == DType::kFloat64) {
    sample_grid<double>(context, input, grid, sampler, out);
  } else {
    sample_grid<float>(context, input, grid, sampler, out);
  }
}

}  // namespace

void register_resample(OperatorTable& table) {
  table.add<upsample_bilinear2d_out>("aten::upsample_bilinear2d.out");
  table.add<upsample_nearest2d_out>("aten::upsample_nearest2d.out");
  table.add<upsample_bilinear2d_vec_out>("aten::upsample_bilinear2d.vec_out");
  table.add<upsample_nearest2d_vec_out>("aten::upsample_nearest2d.vec_out");
  table.add<upsample_bilinear2d_aa_out>("aten::_upsample_bilinear2d_aa.out");
  table.add<grid_sampler_2d_out>("aten::grid_sampler_2d.out");
}

}  // namespace enr::ops
