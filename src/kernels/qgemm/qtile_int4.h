#pragma once

// Tiles of 4-bit weights (see qtile_kernels.h). A vector of packed bytes holds two steps: the low halves belong to the
// first group of inputs, the high halves to the next.

#include "kernels/qgemm/qtile_kernels.h"

namespace enr::kernels::ENR_ISA {
namespace {

template <size_t V>
struct Int4Steps {
  I32 low[V], high[V];
  ENR_INLINE explicit Int4Steps(const char* b) {
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) {
#if ENR_DOT4 || ENR_INT4_MADDUBS
      const I32 bytes = (I32)load_bytes(b + v * kVectorBytes);
      const I32 mask = I32{} + 0x0f0f0f0f;
      low[v] = bytes & mask;
      high[v] = (I32)((U16)bytes >> 4) & mask;
#else
      const U16 wide = (U16)widen_half(b + v * (kVectorBytes / 2)) & 0xff;
      low[v] = (I32)(wide & 15);
      high[v] = (I32)(wide >> 4);
#endif
    }
  }
};
constexpr size_t kInt4PairBytes = kInt4Group * kLane;  // of one vector of outputs: two steps in half bytes

#if ENR_INT4_MADDUBS
ENR_INLINE I16 add_products(I16 sum, I32 a, I32 w) {
#if defined(__AVX512BW__)
  return in_order(sum + (I16)_mm512_maddubs_epi16((__m512i)w, (__m512i)a));
#else
  return in_order(sum + (I16)_mm256_maddubs_epi16((__m256i)w, (__m256i)a));
#endif
}
ENR_INLINE I32 add_pairs(I32 sum, I16 pairs) { return dot(sum, (I32)pairs, (I32)(I16{} + 1)); }
using Int4Sum = I16;
constexpr size_t kInt4Burst = 4;  // pairs of steps whose products fit Int4Sum: 8 * 2 * 15 * 128 < 2^15
#else
ENR_INLINE I32 add_products(I32 sum, I32 a, I32 w) {
#if ENR_DOT4
  return dot_int4(sum, a, w);
#else
  return dot(sum, a, w);
#endif
}
ENR_INLINE I32 add_pairs(I32 sum, I32 more) { return sum + more; }
using Int4Sum = I32;
constexpr size_t kInt4Burst = SIZE_MAX;
#endif

template <class Sum, size_t R, size_t V>
ENR_INLINE void dot_int4_pair(Sum (&low_sum)[R][V], Sum (&high_sum)[R][V], Rows<R>& a, const char* b) {
  const Int4Steps<V> w(b);
  hide(a.stride);
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const I32 x = broadcast_word(a.row(i));
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) low_sum[i][v] = add_products(low_sum[i][v], x, w.low[v]);
  }
  hide(a.stride);
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const I32 x = broadcast_word(a.row(i) + 4);
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) high_sum[i][v] = add_products(high_sum[i][v], x, w.high[v]);
  }
  a.advance(8);
}

// sum += a . w over `pairs` steps of two groups.
template <size_t R, size_t V>
ENR_INLINE void dot_int4_steps(I32 (&sum)[R][V], Rows<R>& a, const char*& b, size_t pairs) {
  constexpr size_t kStep = V * kInt4PairBytes;
  while (pairs != 0) {
    const size_t burst = pairs < kInt4Burst ? pairs : kInt4Burst;
    Int4Sum part[R][V] = {};
    size_t left = burst;
    if constexpr (R <= 2 && !ENR_INT4_MADDUBS) {
      Int4Sum other[R][V] = {}, third[R][V] = {}, fourth[R][V] = {};
      for (; left >= 2; left -= 2, b += 2 * kStep) {
#pragma GCC unroll 4
        for (size_t line = 0; line < 2 * kStep; line += 64) __builtin_prefetch(b + kFetchAhead + line);
        dot_int4_pair(part, other, a, b);
        dot_int4_pair(third, fourth, a, b + kStep);
      }
      for (size_t i = 0; i < R; ++i) {
        for (size_t v = 0; v < V; ++v) part[i][v] += other[i][v] + third[i][v] + fourth[i][v];
      }
    }
#if ENR_INT4_MADDUBS
    if (left == 4) {
#pragma GCC unroll 4
      for (size_t step = 0; step < 4; ++step) dot_int4_pair(part, part, a, b + step * kStep);
      left = 0;
      b += 4 * kStep;
    }
#endif
    for (; left != 0; --left, b += kStep) dot_int4_pair(part, part, a, b);
#pragma GCC unroll 16
    for (size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < V; ++v) sum[i][v] = add_pairs(sum[i][v], part[i][v]);
    }
    pairs -= burst;
  }
}

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

// The 16 bits of all lanes, as bfloat16.
typedef uint16_t HalfLanes __attribute__((vector_size(ENR_VECTOR_BYTES / 2)));
ENR_INLINE F32 load_bfloat16(const char* p) {
  HalfLanes v;
  memcpy(&v, p, sizeof v);
  return (F32)(__builtin_convertvector(v, U32) << 16);
}

// The scales in front of a block, which b leaves behind.
template <size_t V>
ENR_INLINE void load_block_scales(const QTile& tile, const char*& b, F32 (&scale)[V]) {
#pragma GCC unroll 2
  for (size_t v = 0; v < V; ++v) {
    scale[v] = tile.has_float_scales ? load((const float*)b + v * kLane) : load_bfloat16(b + v * kLane * 2);
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
