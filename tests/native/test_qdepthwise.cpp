#include <doctest/doctest.h>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/qdepthwise/qdepthwise.h"
#include "qreference.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace qreference;

DepthwiseShape make_shape(size_t channels, size_t height, size_t width, size_t kernel, size_t stride) {
  DepthwiseShape s;
  s.channels = channels;
  s.input_height = height;
  s.input_width = width;
  s.kernel_height = s.kernel_width = kernel;
  s.stride_height = s.stride_width = stride;
  s.pad_top = s.pad_left = kernel / 2;
  s.output_height = (height - 1) / stride + 1;
  s.output_width = (width - 1) / stride + 1;
  return s;
}

// whole: results take the whole range of their dtype, and there are no offsets.
void check(const DepthwiseShape& s, QWeightType type, bool is_unsigned, bool channels_last, size_t threads,
           float largest_scale = 1e-2f, bool whole = false) {
  const size_t in_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels;
  const size_t out_stride = s.output_pixel_stride != 0 ? s.output_pixel_stride : s.output_channels();
  const size_t taps = s.kernel_height * s.kernel_width, outputs = s.output_channels();
  const std::vector<uint8_t> input = random_bytes(s.batch * s.input_height * s.input_width * in_stride + 1, 41);
  const std::vector<uint8_t> weights = random_bytes(taps * outputs + 1, 42);
  const std::vector<int32_t> bias = random_ints(outputs + 1, 43, -3000, 3000);
  const std::vector<float> scales = random_floats(outputs + 1, 44, 1e-4f, largest_scale);
  const std::vector<float> offsets = random_floats(outputs + 1, 45, -0.5f, 0.5f);
  const QStatic q{.is_unsigned = is_unsigned,
                  .input_zero_point = is_unsigned ? 120 : -11,
                  .scales = scales.data(),
                  .scale_count = outputs,
                  .offsets = whole || outputs % 3 == 0 ? nullptr : offsets.data()};
  const int32_t least = is_unsigned ? 0 : -128;
  const QOutput range{.zero_point = is_unsigned ? 90 : 4, .min = whole ? least : least + 2, .max = least + 255};
  const int32_t weight_zero_point = type == QWeightType::kUInt8 ? 133 : 0;
  const size_t tap_stride = channels_last ? outputs : 1, channel_stride = channels_last ? 1 : taps;
  AlignedBuffer packed(qdepthwise_packed_bytes(s));
  qdepthwise_pack(s, type, weights.data(), weight_zero_point, tap_stride, channel_stride, bias.data(), q,
                  packed.data());
  const size_t pixels = s.batch * s.output_height * s.output_width;
  std::vector<uint8_t> output(pixels * out_stride + 1, 0xab);
  set_num_threads(threads);
  qdepthwise(s, packed.data(), input.data(), q.input_zero_point, range, output.data());
  size_t wrong = output.back() != 0xab;
  for (size_t pixel = 0; pixel < pixels; ++pixel) {
    const size_t image = pixel / (s.output_height * s.output_width);
    const size_t y = pixel / s.output_width % s.output_height, x = pixel % s.output_width;
    for (size_t c = 0; c < out_stride; ++c) {
      uint8_t expected = 0xab;
      if (c < outputs) {
        int64_t sum = bias[c];
        for (size_t tap = 0; tap < taps; ++tap) {
          const size_t iy = y * s.stride_height + tap / s.kernel_width * s.dilation_height - s.pad_top;
          const size_t ix = x * s.stride_width + tap % s.kernel_width * s.dilation_width - s.pad_left;
          if (iy >= s.input_height || ix >= s.input_width) continue;
          const uint8_t byte =
              input[((image * s.input_height + iy) * s.input_width + ix) * in_stride + c / s.multiplier];
          const uint8_t weight = weights[tap * tap_stride + c * channel_stride];
          sum += (number(byte, is_unsigned) - q.input_zero_point) *
                 (number(weight, type == QWeightType::kUInt8) - weight_zero_point);
        }
        expected = requantize(sum, scales[c], q.offsets != nullptr ? offsets[c] : 0.0f, range);
      }
      wrong += output[pixel * out_stride + c] != expected;
    }
  }
  CAPTURE(s.channels);
  CAPTURE(s.kernel_height);
  CAPTURE(s.stride_height);
  CAPTURE(s.input_width);
  CHECK(wrong == 0);
}

TEST_CASE("int8 depthwise convolutions whose scaled sums exceed int32 saturate") {
  for (const bool is_unsigned : {false, true}) {
    check(make_shape(37, 9, 9, 3, 1), QWeightType::kInt8, is_unsigned, true, 1, 1e6f);
  }
  set_num_threads(0);
}

TEST_CASE("int8 depthwise convolutions are exact") {
  for (const size_t kernel : {1, 2, 3, 5, 7}) {
    for (const size_t stride : {1, 2, 3}) {
      for (const size_t channels : {1, 7, 8, 16, 31, 32, 33, 64, 65, 96, 144}) {
        check(make_shape(channels, 6, 13, kernel, stride), QWeightType::kInt8, false, true, 1);
      }
      check(make_shape(70, 5, 9, kernel, stride), QWeightType::kInt8, true, false, 2);
      check(make_shape(70, 7, 4, kernel, stride), QWeightType::kUInt8, true, true, 1);
      check(make_shape(8, 1, 1, kernel, stride), QWeightType::kInt8, false, true, 1);
    }
  }
  set_num_threads(0);
}

TEST_CASE("int8 depthwise convolutions take the last channels of two outputs at once") {
  for (const size_t kernel : {3, 5}) {
    for (const size_t stride : {1, 2}) {
      for (const size_t channels : {16, 32, 48, 80, 96, 144}) {
        for (const size_t width : {1, 2, 3, 5, 16, 37}) {
          const DepthwiseShape s = make_shape(channels, 5, width, kernel, stride);
          check(s, QWeightType::kInt8, true, true, 1, 1e-2f, width % 2 == 0);
          check(s, QWeightType::kInt8, false, false, 2, 1e-2f, width % 2 != 0);
        }
      }
    }
  }
  set_num_threads(0);
}

TEST_CASE("int8 depthwise convolutions of unusual shape") {
  DepthwiseShape s = make_shape(40, 9, 11, 3, 1);
  s.batch = 2;
  s.dilation_height = 2;
  s.dilation_width = 3;
  s.pad_top = 2;
  s.pad_left = 3;
  check(s, QWeightType::kInt8, false, true, 3);
  s = make_shape(72, 9, 11, 3, 2);
  s.input_pixel_stride = 80;
  s.output_pixel_stride = 75;
  check(s, QWeightType::kInt8, true, true, 1);
  s = make_shape(6, 7, 8, 3, 1);
  s.multiplier = 3;
  check(s, QWeightType::kInt8, true, true, 1);
  check(s, QWeightType::kUInt8, false, false, 1);
  for (const size_t channels : {1, 16, 40, 70}) {
    for (const size_t stride : {1, 2, 3}) {
      s = make_shape(channels, 7, 41, stride == 3 ? 4 : 3, stride);
      s.multiplier = channels == 16 ? 4 : 2;
      check(s, QWeightType::kInt8, stride == 1, true, 2);
    }
  }
  s = make_shape(32, 7, 8, 5, 1);
  s.kernel_height = 2;
  s.stride_height = 3;
  s.pad_top = 0;
  s.output_height = 2;
  check(s, QWeightType::kInt8, false, true, 1);
  s = make_shape(5, 80, 3, 3, 1);
  s.kernel_height = 70;
  s.output_height = 11;
  check(s, QWeightType::kInt8, false, true, 1);
  s.batch = 0;
  check(s, QWeightType::kInt8, false, true, 1);
  set_num_threads(0);
}

}  // namespace
