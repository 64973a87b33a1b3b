#pragma once

// What an instruction set offers for 8-bit and 4-bit products; qgemm.h is the family's public face.
//
// Weights are packed in panels of `panel` outputs (the last one of half as many where that suffices). Activations are
// packed a few rows at a time, as bytes or 16-bit numbers. A panel: int32 of each output, its scale, its second float;
// then the weights, in steps of `group` inputs (4-bit ones: of two groups, low and high half), for each output of the
// panel neighbouring bytes. Weights of 4 bits may come in blocks, each behind its outputs' bfloat16 or
// float scales.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// The product of some rows with one panel.
struct QTile {
  const void* a = nullptr;
  size_t a_stride = 0;  // bytes
  size_t rows = 0;
  const void* panel = nullptr;
  size_t vectors = 0;  // 1 for half a panel, 2
  size_t columns = 0;  // of C, at most what the panel has
  size_t k = 0;
  size_t block_size = 0, blocks = 1;  // 4-bit weights
  bool has_float_scales = false;      // of blocks
  // The panel that comes next, or null: int8 tiles of many rows fetch it into the second-level cache meanwhile.
  const void* next = nullptr;
  // Scratch of QGemmTable::wide_bytes(k), or null where that is 0: many rows have int8 weights widened once.
  void* wide = nullptr;
  // What the sums start from: row_terms[row * blocks + block], or null for 0.
  const int32_t* row_terms = nullptr;

  void* c = nullptr;
  size_t c_stride = 0;  // elements
  // Static: the clamp, less the zero point, and the zero point as int8; flip is 0x80 where C is uint8.
  float low = 0, high = 0;
  int32_t zero_point = 0;
  uint8_t flip = 0;
  bool exceeds_int32 = false;  // scaled sums may
  bool has_offsets = false;    // scaled sums: the panel's second floats
  // Dynamic: of each row its scale and what to take of the panel's integers.
  const float* row_scales = nullptr;
  const int32_t* row_zero_points = nullptr;
  float min = 0, max = 0;
};

// Windows of images as rows of a tile, read where the image lies: a row's inputs come in `lines` pieces, line_stride
// bytes apart, of which `k` counts all, each a multiple of the group. `strips` of `rows` rows each.
struct QLineTile : QTile {
  size_t lines = 1, line_stride = 0;
  size_t strips = 1, strip_stride = 0, c_strip_stride = 0;  // bytes; elements of C
};

// How a kind of weights wants its activations.
struct QActivations {
  size_t bytes = 1;     // of an activation in the tile: 1, or 2 for int16
  size_t group = 4;     // inputs that are multiplied together; rows of the tile are padded to such groups
  int32_t offset = 0;   // what a tile holds more than the activation
  size_t max_rows = 1;  // of a tile
  size_t unit = 4;      // inputs: of a row of whole units nothing behind it is read
  size_t slack = 0;     // bytes behind what is written to a row that copying may overwrite
};

struct QCopy {
  const uint8_t* from = nullptr;
  size_t from_stride = 0;  // bytes; may be 0
  size_t rows = 0, count = 0;
  uint8_t flip = 0;  // 0 or 0x80
  void* to = nullptr;
  size_t to_stride = 0;  // bytes
};

struct QGemmTable {
  size_t panel;
  QActivations int8, int4;
  bool widens;          // weights of 8 bits to 16, to multiply them
  size_t line_outputs;  // static_lines pays for outputs up to so many

  // 0 where they would not stay in the first-level cache.
  size_t wide_bytes(size_t k) const noexcept {
    const size_t bytes = (k + 1) / 2 * 2 * panel * sizeof(int16_t);
    return widens && bytes <= 16 * 1024 ? bytes : 0;
  }

  // All rows of the tile. int8 weights:
  void (*static_tile)(const QTile& tile) noexcept;  // C: int8 or uint8
  void (*static_lines)(const QLineTile& tile) noexcept;
  void (*dynamic_tile)(const QTile& tile) noexcept;  // C: float
  // 4-bit weights:
  void (*int4_tile)(const QTile& tile) noexcept;        // C: float
  void (*int4_block_tile)(const QTile& tile) noexcept;  // C: float

  // Writes `count` activations (XORed with flip, then int8) to each of `rows` rows of a tile, the first to `to`.
  // Nothing is read behind them, nothing written.
  void (*copy_int8)(const QCopy& copy) noexcept;
  void (*copy_int4)(const QCopy& copy) noexcept;
  // Sums of what a tile's row holds, block by block, times factor.
  void (*sum_int8)(const void* row, size_t k, size_t block, int32_t factor, int32_t* sums) noexcept;
  void (*sum_int4)(const void* row, size_t k, size_t block, int32_t factor, int32_t* sums) noexcept;
};

const QGemmTable& qgemm_table();

}  // namespace enr::kernels
