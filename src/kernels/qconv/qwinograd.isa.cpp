#include "kernels/isa.h"
#include "kernels/qconv/qwinograd_table.h"
#include "kernels/qgemm/qtile_kernels.h"

namespace enr::kernels::ENR_ISA {
namespace {

constexpr size_t kChunk = kVectorBytes / 2;  // channels of a vector

ENR_INLINE void transform_input(const I16 (&d)[4], I16 (&v)[4]) {
  v[0] = d[0] - d[2];
  v[1] = d[1] + d[2];
  v[2] = d[2] - d[1];
  v[3] = d[1] - d[3];
}

void input_chunk(const uint8_t* const* pixels, size_t channel, uint8_t flip, int16_t* out, size_t position_stride) {
  I16 half[4][4];
#pragma GCC unroll 4
  for (size_t y = 0; y < 4; ++y) {
    I16 d[4];
#pragma GCC unroll 4
    for (size_t x = 0; x < 4; ++x) {
      d[x] = (I16)widen_half(pixels[4 * y + x] + channel);
      if (flip != 0) d[x] = (d[x] ^ (int16_t)(int8_t)flip) << 8 >> 8;
    }
    transform_input(d, half[y]);
  }
#pragma GCC unroll 4
  for (size_t x = 0; x < 4; ++x) {
    const I16 d[4] = {half[0][x], half[1][x], half[2][x], half[3][x]};
    I16 v[4];
    transform_input(d, v);
#pragma GCC unroll 4
    for (size_t y = 0; y < 4; ++y) memcpy(out + (4 * y + x) * position_stride + channel, &v[y], sizeof v[y]);
  }
}

void input(const uint8_t* const* pixels, size_t channels, uint8_t flip, int16_t* out, size_t position_stride) noexcept {
  // The last chunk overlaps the one before.
  for (size_t c = 0;; c = c + 2 * kChunk <= channels ? c + kChunk : channels - kChunk) {
    input_chunk(pixels, c, flip, out, position_stride);
    if (c + kChunk == channels) return;
  }
}

template <size_t R>
void multiply_rows(const int16_t* a, size_t a_stride, const int16_t* weights, size_t pairs, int32_t* products) {
  I32 sum[R][2] = {};
  Rows<R> rows(a, a_stride * sizeof(int16_t));
  const char* w = (const char*)weights;
  for (; pairs != 0; --pairs, w += 2 * kVectorBytes) {
    const I32 w0 = (I32)load_bytes(w), w1 = (I32)load_bytes(w + kVectorBytes);
    hide(rows.stride);
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

template <size_t R>
void multiply_from(const int16_t* a, size_t a_stride, size_t rows, const int16_t* weights, size_t pairs,
                   int32_t* products) {
  for (; rows >= R; rows -= R, a += R * a_stride, products += R * kPanel) {
    multiply_rows<R>(a, a_stride, weights, pairs, products);
  }
  if constexpr (R > 1) {
    if (rows != 0) multiply_from<(R + 1) / 2>(a, a_stride, rows, weights, pairs, products);
  }
}

void multiply(const int16_t* a, size_t a_stride, size_t rows, const int16_t* weights, size_t pairs,
              int32_t* products) noexcept {
  multiply_from<kMaxRows>(a, a_stride, rows, weights, pairs, products);
}

ENR_INLINE void transform_output(const I32 (&m)[4], I32 (&y)[2]) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2] - m[3];
}

void output(const QWinogradOutput& call) noexcept {
  const PanelHead<2> head(call.panel);
  const Requantization to(call.low, call.high, call.zero_point, call.flip);
  I32 out[2][2][2];  // row, column, vector
#pragma GCC unroll 2
  for (size_t v = 0; v < 2; ++v) {
    const int32_t* from = call.products + v * kLane;
    I32 half[4][2];
#pragma GCC unroll 4
    for (size_t y = 0; y < 4; ++y) {
      I32 m[4];
#pragma GCC unroll 4
      for (size_t x = 0; x < 4; ++x) m[x] = load(from + (4 * y + x) * call.position_stride);
      transform_output(m, half[y]);
    }
#pragma GCC unroll 2
    for (size_t x = 0; x < 2; ++x) {
      const I32 m[4] = {half[0][x], half[1][x], half[2][x], half[3][x]};
      I32 sum[2];
      transform_output(m, sum);
#pragma GCC unroll 2
      for (size_t y = 0; y < 2; ++y) {
        // Four times the sum: the weights' transform without its halves.
        out[y][x][v] = to.scaled_any((sum[y] >> 2) + head.integers[v], head.scales[v], head.numbers[v]);
      }
    }
  }
  for (size_t y = 0; y < call.rows; ++y) {
    uint8_t* row = call.out + y * call.row_stride;
    if (call.columns == 2) {
      store_rows(to, out[y], row, call.pixel_stride, call.channels);
    } else {
      const I32 first[1][2] = {{out[y][0][0], out[y][0][1]}};
      store_rows(to, first, row, call.pixel_stride, call.channels);
    }
  }
}

}  // namespace

const QWinogradTable& qwinograd_table() {
  static constexpr QWinogradTable table{.panel = kPanel,
                                        .min_channels = kChunk,
                                        .max_rows = kMaxRows,
                                        .input = &input,
                                        .multiply = &multiply,
                                        .output = &output};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
