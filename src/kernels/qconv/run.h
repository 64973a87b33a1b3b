#pragma once

// What convolutions and transposed ones have in common.

#include <cstring>

#include "base/error.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qconv/window.h"
#include "kernels/qgemm/driver.h"

namespace enr::kernels {

inline size_t output_bytes(QKind kind) noexcept {
  return kind == QKind::kStatic ? 1 : kind == QKind::kDynamic ? sizeof(float) : sizeof(uint16_t);
}

// The product of a call, of the output channels from `first` on.
inline QProduct product_of(const QConvCall& call, const QWeights& weights, size_t first) noexcept {
  return {.kind = call.kind,
          .weights = weights,
          .c = static_cast<std::byte*>(call.output) + first * output_bytes(call.kind),
          .output = call.output_range,
          .clamp = call.clamp};
}

inline size_t round_up_64(size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

template <class Shape>
size_t filter_size(const Shape& s) noexcept {
  return s.kernel_height * s.kernel_width * (s.input_channels / s.groups);
}

// Fills in the pixel strides.
template <class Shape>
void check_conv_shape(Shape& s, const char* what) {
  if (s.groups == 0 || s.input_channels % s.groups != 0 || s.output_channels % s.groups != 0) {
    fail_execution(what, ": ", s.input_channels, " input and ", s.output_channels,
                   " output channels, expected multiples of groups = ", s.groups);
  }
  if (s.kernel_height == 0 || s.kernel_width == 0 || s.stride_height == 0 || s.stride_width == 0 ||
      s.dilation_height == 0 || s.dilation_width == 0) {
    fail_execution(what, ": kernel ", s.kernel_height, "x", s.kernel_width, ", stride ", s.stride_height, "x",
                   s.stride_width, ", dilation ", s.dilation_height, "x", s.dilation_width, ", expected at least 1");
  }
  if (s.input_pixel_stride == 0) s.input_pixel_stride = s.input_channels;
  if (s.output_pixel_stride == 0) s.output_pixel_stride = s.output_channels;
}

// The scales of the output channels from `first` on.
inline QStatic scales_from(QStatic q, size_t first) noexcept {
  if (q.scale_count != 1) q.scales += first;
  if (q.offsets != nullptr) q.offsets += first;
  return q;
}
inline QDynamic scales_from(QDynamic q, size_t first) noexcept {
  if (q.scale_count != 1) q.scales += first;
  if (q.bias != nullptr) q.bias += first;
  return q;
}

// A kernel's row of padding for each image.
template <class Shape>
size_t padding_row(const Shape& s) noexcept {
  return s.kernel_width * (s.input_channels / s.groups);
}
template <class Shape>
size_t padding_bytes(const Shape& s) noexcept {
  return round_up_64(s.batch * padding_row(s));
}

// The input with its padding, which takes the first `bytes` of the workspace; `rest` is behind it.
struct PaddedInput {
  const uint8_t* input;
  size_t image_bytes, pixel_stride, channels, row;
  uint8_t* padding;
  size_t bytes;
  void* rest;

  template <class Shape>
  PaddedInput(const Shape& s, const QConvCall& call, void* workspace) noexcept
      : input(static_cast<const uint8_t*>(call.input)),
        image_bytes(s.input_height * s.input_width * s.input_pixel_stride),
        pixel_stride(s.input_pixel_stride),
        channels(s.input_channels / s.groups),
        row(padding_row(s)),
        padding(static_cast<uint8_t*>(workspace)),
        bytes(padding_bytes(s)),
        rest(padding + bytes) {
    for (size_t image = 0; image < s.batch; ++image) {
      const int32_t value = call.images != nullptr ? call.images[image].zero_point : call.input_zero_point;
      std::memset(padding + image * row, value, row);
    }
  }
  WindowSource source(size_t image, size_t group, uint8_t flip) const noexcept {
    return {input + image * image_bytes + group * channels, padding + image * row, pixel_stride, channels, flip};
  }
};

}  // namespace enr::kernels
