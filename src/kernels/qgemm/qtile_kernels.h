#pragma once

// The tiles of qtile.h, for any instruction set; included by the files that are compiled for each.

#include "kernels/qgemm/dot.h"
#include "kernels/qgemm/qtile.h"
#include "kernels/qgemm/requantize.h"
#include "kernels/simd/partial.h"

// 4-bit weights times int8: 15 * 128 * 2 fits 16 bits eight times over, so that here pmaddubsw is exact.
#if !ENR_DOT4 && defined(__AVX2__)
#define ENR_INT4_MADDUBS 1
#else
#define ENR_INT4_MADDUBS 0
#endif

namespace enr::kernels::ENR_ISA {
namespace {

constexpr size_t kLane = kF32Lanes;
constexpr size_t kPanel = 2 * kLane;
constexpr size_t kGroup = ENR_DOT4 ? 4 : 2;                          // inputs of one dot
constexpr size_t kActivationBytes = ENR_DOT4 ? 1 : 2;                // in a tile, beside int8 weights
constexpr size_t kInt4Group = ENR_DOT4 || ENR_INT4_MADDUBS ? 4 : 2;  // likewise for 4-bit weights
constexpr size_t kInt4ActivationBytes = kInt4Group == 4 ? 1 : 2;
#if defined(__AVX512F__)
constexpr size_t kMaxRows = 14;
constexpr size_t kMaxInt4Rows = 8;
constexpr size_t kMaxBlockRows = ENR_DOT4 ? 6 : 7;
#elif defined(__AVX2__)
constexpr size_t kMaxRows = 6, kMaxInt4Rows = ENR_DOT4 ? 6 : 4, kMaxBlockRows = 4;
#elif defined(__aarch64__)
constexpr size_t kMaxRows = 8, kMaxInt4Rows = 8, kMaxBlockRows = 4;
#else
constexpr size_t kMaxRows = 4, kMaxInt4Rows = 4, kMaxBlockRows = 4;
#endif

// Row i of a tile lies at base[kRowBase[i]] + factor * stride with a factor of 0, 1, 2, 4 or 8, which the processor's
// addressing does by itself: four pointers and a stride serve 14 rows.
constexpr size_t kBaseRow[4] = {0, 3, 5, 10};
constexpr size_t kRowBase[14] = {0, 0, 0, 1, 0, 2, 2, 1, 0, 2, 3, 1, 3, 2};

template <size_t R>
struct Rows {
  static constexpr size_t kBases = R > 10 ? 4 : R > 5 ? 3 : R > 3 ? 2 : 1;
  const char* base[kBases];
  size_t stride;

  ENR_INLINE Rows(const void* a, size_t a_stride) : stride(a_stride) {
    for (size_t i = 0; i < kBases; ++i) base[i] = (const char*)a + kBaseRow[i] * a_stride;
  }
  ENR_INLINE const char* row(size_t i) const { return base[kRowBase[i]] + (i - kBaseRow[kRowBase[i]]) * stride; }
  ENR_INLINE void advance(size_t bytes) {
    for (const char*& p : base) p += bytes;
  }
};

// Few rows have too few sums to hide the latency of a dot: they keep several of each.
template <size_t R>
inline constexpr size_t kSets = R == 1   ? 4
                                : R == 2 ? 2
                                         : 1;

template <size_t R, size_t V>
ENR_INLINE void start_sums(I32 (&sum)[R][V], const int32_t* row_terms, size_t step, const I32* start = nullptr) {
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const int32_t term = row_terms != nullptr ? row_terms[i * step] : 0;
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) sum[i][v] = (start != nullptr ? start[v] : I32{}) + term;
  }
}

// kWide: b is in the form the dot takes; else it is to be widened where that is 16 bits.
template <bool kWide, size_t R, size_t V>
ENR_INLINE void dot_int8_step(I32 (&sum)[R][V], const Rows<R>& a, const char* b, size_t step) {
  I32 w[V];
#pragma GCC unroll 2
  for (size_t v = 0; v < V; ++v) {
    if constexpr (kWide || ENR_DOT4) {
      w[v] = (I32)load_bytes(b + (step * V + v) * kVectorBytes);
    } else {
      w[v] = widen_half(b + (step * V + v) * (kVectorBytes / 2));
    }
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const I32 x = broadcast_word(a.row(i) + step * 4);
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) sum[i][v] = dot(sum[i][v], x, w[v]);
  }
}

constexpr size_t kUnroll = 4;         // steps
constexpr size_t kFetchAhead = 1024;  // bytes

// Fetches the next panel while rows of a tile, `rows` at a time, pass over this one: every time a share of it, two
// lines for each few steps.
struct NextPanel {
  const char* panel = nullptr;
  size_t share = 0, step = 0;

  ENR_INLINE NextPanel(const QTile& tile, size_t rows, size_t vectors) {
    if (tile.next == nullptr || rows > tile.rows) return;
    const size_t calls = tile.rows / rows, bytes = kUnroll * vectors * kLane * kGroup;
    panel = (const char*)tile.next;
    share = (tile.k + kGroup - 1) / kGroup * vectors * kLane * kGroup / calls;
    step = bytes / calls < 128 ? bytes / calls : 128;
  }
};

template <size_t V>
struct PanelHead {
  I32 integers[V];
  F32 scales[V], numbers[V];
  ENR_INLINE explicit PanelHead(const void* panel) {
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) {
      integers[v] = load((const int32_t*)panel + v * kLane);
      scales[v] = load((const float*)panel + (V + v) * kLane);
      numbers[v] = load((const float*)panel + (2 * V + v) * kLane);
    }
  }
};

// What is the same for all rows of a tile.
template <size_t V>
struct TileHead {
  PanelHead<V> panel;
  NextPanel next;
  ENR_INLINE TileHead(const QTile& tile, size_t rows) : panel(tile.panel), next(tile, rows, V) {}
};
template <size_t V, class To>
struct RequantizingHead : TileHead<V> {
  To to;
  ENR_INLINE RequantizingHead(const QTile& tile, size_t rows)
      : TileHead<V>(tile, rows), to(tile.low, tile.high, tile.zero_point, tile.flip) {}
};
template <size_t V>
using StaticTileHead = RequantizingHead<V, Requantization>;
template <size_t V>
using PlainTileHead = RequantizingHead<V, PlainRequantization>;

ENR_INLINE bool is_plain(const QTile& tile) {
  return PlainRequantization::serves(tile.low, tile.high, tile.zero_point, tile.flip, tile.has_offsets);
}

// sum[i][v] = start[v] + row_terms[i] + a . w over all of k.
template <bool kWide, size_t R, size_t V>
ENR_INLINE void dot_int8(I32 (&sum)[R][V], const QTile& tile, size_t row, const NextPanel& next,
                         const I32* start = nullptr) {
  constexpr size_t kStepBytes = V * kLane * (kWide ? 4 : kGroup);
  Rows<R> a((const char*)tile.a + row * tile.a_stride, tile.a_stride);
  const char* b = kWide ? (const char*)tile.wide : (const char*)tile.panel + 12 * V * kLane;
  size_t steps = (tile.k + kGroup - 1) / kGroup;
  const char* fetched = next.panel != nullptr ? next.panel + row / R * next.share : nullptr;
  I32 more[kSets<R>][R][V];
  start_sums(more[0], tile.row_terms != nullptr ? tile.row_terms + row : nullptr, 1, start);
#pragma GCC unroll 4
  for (size_t s = 1; s < kSets<R>; ++s) start_sums(more[s], nullptr, 0);
  for (; steps >= kUnroll; steps -= kUnroll) {
    if (R <= 2) {
      // Bound by memory: the panel itself may come from far.
#pragma GCC unroll 4
      for (size_t line = 0; line < kUnroll * kStepBytes; line += 64) __builtin_prefetch(b + kFetchAhead + line);
    } else if (fetched != nullptr) {
      __builtin_prefetch(fetched, 0, 2);
      __builtin_prefetch(fetched + 64, 0, 2);
      fetched += next.step;
    }
#pragma GCC unroll 4
    for (size_t step = 0; step < kUnroll; ++step) {
      hide(a.stride);
      dot_int8_step<kWide>(more[step % kSets<R>], a, b, step);
    }
    a.advance(kUnroll * 4);
    b += kUnroll * kStepBytes;
  }
  for (; steps != 0; --steps) {
    hide(a.stride);
    dot_int8_step<kWide>(more[0], a, b, 0);
    a.advance(4);
    b += kStepBytes;
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) {
      sum[i][v] = more[0][i][v];
#pragma GCC unroll 4
      for (size_t s = 1; s < kSets<R>; ++s) sum[i][v] += more[s][i][v];
    }
  }
}

// How many lanes of the panel's vector v belong to C.
ENR_INLINE size_t lanes(const QTile& tile, size_t v) {
  const size_t before = v * kLane;
  return tile.columns <= before ? 0 : tile.columns - before < kLane ? tile.columns - before : kLane;
}

#if ENR_NARROWS
#if defined(__AVX512BW__)
using HalfBytes = __m256i;
ENR_INLINE HalfBytes low_half(I8 v) { return _mm512_castsi512_si256((__m512i)v); }
ENR_INLINE HalfBytes high_half(I8 v) { return _mm512_maskz_extracti64x4_epi64(0xf, (__m512i)v, 1); }
ENR_INLINE void store_first_bytes(uint8_t* to, HalfBytes v, size_t count) {
  _mm256_mask_storeu_epi8(to, _bzhi_u32(~0u, (unsigned)count), v);
}
#else
using HalfBytes = __m128i;
ENR_INLINE HalfBytes low_half(I8 v) { return _mm256_castsi256_si128((__m256i)v); }
ENR_INLINE HalfBytes high_half(I8 v) { return _mm256_extracti128_si256((__m256i)v, 1); }
ENR_INLINE void store_first_bytes(uint8_t* to, HalfBytes v, size_t count) {
  uint8_t copy[sizeof v];
  memcpy(copy, &v, sizeof v);
  for (size_t j = 0; j < count; ++j) to[j] = copy[j];
}
#endif

// Scaled rows, of which `columns` numbers belong to C. R: 1 or 2.
template <size_t R, size_t V, class To>
ENR_INLINE void store_rows(const To& to, const I32 (&row)[R][V], uint8_t* c, size_t c_stride, size_t columns) {
  constexpr size_t kRowBytes = V * kLane;
  const I8 bytes = in_lane_order(to.bytes(row[0][0], row[0][V - 1], row[R - 1][0], row[R - 1][V - 1]));
  const HalfBytes halves[2] = {low_half(bytes), high_half(bytes)};
#pragma GCC unroll 2
  for (size_t h = 0; h < R; ++h, c += c_stride) {
    if (columns == kRowBytes) [[likely]] {
      memcpy(c, &halves[h], kRowBytes);
    } else {
      store_first_bytes(c, halves[h], columns);
    }
  }
}
#else
template <size_t R, size_t V, class To>
ENR_INLINE void store_rows(const To&, const I32 (&row)[R][V], uint8_t* c, size_t c_stride, size_t columns) {
#pragma GCC unroll 2
  for (size_t i = 0; i < R; ++i, c += c_stride) {
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) {
      const size_t count = columns <= v * kLane ? 0 : columns - v * kLane;
      if (count >= kLane) {
        store_low_bytes(c + v * kLane, row[i][v]);
      } else {
        store_low_bytes_first(c + v * kLane, row[i][v], count);
      }
    }
  }
}
#endif

// Rows [first, first + R) of the sums, which started from the panel's integers, as bytes. kAny: whatever their scaled
// values.
template <bool kAny, size_t R, size_t Rows, size_t V, class To>
ENR_INLINE void finish_rows(const QTile& tile, size_t row, size_t first, const I32 (&sum)[Rows][V],
                            const PanelHead<V>& head, const To& to) {
  I32 scaled[R][V];
#pragma GCC unroll 2
  for (size_t i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) {
      if constexpr (kAny) {
        scaled[i][v] = to.scaled_any(sum[first + i][v], head.scales[v], head.numbers[v]);
      } else {
        scaled[i][v] = to.scaled(sum[first + i][v], head.scales[v], head.numbers[v]);
      }
    }
  }
  store_rows(to, scaled, (uint8_t*)tile.c + (row + first) * tile.c_stride, tile.c_stride, tile.columns);
}

// All rows, two at a time: then their registers are free for the next ones.
template <bool kAny = false, size_t R, size_t V, class To>
ENR_INLINE void finish_static(const QTile& tile, size_t row, const I32 (&sum)[R][V], const PanelHead<V>& head,
                              const To& to) {
#pragma GCC unroll 8
  for (size_t i = 0; i + 2 <= R; i += 2) finish_rows<kAny, 2>(tile, row, i, sum, head, to);
  if constexpr (R % 2 != 0) finish_rows<kAny, 1>(tile, row, R - 1, sum, head, to);
}

template <bool kWide, size_t R, size_t V, class Head>
void static_rows(const QTile& tile, size_t row, const Head& head) {
  I32 sum[R][V];
  dot_int8<kWide>(sum, tile, row, head.next, head.panel.integers);
  finish_static(tile, row, sum, head.panel, head.to);
}

// The same of a tile of windows, in whose image a line follows the other.
template <bool kWide, size_t R, size_t V>
void lined_rows(const QLineTile& tile, size_t row, const StaticTileHead<V>& head) {
  constexpr size_t kStepBytes = V * kLane * (kWide ? 4 : kGroup);
  const size_t steps = tile.k / tile.lines / kGroup, rest = tile.line_stride - steps * 4;
  Rows<R> a((const char*)tile.a + row * tile.a_stride, tile.a_stride);
  const char* b = kWide ? (const char*)tile.wide : (const char*)tile.panel + 12 * V * kLane;
  I32 sum[R][V];
  start_sums(sum, nullptr, 0, head.panel.integers);
  for (size_t line = tile.lines; line != 0; --line, a.advance(rest)) {
    for (size_t step = steps; step != 0; --step, a.advance(4), b += kStepBytes) {
      hide(a.stride);
      dot_int8_step<kWide>(sum, a, b, 0);
    }
  }
  finish_static<true>(tile, row, sum, head.panel, head.to);
}

// A tile whose scaled sums may be 2^31 and more, which hardly occurs.
template <size_t V>
void static_tile_of_any(const QTile& tile) {
  const StaticTileHead<V> head(tile, 1);
  for (size_t row = 0; row < tile.rows; ++row) {
    I32 sum[1][V];
    dot_int8<false>(sum, tile, row, head.next, head.panel.integers);
    finish_static<true>(tile, row, sum, head.panel, head.to);
  }
}

template <size_t R, size_t V>
ENR_INLINE void store_floats(const QTile& tile, size_t row, const F32 (&value)[R][V], const PanelHead<V>& head,
                             bool scaled) {
  const F32 low = splat(tile.min), high = splat(tile.max);
  float* c = (float*)tile.c + row * tile.c_stride;
  const bool whole = tile.columns == V * kLane;
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i, c += tile.c_stride) {
    const F32 row_scale = splat(tile.row_scales[row + i]);
    F32 out[V];
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) {
      const F32 x = value[i][v] * row_scale;
      out[v] = scaled ? x + head.numbers[v] : fma(x, head.scales[v], head.numbers[v]);
      out[v] = clamp_number(out[v], low, high);
    }
    if (whole) {
#pragma GCC unroll 2
      for (size_t v = 0; v < V; ++v) store(c + v * kLane, out[v]);
    } else {
#pragma GCC unroll 2
      for (size_t v = 0; v < V; ++v) {
        if (lanes(tile, v) == kLane) {
          store(c + v * kLane, out[v]);
        } else {
          store_first(c + v * kLane, out[v], lanes(tile, v));
        }
      }
    }
  }
}

// Integers less the row's share of the panel's, as floats.
template <size_t R, size_t V>
ENR_INLINE void finish_dynamic(const QTile& tile, size_t row, const I32 (&sum)[R][V], const PanelHead<V>& head) {
  F32 value[R][V];
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    const I32 zero_point = I32{} + tile.row_zero_points[row + i];
#pragma GCC unroll 2
    for (size_t v = 0; v < V; ++v) value[i][v] = to_float(sum[i][v] - zero_point * head.integers[v]);
  }
  store_floats(tile, row, value, head, false);
}

template <bool kWide, size_t R, size_t V>
void dynamic_rows(const QTile& tile, size_t row, const TileHead<V>& head) {
  I32 sum[R][V];
  dot_int8<kWide>(sum, tile, row, head.next);
  finish_dynamic(tile, row, sum, head.panel);
}

}  // namespace
}  // namespace enr::kernels::ENR_ISA
