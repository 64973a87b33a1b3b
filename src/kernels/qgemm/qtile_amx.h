#pragma once

// int8 tiles with AMX, which multiplies 16 rows of 64 activations by 64 x 16 weights at once. Panels are those of
// AVX-512 VNNI: a vector of a step is a row of a weight tile. qtile_amx_int4.h is the same for 4-bit weights.

#include "kernels/qgemm/qtile_kernels.h"

namespace enr::kernels::ENR_ISA {
namespace {

constexpr size_t kTileRows = 16, kTileBytes = 64;  // of a tile register
constexpr size_t kBlockRows = 2 * kTileRows;
constexpr size_t kFewTileRows = 5;  // fewer rows are quicker one vector at a time

// Tiles 0 to 3: sums, 4 and 5: activations, 6 and 7: weights, of so many inputs at a time.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  explicit TileConfig(size_t count, size_t inputs = kTileBytes) {
    const uint8_t first = (uint8_t)(count < kTileRows ? count : kTileRows);
    const uint8_t second = (uint8_t)(count > kTileRows ? count - kTileRows : kTileRows);
    const uint8_t groups = (uint8_t)(inputs / kGroup);
    const uint8_t of[8] = {first, first, second, second, first, second, groups, groups};
    for (size_t i = 0; i < 8; ++i) {
      row_bytes[i] = i == 4 || i == 5 ? (uint16_t)inputs : (uint16_t)kTileBytes;
      rows[i] = of[i];
    }
  }
};

// Unsigned activations times signed weights, or the other way round, as dot and dot_int4 have it.
#define ENR_TILE_DOT(sum, a, w) \
  if constexpr (kInt4) {        \
    _tile_dpbsud(sum, a, w);    \
  } else {                      \
    _tile_dpbusd(sum, a, w);    \
  }

// Adds the products of one step to the sums of up to 32 rows by a panel: those of rows [16, 32) only where kSecond.
template <size_t V, bool kSecond, bool kInt4>
ENR_INLINE void multiply_tiles(const char* a, size_t a_stride, const char* b) {
  constexpr size_t kStep = V * kVectorBytes;
  _tile_loadd(6, b, kStep);
  _tile_loadd(4, a, a_stride);
  ENR_TILE_DOT(0, 4, 6)
  if constexpr (V == 2) {
    _tile_loadd(7, b + kVectorBytes, kStep);
    ENR_TILE_DOT(1, 4, 7)
  }
  if constexpr (kSecond) {
    _tile_loadd(5, a + kTileRows * a_stride, a_stride);
    ENR_TILE_DOT(2, 5, 6)
    if constexpr (V == 2) {
      ENR_TILE_DOT(3, 5, 7)
    }
  }
}
#undef ENR_TILE_DOT

ENR_INLINE void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

template <size_t V, bool kSecond>
ENR_INLINE void store_sums(int32_t* sums) {
  constexpr size_t kStep = V * kVectorBytes;
  _tile_stored(0, sums, kStep);
  if constexpr (V == 2) _tile_stored(1, sums + kLane, kStep);
  if constexpr (kSecond) {
    _tile_stored(2, sums + kTileRows * V * kLane, kStep);
    if constexpr (V == 2) _tile_stored(3, sums + (kTileRows * V + 1) * kLane, kStep);
  }
}

template <size_t V, bool kSecond>
ENR_INLINE void sum_block(const QTile& tile, size_t row, const char* tail, int32_t* sums) {
  constexpr size_t kStep = V * kVectorBytes;
  zero_sums();
  const char* a = (const char*)tile.a + row * tile.a_stride;
  const char* b = (const char*)tile.panel + 12 * V * kLane;
  for (size_t k = tile.k / kTileBytes; k != 0; --k, a += kTileBytes, b += kTileRows * kStep) {
    multiply_tiles<V, kSecond, false>(a, tile.a_stride, b);
  }
  if (tile.k % kTileBytes != 0) multiply_tiles<V, kSecond, false>(a, tile.a_stride, tail);
  store_sums<V, kSecond>(sums);
}

template <size_t R, size_t V, class Finish>
ENR_INLINE void finish_block(const QTile& tile, size_t row, const int32_t* sums, const PanelHead<V>& head,
                             const Finish& finish) {
  I32 sum[R][V];
  start_sums(sum, tile.row_terms != nullptr ? tile.row_terms + row : nullptr, 1);
#pragma GCC unroll 4
  for (size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) sum[i][v] += load(sums + (i * V + v) * kLane);
  }
  finish(row, sum, head);
}

// The rows of a block, a few at a time; finish(row, sum, head) scales and stores what was summed up.
template <size_t V, class Finish>
ENR_INLINE void finish_rows(const QTile& tile, size_t row, size_t count, const int32_t* sums, const PanelHead<V>& head,
                            const Finish& finish) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) finish_block<4>(tile, row + i, sums + i * V * kLane, head, finish);
  for (; i < count; ++i) finish_block<1>(tile, row + i, sums + i * V * kLane, head, finish);
}

// All rows of the tile.
template <size_t V, class Finish>
void multiply_by_tiles(const QTile& tile, const Finish& finish) {
  constexpr size_t kStep = V * kVectorBytes, kGroups = kTileBytes / kGroup;
  alignas(64) char tail[kGroups * kStep];
  alignas(64) int32_t sums[kBlockRows * V * kLane];
  // The last weights, followed by zeros: what is read behind a row's activations (up to a whole line, which the row
  // has) does not count.
  if (const size_t rest = tile.k % kTileBytes; rest != 0) {
    const char* from = (const char*)tile.panel + 12 * V * kLane + (tile.k - rest) / kGroup * kStep;
    const size_t used = (rest + kGroup - 1) / kGroup * kStep;
    memcpy(tail, from, used);
    memset(tail + used, 0, sizeof tail - used);
  }
  const PanelHead<V> head(tile.panel);
  size_t configured = 0;
  for (size_t row = 0; row < tile.rows; row += kBlockRows) {
    const size_t count = tile.rows - row < kBlockRows ? tile.rows - row : kBlockRows;
    if (count != configured) {
      const TileConfig config(count);
      _tile_loadconfig(&config);
      configured = count;
    }
    if (count > kTileRows) {
      sum_block<V, true>(tile, row, tail, sums);
    } else {
      sum_block<V, false>(tile, row, tail, sums);
    }
    finish_rows(tile, row, count, sums, head, finish);
  }
  _tile_release();
}

void static_tile_by_tiles(const QTile& tile) {
  const Requantization to(tile.low, tile.high, tile.zero_point, tile.flip);
  const auto finish = [&]<size_t R, size_t V>(size_t row, I32(&sum)[R][V], const PanelHead<V>& head) {
#pragma GCC unroll 4
    for (size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < V; ++v) sum[i][v] += head.integers[v];
    }
    finish_static(tile, row, sum, head, to);
  };
  tile.vectors == 2 ? multiply_by_tiles<2>(tile, finish) : multiply_by_tiles<1>(tile, finish);
}

void dynamic_tile_by_tiles(const QTile& tile) {
  const auto finish = [&]<size_t R, size_t V>(size_t row, const I32(&sum)[R][V], const PanelHead<V>& head) {
    finish_dynamic(tile, row, sum, head);
  };
  tile.vectors == 2 ? multiply_by_tiles<2>(tile, finish) : multiply_by_tiles<1>(tile, finish);
}

}  // namespace
}  // namespace enr::kernels::ENR_ISA
