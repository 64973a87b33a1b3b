#include "kernels/depthwise/depthwise_kernels.h"

#include "kernels/isa.h"
#include "kernels/simd/hide.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

namespace {

constexpr size_t kLanesHere = kF32Lanes;

// The kernel's valid rows for one output row.
struct KernelRows {
  size_t begin, end;
  const float* input;  // the row of tap row `begin`, first column
  size_t step;         // floats from a tap row's input row to the next
};

KernelRows kernel_rows(const DepthwiseCall& call, size_t y, const float* input) {
  const ptrdiff_t first = (ptrdiff_t)(y * call.stride_height) - (ptrdiff_t)call.pad_top;
  const ptrdiff_t dilation = (ptrdiff_t)call.dilation_height, height = (ptrdiff_t)call.input_height;
  KernelRows rows{0, call.kernel_height, input, 0};
  while (rows.begin < rows.end && first + (ptrdiff_t)rows.begin * dilation < 0) ++rows.begin;
  while (rows.end > rows.begin && first + (ptrdiff_t)(rows.end - 1) * dilation >= height) --rows.end;
  const size_t row_stride = call.input_width * call.input_pixel_stride;
  rows.step = call.dilation_height * row_stride;
  if (rows.begin < rows.end) rows.input += (size_t)(first + (ptrdiff_t)rows.begin * dilation) * row_stride;
  return rows;
}

// What is left to do with a pixel's sums once they are complete.
struct Finish {
  F32 scale, min, max;
  explicit Finish(const DepthwiseCall& call)
      : scale(splat(call.residual_scale)), min(splat(call.min)), max(splat(call.max)) {}
};

// Residual, clamp, store. kPartial: only the first `count` lanes are in memory.
template <bool kPartial>
ENR_INLINE void finish(const Finish& last, F32 sum, float* output, const float* residual, size_t count) {
  if (residual != nullptr) {
    sum = fma(last.scale, kPartial ? load_first(residual, count) : load(residual), sum);
  }
  sum = min_keep_nan(max_keep_nan(sum, last.min), last.max);
  if constexpr (kPartial) {
    store_first(output, sum, count);
  } else {
    store(output, sum);
  }
}

// kPixels neighbouring outputs of all whole blocks: a loaded input column serves every output it belongs to, a row of
// weights stays in registers. Bit i of `valid` tells whether input column i of the tile exists; kChecked is false where
// all do.
template <int kWidth, int kStride, int kPixels, bool kChecked>
void tile(const DepthwiseCall& call, const KernelRows& rows, const float* packed, size_t blocks, ptrdiff_t first_column,
          uint32_t valid, size_t channel, float* output, const float* residual) {
  constexpr int columns = (kPixels - 1) * kStride + kWidth;
  const size_t block_bytes = (1 + call.kernel_height * kWidth) * kVectorBytes;
  const ptrdiff_t pixel_bytes = (ptrdiff_t)(call.input_pixel_stride * sizeof(float));
  const ptrdiff_t step_bytes = (ptrdiff_t)(rows.step * sizeof(float));
  const size_t output_pixel_stride = call.output_pixel_stride, residual_stride = call.residual_stride;
  const size_t ky_begin = rows.begin, ky_end = rows.end;
  const Finish last(call);
  const char* weights_block = (const char*)(packed + (1 + rows.begin * kWidth) * kLanesHere);
  const char* input_block = (const char*)(rows.input + channel) + first_column * pixel_bytes;
  for (size_t block = 0; block < blocks; ++block) {
    F32 sum[kPixels];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) sum[p] = load(packed);
    const char* weights = weights_block;
    const char* row = input_block;
    for (size_t ky = ky_begin; ky < ky_end; ++ky) {
      F32 w[kWidth];
#pragma GCC unroll 5
      for (int k = 0; k < kWidth; ++k) w[k] = load((const float*)(weights + k * kVectorBytes));
      const char* input = row;
#pragma GCC unroll 32
      for (int column = 0; column < columns; ++column, input += pixel_bytes) {
        hide(input);
        if (kChecked && (valid >> column & 1) == 0) continue;
        F32 v = load((const float*)input);
        hide(v);
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) {
          const int k = column - p * kStride;
          if (k >= 0 && k < kWidth) sum[p] = fma(v, w[k], sum[p]);
        }
      }
      weights += kWidth * kVectorBytes;
      row += step_bytes;
      hide(valid);
    }
    float* out = output + channel;
    const float* added = residual == nullptr ? nullptr : residual + channel;
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      finish<false>(last, sum[p], out, added, kLanesHere);
      out += output_pixel_stride;
      if (added != nullptr) added += residual_stride;
    }
    packed = (const float*)((const char*)packed + block_bytes);
    weights_block += block_bytes;
    input_block += kVectorBytes;
    channel += kLanesHere;
  }
}

// The same for two neighbouring rows of outputs of a 3x3 kernel, all of whose rows exist: of the four input rows the
// two in the middle are read once for both.
constexpr int kPairTaps = 3;
template <int kPixels, bool kChecked>
void tile_pair(const DepthwiseCall& call, const KernelRows& rows, const float* packed, size_t blocks,
               ptrdiff_t first_column, uint32_t valid, size_t channel, float* output, const float* residual) {
  constexpr int columns = kPixels - 1 + kPairTaps;
  const ptrdiff_t pixel_bytes = (ptrdiff_t)(call.input_pixel_stride * sizeof(float));
  const ptrdiff_t step_bytes = (ptrdiff_t)(rows.step * sizeof(float));
  const size_t output_pixel_stride = call.output_pixel_stride, residual_stride = call.residual_stride;
  const size_t output_row = call.output_width * output_pixel_stride, residual_row = call.output_width * residual_stride;
  const Finish last(call);
  const char* input_block = (const char*)(rows.input + channel) + first_column * pixel_bytes;
  for (size_t block = 0; block < blocks; ++block) {
    const float* weights = packed + kLanesHere;
    F32 upper[kPixels], lower[kPixels];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) upper[p] = lower[p] = load(packed);
    F32 w[kPairTaps] = {}, before[kPairTaps] = {};  // of the upper and of the lower row of outputs
    const char* row = input_block;
#pragma GCC unroll 4
    for (int r = 0; r < kPairTaps + 1; ++r) {
      for (int k = 0; k < kPairTaps; ++k) {
        before[k] = w[k];
        if (r < kPairTaps) w[k] = load(weights + (r * kPairTaps + k) * kLanesHere);
      }
      const char* input = row;
#pragma GCC unroll 10
      for (int column = 0; column < columns; ++column, input += pixel_bytes) {
        hide(input);
        if (kChecked && (valid >> column & 1) == 0) continue;
        F32 v = load((const float*)input);
        hide(v);
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) {
          const int k = column - p;
          if (k < 0 || k >= kPairTaps) continue;
          if (r < kPairTaps) upper[p] = fma(v, w[k], upper[p]);
          if (r > 0) lower[p] = fma(v, before[k], lower[p]);
        }
      }
      row += step_bytes;
      hide(valid);
    }
    float* out = output + channel;
    const float* added = residual == nullptr ? nullptr : residual + channel;
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      finish<false>(last, upper[p], out, added, kLanesHere);
      finish<false>(last, lower[p], out + output_row, added == nullptr ? nullptr : added + residual_row, kLanesHere);
      out += output_pixel_stride;
      if (added != nullptr) added += residual_stride;
    }
    packed += (1 + kPairTaps * kPairTaps) * kLanesHere;
    input_block += kVectorBytes;
    channel += kLanesHere;
  }
}

// kPixels neighbouring outputs of one block, any kernel. Tap columns [begin, end) exist for all of them.
template <int kPixels, bool kPartial, bool kMultiplied>
void tile_any(const DepthwiseCall& call, const KernelRows& rows, const float* packed, size_t x, size_t tap_begin,
              size_t tap_end, size_t channel, size_t count, float* output, const float* residual) {
  const ptrdiff_t first = (ptrdiff_t)(x * call.stride_width) - (ptrdiff_t)call.pad_left;
  const ptrdiff_t pixel_stride = (ptrdiff_t)call.input_pixel_stride;
  F32 sum[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = load(packed);
  const float* input = rows.input + channel / call.multiplier;
  for (size_t ky = rows.begin; ky < rows.end; ++ky, input += rows.step) {
    for (size_t kx = tap_begin; kx < tap_end; ++kx) {
      const F32 w = load(packed + (1 + ky * call.kernel_width + kx) * kLanesHere);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        const float* pixel =
            input + (first + (ptrdiff_t)(p * call.stride_width + kx * call.dilation_width)) * pixel_stride;
        F32 v;
        if constexpr (kMultiplied) {
          v = F32{};
          for (size_t i = 0, phase = channel % call.multiplier; i < count; ++i) {
            v[i] = *pixel;
            if (++phase == call.multiplier) phase = 0, ++pixel;
          }
        } else {
          v = kPartial ? load_first(pixel, count) : load(pixel);
        }
        sum[p] = fma(v, w, sum[p]);
      }
    }
  }
  const Finish last(call);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    finish<kPartial>(last, sum[p], output + (x + p) * call.output_pixel_stride + channel,
                     residual == nullptr ? nullptr : residual + (x + p) * call.residual_stride + channel, count);
  }
}

template <bool kPartial, bool kMultiplied>
void row_block(const DepthwiseCall& call, const KernelRows& rows, const float* packed, size_t channel, size_t count,
               float* output, const float* residual) {
  constexpr int pixels = kMultiplied ? 1 : 4;
  const ptrdiff_t width = (ptrdiff_t)call.input_width, dilation = (ptrdiff_t)call.dilation_width;
  for (size_t x = 0; x < call.output_width;) {
    const ptrdiff_t first = (ptrdiff_t)(x * call.stride_width) - (ptrdiff_t)call.pad_left;
    const ptrdiff_t last =
        first + (ptrdiff_t)((pixels - 1) * call.stride_width) + (ptrdiff_t)(call.kernel_width - 1) * dilation;
    if (first >= 0 && last < width && x + pixels <= call.output_width) {
      tile_any<pixels, kPartial, kMultiplied>(call, rows, packed, x, 0, call.kernel_width, channel, count, output,
                                              residual);
      x += pixels;
      continue;
    }
    size_t begin = 0, end = call.kernel_width;
    while (begin < end && first + (ptrdiff_t)begin * dilation < 0) ++begin;
    while (end > begin && first + (ptrdiff_t)(end - 1) * dilation >= width) --end;
    tile_any<1, kPartial, kMultiplied>(call, rows, packed, x, begin, end, channel, count, output, residual);
    ++x;
  }
}

void row_any(const DepthwiseCall& call, size_t y, size_t block_begin, size_t block_end, const float* input,
             float* output, const float* residual) noexcept {
  const KernelRows rows = kernel_rows(call, y, input);
  const size_t block_size = (1 + call.kernel_height * call.kernel_width) * kLanesHere;
  for (size_t block = block_begin; block < block_end; ++block) {
    const float* packed = call.packed + block * block_size;
    const size_t channel = block * kLanesHere, left = call.channels - channel;
    const size_t count = left < kLanesHere ? left : kLanesHere;
    if (call.multiplier != 1) {
      if (count == kLanesHere) {
        row_block<false, true>(call, rows, packed, channel, count, output, residual);
      } else {
        row_block<true, true>(call, rows, packed, channel, count, output, residual);
      }
    } else if (count == kLanesHere) {
      row_block<false, false>(call, rows, packed, channel, count, output, residual);
    } else {
      row_block<true, false>(call, rows, packed, channel, count, output, residual);
    }
  }
}

using Tile = void (*)(const DepthwiseCall& call, const KernelRows& rows, const float* packed, size_t blocks,
                      ptrdiff_t first_column, uint32_t valid, size_t channel, float* output, const float* residual);

// Tiles for every number of outputs left in a row, at most `longest`: how many of them each computes.
struct TileSet {
  size_t longest;
  size_t sizes[9];
  Tile checked[9];
  Tile inside;  // the longest one where all columns exist
};

// The whole blocks of a row, or a pair of rows, of outputs.
template <int kWidth, int kStride>
void walk_row(const DepthwiseCall& call, const TileSet& tiles, const KernelRows& rows, size_t block_begin,
              size_t block_end, float* output, const float* residual) {
  const size_t block_size = (1 + call.kernel_height * kWidth) * kLanesHere;
  for (size_t x = 0; x < call.output_width;) {
    const size_t left = call.output_width - x;
    const size_t choice = left < tiles.longest ? left : tiles.longest;
    const ptrdiff_t first = (ptrdiff_t)(x * kStride) - (ptrdiff_t)call.pad_left;
    // Columns [first, first + 32) cut to [0, width).
    const ptrdiff_t end = (ptrdiff_t)call.input_width - first;
    uint32_t valid = end <= 0 ? 0 : end >= 32 ? ~0u : (1u << end) - 1;
    if (first < 0) valid = first <= -32 ? 0 : valid & ~0u << -first;
    const ptrdiff_t columns = (ptrdiff_t)((tiles.sizes[choice] - 1) * kStride) + kWidth;
    const bool is_inside = choice == tiles.longest && tiles.inside != nullptr && first >= 0 && columns <= end;
    (is_inside ? tiles.inside : tiles.checked[choice])(
        call, rows, call.packed + block_begin * block_size, block_end - block_begin, first, valid,
        block_begin * kLanesHere, output + x * call.output_pixel_stride,
        residual == nullptr ? nullptr : residual + x * call.residual_stride);
    x += tiles.sizes[choice];
  }
}

// Rows of 7 and 14 outputs, as images often have, are not cut into 8 and the rest.
bool suits_sevens(size_t width) { return width % 8 != 0 && width % 7 == 0 && width < 24; }

size_t whole_blocks(const DepthwiseCall& call, size_t block_end) {
  const size_t whole = call.channels / kLanesHere;
  return whole < block_end ? whole : block_end;
}

template <int kWidth, int kStride>
void row_fixed(const DepthwiseCall& call, size_t y, size_t block_begin, size_t block_end, const float* input,
               float* output, const float* residual) noexcept {
  static constexpr Tile k1 = tile<kWidth, kStride, 1, true>, k2 = tile<kWidth, kStride, 2, true>,
                        k4 = tile<kWidth, kStride, 4, true>, k7 = tile<kWidth, kStride, 7, true>,
                        k8 = tile<kWidth, kStride, 8, true>;
  static constexpr TileSet kEights = {
      8, {0, 1, 2, 2, 4, 4, 4, 7, 8}, {nullptr, k1, k2, k2, k4, k4, k4, k7, k8}, tile<kWidth, kStride, 8, false>};
  static constexpr TileSet kSevens = {7, {0, 1, 2, 2, 4, 4, 4, 7}, {nullptr, k1, k2, k2, k4, k4, k4, k7}, nullptr};
  const size_t whole_end = whole_blocks(call, block_end);
  if (block_begin < whole_end) {
    walk_row<kWidth, kStride>(call, suits_sevens(call.output_width) ? kSevens : kEights, kernel_rows(call, y, input),
                              block_begin, whole_end, output, residual);
  }
  if (whole_end < block_end) {
    row_any(call, y, whole_end < block_begin ? block_begin : whole_end, block_end, input, output, residual);
  }
}

void row_pair(const DepthwiseCall& call, size_t y, size_t block_begin, size_t block_end, const float* input,
              float* output, const float* residual) noexcept {
  static constexpr Tile k1 = tile_pair<1, true>, k2 = tile_pair<2, true>, k4 = tile_pair<4, true>;
#if defined(__AVX512F__) || defined(__aarch64__)  // 32 registers
  static constexpr Tile k7 = tile_pair<7, true>, k8 = tile_pair<8, true>;
  static constexpr TileSet kEights = {
      8, {0, 1, 2, 2, 4, 4, 4, 7, 8}, {nullptr, k1, k2, k2, k4, k4, k4, k7, k8}, tile_pair<8, false>};
  static constexpr TileSet kSevens = {7, {0, 1, 2, 2, 4, 4, 4, 7}, {nullptr, k1, k2, k2, k4, k4, k4, k7}, nullptr};
  const TileSet& tiles = suits_sevens(call.output_width) ? kSevens : kEights;
#else
  static constexpr TileSet tiles = {4, {0, 1, 2, 2, 4}, {nullptr, k1, k2, k2, k4}, tile_pair<4, false>};
#endif
  const size_t whole_end = whole_blocks(call, block_end);
  if (block_begin < whole_end) {
    walk_row<kPairTaps, 1>(call, tiles, kernel_rows(call, y, input), block_begin, whole_end, output, residual);
  }
  if (whole_end == block_end) return;
  const size_t begin = whole_end < block_begin ? block_begin : whole_end;
  row_any(call, y, begin, block_end, input, output, residual);
  row_any(call, y + 1, begin, block_end, input, output + call.output_width * call.output_pixel_stride,
          residual == nullptr ? nullptr : residual + call.output_width * call.residual_stride);
}

}  // namespace

const DepthwiseKernels& depthwise_kernels() {
  static const DepthwiseKernels table = {kLanesHere,      row_fixed<3, 1>, row_fixed<3, 2>, row_fixed<5, 1>,
                                         row_fixed<5, 2>, row_any,         row_pair};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
