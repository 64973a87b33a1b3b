#pragma once

// The transforms and products of qwinograd_table.h, for any instruction set; included by the files that are compiled
// for each.

#include "kernels/qconv/qwinograd_table.h"
#include "kernels/qgemm/qtile_kernels.h"

namespace enr::kernels::ENR_ISA {
namespace {

constexpr size_t kChunk = kVectorBytes / 2;  // channels of a vector

// A line of a window's pixels, for 2 outputs and for 4: B^T d. Of int8 its numbers are at most 2 times, 10 times as
// large, the window's 4 and 100 times.
ENR_INLINE void transform_input(const I16 (&d)[4], I16 (&v)[4]) {
  v[0] = d[0] - d[2];
  v[1] = d[1] + d[2];
  v[2] = d[2] - d[1];
  v[3] = d[1] - d[3];
}
ENR_INLINE void transform_input(const I16 (&d)[6], I16 (&v)[6]) {
  const I16 even = d[4] - d[2] * 4, odd = d[3] - d[1] * 4;
  const I16 even_half = d[4] - d[2], odd_half = (d[3] - d[1]) * 2;
  v[0] = even_half + (d[0] - d[2]) * 4;
  v[1] = even + odd;
  v[2] = even - odd;
  v[3] = even_half + odd_half;
  v[4] = even_half - odd_half;
  v[5] = d[5] - d[3] - odd_half * 2;
}

template <size_t W>
void input_chunk(const uint8_t* const* pixels, size_t channel, uint8_t flip, int16_t* out, size_t position_stride) {
  I16 half[W][W];
#pragma GCC unroll 6
  for (size_t y = 0; y < W; ++y) {
    I16 d[W];
#pragma GCC unroll 6
    for (size_t x = 0; x < W; ++x) {
      const uint8_t* pixel = pixels[W * y + x] + channel;
      d[x] = flip == 0 ? (I16)widen_half(pixel) : (I16)widen_half_unsigned(pixel) - (int16_t)flip;
    }
    transform_input(d, half[y]);
  }
#pragma GCC unroll 6
  for (size_t x = 0; x < W; ++x) {
    I16 d[W], v[W];
#pragma GCC unroll 6
    for (size_t y = 0; y < W; ++y) d[y] = half[y][x];
    transform_input(d, v);
#pragma GCC unroll 6
    for (size_t y = 0; y < W; ++y) memcpy(out + (W * y + x) * position_stride + channel, &v[y], sizeof v[y]);
  }
}

template <size_t W>
void input(const uint8_t* const* pixels, size_t channels, uint8_t flip, int16_t* out, size_t position_stride) noexcept {
  // The last chunk overlaps the one before.
  for (size_t c = 0;; c = c + 2 * kChunk <= channels ? c + kChunk : channels - kChunk) {
    input_chunk<W>(pixels, c, flip, out, position_stride);
    if (c + kChunk == channels) return;
  }
}

// Bytes ahead of the products that weights are fetched into the second-level cache: a panel's hardly fit there.
constexpr size_t kWeightsAhead = 24 * 1024;

template <size_t R>
void multiply_rows(const int16_t* a, size_t a_stride, const int16_t* weights, size_t pairs, int32_t* products) {
  I32 sum[R][2] = {};
  Rows<R> rows(a, a_stride * sizeof(int16_t));
  const char* w = (const char*)weights;
  for (; pairs != 0; --pairs, w += 2 * kVectorBytes) {
    const I32 w0 = (I32)load_bytes(w), w1 = (I32)load_bytes(w + kVectorBytes);
    hide(rows.stride);
#pragma GCC unroll 4
    for (size_t line = 0; line < 2 * kVectorBytes; line += 64) __builtin_prefetch(w + kWeightsAhead + line, 0, 2);
#pragma GCC unroll 16
    for (size_t i = 0; i < R; ++i) {
      const I32 x = broadcast_word(rows.row(i));
      sum[i][0] = dot_pairs(sum[i][0], x, w0);
      sum[i][1] = dot_pairs(sum[i][1], x, w1);
    }
    rows.advance(4);
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < R; ++i) {
    store(products + i * kPanel, sum[i][0]);
    store(products + i * kPanel + kLane, sum[i][1]);
  }
}

using MultiplyRows = void (*)(const int16_t*, size_t, const int16_t*, size_t, int32_t*);

template <size_t R>
MultiplyRows multiply_of(size_t rows) {
  if constexpr (R == 1) {
    return &multiply_rows<1>;
  } else {
    return rows == R ? &multiply_rows<R> : multiply_of<R - 1>(rows);
  }
}

// In nearly equal parts, since few rows are slow.
void multiply(const int16_t* a, size_t a_stride, size_t rows, const int16_t* weights, size_t pairs,
              int32_t* products) noexcept {
  for (size_t parts = (rows + kMaxRows - 1) / kMaxRows; parts != 0; --parts) {
    const size_t count = (rows + parts - 1) / parts;
    multiply_of<kMaxRows>(count)(a, a_stride, weights, pairs, products);
    rows -= count;
    a += count * a_stride;
    products += count * kPanel;
  }
}

// A^T m of a line of products, in numbers that wrap. Of four outputs, weights are 24 times as large, those of the last
// product 12 times.
ENR_INLINE void transform_output(const U32 (&m)[4], U32 (&y)[2]) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2] - m[3];
}
ENR_INLINE void transform_output(const U32 (&m)[6], U32 (&y)[4]) {
  const U32 sum1 = m[1] + m[2], difference1 = m[1] - m[2];
  const U32 sum2 = m[3] + m[4], difference2 = (m[3] - m[4]) << 1;
  y[0] = m[0] + sum1 + sum2;
  y[1] = difference1 + difference2;
  y[2] = sum1 + (sum2 << 2);
  y[3] = difference1 + (difference2 << 2) + (m[5] << 1);
}

// What the weights' transforms multiplied the sums with is divided out: 4, or 24 * 24 = 9 * 64.
template <size_t T>
ENR_INLINE I32 sum_of(U32 multiple) {
  constexpr uint32_t kNinth = 0x38e38e39;  // 9 times that is 1 in 32 bits
  return T == 2 ? (I32)multiple >> 2 : (I32)(multiple * kNinth) >> 6;
}

// One vector of a panel: T x T outputs, scaled.
template <size_t T>
ENR_INLINE void output_vector(const QWinogradOutput& call, size_t v, const PanelHead<2>& head, const Requantization& to,
                              I32 (&out)[T][T][2]) {
  constexpr size_t W = T + 2;
  const int32_t* from = call.products + v * kLane;
  U32 half[W][T];
#pragma GCC unroll 6
  for (size_t y = 0; y < W; ++y) {
    U32 m[W];
#pragma GCC unroll 6
    for (size_t x = 0; x < W; ++x) m[x] = (U32)load(from + (W * y + x) * call.position_stride);
    transform_output(m, half[y]);
  }
#pragma GCC unroll 4
  for (size_t x = 0; x < T; ++x) {
    U32 m[W], sum[T];
#pragma GCC unroll 6
    for (size_t y = 0; y < W; ++y) m[y] = half[y][x];
    transform_output(m, sum);
#pragma GCC unroll 4
    for (size_t y = 0; y < T; ++y) {
      out[y][x][v] = to.scaled_any(sum_of<T>(sum[y]) + head.integers[v], head.scales[v], head.numbers[v]);
    }
  }
}

template <size_t T>
void output(const QWinogradOutput& call) noexcept {
  const PanelHead<2> head(call.panel);
  const Requantization to(call.low, call.high, call.zero_point, call.flip);
  I32 out[T][T][2];  // row, column, vector
  output_vector(call, 0, head, to, out);
  output_vector(call, 1, head, to, out);
  for (size_t y = 0; y < call.rows; ++y) {
    uint8_t* pixel = call.out + y * call.row_stride;
    size_t x = 0;
    for (; x + 2 <= call.columns; x += 2, pixel += 2 * call.pixel_stride) {
      const I32 two[2][2] = {{out[y][x][0], out[y][x][1]}, {out[y][x + 1][0], out[y][x + 1][1]}};
      store_rows(to, two, pixel, call.pixel_stride, call.channels);
    }
    if (x < call.columns) {
      const I32 one[1][2] = {{out[y][x][0], out[y][x][1]}};
      store_rows(to, one, pixel, call.pixel_stride, call.channels);
    }
  }
}

#if defined(__AMX_INT8__)
constexpr size_t kDot8Rate = 32;
#elif ENR_DOT4
constexpr size_t kDot8Rate = ENR_DOT4_UNSIGNED ? 2 : 4;
#else
constexpr size_t kDot8Rate = 1;
#endif

}  // namespace

const QWinogradTable& qwinograd_table() {
  static constexpr QWinogradTable table{.panel = kPanel,
                                        .min_channels = kChunk,
                                        .max_rows = kMaxRows,
                                        .dot8_rate = kDot8Rate,
                                        .multiply = &multiply,
                                        .of_two = {.input = &input<4>, .output = &output<2>},
                                        .of_four = {.input = &input<6>, .output = &output<4>}};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
