#pragma once

// What an instruction set offers for qwinograd.h, in 16-bit numbers that are added up in 32 bits.
//
// Packed weights, in panels of `panel` outputs: int32 each sum starts from, scales, offsets, then for each position of
// a window (16 where it has 2x2 outputs, 36 where it has 4x4) and each pair of channels the outputs' two weights. C
// headers only.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// The outputs of one window, of one panel.
struct QWinogradOutput {
  const int32_t* products = nullptr;  // position p at products + p * position_stride
  size_t position_stride = 0;
  const void* panel = nullptr;
  size_t channels = 0;           // of C, at most what the panel has
  size_t rows = 0, columns = 0;  // of the outputs that exist
  uint8_t* out = nullptr;
  size_t row_stride = 0, pixel_stride = 0;
  // As in QTile.
  float low = 0, high = 0;
  int32_t zero_point = 0;
  uint8_t flip = 0;
};

struct QWinogradTransforms {
  // One window: 4x4 or 6x6 pixels, row by row, of int8 (after XOR with flip). Position p's channels at out + p *
  // position_stride.
  void (*input)(const uint8_t* const* pixels, size_t channels, uint8_t flip, int16_t* out,
                size_t position_stride) noexcept;
  void (*output)(const QWinogradOutput& call) noexcept;
};

struct QWinogradTable {
  size_t panel;
  size_t min_channels;  // of the input
  size_t max_rows;      // of windows that are multiplied together
  size_t dot8_rate;     // 8-bit products (of qgemm) in the time of a 16-bit one

  // products[row][j] of `panel` outputs; windows a_stride apart.
  void (*multiply)(const int16_t* a, size_t a_stride, size_t rows, const int16_t* weights, size_t pairs,
                   int32_t* products) noexcept;
  QWinogradTransforms of_two, of_four;  // outputs along the sides of a window
};

const QWinogradTable& qwinograd_table();

}  // namespace enr::kernels
