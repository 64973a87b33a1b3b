#include "kernels/qconv/qconv.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/half.h"

namespace enr::kernels {

namespace {

// Both kinds keep, of every output channel, the packed product of its filter (qgemm's format for n = 1).
template <class Shape>
size_t filter_count(const Shape& s) noexcept {
  return s.kernel_height * s.kernel_width * (s.input_channels / s.groups);
}

template <class Shape>
QWeights filter_of(const Shape& s, const QConvWeights& w, size_t channel) noexcept {
  return {.type = w.type,
          .n = 1,
          .k = filter_count(s),
          .data = static_cast<const uint8_t*>(w.data) + channel * filter_count(s),
          .row_bytes = filter_count(s),
          .zero_point = w.zero_point};
}

template <class Shape>
size_t filter_bytes(const Shape& s) noexcept {
  return (qgemm_packed_bytes({.n = 1, .k = filter_count(s)}) + 63) / 64 * 64;
}

template <class Shape>
void check_shape(Shape& s, const char* what) {
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

template <class Shape>
void pack_filters_static(const Shape& s, const QConvWeights& w, const int32_t* bias, const QStatic& q,
                         void* packed) noexcept {
  for (size_t o = 0; o < s.output_channels; ++o) {
    QStatic one = q;
    one.scales += q.scale_count == 1 ? 0 : o;
    one.scale_count = 1;
    qgemm_pack_static(filter_of(s, w, o), bias != nullptr ? bias + o : nullptr, one,
                      static_cast<std::byte*>(packed) + o * filter_bytes(s));
  }
}

template <class Shape>
void pack_filters_dynamic(const Shape& s, const QConvWeights& w, const QDynamic& q, void* packed) noexcept {
  for (size_t o = 0; o < s.output_channels; ++o) {
    QDynamic one = q;
    one.scales += q.scale_count == 1 ? 0 : o;
    one.scale_count = 1;
    one.bias = q.bias != nullptr ? q.bias + o : nullptr;
    qgemm_pack_dynamic(filter_of(s, w, o), one, static_cast<std::byte*>(packed) + o * filter_bytes(s));
  }
}

size_t input_row(const ConvShape& s, size_t y, size_t ky) noexcept {
  return y * s.stride_height + ky * s.dilation_height - s.pad_top;
}
size_t input_column(const ConvShape& s, size_t x, size_t kx) noexcept {
  return x * s.stride_width + kx * s.dilation_width - s.pad_left;
}
// Out of the image where nothing reaches the output.
size_t input_row(const ConvTransposeShape& s, size_t y, size_t ky) noexcept {
  const size_t full = y + s.pad_top - ky * s.dilation_height;
  return full % s.stride_height == 0 ? full / s.stride_height : SIZE_MAX;
}
size_t input_column(const ConvTransposeShape& s, size_t x, size_t kx) noexcept {
  const size_t full = x + s.pad_left - kx * s.dilation_width;
  return full % s.stride_width == 0 ? full / s.stride_width : SIZE_MAX;
}

// Calls product(image, pixel, group, window) with every window gathered into a row.
template <class Shape, class ZeroPoint, class Product>
void each_window(const Shape& s, const void* input, ZeroPoint zero_point, Product product) noexcept {
  const size_t height = s.output_height(), width = s.output_width(), channels = s.input_channels / s.groups;
  for (size_t pixel = 0; pixel < s.batch * height * width; ++pixel) {
    const size_t image = pixel / (height * width), y = pixel / width % height, x = pixel % width;
    for (size_t group = 0; group < s.groups; ++group) {
      product(image, pixel, group, [&](size_t index) -> int32_t {
        const size_t c = index % channels, kx = index / channels % s.kernel_width,
                     ky = index / channels / s.kernel_width;
        const size_t iy = input_row(s, y, ky), ix = input_column(s, x, kx);
        if (iy >= s.input_height || ix >= s.input_width) return zero_point(image);
        const size_t at = ((image * s.input_height + iy) * s.input_width + ix) * s.input_pixel_stride;
        return static_cast<const uint8_t*>(input)[at + group * channels + c];
      });
    }
  }
}

template <class Shape>
void static_windows(const Shape& s, const void* input, int32_t input_zero_point, const void* packed,
                    const QOutput& range, void* output, void* workspace) noexcept {
  const size_t count = filter_count(s), group_outputs = s.output_channels / s.groups;
  uint8_t* row = static_cast<uint8_t*>(workspace);
  each_window(
      s, input, [&](size_t) { return input_zero_point; },
      [&](size_t, size_t pixel, size_t group, auto at) {
        for (size_t i = 0; i < count; ++i) row[i] = static_cast<uint8_t>(at(i));
        for (size_t o = group * group_outputs; o < (group + 1) * group_outputs; ++o) {
          qgemm_static(1, 1, count, row, count, static_cast<const std::byte*>(packed) + o * filter_bytes(s), range,
                       static_cast<uint8_t*>(output) + pixel * s.output_pixel_stride + o, 1, {});
        }
      });
}

template <class Shape, class Store>
void dynamic_windows(const Shape& s, const int8_t* input, const Quantization* images, const void* packed, QClamp clamp,
                     void* workspace, Store store) noexcept {
  const size_t count = filter_count(s), group_outputs = s.output_channels / s.groups;
  int8_t* row = static_cast<int8_t*>(workspace);
  each_window(
      s, input, [&](size_t image) { return images[image].zero_point; },
      [&](size_t image, size_t pixel, size_t group, auto at) {
        for (size_t i = 0; i < count; ++i) row[i] = static_cast<int8_t>(at(i));
        for (size_t o = group * group_outputs; o < (group + 1) * group_outputs; ++o) {
          float value;
          qgemm_dynamic(1, {.n = 1, .k = count}, row, count, images + image,
                        static_cast<const std::byte*>(packed) + o * filter_bytes(s), clamp, &value, 1, {});
          store(pixel * s.output_pixel_stride + o, value);
        }
      });
}

}  // namespace

#define ENR_DEFINE_PLAN(Plan, Shape, what)                                                                            \
  Plan::Plan(const Shape& shape) : shape_(shape) {                                                                    \
    check_shape(shape_, what);                                                                                        \
    workspace_bytes_ = filter_count(shape_);                                                                          \
  }                                                                                                                   \
  size_t Plan::packed_bytes() const noexcept { return shape_.output_channels * filter_bytes(shape_); }                \
  void Plan::pack_static(const QConvWeights& weights, const int32_t* bias, const QStatic& quantization, void* packed) \
      const noexcept {                                                                                                \
    pack_filters_static(shape_, weights, bias, quantization, packed);                                                 \
  }                                                                                                                   \
  void Plan::pack_dynamic(const QConvWeights& weights, const QDynamic& quantization, void* packed) const noexcept {   \
    pack_filters_dynamic(shape_, weights, quantization, packed);                                                      \
  }                                                                                                                   \
  void Plan::run_static(const void* input, int32_t input_zero_point, const void* packed, const QOutput& output_range, \
                        void* output, void* workspace) const noexcept {                                               \
    static_windows(shape_, input, input_zero_point, packed, output_range, output, workspace);                         \
  }                                                                                                                   \
  void Plan::run_dynamic(const int8_t* input, const Quantization* images, const void* packed, QClamp clamp,           \
                         float* output, void* workspace) const noexcept {                                             \
    dynamic_windows(shape_, input, images, packed, clamp, workspace, [&](size_t at, float v) { output[at] = v; });    \
  }                                                                                                                   \
  void Plan::run_dynamic_f16(const int8_t* input, const Quantization* images, const void* packed, QClamp clamp,       \
                             uint16_t* output, void* workspace) const noexcept {                                      \
    dynamic_windows(shape_, input, images, packed, clamp, workspace,                                                  \
                    [&](size_t at, float v) { output[at] = half_bits(v); });                                          \
  }
ENR_DEFINE_PLAN(QConvPlan, ConvShape, "convolution")
ENR_DEFINE_PLAN(QConvTransposePlan, ConvTransposeShape, "transposed convolution")
#undef ENR_DEFINE_PLAN

}  // namespace enr::kernels
