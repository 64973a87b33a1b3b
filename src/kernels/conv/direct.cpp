#include "kernels/conv/direct.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/conv/lanes.h"
#include "kernels/gemm/driver.h"

namespace enr::kernels {

namespace {

// Input of a task, in floats: it shares the second-level cache with a panel of weights, or the first-level one with all
// of few weights.
constexpr size_t kBandFloats = 64 * 1024, kNearBandFloats = 16 * 1024;
constexpr size_t kFewWeights = 16 * 1024;
// Depth of the products between two visits to C.
constexpr size_t kDepth = 1024;
constexpr size_t kTaskWork = 1u << 20;
// The pieces of a window that one tile adds up.
constexpr size_t kMaxTaps = 64;

size_t group_inputs(const ConvShape& s) noexcept { return s.input_channels / s.groups; }
size_t group_outputs(const ConvShape& s) noexcept { return s.output_channels / s.groups; }
Panels panels_of(const ConvShape& s) noexcept {
  return Panels(group_outputs(s), s.kernel_height * s.kernel_width * group_inputs(s));
}
size_t group_floats(const Panels& panels) noexcept { return (panels.size() + 15) / 16 * 16; }

size_t reach(size_t outputs, size_t stride, size_t kernel, size_t dilation) noexcept {
  return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
}

bool window_leaves_columns(const ConvShape& s, size_t width) noexcept {
  return s.pad_left != 0 || reach(width, s.stride_width, s.kernel_width, s.dilation_width) > s.input_width;
}

size_t ceil_divide(size_t a, size_t b) noexcept { return (a + b - 1) / b; }

// What one task computes.
struct Area {
  size_t image, group;
  size_t y, y_end, x, x_end;
  size_t panel, panel_end;
};

// Where a task finds its input: the address of a pixel of the band or of the input itself, which may not exist.
struct Source {
  const float* origin;  // of (row 0, column 0) of the input
  size_t row_stride, pixel_stride;

  const float* at(ptrdiff_t y, ptrdiff_t x) const noexcept {
    return origin + y * static_cast<ptrdiff_t>(row_stride) + x * static_cast<ptrdiff_t>(pixel_stride);
  }
};

// The rows of the kernel that meet rows of the input, for output row y.
Range kernel_rows(const ConvShape& s, size_t y) noexcept {
  const ptrdiff_t first = static_cast<ptrdiff_t>(y * s.stride_height) - static_cast<ptrdiff_t>(s.pad_top);
  const auto dilation = static_cast<ptrdiff_t>(s.dilation_height);
  const auto height = static_cast<ptrdiff_t>(s.input_height), count = static_cast<ptrdiff_t>(s.kernel_height);
  const ptrdiff_t begin = std::min(first >= 0 ? 0 : (-first + dilation - 1) / dilation, count);
  const ptrdiff_t end = first >= height ? 0 : std::min(count, (height - first + dilation - 1) / dilation);
  return {static_cast<size_t>(begin), static_cast<size_t>(std::max(begin, end))};
}

Source source_of(const ConvShape& s, const PixelGrid& from, const float* input, const Area& area) noexcept {
  return {input + (from.first + area.image * from.images) * s.input_pixel_stride + area.group * group_inputs(s),
          from.rows * s.input_pixel_stride, s.input_pixel_stride};
}

// Copies what the area's windows see, zeros beside the input included, unless the band is there already, and tells
// where it now lies.
Source copy_band(const ConvShape& s, const Source& from, const Area& area, float* band, bool is_there) noexcept {
  const size_t channels = group_inputs(s);
  if (channels == 0) return from;
  const auto first_y = static_cast<ptrdiff_t>(area.y * s.stride_height) - static_cast<ptrdiff_t>(s.pad_top);
  const auto first_x = static_cast<ptrdiff_t>(area.x * s.stride_width) - static_cast<ptrdiff_t>(s.pad_left);
  const auto rows =
      static_cast<ptrdiff_t>(reach(area.y_end - area.y, s.stride_height, s.kernel_height, s.dilation_height));
  const auto columns =
      static_cast<ptrdiff_t>(reach(area.x_end - area.x, s.stride_width, s.kernel_width, s.dilation_width));
  const ptrdiff_t begin = std::clamp<ptrdiff_t>(-first_x, 0, columns);
  const ptrdiff_t end = std::clamp<ptrdiff_t>(static_cast<ptrdiff_t>(s.input_width) - first_x, begin, columns);
  const auto row_floats = static_cast<size_t>(columns) * channels;
  for (ptrdiff_t row = 0; row < rows && !is_there; ++row) {
    const ptrdiff_t y = first_y + row;
    if (y < 0 || y >= static_cast<ptrdiff_t>(s.input_height)) continue;  // kernel_rows skips these
    float* out = band + static_cast<size_t>(row) * row_floats;
    std::fill(out, out + static_cast<size_t>(begin) * channels, 0.0f);
    if (s.input_pixel_stride == channels) {
      std::memcpy(out + static_cast<size_t>(begin) * channels, from.at(y, first_x + begin),
                  static_cast<size_t>(end - begin) * channels * sizeof(float));
    } else {
      for (ptrdiff_t x = begin; x < end; ++x) {
        std::memcpy(out + static_cast<size_t>(x) * channels, from.at(y, first_x + x), channels * sizeof(float));
      }
    }
    std::fill(out + static_cast<size_t>(end) * channels, out + row_floats, 0.0f);
  }
  Source band_source = {band, row_floats, channels};
  band_source.origin = band_source.at(-first_y, -first_x);
  return band_source;
}

// One row for each window of the area, in the order of the weights.
void copy_windows(const ConvShape& s, const Source& from, const Area& area, float* rows) noexcept {
  const size_t channels = group_inputs(s);
  const bool whole_rows = s.dilation_width == 1 && from.pixel_stride == channels;
  const size_t pieces = whole_rows ? 1 : s.kernel_width, floats = whole_rows ? s.kernel_width * channels : channels;
  if (floats == 0) return;
  for (size_t y = area.y; y < area.y_end; ++y) {
    const Range valid = kernel_rows(s, y);
    for (size_t x = area.x; x < area.x_end; ++x) {
      for (size_t ky = 0; ky < s.kernel_height; ++ky) {
        for (size_t piece = 0; piece < pieces; ++piece, rows += floats) {
          if (ky < valid.begin || ky >= valid.end) {
            std::fill(rows, rows + floats, 0.0f);
            continue;
          }
          const auto in_y = static_cast<ptrdiff_t>(y * s.stride_height + ky * s.dilation_height);
          const auto in_x = static_cast<ptrdiff_t>(x * s.stride_width + piece * s.dilation_width);
          std::memcpy(rows,
                      from.at(in_y - static_cast<ptrdiff_t>(s.pad_top), in_x - static_cast<ptrdiff_t>(s.pad_left)),
                      floats * sizeof(float));
        }
      }
    }
  }
}

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

// All windows of the area over the kernel's rows of `depth`.
void multiply_windows(const ConvShape& s, const Source& source, const PixelGrid& to, const Area& area,
                      const Panels& panels, const float* weights, float* output, const GemmEpilogue& epilogue,
                      const Range& depth) noexcept {
  const GemmKernels& kernels = gemm_kernels();
  const size_t channels = group_inputs(s);
  const bool whole_rows = s.dilation_width == 1 && source.pixel_stride == channels;
  const size_t row_pieces = whole_rows ? 1 : s.kernel_width;
  const bool is_first = depth.begin == 0, is_last = depth.end == s.kernel_height;
  GemmTiles tile = first_tile(s, source, to, epilogue, is_first, is_last);
  tile.k = whole_rows ? s.kernel_width * channels : channels;
  const float* taps[kMaxTaps];
  tile.a = taps;
  const size_t columns = area.x_end - area.x, tiles = ceil_divide(columns, kernels.rows);

  const TilesFunction* functions = nullptr;
  const float* panel_weights = nullptr;
  size_t column = 0, first_row = 0, end_row = 0, y = 0;
  const auto enter_panel = [&](size_t panel) {
    const size_t width = panels.width_of(panel);
    functions = width == panels.width ? kernels.wide : kernels.narrow;
    panel_weights = weights + panels.offset_of(panel);
    column = area.group * group_outputs(s) + panel * panels.width;
    tile.bias = is_first ? panel_weights : nullptr;
    tile.b_stride = width;
    tile.columns = panels.columns_of(panel);
  };
  const auto enter_row = [&](size_t row) {
    const Range valid = kernel_rows(s, row);
    y = row;
    first_row = std::clamp(valid.begin, depth.begin, depth.end);
    end_row = std::clamp(valid.end, first_row, depth.end);
    tile.taps = (end_row - first_row) * row_pieces;
  };
  const auto find_taps = [&](size_t x) {
    const auto in_x = static_cast<ptrdiff_t>(x * s.stride_width) - static_cast<ptrdiff_t>(s.pad_left);
    const auto in_y = static_cast<ptrdiff_t>(y * s.stride_height) - static_cast<ptrdiff_t>(s.pad_top);
    size_t tap = 0;
    for (size_t ky = first_row; ky < end_row; ++ky) {
      const float* row = source.at(in_y + static_cast<ptrdiff_t>(ky * s.dilation_height), in_x);
      for (size_t piece = 0; piece < row_pieces; ++piece) {
        taps[tap++] = row + piece * s.dilation_width * source.pixel_stride;
      }
    }
  };
  // The tiles of a row, of which the first is the `done`th of the panel.
  const auto compute_row = [&](const FetchAhead& ahead, size_t done) {
    size_t x = area.x;
    for_each_size(columns, tiles, [&](size_t first, size_t count, size_t size) {
      find_taps(x);
      const size_t pixel = to.first + area.image * to.images + y * to.rows + x * to.columns;
      tile.count = count;
      tile.ahead = ahead.part(done + first);
      tile.b = panel_weights + (1 + first_row * s.kernel_width * channels) * tile.b_stride;
      tile.c = output + pixel * s.output_pixel_stride + column;
      if (!is_first) {
        tile.addend = tile.c;
      } else if (epilogue.residual != nullptr) {
        tile.addend = epilogue.residual + pixel * epilogue.residual_stride + column;
      }
      functions[size - 1](tile);
      x += count * size;
    });
  };

  if (panels.size() <= kNearFloats) {  // rows of outputs are written as wholes
    tile.b = weights;
    const FetchAhead ahead(tile);
    for (size_t row = area.y; row < area.y_end; ++row) {
      enter_row(row);
      for (size_t panel = area.panel; panel < area.panel_end; ++panel) {
        enter_panel(panel);
        compute_row(ahead, 0);
      }
    }
    return;
  }
  for (size_t panel = area.panel; panel < area.panel_end; ++panel) {
    enter_panel(panel);
    // The next panel's weights of the same depth, or the first one's of the next.
    const bool is_last_panel = panel + 1 == area.panel_end;
    const size_t next = is_last_panel ? area.panel : panel + 1;
    const size_t next_row = is_last_panel && !is_last ? depth.end : depth.begin;
    const float* next_weights =
        weights + panels.offset_of(next) + (1 + next_row * s.kernel_width * channels) * panels.width_of(next);
    tile.b = panel_weights;
    const FetchAhead ahead(tile, tiles * (area.y_end - area.y), next_weights,
                           (depth.end - depth.begin) * s.kernel_width * channels);
    size_t done = 0;
    for (size_t row = area.y; row < area.y_end; ++row, done += tiles) {
      enter_row(row);
      compute_row(ahead, done);
    }
  }
}

void activate(const ConvShape& s, const PixelGrid& to, const Area& area, const Panels& panels, float* output,
              const GemmEpilogue& epilogue) noexcept {
  if (epilogue.activation == nullptr) return;
  const size_t first = area.panel * panels.width;
  const size_t count = std::min(area.panel_end * panels.width, panels.n) - first;
  for (size_t y = area.y; y < area.y_end; ++y) {
    for (size_t x = area.x; x < area.x_end; ++x) {
      const size_t pixel = to.first + area.image * to.images + y * to.rows + x * to.columns;
      epilogue.activation(output + pixel * s.output_pixel_stride + area.group * group_outputs(s) + first, count,
                          epilogue.activation_context);
    }
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
    compute_block(product, panels, moved, 0, product.m, area.panel, area.panel_end);
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
  for (size_t i = 0; i < call.plan.depth_pieces; ++i) {
    multiply_windows(s, source, call.to, area, panels, weights, call.output, call.epilogue,
                     part_of(s.kernel_height, call.plan.depth_pieces, i));
  }
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
  plan.is_pointwise = is_plain(from, s.input_height, s.input_width) &&
                      is_plain(to, s.output_height(), s.output_width()) && s.kernel_height == 1 &&
                      s.kernel_width == 1 && s.stride_height == 1 && s.stride_width == 1 &&
                      s.pad_top + s.pad_left + s.pad_bottom + s.pad_right == 0;
  const size_t height = s.output_height(), width = s.output_width();
  if (plan.is_pointwise || s.batch * height * width * s.output_channels == 0) return plan;
  const size_t tile_rows = gemm_kernels().rows;
  const Panels panels = panels_of(s);
  const bool whole_rows = s.dilation_width == 1;
  plan.copies_band = window_leaves_columns(s, width);
  plan.copies_windows = 2 * ceil_divide(width, ceil_divide(width, tile_rows)) < tile_rows ||
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
  }
  plan.lanes = std::min(threads, bands() * plan.panel_pieces);
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

}  // namespace enr::kernels
