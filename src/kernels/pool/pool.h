#pragma once

// Two-dimensional pooling. Large images use the thread pool; input and output must not overlap.

#include <cstddef>
#include <cstdint>
#include <limits>

namespace enr::kernels {

// Sizes count elements. Where the output runs past the bottom or right padding (ceil mode), windows are cut there.
struct PoolShape {
  size_t batch = 1;  // NCHW: batch * channels planes
  size_t channels = 1;
  size_t input_height = 0, input_width = 0;
  size_t output_height = 0, output_width = 0;
  size_t kernel_height = 1, kernel_width = 1;
  size_t stride_height = 1, stride_width = 1;
  size_t dilation_height = 1, dilation_width = 1;  // max pooling only
  size_t pad_top = 0, pad_left = 0;
  size_t pad_bottom = 0, pad_right = 0;  // matter to AverageDivisor::kIncludePadding only
  size_t input_pixel_stride = 0;         // NHWC only: elements from a pixel to the next; 0 means channels
  size_t output_pixel_stride = 0;
};

template <class T>
constexpr T lowest_value() noexcept {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
}
template <class T>
constexpr T highest_value() noexcept {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

enum class AverageDivisor { kExcludePadding, kIncludePadding, kGiven };

// --- NHWC ---

// T: float, int8_t, uint8_t. A NaN in the window gives NaN. A window wholly in the padding gives the lowest value,
// clamped.
template <class T>
void max_pool_nhwc(const PoolShape& shape, const T* input, T* output, T min = lowest_value<T>(),
                   T max = highest_value<T>()) noexcept;

void average_pool_nhwc(const PoolShape& shape, AverageDivisor divisor, int64_t given_divisor, const float* input,
                       float* output, float min = -__builtin_inff(), float max = __builtin_inff()) noexcept;

// XNNPACK's ArgMaxPooling2d: index is y * kernel_width + x within the window, of the first largest element (of the last
// NaN if there is one). output and index have output_pixel_stride; output may be
// null.
void argmax_pool_nhwc(const PoolShape& shape, const float* input, float* output, uint32_t* index) noexcept;

// output[b][c] = clamp(mean over pixels of input[b][p][c]); input_pixel_stride 0 means channels. output is contiguous.
void global_average_nhwc(size_t batch, size_t pixels, size_t channels, size_t input_pixel_stride, const float* input,
                         float* output, float min = -__builtin_inff(), float max = __builtin_inff()) noexcept;

// --- NCHW (contiguous planes), as PyTorch eager ---
// T: float, double, Half, BFloat16, int8_t, uint8_t, int16_t, int32_t, int64_t. Half kinds add
// in float, integers in int64_t.

// index (may be null) is y * input_width + x of the element taken, as max_pool2d_with_indices gives it.
template <class T>
void max_pool_nchw(const PoolShape& shape, const T* input, T* output, int64_t* index) noexcept;

template <class T>
void average_pool_nchw(const PoolShape& shape, AverageDivisor divisor, int64_t given_divisor, const T* input,
                       T* output) noexcept;

template <class T>
void adaptive_average_pool_nchw(size_t planes, size_t input_height, size_t input_width, size_t output_height,
                                size_t output_width, const T* input, T* output) noexcept;

}  // namespace enr::kernels
