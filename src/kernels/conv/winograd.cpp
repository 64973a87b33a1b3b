#include "kernels/conv/winograd.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/cpu_info.h"
#include "kernels/conv/lanes.h"
#include "kernels/conv/resized_window.h"
#include "kernels/conv/space_to_depth.h"
#include "kernels/conv/winograd_kernels.h"
#include "kernels/gemm/driver.h"
#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(WinogradTable, winograd_kernels)

namespace {

// Transformed windows and products of a block, in floats: they share the second-level cache with pieces of the weights.
constexpr size_t kBlockFloats = 144 * 1024;
// Keeps the positions of a window out of one another's cache sets, and takes what transforms write behind the last one.
constexpr size_t kGap = 16;
// Channels of half transformed weights that are multiplied at a time.
constexpr size_t kHalfChannels = 64;

size_t ceil_divide(size_t a, size_t b) noexcept { return (a + b - 1) / b; }

bool is_strided(const ConvShape& s) noexcept { return s.stride_height != 1; }

// Below, `s` is what winograd_shape returns. Pixels along the sides of a window.
struct Window {
  size_t height, width;

  Window(const ConvShape& s, const WinogradFormat& format) noexcept
      : height(format.rows + s.kernel_height - 1), width(format.columns + s.kernel_width - 1) {}
  size_t positions() const noexcept { return height * width; }
};

// Numbers that are kept for each weight.
size_t kept_of(const ConvShape& s, const WinogradFormat& format) noexcept {
  const Window window(s, format);
  return window.height * (format.is_half ? kHalfColumns : window.width);
}

Panels panels_of(const ConvShape& s, const WinogradFormat& format) noexcept {
  return Panels(s.output_channels, kept_of(s, format) * s.input_channels);
}

const WinogradKernels& kernels_of(const WinogradFormat& format) noexcept {
  const WinogradTable& table = winograd_kernels();
  return format.is_half ? table.half : table.whole[format.columns - 2];
}

struct Run {
  const ConvShape& s;
  const WinogradFormat& format;
  const WinogradPlan& plan;
  std::span<const ConvPart> parts;
  const float* const* inputs;
  const float* packed;
  float* output;
  const GemmEpilogue& epilogue;
  size_t height, width;  // of the output
  Window window;
  // Of an odd kernel turned from space to depth, the last tap of a row or column has only the quarters of channels that
  // are its first pixel's, and a window's last position sees the last tap alone.
  bool has_half_taps;
  Panels panels;

  size_t channels_at(size_t position) const noexcept {
    const bool is_last_row = position / window.width + 1 == window.height;
    const bool is_last_column = position % window.width + 1 == window.width;
    if (!has_half_taps || !(is_last_row || is_last_column)) return s.input_channels;
    return s.input_channels / 4 * (!is_last_row ? 3 : is_last_column ? 1 : 2);
  }

  // Where a window has its first output.
  struct Place {
    size_t image, y, x;
  };
  template <class Body>
  void for_each_tile(const Range& tiles, const Body& body) const noexcept {
    const size_t per_image = plan.tiles_high * plan.tiles_wide, tile = tiles.begin;
    Place place = {tile / per_image, tile % per_image / plan.tiles_wide * format.rows,
                   tile % plan.tiles_wide * format.columns};
    for (size_t i = 0; i < tiles.size(); ++i) {
      body(i, place);
      if ((place.x += format.columns) < width) continue;
      place.x = 0;
      if ((place.y += format.rows) < height) continue;
      place.y = 0;
      ++place.image;
    }
  }
};

// How much of [first, first + count) lies before and behind [0, size).
Range inside(ptrdiff_t first, size_t count, size_t size) noexcept {
  const auto length = static_cast<ptrdiff_t>(count);
  const ptrdiff_t begin = std::clamp<ptrdiff_t>(-first, 0, length);
  const ptrdiff_t end = std::clamp<ptrdiff_t>(static_cast<ptrdiff_t>(size) - first, begin, length);
  return {static_cast<size_t>(begin), static_cast<size_t>(end)};
}

// The pixels of `part` in a window whose first one is at (y, x) of an image.
void place_part(const Run& run, const ConvPart& part, const float* image, ptrdiff_t y, ptrdiff_t x, float* resized,
                WinogradInput& call) noexcept {
  call.channels = part.channels;
  if (part.resize == ConvPart::Resize::kNone) {
    call.row_stride = run.s.input_width * part.pixel_stride;
    call.pixel_stride = part.pixel_stride;
    call.pixels = image + y * static_cast<ptrdiff_t>(call.row_stride) + x * static_cast<ptrdiff_t>(call.pixel_stride);
    return;
  }
  call.row_stride = run.window.width * part.channels;
  call.pixel_stride = part.channels;
  call.pixels = resized;
  resize_window(part, run.s.input_height, run.s.input_width, image, y, x, {call.row_begin, call.row_end},
                {call.column_begin, call.column_end}, resized, call.row_stride);
}

void transform_windows(const Run& run, const Range& tiles, float* windows, size_t position_stride,
                       float* resized) noexcept {
  const ConvShape& s = run.s;
  const auto kernel = kernels_of(run.format).input;
  WinogradInput call = {};
  call.position_stride = position_stride;
  run.for_each_tile(tiles, [&](size_t tile, const Run::Place& place) {
    const ptrdiff_t y = static_cast<ptrdiff_t>(place.y) - static_cast<ptrdiff_t>(s.pad_top);
    const ptrdiff_t x = static_cast<ptrdiff_t>(place.x) - static_cast<ptrdiff_t>(s.pad_left);
    const Range rows = inside(y, run.window.height, s.input_height),
                columns = inside(x, run.window.width, s.input_width);
    call.row_begin = rows.begin;
    call.row_end = rows.end;
    call.column_begin = columns.begin;
    call.column_end = columns.end;
    call.out = windows + tile * s.input_channels;
    for (size_t p = 0; p < run.parts.size(); call.out += run.parts[p++].channels) {
      const ConvPart& part = run.parts[p];
      const size_t pixels =
          part.resize == ConvPart::Resize::kNone ? s.input_height * s.input_width : part.height * part.width;
      place_part(run, part, run.inputs[p] + place.image * pixels * part.pixel_stride, y, x, resized, call);
      kernel(call);
    }
  });
}

// What the tiles of all positions have in common.
GemmTiles position_tile(const Run& run, size_t width) noexcept {
  GemmTiles tile = {};
  tile.taps = 1;
  tile.a_stride = run.s.input_channels;
  tile.b_stride = width;
  tile.c_stride = width;
  tile.columns = width;
  tile.min = -std::numeric_limits<float>::infinity();
  tile.max = std::numeric_limits<float>::infinity();
  return tile;
}

// The products of one panel at every position, of half transformed weights: for so many channels at a time that their
// weights stay in the first-level cache for a row of positions.
void multiply_half(const Run& run, size_t panel, size_t count, const float* windows, size_t window_stride,
                   float* products, size_t product_stride) noexcept {
  const GemmKernels& kernels = gemm_kernels();
  const size_t channels = run.s.input_channels, width = run.panels.width_of(panel);
  const auto* functions = width == run.panels.width ? kernels.combined_wide : kernels.combined_narrow;
  const size_t parts = ceil_divide(count, kernels.rows), columns = run.window.width;
  GemmTiles tile = position_tile(run, width);
  tile.addend_stride = width;
  tile.addend_scale = 1;
  const float* weights = run.packed + run.panels.offset_of(panel) + width;
  for (size_t row = 0; row < run.window.height; ++row, weights += kHalfColumns * channels * width) {
    for (size_t channel = 0; channel < channels; channel += tile.k) {
      tile.k = std::min(kHalfChannels, channels - channel);
      // What comes next: as many channels further on, or of the next row.
      const bool is_last = channel + tile.k == channels;
      const float* next = weights + (is_last ? kHalfColumns * channels : channel + tile.k) * width;
      tile.ahead_step_bytes = kHalfColumns * width * sizeof(float) / columns / parts;
      tile.ahead_tile_bytes = tile.k * tile.ahead_step_bytes;
      for (size_t column = 0; column < columns; ++column) {
        const HalfWeight& weight = kHalfWeights[column];
        tile.b = weights + (weight.first * channels + channel) * width;
        tile.b_second = weights + (weight.second * channels + channel) * width;
        tile.factor = weight.factor;
        const size_t position = row * columns + column;
        const float* a = windows + position * window_stride + channel;
        tile.a = &a;
        tile.c = products + position * product_stride;
        const float* ahead = next + (column / 2 * channels + column % 2 * tile.k / 2) * width;
        for_each_size(count, parts, [&](size_t first, size_t tiles, size_t rows) {
          tile.count = tiles;
          tile.addend = channel == 0 ? nullptr : tile.c;
          tile.ahead = ahead + first * tile.ahead_tile_bytes / sizeof(float);
          functions[weight.combination][rows - 1](tile);
          a += tiles * rows * channels;
          tile.c += tiles * rows * width;
        });
      }
    }
  }
}

// The same of whole ones.
void multiply_positions(const Run& run, size_t panel, size_t count, const float* windows, size_t window_stride,
                        float* products, size_t product_stride) noexcept {
  const GemmKernels& kernels = gemm_kernels();
  const size_t channels = run.s.input_channels, width = run.panels.width_of(panel);
  const TilesFunction* functions = width == run.panels.width ? kernels.wide : kernels.narrow;
  const size_t parts = ceil_divide(count, kernels.rows);
  GemmTiles tile = position_tile(run, width);
  const float* weights = run.packed + run.panels.offset_of(panel) + width;
  for (size_t position = 0; position < run.window.positions(); ++position, weights += channels * width) {
    tile.b = weights;
    tile.k = run.channels_at(position);
    const FetchAhead ahead(tile, parts, weights + channels * width, channels);
    const float* a = windows + position * window_stride;
    tile.a = &a;
    tile.c = products + position * product_stride;
    for_each_size(count, parts, [&](size_t first, size_t tiles, size_t rows) {
      tile.count = tiles;
      tile.ahead = ahead.part(first);
      functions[rows - 1](tile);
      a += tiles * rows * channels;
      tile.c += tiles * rows * width;
    });
  }
}

void transform_products(const Run& run, size_t panel, const Range& tiles, const float* products,
                        size_t position_stride) noexcept {
  const ConvShape& s = run.s;
  const GemmEpilogue& epilogue = run.epilogue;
  const auto kernel = kernels_of(run.format).output;
  const size_t column = panel * run.panels.width, width = run.panels.width_of(panel);
  WinogradOutput call = {};
  call.position_stride = position_stride;
  call.channels = run.panels.columns_of(panel);
  call.row_stride = run.width * s.output_pixel_stride;
  call.pixel_stride = s.output_pixel_stride;
  call.bias = run.packed + run.panels.offset_of(panel);
  call.residual_row_stride = run.width * epilogue.residual_stride;
  call.residual_pixel_stride = epilogue.residual_stride;
  call.residual_scale = epilogue.residual_scale;
  call.min = epilogue.min;
  call.max = epilogue.max;
  run.for_each_tile(tiles, [&](size_t tile, const Run::Place& place) {
    const size_t pixel = (place.image * run.height + place.y) * run.width + place.x;
    call.products = products + tile * width;
    call.rows = std::min(run.format.rows, run.height - place.y);
    call.columns = std::min(run.format.columns, run.width - place.x);
    call.out = run.output + pixel * s.output_pixel_stride + column;
    if (epilogue.residual != nullptr) call.residual = epilogue.residual + pixel * epilogue.residual_stride + column;
    kernel(call);
  });
}

void activate(const Run& run, const Range& tiles, const Range& panels) noexcept {
  if (run.epilogue.activation == nullptr) return;
  const size_t first = panels.begin * run.panels.width;
  const size_t count = std::min(panels.end * run.panels.width, run.panels.n) - first;
  run.for_each_tile(tiles, [&](size_t, const Run::Place& place) {
    const size_t columns = std::min(run.format.columns, run.width - place.x);
    for (size_t y = place.y; y < std::min(place.y + run.format.rows, run.height); ++y) {
      const size_t pixel = (place.image * run.height + y) * run.width + place.x;
      run.epilogue.activate(run.output + pixel * run.s.output_pixel_stride + first, columns, run.s.output_pixel_stride,
                            count);
    }
  });
}

// has_windows: the scratch holds the tiles' transformed windows, from another piece of the panels.
void run_block(const Run& run, const Range& tiles, const Range& panels, float* scratch, bool has_windows) noexcept {
  const size_t count = tiles.end - tiles.begin;
  const size_t window_stride = count * run.s.input_channels + kGap, product_stride = count * run.panels.width + kGap;
  float* products = scratch + ceil_divide(run.window.positions() * window_stride, 16) * 16;
  if (!has_windows) {
    float* resized = scratch + run.plan.lane_floats - run.plan.resized_floats;
    transform_windows(run, tiles, scratch, window_stride, resized);
  }
  const auto multiply = run.format.is_half ? multiply_half : multiply_positions;
  for (size_t panel = panels.begin; panel < panels.end; ++panel) {
    multiply(run, panel, count, scratch, window_stride, products, product_stride);
    transform_products(run, panel, tiles, products, product_stride);
  }
  activate(run, tiles, panels);
}

}  // namespace

bool fits_winograd(const ConvShape& s) noexcept {
  if (s.dilation_height != 1 || s.dilation_width != 1 || s.groups != 1 || s.input_channels == 0) return false;
  if (s.stride_height != s.stride_width || s.kernel_height != s.kernel_width) return false;
  if (s.stride_height == 1) return s.kernel_height == 3 && !s.is_planar;
  return s.stride_height == 2 && s.kernel_height >= 5 && s.kernel_height <= 8;
}

WinogradFormat winograd_format(ConvWeights format) noexcept {
  switch (format) {
    case ConvWeights::kWinograd2:
      return {2, 2, false};
    case ConvWeights::kWinograd3:
      return {3, 3, false};
    case ConvWeights::kWinogradHalf:
      return {2, 4, true};
    default:
      return {4, 4, false};
  }
}

bool fits_winograd(const ConvShape& s, const WinogradFormat& format) noexcept {
  if (!fits_winograd(s) || (format.is_half && is_strided(s))) return false;
  return (format.columns == 3) == (winograd_shape(s).kernel_height == 4);
}

ConvShape winograd_shape(const ConvShape& s) noexcept { return is_strided(s) ? space_to_depth_shape(s) : s; }

WinogradPlan plan_winograd(const ConvShape& shape, const WinogradFormat& format,
                           std::span<const ConvPart> parts) noexcept {
  const ConvShape s = winograd_shape(shape);
  WinogradPlan plan;
  plan.tiles_high = ceil_divide(s.output_height(), format.rows);
  plan.tiles_wide = ceil_divide(s.output_width(), format.columns);
  const size_t tiles = s.batch * plan.tiles_high * plan.tiles_wide, positions = Window(s, format).positions();
  if (tiles == 0 || s.output_channels == 0) return plan;
  const GemmKernels& kernels = gemm_kernels();
  const size_t tile_floats = positions * (s.input_channels + kernels.width);
  const size_t fitting =
      std::max<size_t>(1, (kBlockFloats / tile_floats + kernels.rows / 2) / kernels.rows) * kernels.rows;
  plan.blocks = std::max<size_t>(1, (tiles + fitting / 2) / fitting);
  const size_t panels = panels_of(s, format).count, threads = std::min(num_threads(), kMaxLanes);
  const auto is_even = [&] {
    const size_t tasks = plan.blocks * plan.panel_pieces;
    return tasks % threads == 0 || tasks >= 4 * threads;
  };
  while (!is_even() && plan.panel_pieces < panels) ++plan.panel_pieces;
  plan.lanes = std::min(threads, plan.blocks * plan.panel_pieces);
  const size_t most = ceil_divide(tiles, plan.blocks);
  plan.lane_floats = ceil_divide(positions * (most * s.input_channels + kGap), 16) * 16 +
                     ceil_divide(positions * (most * kernels.width + kGap), 16) * 16;
  for (const ConvPart& part : parts) {
    if (part.resize == ConvPart::Resize::kNone) continue;
    plan.resized_floats = std::max(plan.resized_floats, ceil_divide(positions * part.channels, 16) * 16);
  }
  plan.lane_floats += plan.resized_floats;
  if (is_strided(shape)) plan.image_floats = s.batch * s.input_height * s.input_width * s.input_channels;
  return plan;
}

size_t winograd_packed_bytes(const ConvShape& shape, const WinogradFormat& format) noexcept {
  return panels_of(winograd_shape(shape), format).size() * sizeof(float);
}

void pack_winograd(const ConvShape& shape, const WinogradFormat& format, const float* weights, const float* bias,
                   void* packed) noexcept {
  const ConvShape s = winograd_shape(shape);
  const Panels panels = panels_of(s, format);
  const size_t taps = s.kernel_height * s.kernel_width, channels = shape.input_channels;
  const size_t filter_floats = shape.kernel_height * shape.kernel_width * channels;
  const auto pack_rows = pack_kernels().pack_rows;
  parallel_for(panels.count, [&](size_t panel) {
    const size_t width = panels.width_of(panel), columns = panels.columns_of(panel), first = panel * panels.width;
    float* out = static_cast<float*>(packed) + panels.offset_of(panel);
    for (size_t j = 0; j < width; ++j) out[j] = bias != nullptr && j < columns ? bias[first + j] : 0.0f;
    float* last = out + width * (1 + panels.k - taps * s.input_channels);
    const float* filters = weights + first * filter_floats;
    if (!is_strided(shape)) {
      pack_rows(filters, filter_floats, columns, width, filter_floats, 1.0f, last);
    } else {
      float* to = last;
      for (size_t i = 0; i < 4 * taps; ++i, to += channels * width) {
        const KernelTap tap = space_to_depth_tap(i / 4 / s.kernel_width, i / 4 % s.kernel_width, i % 4);
        if (tap.y < shape.kernel_height && tap.x < shape.kernel_width) {
          const float* from = filters + (tap.y * shape.kernel_width + tap.x) * channels;
          pack_rows(from, filter_floats, columns, width, channels, 1.0f, to);
        } else {
          std::fill_n(to, channels * width, 0.0f);
        }
      }
    }
    kernels_of(format).weights(last, s.input_channels, width, out + width);
  });
}

void run_winograd(const ConvShape& shape, const WinogradFormat& format, const WinogradPlan& plan,
                  std::span<const ConvPart> parts, const float* const* inputs, const void* packed, float* output,
                  const GemmEpilogue& epilogue, float* workspace) noexcept {
  const ConvShape s = winograd_shape(shape);
  const size_t tiles = s.batch * plan.tiles_high * plan.tiles_wide;
  if (tiles == 0 || s.output_channels == 0) return;
  float* image = workspace + plan.lanes * plan.lane_floats;
  const float* const split[] = {image};
  if (is_strided(shape)) {
    space_to_depth(shape, *inputs, image);
    inputs = split;
  }
  const Run run = {s,
                   format,
                   plan,
                   parts,
                   inputs,
                   static_cast<const float*>(packed),
                   output,
                   epilogue,
                   s.output_height(),
                   s.output_width(),
                   Window(s, format),
                   is_strided(shape) && shape.kernel_height % 2 != 0,
                   panels_of(s, format)};
  std::array<size_t, kMaxLanes> blocks;  // whose windows the lanes' scratch holds
  std::fill_n(blocks.begin(), plan.lanes, SIZE_MAX);
  for_each_in_lanes(plan.blocks * plan.panel_pieces, plan.lanes, [&](size_t i, size_t lane) {
    const size_t block = i / plan.panel_pieces;
    const bool has_windows = blocks[lane] == block;
    blocks[lane] = block;
    run_block(run, part_of(tiles, plan.blocks, block),
              part_of(run.panels.count, plan.panel_pieces, i % plan.panel_pieces), workspace + lane * plan.lane_floats,
              has_windows);
  });
}

namespace {

// In multiply-adds, from measurements on AVX2 and AVX-512: starting and storing a tile is worth some rows of weights, a
// transform a few multiply-adds for each lane of a vector, making a weight of two one. Fetching a weight takes the time
// of as many from the last cache, and from memory no more (Zen 5) or that of twice a vector (29 GB/s, Sapphire Rapids).
// Of models whose weights stay in cache, transformed ones are most of the memory: keeping a weight counts as some
// multiply-adds more, which gives small images of many channels a quarter to a half of the weights and makes U-Nets a
// few percent slower.
constexpr size_t kTileRowsLost = 8, kInputTransform = 6, kOutputTransform = 5, kCombine = 1;
constexpr size_t kFetch = 8, kKeep = 24;
constexpr size_t kLanes = 16;

size_t fetch_cost(WeightsPlace place) noexcept {
  if (place != WeightsPlace::kMemory) return kFetch + kKeep;
  return is_amd() ? kFetch : std::max(kFetch, gemm_kernels().width);
}

}  // namespace

double winograd_cost(const ConvShape& shape, const WinogradFormat& format, WeightsPlace place) noexcept {
  const ConvShape s = winograd_shape(shape);
  const size_t tiles =
      s.batch * ceil_divide(s.output_height(), format.rows) * ceil_divide(s.output_width(), format.columns);
  const size_t inputs = s.input_channels, outputs = ceil_divide(s.output_channels, kLanes) * kLanes;
  // Half transformed weights: tiles are started for some channels at a time, weights made for each row of tiles.
  const size_t starts = format.is_half ? ceil_divide(inputs, kHalfChannels) : 1;
  const size_t made = format.is_half ? kCombine * ceil_divide(tiles, gemm_kernels().rows) * inputs * outputs : 0;
  const size_t products = (inputs + starts * kTileRowsLost) * outputs;
  const size_t transforms = kInputTransform * ceil_divide(inputs, kLanes) * kLanes + kOutputTransform * outputs;
  return static_cast<double>(Window(s, format).positions()) *
             static_cast<double>(tiles * (products + transforms) + made) +
         static_cast<double>(kept_of(s, format) * fetch_cost(place) * inputs * outputs);
}

double direct_cost(const ConvShape& s, WeightsPlace place) noexcept {
  const size_t pixels = s.batch * s.output_height() * s.output_width();
  const size_t depth = s.kernel_height * s.kernel_width * s.input_channels;
  const size_t outputs = ceil_divide(s.output_channels, kLanes) * kLanes;
  return static_cast<double>(outputs) * (static_cast<double>(pixels) * static_cast<double>(depth + kTileRowsLost) +
                                         static_cast<double>(fetch_cost(place) * depth));
}

}  // namespace enr::kernels
