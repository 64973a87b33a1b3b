#pragma once

// Tiles of 4-bit weights with AMX: weights become bytes a step before they are multiplied, in the first-level cache.

#include "kernels/qgemm/qtile_amx.h"
#include "kernels/qgemm/qtile_int4.h"

namespace enr::kernels::ENR_ISA {
namespace {

// Fewer rows are quicker one vector at a time: of whole tiles, of tiles of half as many inputs.
constexpr size_t kFewInt4TileRows = 3, kFewInt4HalfTileRows = 12;

// A weight tile of kInputs inputs for each vector of outputs, from as many 4-bit weights.
template <size_t V, size_t kInputs>
ENR_INLINE void write_weight_tiles(const char* b, char* to) {
  constexpr size_t kPairs = kInputs / kInputsPerPair;
#pragma GCC unroll 8
  for (size_t pair = 0; pair < kPairs; ++pair, to += 2 * V * kVectorBytes) {
    const char* from = b + pair * V * kInt4PairBytes;
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) {
      __builtin_prefetch(from + kFetchAhead + v * kVectorBytes);
      const I32 low = low_weights(from + v * kInt4PairBytes), high = high_weights(from + v * kInt4PairBytes);
      memcpy(to + v * kVectorBytes, &low, kVectorBytes);
      memcpy(to + (V + v) * kVectorBytes, &high, kVectorBytes);
    }
  }
}

// The same of fewer inputs than kInputs, followed by zeros.
template <size_t V, size_t kInputs>
ENR_INLINE void write_last_weight_tiles(const char* b, size_t inputs, char* to) {
  memset(to, 0, kInputs / kGroup * V * kVectorBytes);
  for (size_t i = 0; i < inputs; i += kInputsPerPair) {
    write_weight_tiles<V, kInputsPerPair>(b, to);
    b += V * kInt4PairBytes;
    to += 2 * V * kVectorBytes;
  }
}

// Adds the products of `inputs` inputs, kInputs at a time.
template <size_t V, bool kSecond, size_t kInputs>
ENR_INLINE void add_int4_products(const char* a, size_t a_stride, const char* b, size_t inputs) {
  constexpr size_t kBytes = kInputs / kInputsPerPair * V * kInt4PairBytes;
  alignas(64) char weights[2][2 * kBytes];
  const size_t steps = inputs / kInputs;
  const auto write = [&](size_t step) {
    if (step < steps) {
      write_weight_tiles<V, kInputs>(b + step * kBytes, weights[step % 2]);
    } else if (step == steps && inputs % kInputs != 0) {
      write_last_weight_tiles<V, kInputs>(b + step * kBytes, inputs % kInputs, weights[step % 2]);
    }
  };
  write(0);
  for (size_t step = 0; step * kInputs < inputs; ++step, a += kInputs) {
    write(step + 1);
    multiply_tiles<V, kSecond, true>(a, a_stride, weights[step % 2]);
  }
}

// Rows [row, row + count) of a tile with a scale for each output.
template <size_t V, bool kSecond>
void int4_channel_block(const QTile& tile, size_t row, size_t count) {
  alignas(64) int32_t sums[kBlockRows * V * kLane];
  const PanelHead<V> head(tile.panel);
  zero_sums();
  add_int4_products<V, kSecond, kTileBytes>((const char*)tile.a + row * tile.a_stride, tile.a_stride,
                                            (const char*)tile.panel + 12 * V * kLane, tile.k);
  store_sums<V, kSecond>(sums);
  finish_rows(tile, row, count, sums, head, [&](size_t first, const auto& sum, const PanelHead<V>& panel_head) {
    finish_dynamic(tile, first, sum, panel_head);
  });
}

// The same with scales for each block of inputs, as int4_block_rows has it.
template <size_t V, bool kSecond, size_t kInputs>
void int4_scaled_block(const QTile& tile, size_t row, size_t count) {
  alignas(64) int32_t sums[kBlockRows * V * kLane];
  alignas(64) float values[kBlockRows * V * kLane];
  const PanelHead<V> head(tile.panel);
  for (size_t i = 0; i < count; ++i) {
    const F32 zero_point = splat(-(float)tile.row_zero_points[row + i]);
    for (size_t v = 0; v < V; ++v) store(values + (i * V + v) * kLane, zero_point * head.scales[v]);
  }
  const char* a = (const char*)tile.a + row * tile.a_stride;
  const char* b = (const char*)tile.panel + 12 * V * kLane;
  for (size_t k = 0, block = 0; k < tile.k; k += tile.block_size, ++block, a += tile.block_size) {
    F32 scale[V];
    load_block_scales(tile, b, scale);
    const size_t inputs = tile.k - k < tile.block_size ? tile.k - k : tile.block_size;
    zero_sums();
    add_int4_products<V, kSecond, kInputs>(a, tile.a_stride, b, inputs);
    store_sums<V, kSecond>(sums);
    b += (inputs + kInputsPerPair - 1) / kInputsPerPair * V * kInt4PairBytes;
    const int32_t* terms = tile.row_terms != nullptr ? tile.row_terms + row * tile.blocks + block : nullptr;
    for (size_t i = 0; i < count; ++i) {
      const int32_t term = terms != nullptr ? terms[i * tile.blocks] : 0;
#pragma GCC unroll 2
      for (size_t v = 0; v < V; ++v) {
        float* value = values + (i * V + v) * kLane;
        store(value, fma(to_float(load(sums + (i * V + v) * kLane) + term), scale[v], load(value)));
      }
    }
  }
  for (size_t i = 0; i < count; ++i) {
    F32 value[1][V];
    for (size_t v = 0; v < V; ++v) value[0][v] = load(values + (i * V + v) * kLane);
    store_floats(tile, row + i, value, head, true);
  }
}

ENR_INLINE bool suits_int4_tiles(const QTile& tile) {
  return tile.rows >= (tile.block_size % kTileBytes == 0 ? kFewInt4TileRows : kFewInt4HalfTileRows);
}

// All rows of the tile: block(second, row, count) takes up to 32 of them.
template <class Block>
ENR_INLINE void each_block(const QTile& tile, size_t inputs, const Block& block) {
  size_t configured = 0;
  for (size_t row = 0; row < tile.rows; row += kBlockRows) {
    const size_t count = tile.rows - row < kBlockRows ? tile.rows - row : kBlockRows;
    if (count != configured) {
      const TileConfig config(count, inputs);
      _tile_loadconfig(&config);
      configured = count;
    }
    block(row, count);
  }
  _tile_release();
}

template <size_t V>
void multiply_int4_by_tiles(const QTile& tile) {
  each_block(tile, kTileBytes, [&](size_t row, size_t count) {
    count > kTileRows ? int4_channel_block<V, true>(tile, row, count) : int4_channel_block<V, false>(tile, row, count);
  });
}

template <size_t V, size_t kInputs>
void multiply_int4_blocks_by_tiles(const QTile& tile) {
  each_block(tile, kInputs, [&](size_t row, size_t count) {
    count > kTileRows ? int4_scaled_block<V, true, kInputs>(tile, row, count)
                      : int4_scaled_block<V, false, kInputs>(tile, row, count);
  });
}
template <size_t V>
void multiply_int4_blocks_by_tiles(const QTile& tile) {
  tile.block_size % kTileBytes == 0 ? multiply_int4_blocks_by_tiles<V, kTileBytes>(tile)
                                    : multiply_int4_blocks_by_tiles<V, kTileBytes / 2>(tile);
}

}  // namespace
}  // namespace enr::kernels::ENR_ISA
