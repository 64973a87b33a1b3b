#include "kernels/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"

namespace enr::kernels {

namespace {

template <class T>
T quantize_one(float value, float inverse_scale, int32_t zero_point, int64_t min, int64_t max) noexcept {
  const float scaled = value * inverse_scale;
  if (!(scaled < 0x1p31f)) return static_cast<T>(max);
  if (scaled <= -0x1p31f) return static_cast<T>(min);
  return static_cast<T>(std::clamp<int64_t>(static_cast<int64_t>(std::lrint(scaled)) + zero_point, min, max));
}

template <class T>
float dequantize_one(T value, Quantization from) noexcept {
  return static_cast<float>(static_cast<int64_t>(value) - from.zero_point) * from.scale;
}

template <class In, class T>
void quantize_loop(const In* in, T* out, size_t n, Quantization to, int64_t min, int64_t max) noexcept {
  const float inverse = 1.0f / to.scale;
  for (size_t i = 0; i < n; ++i) out[i] = quantize_one<T>(static_cast<float>(in[i]), inverse, to.zero_point, min, max);
}

template <class T, class Out>
void dequantize_loop(const T* in, Out* out, size_t n, Quantization from) noexcept {
  for (size_t i = 0; i < n; ++i) out[i] = Out(dequantize_one(in[i], from));
}

template <class Body>
void each_channel(const ChannelQuantization& q, Body body) noexcept {
  for (size_t i = 0; i < q.outer * q.channels; ++i) {
    const size_t channel = i % q.channels;
    body(i * q.inner, Quantization{q.scales[channel], q.zero_points != nullptr ? q.zero_points[channel] : 0});
  }
}

template <class In>
void quantize_rows_loop(size_t rows, size_t cols, const In* in, size_t in_stride, int8_t* out,
                        Quantization* parameters) noexcept {
  for (size_t i = 0; i < rows; ++i) {
    float min = 0, max = 0;
    for (size_t j = 0; j < cols; ++j) {
      min = std::min(min, static_cast<float>(in[i * in_stride + j]));
      max = std::max(max, static_cast<float>(in[i * in_stride + j]));
    }
    parameters[i] = dynamic_quantization(min, max);
    float factor = min == max ? 1.0f : 255.0f / (max - min);
    if constexpr (sizeof(In) == 2)
      factor = std::max(std::numeric_limits<float>::min(), static_cast<float>(Half(factor)));
    for (size_t j = 0; j < cols; ++j) {
      out[i * cols + j] =
          quantize_one<int8_t>(static_cast<float>(in[i * in_stride + j]), factor, parameters[i].zero_point, -128, 127);
    }
  }
}

const Half* halves(const uint16_t* p) noexcept { return reinterpret_cast<const Half*>(p); }
Half* halves(uint16_t* p) noexcept { return reinterpret_cast<Half*>(p); }

}  // namespace

template <class T>
int32_t quantize_bound(float value, Quantization q) noexcept {
  const float lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  const float quanta = value / q.scale + static_cast<float>(q.zero_point);
  return static_cast<int32_t>(std::lrint(std::fmin(std::fmax(quanta, lowest), highest)));
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
  quantize_loop(in, out, n, to, min, max);
}
template <class T>
void quantize_f16(const uint16_t* in, T* out, size_t n, Quantization to, int64_t min, int64_t max) noexcept {
  quantize_loop(halves(in), out, n, to, min, max);
}
template <class T>
void dequantize(const T* in, float* out, size_t n, Quantization from) noexcept {
  dequantize_loop(in, out, n, from);
}
template <class T>
void dequantize_f16(const T* in, uint16_t* out, size_t n, Quantization from) noexcept {
  dequantize_loop(in, halves(out), n, from);
}
template <class T>
void quantize_channels(const float* in, T* out, const ChannelQuantization& to, int64_t min, int64_t max) noexcept {
  each_channel(to, [&](size_t at, Quantization q) { quantize_loop(in + at, out + at, to.inner, q, min, max); });
}
template <class T>
void quantize_channels_f16(const uint16_t* in, T* out, const ChannelQuantization& to, int64_t min,
                           int64_t max) noexcept {
  each_channel(to, [&](size_t at, Quantization q) { quantize_loop(halves(in) + at, out + at, to.inner, q, min, max); });
}
template <class T>
void dequantize_channels(const T* in, float* out, const ChannelQuantization& from) noexcept {
  each_channel(from, [&](size_t at, Quantization q) { dequantize_loop(in + at, out + at, from.inner, q); });
}
template <class T>
void dequantize_channels_f16(const T* in, uint16_t* out, const ChannelQuantization& from) noexcept {
  each_channel(from, [&](size_t at, Quantization q) { dequantize_loop(in + at, halves(out) + at, from.inner, q); });
}

void quantize_rows(size_t rows, size_t cols, const float* in, size_t in_stride, int8_t* out,
                   Quantization* parameters) noexcept {
  quantize_rows_loop(rows, cols, in, in_stride, out, parameters);
}
void quantize_rows_f16(size_t rows, size_t cols, const uint16_t* in, size_t in_stride, int8_t* out,
                       Quantization* parameters) noexcept {
  quantize_rows_loop(rows, cols, halves(in), in_stride, out, parameters);
}

#define ENR_INSTANTIATE(T)                                                                                            \
  template int32_t quantize_bound<T>(float, Quantization) noexcept;                                                   \
  template void quantize<T>(const float*, T*, size_t, Quantization, int64_t, int64_t) noexcept;                       \
  template void quantize_f16<T>(const uint16_t*, T*, size_t, Quantization, int64_t, int64_t) noexcept;                \
  template void dequantize<T>(const T*, float*, size_t, Quantization) noexcept;                                       \
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
#undef ENR_INSTANTIATE

}  // namespace enr::kernels
