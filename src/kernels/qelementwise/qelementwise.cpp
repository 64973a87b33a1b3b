#include "kernels/qelementwise/qelementwise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "kernels/pool/window.h"
#include "kernels/qelementwise/qelementwise_table.h"

namespace enr::kernels {

ENR_SELECT_ISA(QElementwiseTable, qelementwise_table)

namespace {

constexpr size_t kGrain = 8 * 1024;  // elements that pay for a thread
// Elements of short rows that one call takes together.
constexpr size_t kRowsTogether = 1024;

template <class T>
constexpr size_t kIndex = std::numeric_limits<T>::min() < 0 ? 0 : 1;  // in the table

template <class T>
constexpr int32_t kLowest = std::numeric_limits<T>::min();
template <class T>
constexpr int32_t kHighest = std::numeric_limits<T>::max();

// The byte of table entry `index` as a number of T.
template <class T>
int32_t value_of(size_t index) noexcept {
  return static_cast<T>(static_cast<uint8_t>(index));
}

// round(256 * ratio) products, shifted back with halves up: XNNPACK's rule for convert and leaky ReLU.
template <class T>
uint8_t scale_by_256ths(int32_t value, int32_t multiplier, int32_t output_zero_point) noexcept {
  const int32_t scaled = ((value * multiplier + 128) >> 8) + output_zero_point;
  return static_cast<uint8_t>(std::clamp(scaled, kLowest<T>, kHighest<T>));
}

template <class T>
T round_to(float value) noexcept {
  if (std::isnan(value)) value = 0;
  return static_cast<T>(
      std::clamp(std::nearbyint(value), static_cast<float>(kLowest<T>), static_cast<float>(kHighest<T>)));
}

bool in_range(float ratio, float low, float high) noexcept { return ratio >= low && ratio < high; }

}  // namespace

bool qadd_supports(float a_scale, float b_scale, float output_scale) noexcept {
  return in_range(a_scale / output_scale, 0x1p-10f, 0x1p8f) && in_range(b_scale / output_scale, 0x1p-10f, 0x1p8f);
}
bool qmul_supports(float a_scale, float b_scale, float output_scale) noexcept {
  return in_range(a_scale * b_scale / output_scale, 0x1p-16f, 0x1p8f);
}
bool qconvert_supports(float input_scale, float output_scale) noexcept {
  return input_scale / output_scale >= 0x1p-8f && input_scale / output_scale <= 0x1p7f;
}

QBinaryParams make_qbinary(QBinary op, Quantization a, Quantization b, Quantization output, int32_t min,
                           int32_t max) noexcept {
  QBinaryParams p{.op = op,
                  .a_zero_point = a.zero_point,
                  .b_zero_point = b.zero_point,
                  .output_zero_point = output.zero_point,
                  .min = min,
                  .max = max};
  if (op == QBinary::kMultiply) {
    p.scale = a.scale * b.scale / output.scale;
    return p;
  }
  // Multipliers of 21 bits, of which the larger one uses all.
  const float a_ratio = a.scale / output.scale, b_ratio = b.scale / output.scale;
  const int exponent = static_cast<int>(std::bit_cast<uint32_t>(std::max(a_ratio, b_ratio)) >> 23) - 127;
  p.shift = static_cast<uint32_t>(20 - exponent);
  p.a_multiplier = static_cast<int32_t>(std::lrint(std::ldexp(a_ratio, 20 - exponent)));
  p.b_multiplier = static_cast<int32_t>(std::lrint(std::ldexp(b_ratio, 20 - exponent)));
  if (op == QBinary::kSubtract) p.b_multiplier = -p.b_multiplier;
  p.bias = (1 << (p.shift - 1)) - p.a_multiplier * a.zero_point - p.b_multiplier * b.zero_point;
  return p;
}

template <class T>
void qbinary(const QBinaryParams& params, const QBroadcast& shape, const T* a, const T* b, T* output) noexcept {
  const auto run = qelementwise_table().binary[kIndex<T>];
  if (shape.rows == 1) {
    return parallel_ranges(shape.n, kGrain, [&](size_t begin, size_t end) {
      run(params, end - begin, a + begin * shape.a_step, shape.a_step, b + begin * shape.b_step, shape.b_step,
          output + begin);
    });
  }
  // Rows by one row, as gates of channels are, are one row by that one repeated.
  const bool is_even = shape.a_step == 1 && shape.b_step == 1;
  const bool a_repeats = is_even && shape.a_row == 0 && shape.b_row == shape.n;
  const bool b_repeats = is_even && shape.b_row == 0 && shape.a_row == shape.n;
  const size_t most = a_repeats || b_repeats ? std::max<size_t>(kRowsTogether / std::max<size_t>(shape.n, 1), 1) : 1;
  parallel_ranges(shape.rows, kGrain / std::max<size_t>(shape.n, 1) + 1, [&](size_t begin, size_t end) {
    std::array<T, kRowsTogether> copies;
    const T *repeated_a = a, *repeated_b = b;
    const size_t together = std::min(most, end - begin);
    if (together > 1) {
      const T*& repeated = a_repeats ? repeated_a : repeated_b;
      for (size_t r = 0; r < together; ++r) std::copy_n(repeated, shape.n, copies.data() + r * shape.n);
      repeated = copies.data();
    }
    for (size_t row = begin; row < end; row += together) {
      run(params, std::min(together, end - row) * shape.n, repeated_a + row * shape.a_row, shape.a_step,
          repeated_b + row * shape.b_row, shape.b_step, output + row * shape.n);
    }
  });
}

template <class T>
void make_lut(float (*function)(float, const void*), const void* context, Quantization input, Quantization output,
              uint8_t* table) noexcept {
  const float inverse = 1.0f / output.scale;
  for (size_t i = 0; i < 256; ++i) {
    const float value = (static_cast<float>(value_of<T>(i)) - static_cast<float>(input.zero_point)) * input.scale;
    const float quanta = function(value, context) * inverse + static_cast<float>(output.zero_point);
    table[i] = static_cast<uint8_t>(round_to<T>(quanta));
  }
}

template <class T>
void make_leaky_relu_lut(float negative_slope, Quantization input, Quantization output, uint8_t* table) noexcept {
  const float ratio = input.scale / output.scale;
  const int32_t positive = static_cast<int32_t>(std::lrint(256.0f * ratio));
  const int32_t negative = static_cast<int32_t>(std::lrint(256.0f * (ratio * negative_slope)));
  for (size_t i = 0; i < 256; ++i) {
    const int32_t value = value_of<T>(i) - input.zero_point;
    table[i] = scale_by_256ths<T>(value, value > 0 ? positive : negative, output.zero_point);
  }
}

template <class T>
void make_convert_lut(Quantization input, Quantization output, uint8_t* table) noexcept {
  const int32_t multiplier = static_cast<int32_t>(std::lrint(256.0f * (input.scale / output.scale)));
  for (size_t i = 0; i < 256; ++i) {
    table[i] = scale_by_256ths<T>(value_of<T>(i) - input.zero_point, multiplier, output.zero_point);
  }
}

template <class T>
void make_clamp_lut(int32_t min, int32_t max, uint8_t* table) noexcept {
  for (size_t i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(std::clamp(value_of<T>(i), min, max));
}

void apply_lut(const uint8_t* table, const void* in, void* out, size_t n) noexcept {
  parallel_ranges(n, kGrain, [&](size_t begin, size_t end) {
    qelementwise_table().apply_lut(table, static_cast<const uint8_t*>(in) + begin, static_cast<uint8_t*>(out) + begin,
                                   end - begin);
  });
}

void apply_lut_rows(const uint8_t* table, size_t rows, size_t n, const void* in, size_t in_stride, void* out,
                    size_t out_stride) noexcept {
  if (in_stride == n && out_stride == n) return apply_lut(table, in, out, rows * n);
  parallel_ranges(rows, kGrain / std::max<size_t>(n, 1) + 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      qelementwise_table().apply_lut(table, static_cast<const uint8_t*>(in) + row * in_stride,
                                     static_cast<uint8_t*>(out) + row * out_stride, n);
    }
  });
}

template <class T>
void qclamp(const T* in, T* out, size_t n, int32_t min, int32_t max) noexcept {
  parallel_ranges(n, kGrain, [&](size_t begin, size_t end) {
    qelementwise_table().clamp[kIndex<T>](in + begin, out + begin, end - begin, min, max);
  });
}

template <class T>
void qmean(size_t outer, size_t reduced, size_t inner, size_t input_row, const T* in, T* out, Quantization input,
           Quantization output, size_t divisor, bool was_signed) noexcept {
  constexpr int32_t kOffset = 128;
  if (input_row == 0) input_row = inner;
  if (was_signed) {
    input.zero_point -= kOffset;
    output.zero_point -= kOffset;
  }
  const float scale = input.scale / output.scale * (1.0f / static_cast<float>(divisor));
  const float shift = static_cast<float>(output.zero_point) -
                      static_cast<float>(static_cast<int32_t>(reduced)) * static_cast<float>(input.zero_point) * scale;
  // Inner elements of one outer index are taken in chunks, whose sums lie on the stack.
  constexpr size_t kChunk = 256;
  const QElementwiseTable& table = qelementwise_table();
  const size_t chunks = (inner + kChunk - 1) / kChunk;
  parallel_ranges(outer * chunks, kGrain / std::max<size_t>(reduced * std::min(inner, kChunk), 1) + 1,
                  [&](size_t begin, size_t end) {
                    int32_t sums[kChunk];
                    for (size_t index = begin; index < end; ++index) {
                      const size_t o = index / chunks, i = index % chunks * kChunk, n = std::min(kChunk, inner - i);
                      table.sum_rows[kIndex<T>](in + o * reduced * input_row + i, reduced, input_row, n, sums);
                      T* const means = out + o * inner + i;
                      if (!was_signed) {
                        table.scale_sums[kIndex<T>](sums, n, scale, shift, means);
                        continue;
                      }
                      for (size_t k = 0; k < n; ++k) sums[k] -= kOffset * static_cast<int32_t>(reduced);
                      table.scale_sums[kIndex<int8_t>](sums, n, scale, shift, means);
                      for (size_t k = 0; k < n; ++k) means[k] = static_cast<T>(means[k] ^ kOffset);
                    }
                  });
}

template <class T>
void qaverage_pool_nhwc(const PoolShape& s, AverageDivisor divisor, const T* in, T* out, Quantization input,
                        Quantization output, int32_t min, int32_t max) noexcept {
  const size_t in_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels;
  const size_t out_stride = s.output_pixel_stride != 0 ? s.output_pixel_stride : s.channels;
  const auto pool_pixel = [&](size_t pixel) {
    const size_t image = pixel / (s.output_height * s.output_width);
    const size_t y = pixel / s.output_width % s.output_height, x = pixel % s.output_width;
    const Window rows = window_of(y, s.kernel_height, s.stride_height, 1, s.pad_top, s.pad_bottom, s.input_height);
    const Window columns = window_of(x, s.kernel_width, s.stride_width, 1, s.pad_left, s.pad_right, s.input_width);
    const size_t height = rows.end - rows.begin, width = columns.end - columns.begin, count = height * width;
    const size_t divided_by =
        divisor == AverageDivisor::kIncludePadding ? s.kernel_height * s.kernel_width : std::max<size_t>(count, 1);
    QAverage window{};
    if (count != 0) {
      const size_t top = static_cast<size_t>(rows.first + static_cast<ptrdiff_t>(rows.begin));
      const size_t left = static_cast<size_t>(columns.first + static_cast<ptrdiff_t>(columns.begin));
      window.pixels = in + ((image * s.input_height + top) * s.input_width + left) * in_stride;
    }
    window.rows = count == 0 ? 0 : height;
    window.columns = width;
    window.row_stride = s.input_width * in_stride;
    window.pixel_stride = in_stride;
    window.taken = static_cast<int32_t>(count) * input.zero_point;
    window.scale = input.scale / (output.scale * static_cast<float>(static_cast<int32_t>(divided_by)));
    window.low = static_cast<float>(min - output.zero_point);
    window.high = static_cast<float>(max - output.zero_point);
    window.zero_point = output.zero_point;
    qelementwise_table().average[kIndex<T>](window, s.channels, out + pixel * out_stride);
  };
  const size_t work = s.channels * s.kernel_height * s.kernel_width;
  parallel_ranges(s.batch * s.output_height * s.output_width, kGrain / std::max<size_t>(work, 1) + 1,
                  [&](size_t begin, size_t end) {
                    for (size_t pixel = begin; pixel < end; ++pixel) pool_pixel(pixel);
                  });
}

namespace {

// Where an output row or column reads: two inputs and the weight of the second in 2048ths.
struct Sample {
  size_t first, second;
  int32_t weight;
};

Sample sample_at(size_t output, size_t input_size, size_t output_size, bool align_corners) noexcept {
  const int32_t adjustment = align_corners && output_size != 1 ? 1 : 0;
  const float scale = static_cast<float>(static_cast<int32_t>(input_size) - adjustment) /
                      static_cast<float>(static_cast<int32_t>(output_size) - adjustment);
  const float last = static_cast<float>(input_size - 1);
  float position = static_cast<float>(static_cast<int32_t>(output)) * scale;
  if (!align_corners) position = std::max(position + (0.5f * scale - 0.5f), 0.0f);
  position = std::min(position, last);
  const size_t first = static_cast<size_t>(position);
  const float fraction = position - static_cast<float>(first);
  return {first, std::min(first + 1, input_size - 1), static_cast<int32_t>(std::lrint(fraction * 2048.0f))};
}

}  // namespace

template <class T>
void qresize_bilinear_nhwc(const ResizeShape& s, bool align_corners, const T* in, T* out) noexcept {
  const size_t in_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels;
  const size_t out_stride = s.output_pixel_stride != 0 ? s.output_pixel_stride : s.channels;
  const auto resize_row = [&](size_t row) {
    const Sample y = sample_at(row % s.output_height, s.input_height, s.output_height, align_corners);
    const T* image = in + row / s.output_height * s.input_height * s.input_width * in_stride;
    const T* top = image + y.first * s.input_width * in_stride;
    const T* bottom = image + y.second * s.input_width * in_stride;
    for (size_t column = 0; column < s.output_width; ++column) {
      const Sample x = sample_at(column, s.input_width, s.output_width, align_corners);
      qelementwise_table().bilinear[kIndex<T>](
          {top + x.first * in_stride, top + x.second * in_stride, bottom + x.first * in_stride,
           bottom + x.second * in_stride, x.weight, y.weight},
          s.channels, out + (row * s.output_width + column) * out_stride);
    }
  };
  parallel_ranges(s.batch * s.output_height, kGrain / std::max<size_t>(4 * s.output_width * s.channels, 1) + 1,
                  [&](size_t begin, size_t end) {
                    for (size_t row = begin; row < end; ++row) resize_row(row);
                  });
}

#define ENR_INSTANTIATE(T)                                                                                        \
  template void qbinary<T>(const QBinaryParams&, const QBroadcast&, const T*, const T*, T*) noexcept;             \
  template void make_lut<T>(float (*)(float, const void*), const void*, Quantization, Quantization,               \
                            uint8_t*) noexcept;                                                                   \
  template void make_leaky_relu_lut<T>(float, Quantization, Quantization, uint8_t*) noexcept;                     \
  template void make_convert_lut<T>(Quantization, Quantization, uint8_t*) noexcept;                               \
  template void make_clamp_lut<T>(int32_t, int32_t, uint8_t*) noexcept;                                           \
  template void qclamp<T>(const T*, T*, size_t, int32_t, int32_t) noexcept;                                       \
  template void qmean<T>(size_t, size_t, size_t, size_t, const T*, T*, Quantization, Quantization, size_t,        \
                         bool) noexcept;                                                                          \
  template void qaverage_pool_nhwc<T>(const PoolShape&, AverageDivisor, const T*, T*, Quantization, Quantization, \
                                      int32_t, int32_t) noexcept;                                                 \
  template void qresize_bilinear_nhwc<T>(const ResizeShape&, bool, const T*, T*) noexcept;
ENR_INSTANTIATE(int8_t)
ENR_INSTANTIATE(uint8_t)
#undef ENR_INSTANTIATE

}  // namespace enr::kernels
