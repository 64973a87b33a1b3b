#pragma once

// Image resizing. Large images use the thread pool; input and output must not overlap.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace enr::kernels {

struct ResizeShape {
  size_t batch = 1;  // NCHW: batch * channels planes
  size_t channels = 1;
  size_t input_height = 0, input_width = 0;
  size_t output_height = 0, output_width = 0;
  size_t input_pixel_stride = 0;  // NHWC only: elements from a pixel to the next; 0 means channels
  size_t output_pixel_stride = 0;
  // The factors a caller gave (output / input), which then replace the ratio of the sizes, as in PyTorch eager. Ignored
  // with aligned corners.
  std::optional<double> scale_height, scale_width;
};

// NHWC float32 with half-pixel centres, or the corners' centres aligned.
void resize_bilinear_nhwc(const ResizeShape& shape, bool align_corners, const float* input, float* output) noexcept;

// NCHW contiguous planes, as eager's upsample_bilinear2d. T: float, double, Half, BFloat16.
template <class T>
void resize_bilinear_nchw(const ResizeShape& shape, bool align_corners, const T* input, T* output) noexcept;

// As eager's upsample_nearest2d; moves elements of 1, 2, 4, 8 or 16 bytes.
void resize_nearest_nchw(const ResizeShape& shape, const void* input, void* output, size_t element_size) noexcept;
void resize_nearest_nhwc(const ResizeShape& shape, const void* input, void* output, size_t element_size) noexcept;

// As eager's _upsample_bilinear2d_aa (antialiased when it shrinks). T: float, double. Allocates its tables, so it may
// throw std::bad_alloc.
template <class T>
void resize_bilinear_antialias_nchw(const ResizeShape& shape, bool align_corners, const T* input, T* output);
// Both for bytes; they allocate too.
void resize_bilinear_bytes_nchw(const ResizeShape& shape, bool align_corners, const uint8_t* input, uint8_t* output);
void resize_bilinear_antialias_bytes_nchw(const ResizeShape& shape, bool align_corners, const uint8_t* input,
                                          uint8_t* output);

}  // namespace enr::kernels
