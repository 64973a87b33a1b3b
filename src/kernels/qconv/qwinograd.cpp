#include "kernels/qconv/qwinograd.h"

#include <algorithm>
#include <cstring>

#include "base/ranges.h"
#include "base/thread_pool.h"
#include "kernels/conv/lanes.h"
#include "kernels/isa.h"
#include "kernels/qconv/qwinograd_table.h"
#include "kernels/qconv/run.h"

namespace enr::kernels {

ENR_SELECT_VNNI_ISA(QWinogradTable, qwinograd_table)

namespace {

// Transformed windows and products of a block: they share the second-level cache with the weights of a panel.
constexpr size_t kBlockBytes = 192 * 1024;
constexpr size_t kMaxPositions = 36;

size_t ceil_divide(size_t a, size_t b) noexcept { return (a + b - 1) / b; }

size_t positions_of(size_t tile) noexcept { return (tile + 2) * (tile + 2); }
size_t pairs_of(const ConvShape& s) noexcept { return ceil_divide(s.input_channels, 2); }
size_t panels_of(const ConvShape& s) noexcept { return ceil_divide(s.output_channels, qwinograd_table().panel); }
size_t panel_bytes(const ConvShape& s, size_t tile) noexcept {
  return qwinograd_table().panel * (12 + positions_of(tile) * pairs_of(s) * 4);
}
size_t padding_size(const ConvShape& s) noexcept { return round_up_64(s.input_channels); }

// From window to window of a position, in numbers. Rows a multiple of 256 bytes apart would fight for the same lines of
// the cache.
size_t window_stride(const ConvShape& s) noexcept {
  const size_t stride = ceil_divide(s.input_channels, 32) * 32;
  return stride % 128 == 0 ? stride + 32 : stride;
}
size_t window_position_stride(const ConvShape& s, size_t tiles) noexcept { return tiles * window_stride(s) + 32; }
size_t product_position_stride(size_t tiles) noexcept { return tiles * qwinograd_table().panel + 16; }
size_t windows_bytes(const ConvShape& s, size_t positions, size_t tiles) noexcept {
  return round_up_64(positions * window_position_stride(s, tiles) * sizeof(int16_t));
}
size_t products_bytes(size_t positions, size_t tiles) noexcept {
  return round_up_64(positions * product_position_stride(tiles) * sizeof(int32_t));
}

// In front of packed weights: what a uint8 needs to become an int8.
struct alignas(64) Header {
  int32_t flip = 0;
};

// The matrices G of the transforms, times 2 and 24; the last row of the latter times 12, so that all of int8 fits.
constexpr int32_t kTransformOfTwo[4][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
constexpr int32_t kTransformOfFour[6][3] = {{6, 0, 0}, {-4, -4, -4}, {-4, 4, -4}, {1, 2, 4}, {1, -2, 4}, {0, 0, 12}};

// Number (y, x) of G g G^T.
int32_t transformed_weight(const int32_t (&g)[3][3], const int32_t (&row)[3], const int32_t (&column)[3]) noexcept {
  int32_t sum = 0;
  for (size_t i = 0; i < 3; ++i) sum += row[i] * (g[i][0] * column[0] + g[i][1] * column[1] + g[i][2] * column[2]);
  return sum;
}

class Run {
 public:
  Run(const ConvShape& s, const QWinogradPlan& plan, const QConvCall& call, const uint8_t* padding) noexcept
      : s_(s),
        plan_(plan),
        positions_(positions_of(plan.tile)),
        transforms_(plan.tile == 4 ? qwinograd_table().of_four : qwinograd_table().of_two),
        input_(static_cast<const uint8_t*>(call.input)),
        padding_(padding),
        output_(static_cast<uint8_t*>(call.output)),
        flip_(static_cast<uint8_t>(static_cast<const Header*>(call.packed)->flip)),
        panels_(static_cast<const std::byte*>(call.packed) + sizeof(Header)),
        range_(call.output_range),
        height_(s.output_height()),
        width_(s.output_width()) {}

  void block(Range tiles, Range panels, std::byte* scratch) const noexcept {
    const size_t count = tiles.end - tiles.begin;
    int16_t* windows = reinterpret_cast<int16_t*>(scratch);
    int32_t* products = reinterpret_cast<int32_t*>(scratch + windows_bytes(s_, positions_, count));
    for (size_t tile = tiles.begin; tile < tiles.end; ++tile) {
      transform_window(tile, windows + (tile - tiles.begin) * window_stride(s_), window_position_stride(s_, count));
    }
    const QWinogradTable& table = qwinograd_table();
    const size_t pairs = pairs_of(s_), weights_step = pairs * table.panel * 2;
    for (size_t panel = panels.begin; panel < panels.end; ++panel) {
      const std::byte* packed = panels_ + panel * panel_bytes(s_, plan_.tile);
      const auto* weights = reinterpret_cast<const int16_t*>(packed + 12 * table.panel);
      for (size_t position = 0; position < positions_; ++position) {
        table.multiply(windows + position * window_position_stride(s_, count), window_stride(s_), count,
                       weights + position * weights_step, pairs, products + position * product_position_stride(count));
      }
      for (size_t tile = tiles.begin; tile < tiles.end; ++tile) {
        transform_outputs(tile, panel, packed, products + (tile - tiles.begin) * table.panel,
                          product_position_stride(count));
      }
    }
  }

 private:
  // Where a window has its first output.
  struct Place {
    size_t image, y, x;
  };
  Place place_of(size_t tile) const noexcept {
    const size_t per_image = plan_.tiles_high * plan_.tiles_wide;
    return {tile / per_image, tile % per_image / plan_.tiles_wide * plan_.tile, tile % plan_.tiles_wide * plan_.tile};
  }

  const uint8_t* input_pixel(size_t image, size_t row, size_t column) const noexcept {
    return input_ + ((image * s_.input_height + row) * s_.input_width + column) * s_.input_pixel_stride;
  }

  void transform_window(size_t tile, int16_t* out, size_t position_stride) const noexcept {
    const Place place = place_of(tile);
    const uint8_t* pixels[kMaxPositions];
    const size_t side = plan_.tile + 2;
    for (size_t y = 0; y < side; ++y) {
      const size_t row = place.y + y - s_.pad_top;  // beyond the image where negative
      for (size_t x = 0; x < side; ++x) {
        const size_t column = place.x + x - s_.pad_left;
        const bool inside = row < s_.input_height && column < s_.input_width;
        pixels[side * y + x] = inside ? input_pixel(place.image, row, column) : padding_;
      }
    }
    transforms_.input(pixels, s_.input_channels, flip_, out, position_stride);
    if (s_.input_channels % 2 == 0) return;
    for (size_t p = 0; p < positions_; ++p) out[p * position_stride + s_.input_channels] = 0;
  }

  void transform_outputs(size_t tile, size_t panel, const void* packed, const int32_t* products,
                         size_t position_stride) const noexcept {
    const Place place = place_of(tile);
    const size_t first = panel * qwinograd_table().panel;
    const size_t pixel = (place.image * height_ + place.y) * width_ + place.x;
    QWinogradOutput call;
    call.products = products;
    call.position_stride = position_stride;
    call.panel = packed;
    call.channels = std::min(qwinograd_table().panel, s_.output_channels - first);
    call.rows = std::min(plan_.tile, height_ - place.y);
    call.columns = std::min(plan_.tile, width_ - place.x);
    call.out = output_ + pixel * s_.output_pixel_stride + first;
    call.row_stride = width_ * s_.output_pixel_stride;
    call.pixel_stride = s_.output_pixel_stride;
    call.low = static_cast<float>(range_.min - range_.zero_point);
    call.high = static_cast<float>(range_.max - range_.zero_point);
    call.zero_point = range_.zero_point - flip_;
    call.flip = flip_;
    transforms_.output(call);
  }

  const ConvShape& s_;
  const QWinogradPlan& plan_;
  size_t positions_;
  const QWinogradTransforms& transforms_;
  const uint8_t *input_, *padding_;
  uint8_t* output_;
  uint8_t flip_;
  const std::byte* panels_;
  const QOutput& range_;
  size_t height_, width_;
};

}  // namespace

bool fits_qwinograd(const ConvShape& s, size_t tile) noexcept {
  // Four times the sum of 9 * channels products of int8 and 9 bits must fit int32, 64 times one of products of int8.
  const size_t most_channels = tile == 4 ? (size_t{1} << 25) / (9 * 128 * 128) : (size_t{1} << 29) / (9 * 128 * 255);
  return s.kernel_height == 3 && s.kernel_width == 3 && s.stride_height == 1 && s.stride_width == 1 &&
         s.dilation_height == 1 && s.dilation_width == 1 && s.groups == 1 && s.input_channels <= most_channels &&
         s.input_channels >= qwinograd_table().min_channels;
}

size_t preferred_qwinograd_tile(const ConvShape& s, QWeightType type) noexcept {
  // Transformed weights take 72 or 32 bytes where plain ones take 9: few windows do not pay for fetching them.
  constexpr size_t kMinTilesOfFour = 36, kMinTilesOfTwo = 24;
  const auto tiles = [&](size_t tile) {
    return s.batch * ceil_divide(s.output_height(), tile) * ceil_divide(s.output_width(), tile);
  };
  const size_t rate = qwinograd_table().dot8_rate;
  if (s.output_channels < qwinograd_table().panel) return 0;
  // Products become 4 times, 2.25 times as few.
  if (rate <= 2 && type == QWeightType::kInt8 && fits_qwinograd(s, 4) && tiles(4) >= kMinTilesOfFour) return 4;
  if (rate <= 1 && fits_qwinograd(s, 2) && tiles(2) >= kMinTilesOfTwo) return 2;
  return 0;
}

QWinogradPlan plan_qwinograd(const ConvShape& s, size_t tile) noexcept {
  QWinogradPlan plan;
  plan.tile = tile;
  plan.tiles_high = ceil_divide(s.output_height(), tile);
  plan.tiles_wide = ceil_divide(s.output_width(), tile);
  const size_t tiles = s.batch * plan.tiles_high * plan.tiles_wide;
  if (tiles == 0 || s.output_channels == 0) return plan;
  const QWinogradTable& table = qwinograd_table();
  const size_t positions = positions_of(tile);
  const size_t tile_bytes = positions * (2 * window_stride(s) + 4 * table.panel);
  const size_t fitting = std::max<size_t>(1, kBlockBytes / (tile_bytes * table.max_rows)) * table.max_rows;
  plan.blocks = ceil_divide(tiles, fitting);
  const size_t panels = panels_of(s), threads = num_threads();
  const auto is_even = [&] {
    const size_t tasks = plan.blocks * plan.panel_pieces;
    return tasks % threads == 0 || tasks >= 4 * threads;
  };
  while (!is_even() && plan.panel_pieces < panels) ++plan.panel_pieces;
  plan.lanes = std::min(threads, plan.blocks * plan.panel_pieces);
  const size_t most = ceil_divide(tiles, plan.blocks);
  plan.lane_bytes = windows_bytes(s, positions, most) + products_bytes(positions, most);
  return plan;
}

size_t qwinograd_packed_bytes(const ConvShape& s, size_t tile) noexcept {
  return sizeof(Header) + panels_of(s) * panel_bytes(s, tile);
}

void pack_qwinograd(const ConvShape& s, size_t tile, const QConvWeights& weights, const int32_t* bias, const QStatic& q,
                    void* packed) noexcept {
  const size_t width = qwinograd_table().panel, channels = s.input_channels, pairs = pairs_of(s);
  const int32_t flip = q.is_unsigned ? 0x80 : 0;
  const auto* data = static_cast<const uint8_t*>(weights.data);
  const auto weight_at = [&](size_t output, size_t tap, size_t channel) {
    const uint8_t byte = data[(output * 9 + tap) * channels + channel];
    return (weights.type == QWeightType::kUInt8 ? byte : static_cast<int8_t>(byte)) - weights.zero_point;
  };
  *static_cast<Header*>(packed) = {flip};
  parallel_for(panels_of(s), [&](size_t panel) {
    std::byte* to = static_cast<std::byte*>(packed) + sizeof(Header) + panel * panel_bytes(s, tile);
    std::memset(to, 0, panel_bytes(s, tile));
    auto* starts = reinterpret_cast<int32_t*>(to);
    auto* scales = reinterpret_cast<float*>(starts + width);
    auto* offsets = scales + width;
    auto* numbers = reinterpret_cast<int16_t*>(offsets + width);
    for (size_t j = 0; j < std::min(width, s.output_channels - panel * width); ++j) {
      const size_t output = panel * width + j;
      int32_t sum = 0;
      for (size_t channel = 0; channel < channels; ++channel) {
        int32_t g[3][3];
        for (size_t tap = 0; tap < 9; ++tap) sum += g[tap / 3][tap % 3] = weight_at(output, tap, channel);
        int16_t* at = numbers + (channel / 2 * width + j) * 2 + channel % 2;
        for (size_t y = 0; y < tile + 2; ++y) {
          for (size_t x = 0; x < tile + 2; ++x, at += pairs * width * 2) {
            *at = static_cast<int16_t>(tile == 4 ? transformed_weight(g, kTransformOfFour[y], kTransformOfFour[x])
                                                 : transformed_weight(g, kTransformOfTwo[y], kTransformOfTwo[x]));
          }
        }
      }
      // Wraps as the sums do.
      const uint32_t first = static_cast<uint32_t>(bias != nullptr ? bias[output] : 0);
      const uint32_t taken = static_cast<uint32_t>(q.input_zero_point - flip);
      starts[j] = static_cast<int32_t>(first - taken * static_cast<uint32_t>(sum));
      scales[j] = q.scales[q.scale_count == 1 ? 0 : output];
      if (q.offsets != nullptr) offsets[j] = q.offsets[output];
    }
  });
}

size_t qwinograd_workspace_bytes(const ConvShape& s, const QWinogradPlan& plan) noexcept {
  return padding_size(s) + plan.lanes * plan.lane_bytes;
}

void run_qwinograd(const ConvShape& s, const QWinogradPlan& plan, const QConvCall& call, void* workspace) noexcept {
  const size_t tiles = s.batch * plan.tiles_high * plan.tiles_wide;
  if (tiles == 0 || s.output_channels == 0) return;
  auto* padding = static_cast<uint8_t*>(workspace);
  std::memset(padding, call.input_zero_point, s.input_channels);
  std::byte* scratch = static_cast<std::byte*>(workspace) + padding_size(s);
  const Run run(s, plan, call, padding);
  for_each_in_lanes(plan.blocks * plan.panel_pieces, plan.lanes, [&](size_t i, size_t lane) {
    run.block(part_of(tiles, plan.blocks, i / plan.panel_pieces),
              part_of(panels_of(s), plan.panel_pieces, i % plan.panel_pieces), scratch + lane * plan.lane_bytes);
  });
}

}  // namespace enr::kernels
