// Images and volumes sampled where a grid says.

#include <algorithm>
#include <array>
#include <cmath>

#include "base/thread_pool.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

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

// --- three dims ---

// The positions around a coordinate in one dim, with weights; -1 stands for outside.
struct Neighbours {
  std::array<int64_t, 2> at;
  std::array<double, 2> weight;
};

Neighbours neighbours_of(double grid_value, int64_t size, const Sampler& s) {
  const double x = pad_coordinate(unnormalize(grid_value, size, s.align_corners), size, s);
  const auto inside = [&](int64_t i) { return i >= 0 && i < size ? i : -1; };
  if (s.interpolation == Interpolation::kNearest) return {{inside(whole(std::nearbyint(x))), -1}, {1, 0}};
  const int64_t low = whole(std::floor(x));
  const double share = x - static_cast<double>(low);
  return {{inside(low), inside(low + 1)}, {1 - share, share}};
}

template <class T>
void sample_volumes(OpContext& context, const Tensor& input, const Tensor& grid, const Sampler& s, Tensor& out) {
  const T* in = row_major_as<T>(context, input);
  const T* where = row_major_as<T>(context, grid);
  RowMajorOut result(context, out, dtype_of<T>);
  T* to = result.template as<T>();
  const int64_t channels = input.size(1), depth = input.size(2), height = input.size(3), width = input.size(4);
  const int64_t points = grid.size(1) * grid.size(2) * grid.size(3);
  parallel_ranges(static_cast<size_t>(input.size(0) * points), 256, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto n = static_cast<int64_t>(i) / points, point = static_cast<int64_t>(i) % points;
      const Neighbours x = neighbours_of(where[3 * i], width, s);
      const Neighbours y = neighbours_of(where[3 * i + 1], height, s);
      const Neighbours z = neighbours_of(where[3 * i + 2], depth, s);
      for (int64_t c = 0; c < channels; ++c) {
        const T* volume = in + (n * channels + c) * depth * height * width;
        T sum = 0;
        for (size_t corner = 0; corner < 8; ++corner) {
          const size_t a = corner / 4, b = corner / 2 % 2, d = corner % 2;
          if (z.at[a] < 0 || y.at[b] < 0 || x.at[d] < 0) continue;
          sum += volume[(z.at[a] * height + y.at[b]) * width + x.at[d]] *
                 static_cast<T>(z.weight[a] * y.weight[b] * x.weight[d]);
        }
        to[(n * channels + c) * points + point] = sum;
      }
    }
  });
  result.commit();
}

// Checks a grid of `dims` dims, and what is common to both operators.
Sampler checked_sampler(const Tensor& input, const Tensor& grid, int64_t dims, int64_t interpolation_mode,
                        int64_t padding_mode, bool align_corners, const Tensor& out) {
  const auto rank = static_cast<size_t>(dims + 2);
  require_rank(input, rank, "input");
  require_rank(grid, rank, "grid");
  require_dtype(grid, input.dtype, "grid");
  require_dtype(out, input.dtype, "out");
  if (!is_floating(input.dtype)) fail_execution("input: expected a floating dtype, got ", dtype_name(input.dtype));
  if (grid.size(rank - 1) != dims || grid.size(0) != input.size(0)) {
    fail_execution("grid: expected a batch of ", input.size(0), " and ", dims, " coordinates, got shape ",
                   grid.sizes());
  }
  const int64_t last_mode = dims == 2 ? 2 : 1;
  if (interpolation_mode < 0 || interpolation_mode > last_mode)
    fail_execution("interpolation_mode: expected 0 to ", last_mode, ", got ", interpolation_mode);
  if (padding_mode < 0 || padding_mode > 2) fail_execution("padding_mode: expected 0 to 2, got ", padding_mode);
  for (size_t d = 2; d < rank; ++d) {
    if (input.size(d) < 1) fail_execution("input: expected pixels, got shape ", input.sizes());
  }
  return {static_cast<Interpolation>(interpolation_mode), static_cast<GridPadding>(padding_mode), align_corners};
}

void grid_sampler_2d_out(OpContext& context, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                         int64_t padding_mode, bool align_corners, Tensor& out) {
  const Sampler sampler = checked_sampler(input, grid, 2, interpolation_mode, padding_mode, align_corners, out);
  context.resize(out, {input.size(0), input.size(1), grid.size(1), grid.size(2)});
  if (out.numel() == 0) return;
  if (input.dtype == DType::kFloat64) {
    sample_grid<double>(context, input, grid, sampler, out);
  } else {
    sample_grid<float>(context, input, grid, sampler, out);
  }
}

void grid_sampler_3d_out(OpContext& context, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                         int64_t padding_mode, bool align_corners, Tensor& out) {
  const Sampler sampler = checked_sampler(input, grid, 3, interpolation_mode, padding_mode, align_corners, out);
  context.resize(out, {input.size(0), input.size(1), grid.size(1), grid.size(2), grid.size(3)});
  if (out.numel() == 0) return;
  if (input.dtype == DType::kFloat64) {
    sample_volumes<double>(context, input, grid, sampler, out);
  } else {
    sample_volumes<float>(context, input, grid, sampler, out);
  }
}

}  // namespace

void register_grid_sampler(OperatorTable& table) {
  table.add<grid_sampler_2d_out>("aten::grid_sampler_2d.out",
                                 "input, grid, interpolation_mode, padding_mode, align_corners, out");
  table.add<grid_sampler_3d_out>("aten::grid_sampler_3d.out",
                                 "input, grid, interpolation_mode, padding_mode, align_corners, out");
}

}  // namespace enr::ops
