#include "kernels/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "kernels/quantize/quantize_table.h"

namespace enr::kernels {

ENR_SELECT_ISA(QuantizeTable, quantize_table)

namespace {

// Elements that pay for a thread: many, since the caller has what it quantises in its own cache.
constexpr size_t kGrain = 256 * 1024;
constexpr size_t kRowGrain = 8 * 1024;
// Rows whose parameters are found together: each waits for a chain of operations, but not for the others'.
constexpr size_t kRowsAtOnce = 8;

template <class T>
constexpr int kTypeOf = -1;
template <>
constexpr int kTypeOf<int8_t> = kQuantizedI8;
template <>
constexpr int kTypeOf<uint8_t> = kQuantizedU8;
template <>
constexpr int kTypeOf<int16_t> = kQuantizedI16;
template <>
constexpr int kTypeOf<uint16_t> = kQuantizedU16;

template <class In>
constexpr bool kIsHalf = sizeof(In) == 2;

// int32's bounds are no floats: number by number.
template <class In>
void quantize_to_int32(const In* in, int32_t* out, size_t n, Quantization to, int64_t min, int64_t max) noexcept {
  const float factor = 1.0f / to.scale;
  for (size_t i = 0; i < n; ++i) {
    const float scaled = static_cast<float>(in[i]) * factor;
    if (!(scaled < 0x1p62f)) {
      out[i] = static_cast<int32_t>(max);
    } else if (scaled <= -0x1p62f) {
      out[i] = static_cast<int32_t>(min);
    } else {
      out[i] = static_cast<int32_t>(std::clamp<int64_t>(std::llrint(scaled) + to.zero_point, min, max));
    }
  }
}

template <class In, class T>
void quantize_narrow(const In* in, T* out, size_t n, float factor, int32_t zero_point, int64_t min,
                     int64_t max) noexcept {
  quantize_table().quantize[kIsHalf<In>][kTypeOf<T>](in, out, n, factor, static_cast<float>(min - zero_point),
                                                     static_cast<float>(max - zero_point), zero_point);
}

template <class In, class T>
void quantize_run(const In* in, T* out, size_t n, Quantization to, int64_t min, int64_t max) noexcept {
  if constexpr (sizeof(T) == 4) {
    quantize_to_int32(in, out, n, to, min, max);
  } else {
    quantize_narrow(in, out, n, 1.0f / to.scale, to.zero_point, min, max);
  }
}

template <class T, class Out>
void dequantize_run(const T* in, Out* out, size_t n, Quantization from) noexcept {
  if constexpr (sizeof(T) == 4) {
    for (size_t i = 0; i < n; ++i) {
      out[i] = Out(static_cast<float>(static_cast<int64_t>(in[i]) - from.zero_point) * from.scale);
    }
  } else {
    quantize_table().dequantize[kIsHalf<Out>][kTypeOf<T>](in, out, n, from.scale, static_cast<float>(from.zero_point));
  }
}

template <class Run>
void each_channel(const ChannelQuantization& q, Run run) noexcept {
  const size_t runs = q.outer * q.channels;
  parallel_ranges(runs, kGrain / std::max<size_t>(q.inner, 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t channel = i % q.channels;
      run(i * q.inner, Quantization{q.scales[channel], q.zero_points != nullptr ? q.zero_points[channel] : 0});
    }
  });
}

template <class In>
void quantize_each_row(size_t rows, size_t cols, const In* in, size_t in_stride, int8_t* out,
                       Quantization* parameters) noexcept {
  const QuantizeTable& table = quantize_table();
  parallel_ranges(rows, kRowGrain / std::max<size_t>(cols, 1) + 1, [&](size_t begin, size_t end) {
    float min[kRowsAtOnce], max[kRowsAtOnce];
    for (size_t row = begin; row < end; row += kRowsAtOnce) {
      const size_t count = std::min(end - row, kRowsAtOnce);
      for (size_t i = 0; i < count; ++i) {
        table.extremes[kIsHalf<In>](in + (row + i) * in_stride, cols, min + i, max + i);
      }
      for (size_t i = 0; i < count; ++i) parameters[row + i] = dynamic_quantization(min[i], max[i]);
      for (size_t i = 0; i < count; ++i) {
        const int32_t zero_point = parameters[row + i].zero_point;
        float factor = min[i] == max[i] ? 1.0f : 255.0f / (max[i] - min[i]);
        if (kIsHalf<In>) factor = std::max(std::numeric_limits<float>::min(), static_cast<float>(Half(factor)));
        table.quantize[kIsHalf<In>][kQuantizedI8](in + (row + i) * in_stride, out + (row + i) * cols, cols, factor,
                                                  static_cast<float>(-128 - zero_point),
                                                  static_cast<float>(127 - zero_point), zero_point);
      }
    }
  });
}

const Half* halves(const uint16_t* p) noexcept { return reinterpret_cast<const Half*>(p); }
Half* halves(uint16_t* p) noexcept { return reinterpret_cast<Half*>(p); }

template <class In, class T>
void quantize_all(const In* in, T* out, size_t n, Quantization to, int64_t min, int64_t max) noexcept {
  parallel_ranges(n, kGrain,
                  [&](size_t begin, size_t end) { quantize_run(in + begin, out + begin, end - begin, to, min, max); });
}
template <class T, class Out>
void dequantize_all(const T* in, Out* out, size_t n, Quantization from) noexcept {
  parallel_ranges(n, kGrain,
                  [&](size_t begin, size_t end) { dequantize_run(in + begin, out + begin, end - begin, from); });
}

}  // namespace

template <class T>
int32_t quantize_bound(float value, Quantization q) noexcept {
  const float lowest = static_cast<float>(std::numeric_limits<T>::min());
  const float highest = static_cast<float>(std::numeric_limits<T>::max());
  const float quanta = value / q.scale + static_cast<float>(q.zero_point);
  return static_cast<int32_t>(std::lrint(std::fmin(std::fmax(quanta, lowest), highest)));
}

template <class T>
void dequantize_by(const T* in, float* out, size_t n, float scale, float zero_point) noexcept {
  if constexpr (sizeof(T) == 4) {
    for (size_t i = 0; i < n; ++i) out[i] = (static_cast<float>(in[i]) - zero_point) * scale;
  } else {
    quantize_table().dequantize[0][kTypeOf<T>](in, out, n, scale, zero_point);
  }
}

float dot_bytes(const float* x, const int8_t* w, size_t n, float zero_point) noexcept {
  return quantize_table().dot(x, w, n, zero_point);
}

void extremes_with_zero(const float* in, size_t n, float& min, float& max) noexcept {
  quantize_table().extremes[0](in, n, &min, &max);
}

ChosenParameters choose_parameters(float min, float max, int64_t quant_min, int64_t quant_max, float epsilon) noexcept {
  const float scale = std::max((max - min) / static_cast<float>(quant_max - quant_min), epsilon);
  const double zero = static_cast<double>(quant_min) - static_cast<double>(std::nearbyint(min / scale));
  return {scale, std::clamp(zero, static_cast<double>(quant_min), static_cast<double>(quant_max))};
}

// Computed as XNNPACK does, step by step, since the zero point must come out the same.
Quantization dynamic_quantization(float min, float max) noexcept {
  min = std::min(min, 0.0f);
  max = std::max(max, 0.0f);
  const float factor = min == max ? 1.0f : 255.0f / (max - min);
  const float low = min * factor, high = max * factor;
  const float zero_point = (-128.0f + low) + (127.0f + high) > 0 ? -128.0f - low : 127.0f - high;
  return {1.0f / factor, static_cast<int32_t>(std::lrint(std::clamp(zero_point, -128.0f, 127.0f)))};
}

template <class T>
void quantize(const float* in, T* out, size_t n, Quantization to, int64_t min, int64_t max) noexcept {
  quantize_all(in, out, n, to, min, max);
}
template <class T>
void quantize_f16(const uint16_t* in, T* out, size_t n, Quantization to, int64_t min, int64_t max) noexcept {
  quantize_all(halves(in), out, n, to, min, max);
}
template <class T>
void quantize_by(const float* in, T* out, size_t n, float factor, int32_t zero_point, int64_t min,
                 int64_t max) noexcept {
  quantize_narrow(in, out, n, factor, zero_point, min, max);
}
template <class T>
void dequantize(const T* in, float* out, size_t n, Quantization from) noexcept {
  dequantize_all(in, out, n, from);
}
template <class T>
void dequantize_f16(const T* in, uint16_t* out, size_t n, Quantization from) noexcept {
  dequantize_all(in, halves(out), n, from);
}
template <class T>
void quantize_channels(const float* in, T* out, const ChannelQuantization& to, int64_t min, int64_t max) noexcept {
  each_channel(to, [&](size_t at, Quantization q) { quantize_run(in + at, out + at, to.inner, q, min, max); });
}
template <class T>
void quantize_channels_f16(const uint16_t* in, T* out, const ChannelQuantization& to, int64_t min,
                           int64_t max) noexcept {
  each_channel(to, [&](size_t at, Quantization q) { quantize_run(halves(in) + at, out + at, to.inner, q, min, max); });
}
template <class T>
void dequantize_channels(const T* in, float* out, const ChannelQuantization& from) noexcept {
  each_channel(from, [&](size_t at, Quantization q) { dequantize_run(in + at, out + at, from.inner, q); });
}
template <class T>
void dequantize_channels_f16(const T* in, uint16_t* out, const ChannelQuantization& from) noexcept {
  each_channel(from, [&](size_t at, Quantization q) { dequantize_run(in + at, halves(out) + at, from.inner, q); });
}

void quantize_rows(size_t rows, size_t cols, const float* in, size_t in_stride, int8_t* out,
                   Quantization* parameters) noexcept {
  quantize_each_row(rows, cols, in, in_stride, out, parameters);
}
void quantize_rows_f16(size_t rows, size_t cols, const uint16_t* in, size_t in_stride, int8_t* out,
                       Quantization* parameters) noexcept {
  quantize_each_row(rows, cols, halves(in), in_stride, out, parameters);
}

#define ENR_INSTANTIATE(T)                                                                                            \
  template int32_t quantize_bound<T>(float, Quantization) noexcept;                                                   \
  template void quantize<T>(const float*, T*, size_t, Quantization, int64_t, int64_t) noexcept;                       \
  template void quantize_f16<T>(const uint16_t*, T*, size_t, Quantization, int64_t, int64_t) noexcept;                \
  template void dequantize<T>(const T*, float*, size_t, Quantization) noexcept;                                       \
  template void dequantize_by<T>(const T*, float*, size_t, float, float) noexcept;                                    \
  template void dequantize_f16<T>(const T*, uint16_t*, size_t, Quantization) noexcept;                                \
  template void quantize_channels<T>(const float*, T*, const ChannelQuantization&, int64_t, int64_t) noexcept;        \
  template void quantize_channels_f16<T>(const uint16_t*, T*, const ChannelQuantization&, int64_t, int64_t) noexcept; \
  template void dequantize_channels<T>(const T*, float*, const ChannelQuantization&) noexcept;                        \
  template void dequantize_channels_f16<T>(const T*, uint16_t*, const ChannelQuantization&) noexcept;
ENR_INSTANTIATE(int8_t)
ENR_INSTANTIATE(uint8_t)
ENR_INSTANTIATE(int16_t)
ENR_INSTANTIATE(uint16_t)
ENR_INSTANTIATE(int32_t)
template void quantize_by<int8_t>(const float*, int8_t*, size_t, float, int32_t, int64_t, int64_t) noexcept;
template void quantize_by<uint8_t>(const float*, uint8_t*, size_t, float, int32_t, int64_t, int64_t) noexcept;
template void quantize_by<int16_t>(const float*, int16_t*, size_t, float, int32_t, int64_t, int64_t) noexcept;
template void quantize_by<uint16_t>(const float*, uint16_t*, size_t, float, int32_t, int64_t, int64_t) noexcept;
#undef ENR_INSTANTIATE

}  // namespace enr::kernels
