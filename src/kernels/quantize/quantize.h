#pragma once

// Conversion between real numbers and quantised integers: real = (q - zero_point) * scale. Rounding is to nearest, ties
// to even, with saturation, as XNNPACK's Convert and PyTorch's quantized_decomposed operators do. Large arrays use the
// pool.

#include <cstddef>
#include <cstdint>

namespace enr::kernels {

struct Quantization {
  float scale = 1.0f;
  int32_t zero_point = 0;
};

// The scale from an int32 accumulator to the output's quanta, with the operations in the order XNNPACK has them.
inline float requantization_scale(float input_scale, float weight_scale, float output_scale) noexcept {
  return input_scale * weight_scale / output_scale;
}

// A real clamp bound in quanta of T (int8_t, uint8_t); infinities give T's own bounds.
template <class T>
int32_t quantize_bound(float value, Quantization quantization) noexcept;

// out = saturate(round(in / scale) + zero_point) within [min, max], which must lie in T's range. The quotient is
// computed as in * (1 / scale), in float. A NaN gives max. T: int8_t, uint8_t, int16_t, uint16_t, int32_t.
template <class T>
void quantize(const float* in, T* out, size_t n, Quantization to, int64_t min, int64_t max) noexcept;
template <class T>
void quantize_f16(const uint16_t* in, T* out, size_t n, Quantization to, int64_t min, int64_t max) noexcept;

// The same with the quotient as in * factor, on the calling thread, for T of at most 16 bits and zero points that a
// float holds exactly.
template <class T>
void quantize_by(const float* in, T* out, size_t n, float factor, int32_t zero_point, int64_t min,
                 int64_t max) noexcept;

// out = (in - zero_point) * scale.
template <class T>
void dequantize(const T* in, float* out, size_t n, Quantization from) noexcept;
template <class T>
void dequantize_f16(const T* in, uint16_t* out, size_t n, Quantization from) noexcept;

// The same with the zero point as a float, on the calling thread.
template <class T>
void dequantize_by(const T* in, float* out, size_t n, float scale, float zero_point) noexcept;

// The sum of x * (w - zero_point) over n numbers, on the calling thread.
float dot_bytes(const float* x, const int8_t* w, size_t n, float zero_point) noexcept;

// Arrays of [outer, channels, inner] with a scale and zero point of each channel; a null zero_points means 0. An array
// whose rows (tokens) have their own parameters has inner = row length. The float array may be of half bits (the _f16
// functions).
struct ChannelQuantization {
  size_t outer = 1, channels = 1, inner = 1;
  const float* scales = nullptr;
  const int32_t* zero_points = nullptr;
};
template <class T>
void quantize_channels(const float* in, T* out, const ChannelQuantization& to, int64_t min, int64_t max) noexcept;
template <class T>
void quantize_channels_f16(const uint16_t* in, T* out, const ChannelQuantization& to, int64_t min,
                           int64_t max) noexcept;
template <class T>
void dequantize_channels(const T* in, float* out, const ChannelQuantization& from) noexcept;
template <class T>
void dequantize_channels_f16(const T* in, uint16_t* out, const ChannelQuantization& from) noexcept;

// Dynamic quantisation (XNNPACK's qdint8): every row of `cols` numbers gets the int8 parameters that fit its own range,
// which always includes 0. rows is the product of the dimensions that do not belong to a row (num_nonbatch_dims last
// ones). Rows of `in` lie in_stride elements apart, those of `out` are contiguous.
void quantize_rows(size_t rows, size_t cols, const float* in, size_t in_stride, int8_t* out,
                   Quantization* parameters) noexcept;
void quantize_rows_f16(size_t rows, size_t cols, const uint16_t* in, size_t in_stride, int8_t* out,
                       Quantization* parameters) noexcept;

// The extremes of 0 and n numbers, on the calling thread; a NaN may count or not.
void extremes_with_zero(const float* in, size_t n, float& min, float& max) noexcept;

// The parameters quantized_decomposed::choose_qparams gives an array with these extremes, 0 among them, for integers
// within [quant_min, quant_max]; the scale is at least epsilon.
struct ChosenParameters {
  float scale;
  double zero_point;  // a whole number, or NaN
};
ChosenParameters choose_parameters(float min, float max, int64_t quant_min, int64_t quant_max, float epsilon) noexcept;

// The parameters quantize_rows gives a row with these extremes.
Quantization dynamic_quantization(float min, float max) noexcept;

}  // namespace enr::kernels
