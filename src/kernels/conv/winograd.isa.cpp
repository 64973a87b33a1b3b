#include "kernels/conv/winograd_kernels.h"
#include "kernels/isa.h"
#include "kernels/simd/partial.h"
#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

namespace {

constexpr float kA = (float)kWinogradA, kB = (float)kWinogradB;
constexpr float kA2 = kA * kA, kB2 = kB * kB;

// Rows of the window's transform: one polynomial for each point, without that point's factor.
ENR_INLINE void transform_input(const F32 (&d)[4], F32 (&v)[4]) {
  v[0] = d[2] - d[0];
  v[1] = d[2] + d[1];
  v[2] = d[2] - d[1];
  v[3] = d[3] - d[1];
}

ENR_INLINE void transform_input(const F32 (&d)[6], F32 (&v)[6]) {
  const F32 a = splat(kA), b = splat(kB), minus_a2 = splat(-kA2), minus_b2 = splat(-kB2);
  const F32 minus_sum = splat(-(kA2 + kB2)), product = splat(kA2 * kB2);
  const F32 even_a = fma(minus_b2, d[2], d[4]), odd_a = a * fma(minus_b2, d[1], d[3]);
  const F32 even_b = fma(minus_a2, d[2], d[4]), odd_b = b * fma(minus_a2, d[1], d[3]);
  v[0] = fma(product, d[0], fma(minus_sum, d[2], d[4]));
  v[1] = even_a + odd_a;
  v[2] = even_a - odd_a;
  v[3] = even_b + odd_b;
  v[4] = even_b - odd_b;
  v[5] = fma(product, d[1], fma(minus_sum, d[3], d[5]));
}

ENR_INLINE void transform_output(const F32 (&m)[4], F32 (&y)[2]) {
  y[0] = m[0] + (m[1] + m[2]);
  y[1] = (m[1] - m[2]) + m[3];
}

template <size_t M>
ENR_INLINE void transform_output(const F32 (&m)[6], F32 (&y)[M]) {
  static_assert(M == 3 || M == 4);
  const F32 sum_a = m[1] + m[2], difference_a = m[1] - m[2], sum_b = m[3] + m[4], difference_b = m[3] - m[4];
  y[0] = m[0] + (sum_a + sum_b);
  y[1] = fma(splat(kA), difference_a, splat(kB) * difference_b);
  if constexpr (M == 3) {
    y[2] = fma(splat(kA2), sum_a, fma(splat(kB2), sum_b, m[5]));
  } else {
    y[2] = fma(splat(kA2), sum_a, splat(kB2) * sum_b);
    y[3] = fma(splat(kA2 * kA), difference_a, fma(splat(kB2 * kB), difference_b, m[5]));
  }
}

template <bool kIsWhole, bool kIsFull, size_t NY, size_t NX>
ENR_INLINE void transform_window(const WinogradInput& call, size_t channel, size_t lanes) {
  F32 half[NY][NX];
#pragma GCC unroll 6
  for (size_t x = 0; x < NX; ++x) {
    F32 column[NY], out[NY];
    const bool has_column = kIsWhole || (x >= call.column_begin && x < call.column_end);
#pragma GCC unroll 6
    for (size_t y = 0; y < NY; ++y) {
      const float* from = call.pixels + y * call.row_stride + x * call.pixel_stride + channel;
      if (!kIsWhole && !(has_column && y >= call.row_begin && y < call.row_end)) {
        column[y] = F32{};
      } else {
        column[y] = kIsFull ? load(from) : load_first(from, lanes);
      }
    }
    transform_input(column, out);
#pragma GCC unroll 6
    for (size_t y = 0; y < NY; ++y) half[y][x] = out[y];
  }
  float* to = call.out + channel;
#pragma GCC unroll 6
  for (size_t y = 0; y < NY; ++y) {
    F32 row[NX];
    transform_input(half[y], row);
#pragma GCC unroll 6
    for (size_t x = 0; x < NX; ++x, to += call.position_stride) store(to, row[x]);
  }
}

template <bool kIsWhole, size_t NY, size_t NX>
ENR_INLINE void transform_channels(const WinogradInput& call) {
  size_t channel = 0;
  for (; channel + kF32Lanes <= call.channels; channel += kF32Lanes) {
    transform_window<kIsWhole, true, NY, NX>(call, channel, kF32Lanes);
  }
  if (channel < call.channels) transform_window<kIsWhole, false, NY, NX>(call, channel, call.channels - channel);
}

template <size_t NY, size_t NX>
void input(const WinogradInput& call) {
  if (call.row_begin == 0 && call.column_begin == 0 && call.row_end == NY && call.column_end == NX) {
    transform_channels<true, NY, NX>(call);
  } else {
    transform_channels<false, NY, NX>(call);
  }
}

template <bool kIsFull>
ENR_INLINE void finish(const WinogradOutput& call, size_t y, size_t x, size_t channel, size_t lanes, F32 value) {
  if (call.residual != nullptr) {
    const float* from = call.residual + y * call.residual_row_stride + x * call.residual_pixel_stride + channel;
    value = fma(kIsFull ? load(from) : load_first(from, lanes), splat(call.residual_scale), value);
  }
  value = min_keep_nan(max_keep_nan(value, splat(call.min)), splat(call.max));
  float* to = call.out + y * call.row_stride + x * call.pixel_stride + channel;
  if constexpr (kIsFull) {
    store(to, value);
  } else {
    store_first(to, value, lanes);
  }
}

// kIsHalf: of weights half transformed, along columns alone.
template <size_t MY, size_t MX, size_t NY, size_t NX, bool kIsHalf, bool kIsFull>
ENR_INLINE void transform_products(const WinogradOutput& call, size_t channel, size_t lanes) {
  F32 half[MY][NX];
#pragma GCC unroll 6
  for (size_t x = 0; x < NX; ++x) {
    F32 column[NY], out[MY];
#pragma GCC unroll 6
    for (size_t y = 0; y < NY; ++y) column[y] = load(call.products + (y * NX + x) * call.position_stride + channel);
    transform_output(column, out);
#pragma GCC unroll 6
    for (size_t y = 0; y < MY; ++y) half[y][x] = out[y];
  }
  const F32 bias = load(call.bias + channel);
  for (size_t y = 0; y < call.rows; ++y) {
    F32 row[MX];
    if constexpr (kIsHalf) {
      half[y][0] = half[y][0] * splat(-2.0f);
      half[y][NX - 1] = half[y][NX - 1] * splat(2 * kB2);
    }
    transform_output(half[y], row);
#pragma GCC unroll 6
    for (size_t x = 0; x < MX; ++x) {
      if (x < call.columns) finish<kIsFull>(call, y, x, channel, lanes, row[x] + bias);
    }
  }
}

template <size_t MY, size_t MX, size_t NY, size_t NX, bool kIsHalf = false>
void output(const WinogradOutput& call) {
  size_t channel = 0;
  for (; channel + kF32Lanes <= call.channels; channel += kF32Lanes) {
    transform_products<MY, MX, NY, NX, kIsHalf, true>(call, channel, kF32Lanes);
  }
  if (channel < call.channels)
    transform_products<MY, MX, NY, NX, kIsHalf, false>(call, channel, call.channels - channel);
}

// One row for each point p, [1, p, p^2 ...] over the product of p's distances from the other points; the last for
// infinity.
template <size_t N, size_t Taps>
struct WeightRows {
  double value[N][Taps];
};

constexpr WeightRows<4, 3> weight_rows_4() { return {{{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}}; }

template <size_t Taps>
constexpr WeightRows<6, Taps> weight_rows_6() {
  constexpr double a2 = kWinogradA * kWinogradA, b2 = kWinogradB * kWinogradB;
  constexpr double points[5] = {0, kWinogradA, -kWinogradA, kWinogradB, -kWinogradB};
  constexpr double factors[5] = {1 / (a2 * b2), 1 / (2 * a2 * (a2 - b2)), 1 / (2 * a2 * (a2 - b2)),
                                 1 / (2 * b2 * (b2 - a2)), 1 / (2 * b2 * (b2 - a2))};
  WeightRows<6, Taps> rows = {};
  for (size_t p = 0; p < 5; ++p) {
    double power = factors[p];
    for (size_t t = 0; t < Taps; ++t, power *= points[p]) rows.value[p][t] = power;
  }
  rows.value[5][Taps - 1] = 1;
  return rows;
}

// Of half transformed weights: the even and the odd terms at 3/4, the even ones at 3/2.
constexpr WeightRows<kHalfColumns, 3> half_weight_columns() {
  constexpr auto rows = weight_rows_6<3>();
  return {{{rows.value[1][0], 0, rows.value[1][2]}, {0, rows.value[1][1], 0}, {rows.value[3][0], 0, rows.value[3][2]}}};
}

// In double, so that the packed weights are rounded once.
template <size_t NY, size_t NX, size_t Taps>
ENR_INLINE void transform_weights(const WeightRows<NY, Taps>& rows, const WeightRows<NX, Taps>& columns,
                                  const float* taps, size_t channels, size_t width, float* out) {
  constexpr size_t kLanesAtOnce = 4;
  for (size_t c = 0; c < channels; ++c) {
    for (size_t first = 0; first < width; first += kLanesAtOnce) {
      double half[NY][Taps][kLanesAtOnce];
      for (size_t j = 0; j < Taps; ++j) {
        const float* column[Taps];
        for (size_t i = 0; i < Taps; ++i) column[i] = taps + ((i * Taps + j) * channels + c) * width + first;
        for (size_t y = 0; y < NY; ++y) {
          for (size_t l = 0; l < kLanesAtOnce; ++l) {
            double sum = rows.value[y][0] * column[0][l];
            for (size_t i = 1; i < Taps; ++i) sum += rows.value[y][i] * column[i][l];
            half[y][j][l] = sum;
          }
        }
      }
      for (size_t y = 0; y < NY; ++y) {
        for (size_t x = 0; x < NX; ++x) {
          float* to = out + ((y * NX + x) * channels + c) * width + first;
          for (size_t l = 0; l < kLanesAtOnce; ++l) {
            double sum = columns.value[x][0] * half[y][0][l];
            for (size_t j = 1; j < Taps; ++j) sum += columns.value[x][j] * half[y][j][l];
            to[l] = (float)sum;
          }
        }
      }
    }
  }
}

void weights_2(const float* taps, size_t channels, size_t width, float* out) {
  static constexpr auto rows = weight_rows_4();
  transform_weights(rows, rows, taps, channels, width, out);
}

void weights_3(const float* taps, size_t channels, size_t width, float* out) {
  static constexpr auto rows = weight_rows_6<4>();
  transform_weights(rows, rows, taps, channels, width, out);
}

void weights_4(const float* taps, size_t channels, size_t width, float* out) {
  static constexpr auto rows = weight_rows_6<3>();
  transform_weights(rows, rows, taps, channels, width, out);
}

void half_weights(const float* taps, size_t channels, size_t width, float* out) {
  static constexpr auto rows = weight_rows_4();
  static constexpr auto columns = half_weight_columns();
  transform_weights(rows, columns, taps, channels, width, out);
}

}  // namespace

const WinogradTable& winograd_kernels() {
  static const WinogradTable table = {{{input<4, 4>, output<2, 2, 4, 4>, weights_2},
                                       {input<6, 6>, output<3, 3, 6, 6>, weights_3},
                                       {input<6, 6>, output<4, 4, 6, 6>, weights_4}},
                                      {input<4, 6>, output<2, 4, 4, 6, true>, half_weights}};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
