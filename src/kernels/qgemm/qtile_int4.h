#pragma once

// Tiles of 4-bit weights (see qtile_kernels.h). A vector of packed bytes holds two steps: the low halves belong to the
// first group of inputs, the high halves to the next.

#include "kernels/qgemm/qtile_kernels.h"
#include "kernels/simd/half.h"

namespace enr::kernels::ENR_ISA {
namespace {

// The weights of the first step, from 0 to 15.
ENR_INLINE I32 low_weights(const char* b) {
#if ENR_DOT4 || ENR_INT4_MADDUBS
  return (I32)load_bytes(b) & (I32{} + 0x0f0f0f0f);
#else
  return widen_half(b) & (I32)(U16{} + 15);
#endif
}
// Those of the second.
ENR_INLINE I32 high_weights(const char* b) {
#if ENR_DOT4 || ENR_INT4_MADDUBS
  return (I32)((U16)load_bytes(b) >> 4) & (I32{} + 0x0f0f0f0f);
#else
  return (I32)((U16)widen_half_unsigned(b) >> 4);
#endif
}

constexpr size_t kInt4PairBytes = kInt4Group * kLane;  // of one vector of outputs: two steps in half bytes

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr size_t kRegisters = 32;
#else
constexpr size_t kRegisters = 16;
#endif

#if ENR_INT4_MADDUBS
ENR_INLINE I16 add_products(I16 sum, I32 a, I32 w) {
#if defined(__AVX512BW__)
  return in_order(sum + (I16)_mm512_maddubs_epi16((__m512i)w, (__m512i)a));
#else
  return in_order(sum + (I16)_mm256_maddubs_epi16((__m256i)w, (__m256i)a));
#endif
}
ENR_INLINE I32 add_pairs(I32 sum, I16 pairs) { return dot(sum, (I32)pairs, (I32)(I16{} + 1)); }
constexpr size_t kInt4Burst = 4;  // pairs of steps whose products fit 16 bits: 8 * 2 * 15 * 128 < 2^15
#else
ENR_INLINE I32 add_products(I32 sum, I32 a, I32 w) {
#if ENR_DOT4
  return dot_int4(sum, a, w);
#else
  return dot(sum, a, w);
#endif
}
#endif

template <class Sum, size_t R, size_t V>
ENR_INLINE void dot_int4_pair(Sum (&low_sum)[R][V], Sum (&high_sum)[R][V], Rows<R>& a, const char* b) {
  I32 low[V], high[V];
#pragma GCC unroll 2
  for (size_t v = 0; v < V; ++v) low[v] = low_weights(b + v * kInt4PairBytes);
  hide(a.stride);
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const I32 x = broadcast_word(a.row(i));
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) low_sum[i][v] = add_products(low_sum[i][v], x, low[v]);
  }
  if constexpr (R * V + 2 * V + 2 > kRegisters) hide(b);  // rather load again than keep what was loaded
#pragma GCC unroll 2
  for (size_t v = 0; v < V; ++v) high[v] = high_weights(b + v * kInt4PairBytes);
  hide(a.stride);
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const I32 x = broadcast_word(a.row(i) + 4);
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) high_sum[i][v] = add_products(high_sum[i][v], x, high[v]);
  }
  a.advance(8);
}

template <size_t V, size_t R, size_t Count>
ENR_INLINE void add_sums(I32 (&sum)[R][V], const I32 (&more)[Count][R][V]) {
#pragma GCC unroll 4
  for (size_t s = 0; s < Count; ++s) {
#pragma GCC unroll 16
    for (size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < V; ++v) sum[i][v] += more[s][i][v];
    }
  }
}

#if ENR_INT4_MADDUBS
// sum += a . w over `pairs` steps of two groups.
template <size_t R, size_t V>
ENR_INLINE void dot_int4_steps(I32 (&sum)[R][V], Rows<R>& a, const char*& b, size_t pairs) {
  constexpr size_t kStep = V * kInt4PairBytes;
  while (pairs != 0) {
    const size_t burst = pairs < kInt4Burst ? pairs : kInt4Burst;
    I16 part[R][V] = {};
    if (burst == kInt4Burst) {
#pragma GCC unroll 4
      for (size_t step = 0; step < kInt4Burst; ++step, b += kStep) dot_int4_pair(part, part, a, b);
    } else {
      for (size_t left = burst; left != 0; --left, b += kStep) dot_int4_pair(part, part, a, b);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < V; ++v) sum[i][v] = add_pairs(sum[i][v], part[i][v]);
    }
    pairs -= burst;
  }
}
#else
// Sums of each output: few rows have too few to hide the latency of a dot with one.
template <size_t R, size_t V>
inline constexpr size_t kInt4Sets = R <= 2 && 4 * R * V <= kRegisters / 2   ? 4
                                    : R <= 4 && 2 * R * V <= kRegisters / 2 ? 2
                                                                            : 1;

template <size_t R, size_t V>
ENR_INLINE void dot_int4_steps(I32 (&sum)[R][V], Rows<R>& a, const char*& b, size_t pairs) {
  constexpr size_t kStep = V * kInt4PairBytes, kSums = kInt4Sets<R, V>, kAtOnce = kSums == 4 ? 2 : 1;
  I32 more[kSums][R][V] = {};  // the first stays empty
  for (; pairs >= kAtOnce; pairs -= kAtOnce, b += kAtOnce * kStep) {
    if constexpr (R <= 2) {  // bound by memory
#pragma GCC unroll 4
      for (size_t line = 0; line < kAtOnce * kStep; line += 64) __builtin_prefetch(b + kFetchAhead + line);
    }
    dot_int4_pair(sum, kSums == 1 ? sum : more[kSums == 1 ? 0 : 1], a, b);
    if constexpr (kAtOnce == 2) dot_int4_pair(more[2], more[3], a, b + kStep);
  }
  for (; pairs != 0; --pairs, b += kStep) dot_int4_pair(sum, sum, a, b);
  if constexpr (kSums > 1) add_sums(sum, more);
}
#endif

constexpr size_t kInputsPerPair = 2 * kInt4Group;

template <bool, size_t R, size_t V>
void int4_rows(const QTile& tile, size_t row, const TileHead<V>& head) {
  I32 sum[R][V];
  start_sums(sum, tile.row_terms != nullptr ? tile.row_terms + row : nullptr, 1);
  Rows<R> a((const char*)tile.a + row * tile.a_stride, tile.a_stride);
  const char* b = (const char*)tile.panel + 12 * V * kLane;
  dot_int4_steps(sum, a, b, (tile.k + kInputsPerPair - 1) / kInputsPerPair);
  finish_dynamic(tile, row, sum, head.panel);
}

// The scales in front of a block, which b leaves behind.
template <size_t V>
ENR_INLINE void load_block_scales(const QTile& tile, const char*& b, F32 (&scale)[V]) {
#pragma GCC unroll 2
  for (size_t v = 0; v < V; ++v) {
    scale[v] = tile.has_float_scales ? load((const float*)b + v * kLane)
                                     : from_bfloat16(load_half_bits((const uint16_t*)b + v * kLane));
  }
  b += V * kLane * (tile.has_float_scales ? sizeof(float) : sizeof(uint16_t));
}

// Blocks have their own scales; what the rows' zero points take is a float here (the panel's integers are not used).
template <bool, size_t R, size_t V>
void int4_block_rows(const QTile& tile, size_t row, const TileHead<V>& tile_head) {
  Rows<R> a((const char*)tile.a + row * tile.a_stride, tile.a_stride);
  const PanelHead<V>& head = tile_head.panel;
  F32 value[R][V];
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const F32 zero_point = splat(-(float)tile.row_zero_points[row + i]);
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) value[i][v] = zero_point * head.scales[v];
  }
  const char* b = (const char*)tile.panel + 12 * V * kLane;
  for (size_t k = 0, block = 0; k < tile.k; k += tile.block_size, ++block) {
    F32 scale[V];
    load_block_scales(tile, b, scale);
    const size_t inputs = tile.k - k < tile.block_size ? tile.k - k : tile.block_size;
    I32 sum[R][V];
    const int32_t* terms = tile.row_terms != nullptr ? tile.row_terms + row * tile.blocks + block : nullptr;
    start_sums(sum, terms, tile.blocks);
    dot_int4_steps(sum, a, b, (inputs + kInputsPerPair - 1) / kInputsPerPair);
#pragma GCC unroll 16
    for (size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < V; ++v) value[i][v] = fma(to_float(sum[i][v]), scale[v], value[i][v]);
    }
  }
  store_floats(tile, row, value, head, true);
}

}  // namespace
}  // namespace enr::kernels::ENR_ISA
