#include "kernels/qdepthwise/qdepthwise.h"

#include <algorithm>
#include <cmath>

namespace enr::kernels {

namespace {

// Packed: header, then for each output channel its scale, bias, and taps without their zero point.
struct Header {
  int32_t input_zero_point;
  int32_t flip;
};

size_t channel_bytes(const DepthwiseShape& s) noexcept { return 8 + (s.kernel_height * s.kernel_width + 1) / 2 * 4; }

}  // namespace

size_t qdepthwise_packed_bytes(const DepthwiseShape& shape) noexcept {
  return 64 + shape.output_channels() * channel_bytes(shape);
}

void qdepthwise_pack(const DepthwiseShape& s, QWeightType type, const void* weights, int32_t weight_zero_point,
                     size_t tap_stride, size_t channel_stride, const int32_t* bias, const QStatic& q,
                     void* packed) noexcept {
  const int32_t flip = q.is_unsigned ? 0x80 : 0;
  *static_cast<Header*>(packed) = {q.input_zero_point - flip, flip};
  for (size_t c = 0; c < s.output_channels(); ++c) {
    std::byte* base = static_cast<std::byte*>(packed) + 64 + c * channel_bytes(s);
    *reinterpret_cast<float*>(base) = q.scales[q.scale_count == 1 ? 0 : c];
    *reinterpret_cast<int32_t*>(base + 4) = bias != nullptr ? bias[c] : 0;
    int16_t* taps = reinterpret_cast<int16_t*>(base + 8);
    for (size_t tap = 0; tap < s.kernel_height * s.kernel_width; ++tap) {
      const uint8_t byte = static_cast<const uint8_t*>(weights)[tap * tap_stride + c * channel_stride];
      const int32_t value = type == QWeightType::kUInt8 ? byte : static_cast<int8_t>(byte);
      taps[tap] = static_cast<int16_t>(value - weight_zero_point);
    }
  }
}

void qdepthwise(const DepthwiseShape& s, const void* packed, const void* input, int32_t, const QOutput& range,
                void* output) noexcept {
  const Header header = *static_cast<const Header*>(packed);
  const size_t in_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels;
  const size_t out_stride = s.output_pixel_stride != 0 ? s.output_pixel_stride : s.output_channels();
  for (size_t pixel = 0; pixel < s.batch * s.output_height * s.output_width; ++pixel) {
    const size_t image = pixel / (s.output_height * s.output_width);
    const size_t y = pixel / s.output_width % s.output_height, x = pixel % s.output_width;
    for (size_t c = 0; c < s.output_channels(); ++c) {
      const std::byte* base = static_cast<const std::byte*>(packed) + 64 + c * channel_bytes(s);
      const int16_t* taps = reinterpret_cast<const int16_t*>(base + 8);
      int32_t sum = *reinterpret_cast<const int32_t*>(base + 4);
      for (size_t tap = 0; tap < s.kernel_height * s.kernel_width; ++tap) {
        const size_t iy = y * s.stride_height + tap / s.kernel_width * s.dilation_height - s.pad_top;
        const size_t ix = x * s.stride_width + tap % s.kernel_width * s.dilation_width - s.pad_left;
        if (iy >= s.input_height || ix >= s.input_width) continue;
        const size_t at = ((image * s.input_height + iy) * s.input_width + ix) * in_stride + c / s.multiplier;
        const int32_t value = static_cast<int8_t>(static_cast<const uint8_t*>(input)[at] ^ header.flip);
        sum += (value - header.input_zero_point) * taps[tap];
      }
      const float scaled = std::min(static_cast<float>(sum) * *reinterpret_cast<const float*>(base),
                                    static_cast<float>(range.max - range.zero_point));
      const int32_t value = static_cast<int32_t>(std::lrint(scaled)) + range.zero_point;
      static_cast<uint8_t*>(output)[pixel * out_stride + c] = static_cast<uint8_t>(std::max(value, range.min));
    }
  }
}

}  // namespace enr::kernels
