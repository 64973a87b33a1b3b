#include "kernels/pool/pool_kernels.h"

#include "kernels/isa.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

namespace {

// The window's columns for one output pixel, cut to the image.
struct Columns {
  size_t begin, end;  // of the kernel
  ptrdiff_t first;    // input column of kernel column 0
};

ENR_INLINE Columns columns_of(const PoolRow& row, size_t x) {
  const ptrdiff_t first = (ptrdiff_t)(x * row.stride_width) - (ptrdiff_t)row.pad_left;
  const ptrdiff_t width = (ptrdiff_t)row.input_width, step = (ptrdiff_t)row.dilation_width;
  Columns c{0, row.kernel_width, first};
  if (first < 0) {
    const size_t outside = (size_t)((-first + step - 1) / step);
    c.begin = outside < c.end ? outside : c.end;
  }
  if (first + (ptrdiff_t)(row.kernel_width - 1) * step >= width) {
    c.end = first >= width ? c.begin : (size_t)((width - first + step - 1) / step);
  }
  if (c.end < c.begin) c.end = c.begin;
  return c;
}

// A NaN on either side stays.
ENR_INLINE F32 larger(F32 best, F32 v) {
  const F32 m = best > v ? best : v;  // v where either is NaN
  return best != best ? best : m;
}
template <class V>
ENR_INLINE V larger(V best, V v) {
  return v > best ? v : best;
}

template <class T>
constexpr T lowest() {
  return T(-1) < T(0) ? static_cast<T>(-(1 << (8 * sizeof(T) - 1))) : T(0);
}
template <>
constexpr float lowest<float>() {
  return -__builtin_inff();
}

// Folds the window's pixels into kRegisters registers of channels, from `channel` on. step(v, tap) takes one register.
template <class T, size_t kRegisters, bool kPartial, class Fold>
ENR_INLINE void fold_window(const PoolRow& row, const Columns& columns, const T* input, size_t channel, size_t count,
                            const Fold& fold) {
  const size_t column_step = row.dilation_width * row.pixel_stride;
  if (columns.begin == columns.end) return;
  const T* line =
      input + (size_t)(columns.first + (ptrdiff_t)(columns.begin * row.dilation_width)) * row.pixel_stride + channel;
  for (size_t ky = 0; ky < row.rows; ++ky, line += row.row_step) {
    const T* pixel = line;
    for (size_t kx = columns.begin; kx < columns.end; ++kx, pixel += column_step) {
#pragma GCC unroll 8
      for (size_t r = 0; r < kRegisters; ++r) {
        fold(r, kPartial ? load_first(pixel, count) : load(pixel + r * kLanes<T>), ky, kx);
      }
    }
  }
}

// body(registers, is partial, first channel, channels) over all channels: four registers at a time, one, the rest.
template <class T, class Body>
ENR_INLINE void for_each_channel_block(size_t channels, const Body& body) {
  constexpr size_t lanes = kLanes<T>;
  size_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) body.template run<4, false>(c, lanes);
  for (; c + lanes <= channels; c += lanes) body.template run<1, false>(c, lanes);
  if (c < channels) body.template run<1, true>(c, channels - c);
}

template <bool kPartial, class T>
ENR_INLINE void put(T* output, Vec<T> v, size_t count) {
  if constexpr (kPartial) {
    store_first(output, v, count);
  } else {
    store(output, v);
  }
}

template <class T>
struct MaxPixel {
  const PoolRow& row;
  const Columns& columns;
  const T* input;
  T* output;
  T min, max;

  template <size_t kRegisters, bool kPartial>
  ENR_INLINE void run(size_t channel, size_t count) const {
    Vec<T> best[kRegisters];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRegisters; ++r) best[r] = splat(lowest<T>());
    fold_window<T, kRegisters, kPartial>(row, columns, input, channel, count,
                                         [&](size_t r, Vec<T> v, size_t, size_t) { best[r] = larger(best[r], v); });
#pragma GCC unroll 8
    for (size_t r = 0; r < kRegisters; ++r) {
      const Vec<T> clamped = min_keep_nan(max_keep_nan(best[r], splat(min)), splat(max));
      put<kPartial>(output + channel + r * kLanes<T>, clamped, count);
    }
  }
};

template <class T>
void max_row(const PoolRow& row, const T* input, T* output, T min, T max) noexcept {
  for (size_t x = 0; x < row.output_width; ++x, output += row.output_pixel_stride) {
    const Columns columns = columns_of(row, x);
    for_each_channel_block<T>(row.channels, MaxPixel<T>{row, columns, input, output, min, max});
  }
}

struct AveragePixel {
  const PoolRow& row;
  const Columns& columns;
  const float* input;
  float* output;
  float divisor, min, max;

  template <size_t kRegisters, bool kPartial>
  ENR_INLINE void run(size_t channel, size_t count) const {
    F32 sum[kRegisters] = {};
    fold_window<float, kRegisters, kPartial>(row, columns, input, channel, count,
                                             [&](size_t r, F32 v, size_t, size_t) { sum[r] += v; });
#pragma GCC unroll 8
    for (size_t r = 0; r < kRegisters; ++r) {
      const F32 clamped = min_keep_nan(max_keep_nan(sum[r] / splat(divisor), splat(min)), splat(max));
      put<kPartial>(output + channel + r * kF32Lanes, clamped, count);
    }
  }
};

void average_row(const PoolRow& row, float divisor, size_t padded_rows, const float* input, float* output, float min,
                 float max) noexcept {
  const ptrdiff_t padded_width = (ptrdiff_t)(row.input_width + row.pad_right);
  for (size_t x = 0; x < row.output_width; ++x, output += row.output_pixel_stride) {
    const Columns columns = columns_of(row, x);
    const size_t inside = row.rows * (columns.end - columns.begin);
    float by = divisor;
    if (by == 0.0f && padded_rows == 0) by = (float)inside;
    if (by == 0.0f && inside != 0) {
      const ptrdiff_t end = columns.first + (ptrdiff_t)row.kernel_width;
      by = (float)(ptrdiff_t)padded_rows * (float)((end < padded_width ? end : padded_width) - columns.first);
    }
    if (inside == 0) by = 1.0f;
    for_each_channel_block<float>(row.channels, AveragePixel{row, columns, input, output, by, min, max});
  }
}

struct ArgmaxPixel {
  const PoolRow& row;
  const Columns& columns;
  const float* input;
  float* output;
  uint32_t* index;

  template <size_t kRegisters, bool kPartial>
  ENR_INLINE void run(size_t channel, size_t count) const {
    F32 best[kRegisters];
    U32 tap[kRegisters];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRegisters; ++r) {
      best[r] = splat(lowest<float>());
      tap[r] = splat((uint32_t)(row.first_tap_row * row.kernel_width + columns.begin));
    }
    fold_window<float, kRegisters, kPartial>(
        row, columns, input, channel, count, [&](size_t r, F32 v, size_t ky, size_t kx) {
          const U32 here = splat((uint32_t)((row.first_tap_row + ky) * row.kernel_width + kx));
          const auto taken = (v > best[r]) | (v != v);
          best[r] = taken ? v : best[r];
          tap[r] = taken ? here : tap[r];
        });
#pragma GCC unroll 8
    for (size_t r = 0; r < kRegisters; ++r) {
      if (output != nullptr) put<kPartial>(output + channel + r * kF32Lanes, best[r], count);
      put<kPartial>(index + channel + r * kF32Lanes, tap[r], count);
    }
  }
};

void argmax_row(const PoolRow& row, const float* input, float* output, uint32_t* index) noexcept {
  for (size_t x = 0; x < row.output_width; ++x, index += row.output_pixel_stride) {
    const Columns columns = columns_of(row, x);
    for_each_channel_block<float>(row.channels, ArgmaxPixel{row, columns, input, output, index});
    if (output != nullptr) output += row.output_pixel_stride;
  }
}

struct GlobalAverage {
  size_t pixels, pixel_stride;
  const float* input;
  float* output;
  float min, max;

  template <size_t kRegisters, bool kPartial>
  ENR_INLINE void run(size_t channel, size_t count) const {
    constexpr size_t piece = 64;  // sums of sums: the error grows with the longer of the two only
    F32 total[kRegisters] = {};
    const float* pixel = input + channel;
    for (size_t first = 0; first < pixels; first += piece) {
      F32 sum[kRegisters] = {};
      const size_t end = first + piece < pixels ? first + piece : pixels;
      for (size_t p = first; p < end; ++p) {
#pragma GCC unroll 8
        for (size_t r = 0; r < kRegisters; ++r) {
          sum[r] += kPartial ? load_first(pixel, count) : load(pixel + r * kF32Lanes);
        }
        pixel += pixel_stride;
      }
#pragma GCC unroll 8
      for (size_t r = 0; r < kRegisters; ++r) total[r] += sum[r];
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < kRegisters; ++r) {
      const F32 mean = total[r] / splat((float)pixels);
      put<kPartial>(output + channel + r * kF32Lanes, min_keep_nan(max_keep_nan(mean, splat(min)), splat(max)), count);
    }
  }
};

void global_average(size_t pixels, size_t channels, size_t pixel_stride, const float* input, float* output, float min,
                    float max) noexcept {
  for_each_channel_block<float>(channels, GlobalAverage{pixels, pixel_stride, input, output, min, max});
}

}  // namespace

const PoolKernels& pool_kernels() {
  static const PoolKernels table = {kF32Lanes,   max_row<float>, max_row<int8_t>, max_row<uint8_t>,
                                    average_row, argmax_row,     global_average};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
