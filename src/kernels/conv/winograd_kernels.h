#pragma once

// The transforms of Winograd's convolution: a window of n pixels a side becomes as many positions, whose products over
// the channels become m outputs a side of a kernel of n - m + 1 taps. m = 2 (n = 4) and m = 4 (n = 6) are for 3 taps, m
// = 3 (n = 6) for 4. C headers only.

#include <stddef.h>

#include "kernels/gemm/tile.h"

namespace enr::kernels {

// Interpolation points of n = 6: 0, +-3/4, +-3/2 and infinity. Of the points tried these lose the fewest bits: the
// error is about twice that of a direct convolution in float32; with the textbook's 0, +-1, +-2 it is five times as
// large.
inline constexpr double kWinogradA = 0.75, kWinogradB = 1.5;

// One window, all channels. The pixels of rows and columns outside [begin, end) are zeros and not read.
struct WinogradInput {
  const float* pixels;  // where the window's first pixel is, or would be
  size_t row_stride, pixel_stride;
  size_t channels;
  size_t row_begin, row_end, column_begin, column_end;
  float* out;  // position p at out + p * position_stride; up to a vector less one float behind each is overwritten
  size_t position_stride;
};

// One window's outputs, of one panel of the weights.
struct WinogradOutput {
  const float* products;  // position p at products + p * position_stride
  size_t position_stride;
  size_t channels;
  size_t rows, columns;  // of the outputs that exist
  float* out;
  size_t row_stride, pixel_stride;
  const float* bias;
  const float* residual;  // null: none
  size_t residual_row_stride, residual_pixel_stride;
  float residual_scale;
  float min, max;
};

// Half transformed weights are kHalfColumns numbers for each of a window's rows of 6 positions: the sums that +-3/4 and
// +-3/2 have in common but for signs and factors. A position's weight is made of two; what scales the first and the
// last position's is left to the transform of the products.
inline constexpr size_t kHalfColumns = 3;
struct HalfWeight {
  size_t first, second;
  GemmCombination combination;
  float factor;
};
inline constexpr HalfWeight kHalfWeights[6] = {
    {0, 2, kSum, 0},
    {0, 1, kSum, 0},
    {0, 1, kDifference, 0},
    {2, 1, kScaledSum, (float)(-kWinogradA / kWinogradB)},
    {2, 1, kScaledSum, (float)(kWinogradA / kWinogradB)},
    {2, 0, kScaledSum, (float)(kWinogradA * kWinogradA / (kWinogradB * kWinogradB))},
};

struct WinogradKernels {
  void (*input)(const WinogradInput& call);
  void (*output)(const WinogradOutput& call);
  // From a row of `width` weights for each tap and channel, tap t's of channel c at taps + (t * channels + c) * width,
  // to as many rows a channel as there are positions (or halves of them): p's at out + (p * channels + c) * width. The
  // taps may be the last of these rows.
  void (*weights)(const float* taps, size_t channels, size_t width, float* out);
};

// Windows of 2x2, 3x3 and 4x4 outputs; of 2x4 for half transformed weights.
struct WinogradTable {
  WinogradKernels whole[3];
  WinogradKernels half;
};

const WinogradTable& winograd_kernels();

}  // namespace enr::kernels
