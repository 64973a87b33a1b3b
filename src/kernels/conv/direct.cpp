#include "kernels/conv/direct.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/conv/lanes.h"
#include "kernels/conv/windows.h"
#include "kernels/gemm/driver.h"

namespace enr::kernels {

namespace {

// Input of a task, in floats: it shares the second-level cache with a panel of weights, or the first-level one with all
// of few weights.
constexpr size_t kBandFloats = 64 * 1024, kNearBandFloats = 16 * 1024;
constexpr size_t kFewWeights = 16 * 1024;
// Weights in the first-level cache, in floats.
constexpr size_t kNearWeights = 6 * 1024;
// Depth of the products between two visits to C.
constexpr size_t kDepth = 1024;
constexpr size_t kTaskWork = 1u << 20;
// Products of a lane, in some 3 us, that are worth another thread; starting a row of outputs takes as long as some.
constexpr size_t kLaneWork = 200'000, kRowWork = 1'000;
// The pieces of a window that one tile adds up.
constexpr size_t kMaxTaps = 64;

Panels panels_of(const ConvShape& s) noexcept {
  return Panels(group_outputs(s), s.kernel_height * s.kernel_width * group_inputs(s));
}
size_t group_floats(const Panels& panels) noexcept { return (panels.size() + 15) / 16 * 16; }

bool window_leaves_columns(const ConvShape& s, size_t width) noexcept {
  return s.pad_left != 0 || reach(width, s.stride_width, s.kernel_width, s.dilation_width) > s.input_width;
}

size_t ceil_divide(size_t a, size_t b) noexcept { return (a + b - 1) / b; }

// The parts of a tile that stay the same for an area and a piece of the depth.
GemmTiles first_tile(const ConvShape& s, const Source& source, const PixelGrid& to, const GemmEpilogue& epilogue,
                     bool is_first, bool is_last) noexcept {
  GemmTiles tile = {};
  tile.a_stride = s.stride_width * source.pixel_stride;
  tile.c_stride = to.columns * s.output_pixel_stride;
  tile.min = is_last ? epilogue.min : -std::numeric_limits<float>::infinity();
  tile.max = is_last ? epilogue.max : std::numeric_limits<float>::infinity();
  tile.addend_scale = is_first ? epilogue.residual_scale : 1.0f;
  tile.addend_stride = is_first ? to.columns * epilogue.residual_stride : tile.c_stride;
  return tile;
}

// A piece of the products' depth: some of the kernel's rows, or some of the floats of one row.
struct Depth {
  Range rows, floats;
  bool is_first, is_last;
};

// The area's windows by one panel of weights, a piece of the depth after another.
class PanelProduct {
 public:
  PanelProduct(const ConvShape& s, const Source& source, const PixelGrid& to, const Area& area, const Panels& panels,
               const float* weights, float* output, const GemmEpilogue& epilogue, size_t panel) noexcept
      : s_(s),
        source_(source),
        to_(to),
        area_(area),
        epilogue_(epilogue),
        width_(panels.width_of(panel)),
        columns_(panels.columns_of(panel)),
        weights_(weights + panels.offset_of(panel)),
        output_(output + area.group * group_outputs(s) + panel * panels.width),
        column_(area.group * group_outputs(s) + panel * panels.width),
        functions_(width_ == panels.width ? gemm_kernels().wide : gemm_kernels().narrow),
        tiles_(ceil_divide(area.x_end - area.x, gemm_kernels().rows)),
        whole_rows_(s.dilation_width == 1 && source.pixel_stride == group_inputs(s)) {}

  size_t tiles() const noexcept { return tiles_ * (area_.y_end - area_.y); }
  const float* weights(size_t depth) const noexcept { return weights_ + (1 + depth) * width_; }

  // `next`: the weights to be fetched meanwhile, null for none.
  void multiply(const Depth& depth, const float* next, size_t next_rows) const noexcept {
    const size_t row_floats = s_.kernel_width * group_inputs(s_);
    GemmTiles tile = first_tile(s_, source_, to_, epilogue_, depth.is_first, depth.is_last);
    tile.bias = depth.is_first ? weights_ : nullptr;
    tile.b_stride = width_;
    tile.columns = columns_;
    tile.k = whole_rows_ ? depth.floats.size() : group_inputs(s_);
    tile.b = weights_;
    const FetchAhead ahead = next == nullptr ? FetchAhead(tile) : FetchAhead(tile, tiles(), next, next_rows);
    const float* taps[kMaxTaps];
    tile.a = taps;
    size_t done = 0;
    for (size_t y = area_.y; y < area_.y_end; ++y) {
      const Range valid = kernel_rows(s_, y);
      const size_t first_row = std::clamp(valid.begin, depth.rows.begin, depth.rows.end);
      const size_t end_row = std::clamp(valid.end, first_row, depth.rows.end);
      tile.b = weights_ + (1 + first_row * row_floats + depth.floats.begin) * width_;
      size_t x = area_.x;
      for_each_size(area_.x_end - area_.x, tiles_, [&](size_t, size_t count, size_t size) {
        tile.taps = find_taps(x, y, {first_row, end_row}, depth.floats.begin, taps);
        const size_t pixel = to_.first + area_.image * to_.images + y * to_.rows + x * to_.columns;
        tile.count = count;
        tile.ahead = ahead.part(done);
        tile.c = output_ + pixel * s_.output_pixel_stride;
        if (!depth.is_first) {
          tile.addend = tile.c;
        } else if (epilogue_.residual != nullptr) {
          tile.addend = epilogue_.residual + pixel * epilogue_.residual_stride + column_;
        }
        functions_[size - 1](tile);
        x += count * size;
        done += count;
      });
    }
  }

 private:
  // Where the pieces of the window at output (y, x) start; returns how many there are.
  size_t find_taps(size_t x, size_t y, const Range& rows, size_t offset, const float** taps) const noexcept {
    const auto in_x = static_cast<ptrdiff_t>(x * s_.stride_width) - static_cast<ptrdiff_t>(s_.pad_left);
    const auto in_y = static_cast<ptrdiff_t>(y * s_.stride_height) - static_cast<ptrdiff_t>(s_.pad_top);
    const size_t pieces = whole_rows_ ? 1 : s_.kernel_width;
    size_t tap = 0;
    for (size_t ky = rows.begin; ky < rows.end; ++ky) {
      const float* row = source_.at(in_y + static_cast<ptrdiff_t>(ky * s_.dilation_height), in_x) + offset;
      for (size_t piece = 0; piece < pieces; ++piece) {
        taps[tap++] = row + piece * s_.dilation_width * source_.pixel_stride;
      }
    }
    return tap;
  }

  const ConvShape& s_;
  const Source& source_;
  const PixelGrid& to_;
  const Area& area_;
  const GemmEpilogue& epilogue_;
  size_t width_, columns_;
  const float* weights_;
  float* output_;
  size_t column_;
  const TilesFunction* functions_;
  size_t tiles_;  // of a row
  bool whole_rows_;
};

// All windows of the area.
void multiply_windows(const ConvShape& s, const DirectPlan& plan, const Source& source, const PixelGrid& to,
                      const Area& area, const Panels& panels, const float* weights, float* output,
                      const GemmEpilogue& epilogue) noexcept {
  const bool is_near = panels.size() <= kNearFloats;
  const size_t row_floats = s.kernel_width * group_inputs(s), pieces = plan.depth_pieces * plan.row_pieces;
  const auto depth_of = [&](size_t piece) {
    return Depth{part_of(s.kernel_height, plan.depth_pieces, piece / plan.row_pieces),
                 part_of(row_floats, plan.row_pieces, piece % plan.row_pieces), piece == 0, piece + 1 == pieces};
  };
  const auto multiply_rows = [&](const Area& rows) {
    for (size_t panel = rows.panel; panel < rows.panel_end; ++panel) {
      const PanelProduct product(s, source, to, rows, panels, weights, output, epilogue, panel);
      const size_t next_panel = panel + 1 == rows.panel_end ? rows.panel : panel + 1;
      for (size_t piece = 0; piece < pieces; ++piece) {
        const Depth depth = depth_of(piece);
        const size_t depth_rows = depth.rows.size() * depth.floats.size();
        const float* next = weights + panels.offset_of(next_panel) + panels.width_of(next_panel);
        if (!depth.is_last) next = product.weights(depth.rows.begin * row_floats + depth.floats.begin + depth_rows);
        product.multiply(depth, is_near ? nullptr : next, depth_rows);
      }
    }
  };
  if (!is_near) return multiply_rows(area);
  for (size_t y = area.y; y < area.y_end; ++y) {  // rows of outputs are written as wholes
    Area row = area;
    row.y = y;
    row.y_end = y + 1;
    multiply_rows(row);
  }
}

void activate(const ConvShape& s, const PixelGrid& to, const Area& area, const Panels& panels, float* output,
              const GemmEpilogue& epilogue) noexcept {
  if (epilogue.activation == nullptr) return;
  const size_t first = area.panel * panels.width;
  const size_t count = std::min(area.panel_end * panels.width, panels.n) - first;
  for (size_t y = area.y; y < area.y_end; ++y) {
    const size_t pixel = to.first + area.image * to.images + y * to.rows + area.x * to.columns;
    epilogue.activate(output + pixel * s.output_pixel_stride + area.group * group_outputs(s) + first,
                      area.x_end - area.x, to.columns * s.output_pixel_stride, count);
  }
}

// Products over copied windows: one where the area's output pixels are evenly apart, else one for each row. The area
// spans whole rows.
void multiply_copies(const ConvShape& s, const PixelGrid& to, const Area& area, const Panels& panels,
                     const float* windows, const float* weights, float* output, const GemmEpilogue& epilogue) noexcept {
  const size_t width = area.x_end, first = area.group * group_outputs(s);
  const bool is_even = to.rows == width * to.columns;
  const size_t step = is_even ? area.y_end - area.y : 1;
  for (size_t y = area.y; y < area.y_end; y += step, windows += step * width * panels.k) {
    const size_t pixel = to.first + area.image * to.images + y * to.rows;
    const Product product = {step * width,
                             windows,
                             panels.k,
                             weights,
                             output + pixel * s.output_pixel_stride + first,
                             to.columns * s.output_pixel_stride};
    GemmEpilogue moved = epilogue;
    if (moved.residual != nullptr) moved.residual += pixel * moved.residual_stride + first;
    moved.residual_stride *= to.columns;
    compute_block(product, panels, moved, {0, product.m, area.panel, area.panel_end, 0, panels.k});
  }
}

struct Call {
  const ConvShape& s;
  const DirectPlan& plan;
  const PixelGrid& from;
  const PixelGrid& to;
  const float* input;
  const float* packed;
  float* output;
  const GemmEpilogue& epilogue;
};

// has_band: the scratch holds the area's band and windows, from another piece of the panels.
void run_area(const Call& call, const Area& area, float* scratch, bool has_band) noexcept {
  const ConvShape& s = call.s;
  const Panels panels = panels_of(s);
  const float* weights = call.packed + area.group * group_floats(panels);
  Source source = source_of(s, call.from, call.input, area);
  if (call.plan.copies_band) source = copy_band(s, source, area, scratch, has_band);
  if (call.plan.copies_windows) {
    float* windows = scratch + call.plan.band_floats;
    if (!has_band) copy_windows(s, source, area, windows);
    multiply_copies(s, call.to, area, panels, windows, weights, call.output, call.epilogue);
    return;
  }
  multiply_windows(s, call.plan, source, call.to, area, panels, weights, call.output, call.epilogue);
  activate(s, call.to, area, panels, call.output, call.epilogue);
}

void run_pointwise(const ConvShape& s, const float* input, const float* packed, float* output,
                   const GemmEpilogue& epilogue) noexcept {
  const Panels panels = panels_of(s);
  for (size_t group = 0; group < s.groups; ++group) {
    GemmEpilogue moved = epilogue;
    if (moved.residual != nullptr) moved.residual += group * group_outputs(s);
    gemm(s.batch * s.input_height * s.input_width, group_outputs(s), group_inputs(s), input + group * group_inputs(s),
         s.input_pixel_stride, packed + group * group_floats(panels), output + group * group_outputs(s),
         s.output_pixel_stride, moved);
  }
}

// Rows and columns of the bands, so that a band's input fits into its cache. None of it may depend on the number of
// threads but band_rows: how a row is cut into tiles decides the order of sums.
void plan_bands(const ConvShape& s, DirectPlan& plan) noexcept {
  const size_t height = s.output_height(), width = s.output_width(), channels = group_inputs(s);
  const size_t tile_rows = gemm_kernels().rows;
  const size_t band_floats = panels_of(s).size() <= kFewWeights ? kNearBandFloats : kBandFloats;
  plan.band_columns = width;
  const auto input_floats = [&](size_t rows, size_t columns) {
    return reach(rows, s.stride_height, s.kernel_height, s.dilation_height) *
           reach(columns, s.stride_width, s.kernel_width, s.dilation_width) * channels;
  };
  if (!plan.copies_windows) {
    while (plan.band_columns > 4 * tile_rows && input_floats(1, plan.band_columns) > band_floats) {
      plan.band_columns = ceil_divide(ceil_divide(plan.band_columns, 2), tile_rows) * tile_rows;
    }
  }
  const size_t window_floats = plan.copies_windows ? width * panels_of(s).k : 0;
  plan.band_rows = 1;
  while (plan.band_rows < height && input_floats(plan.band_rows + 1, plan.band_columns) <= band_floats &&
         (plan.band_rows + 1) * window_floats <= band_floats) {
    ++plan.band_rows;
  }
}

}  // namespace

PixelGrid input_grid(const ConvShape& s) noexcept { return {0, s.input_height * s.input_width, s.input_width, 1}; }

PixelGrid output_grid(const ConvShape& s) noexcept {
  return {0, s.output_height() * s.output_width(), s.output_width(), 1};
}

DirectPlan plan_direct(const ConvShape& s, const PixelGrid& from, const PixelGrid& to) noexcept {
  DirectPlan plan;
  const auto is_plain = [](const PixelGrid& grid, size_t height, size_t width) {
    return grid.first == 0 && grid.columns == 1 && grid.rows == width && grid.images == height * width;
  };
  plan.is_pointwise = !s.is_planar && is_plain(from, s.input_height, s.input_width) &&
                      is_plain(to, s.output_height(), s.output_width()) && s.kernel_height == 1 &&
                      s.kernel_width == 1 && s.stride_height == 1 && s.stride_width == 1 &&
                      s.pad_top + s.pad_left + s.pad_bottom + s.pad_right == 0;
  const size_t height = s.output_height(), width = s.output_width();
  if (plan.is_pointwise || s.batch * height * width * s.output_channels == 0) return plan;
  const size_t tile_rows = gemm_kernels().rows;
  const Panels panels = panels_of(s);
  const bool whole_rows = s.dilation_width == 1;
  plan.copies_band = s.is_planar || window_leaves_columns(s, width);
  // Short tiles are as good as long ones where the weights are near.
  const bool is_short = 2 * ceil_divide(width, ceil_divide(width, tile_rows)) < tile_rows;
  plan.copies_windows = (is_short && (width < 3 || panels.size() > kNearFloats)) ||
                        s.kernel_height * (whole_rows ? 1 : s.kernel_width) > kMaxTaps ||
                        (!plan.copies_band && whole_rows && s.kernel_height * s.kernel_width > kMaxTaps);
  plan_bands(s, plan);
  const size_t threads = std::min(num_threads(), kMaxLanes);
  const size_t work = s.batch * height * width * s.output_channels * panels.k / kTaskWork;
  const size_t wanted = threads == 1     ? 1
                        : work < threads ? std::max<size_t>(work, 1)
                                         : std::min<size_t>(work / threads, 4) * threads;
  const size_t columns = ceil_divide(width, plan.band_columns), images = s.batch * s.groups;
  const auto bands = [&] { return images * columns * ceil_divide(height, plan.band_rows); };
  // Every task reads all of its panels' weights: where these are more than the input, threads share them out. Copied
  // windows of several rows share tiles, so that their bands must be the same for any number of threads.
  const bool is_cut_by_rows = panels.size() <= 2 * s.input_height * s.input_width * group_inputs(s);
  if (is_cut_by_rows && !plan.copies_windows && bands() < wanted) {
    plan.band_rows = std::min(plan.band_rows, ceil_divide(height, ceil_divide(wanted, images * columns)));
  }
  if (bands() < wanted && bands() % threads != 0) {
    plan.panel_pieces = std::min(is_cut_by_rows ? threads : wanted, panels.count);
  }
  const size_t row_depth = s.kernel_width * group_inputs(s);
  if (panels.k > kDepth + kDepth / 2) {
    plan.depth_pieces = ceil_divide(s.kernel_height, std::max<size_t>(1, kDepth / std::max<size_t>(1, row_depth)));
    // Tiles that share weights find them in the first-level cache.
    if (whole_rows && plan.depth_pieces == s.kernel_height) {
      plan.row_pieces = ceil_divide(row_depth * panels.width, kNearWeights);
    }
  }
  const size_t lane_work = images * height * (width * panels.size() + kRowWork);
  plan.lanes = std::min({threads, bands() * plan.panel_pieces, std::max<size_t>(1, lane_work / kLaneWork)});
  const size_t in_rows = reach(plan.band_rows, s.stride_height, s.kernel_height, s.dilation_height);
  const size_t in_columns = reach(plan.band_columns, s.stride_width, s.kernel_width, s.dilation_width);
  if (plan.copies_band) plan.band_floats = ceil_divide(in_rows * in_columns * group_inputs(s), 16) * 16;
  plan.lane_floats = plan.band_floats;
  if (plan.copies_windows) plan.lane_floats += ceil_divide(plan.band_rows * width * panels.k, 16) * 16;
  return plan;
}

size_t direct_packed_bytes(const ConvShape& s) noexcept {
  return s.groups * group_floats(panels_of(s)) * sizeof(float);
}

void pack_direct(const ConvShape& s, const float* weights, const float* bias, void* packed) noexcept {
  const Panels panels = panels_of(s);
  for (size_t group = 0; group < s.groups; ++group) {
    const size_t first = group * group_outputs(s);
    gemm_pack(WeightLayout::kOutputMajor, panels.n, panels.k, weights + first * panels.k, panels.k,
              bias != nullptr ? bias + first : nullptr, static_cast<float*>(packed) + group * group_floats(panels));
  }
}

void run_direct(const ConvShape& s, const DirectPlan& plan, const PixelGrid& from, const PixelGrid& to,
                const float* input, const void* packed, float* output, const GemmEpilogue& epilogue,
                float* workspace) noexcept {
  const auto* weights = static_cast<const float*>(packed);
  const size_t height = s.output_height(), width = s.output_width();
  if (s.batch == 0 || height == 0 || width == 0 || s.output_channels == 0) return;
  if (plan.is_pointwise) return run_pointwise(s, input, weights, output, epilogue);
  const size_t rows = ceil_divide(height, plan.band_rows), columns = ceil_divide(width, plan.band_columns);
  const Panels panels = panels_of(s);
  const Call call = {s, plan, from, to, input, weights, output, epilogue};
  std::array<size_t, kMaxLanes> bands;  // that the lanes' scratch holds
  std::fill_n(bands.begin(), plan.lanes, SIZE_MAX);
  for_each_in_lanes(s.batch * s.groups * rows * columns * plan.panel_pieces, plan.lanes, [&](size_t i, size_t lane) {
    const Range piece = part_of(panels.count, plan.panel_pieces, i % plan.panel_pieces);
    i /= plan.panel_pieces;
    const bool has_band = bands[lane] == i;
    bands[lane] = i;
    Area area = {};
    area.panel = piece.begin;
    area.panel_end = piece.end;
    area.x = i % columns * plan.band_columns;
    area.x_end = std::min(area.x + plan.band_columns, width);
    i /= columns;
    area.y = i % rows * plan.band_rows;
    area.y_end = std::min(area.y + plan.band_rows, height);
    area.group = i / rows % s.groups;
    area.image = i / rows / s.groups;
    run_area(call, area, workspace + lane * plan.lane_floats, has_band);
  });
}

void run_direct_rows(const ConvShape& s, const DirectPlan& plan, const PixelGrid& from, const PixelGrid& to,
                     const float* input, const void* packed, float* output, size_t image, size_t row, size_t row_end,
                     const GemmEpilogue& epilogue, float* scratch) noexcept {
  const size_t width = s.output_width();
  const Panels panels = panels_of(s);
  const Call call = {s, plan, from, to, input, static_cast<const float*>(packed), output, epilogue};
  Area area = {};
  area.image = image;
  area.panel_end = panels.count;
  for (area.y = row; area.y < row_end; area.y = area.y_end) {
    area.y_end = std::min(area.y + plan.band_rows, row_end);
    for (area.x = 0; area.x < width; area.x = area.x_end) {
      area.x_end = std::min(area.x + plan.band_columns, width);
      run_area(call, area, scratch, false);
    }
  }
}

}  // namespace enr::kernels
