#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/depthwise/depthwise_nchw.h"
#include "kernels/transpose/layout.h"
#include "numbers.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using enr::test::random_floats;

struct Case {
  DepthwiseShape shape;
  bool with_bias = true, with_residual = false, in_place_residual = false, with_activation = false;
  float min = -std::numeric_limits<float>::infinity(), max = std::numeric_limits<float>::infinity();
};

size_t input_stride(const DepthwiseShape& s) { return s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels; }
size_t output_stride(const DepthwiseShape& s) {
  return s.output_pixel_stride != 0 ? s.output_pixel_stride : s.output_channels();
}

void halve(float* values, size_t count, const void* context) {
  for (size_t i = 0; i < count; ++i) values[i] *= *static_cast<const float*>(context);
}

// The definition, in double. weights are [taps][channels].
double reference(const Case& c, const std::vector<float>& in, const std::vector<float>& weights,
                 const std::vector<float>& bias, size_t b, size_t y, size_t x, size_t k) {
  const DepthwiseShape& s = c.shape;
  double sum = c.with_bias ? bias[k] : 0.0;
  for (size_t i = 0; i < s.kernel_height; ++i) {
    for (size_t j = 0; j < s.kernel_width; ++j) {
      const long in_y = static_cast<long>(y * s.stride_height + i * s.dilation_height) - static_cast<long>(s.pad_top);
      const long in_x = static_cast<long>(x * s.stride_width + j * s.dilation_width) - static_cast<long>(s.pad_left);
      if (in_y < 0 || in_x < 0 || in_y >= static_cast<long>(s.input_height) ||
          in_x >= static_cast<long>(s.input_width)) {
        continue;
      }
      const size_t pixel = (b * s.input_height + static_cast<size_t>(in_y)) * s.input_width + static_cast<size_t>(in_x);
      sum += static_cast<double>(weights[(i * s.kernel_width + j) * s.output_channels() + k]) *
             in[pixel * input_stride(s) + k / s.multiplier];
    }
  }
  return sum;
}

void check(const Case& c) {
  const DepthwiseShape& s = c.shape;
  const size_t channels = s.output_channels(), pixels = s.batch * s.output_height * s.output_width;
  const auto in = random_floats(s.batch * s.input_height * s.input_width * input_stride(s), 1);
  const auto weights = random_floats(s.kernel_height * s.kernel_width * channels, 2);
  const auto bias = random_floats(channels, 3);
  const size_t residual_stride = c.in_place_residual ? output_stride(s) : channels;
  const auto residual = random_floats(pixels * residual_stride, 4);
  std::vector<float> out(pixels * output_stride(s) + 1, 77.0f);
  if (c.in_place_residual) std::copy(residual.begin(), residual.end(), out.begin());
  AlignedBuffer packed(depthwise_packed_bytes(s));
  depthwise_pack(s, weights.data(), channels, 1, c.with_bias ? bias.data() : nullptr, packed.data());
  const float half = 0.5f;
  GemmEpilogue epilogue;
  epilogue.min = c.min;
  epilogue.max = c.max;
  if (c.with_residual) {
    epilogue.residual = c.in_place_residual ? out.data() : residual.data();
    epilogue.residual_stride = residual_stride;
    epilogue.residual_scale = -2.0f;
  }
  if (c.with_activation) {
    epilogue.activation = halve;
    epilogue.activation_context = &half;
  }
  depthwise(s, packed.data(), in.data(), out.data(), epilogue);
  size_t wrong = 0;
  for (size_t p = 0; p < pixels; ++p) {
    const size_t b = p / (s.output_height * s.output_width), y = p / s.output_width % s.output_height;
    for (size_t k = 0; k < channels; ++k) {
      double expected = reference(c, in, weights, bias, b, y, p % s.output_width, k);
      if (c.with_residual) expected += -2.0 * residual[p * residual_stride + k];
      expected = std::min<double>(std::max<double>(expected, c.min), c.max);
      if (c.with_activation) expected *= 0.5;
      if (!(std::abs(out[p * output_stride(s) + k] - expected) <= 1e-5)) ++wrong;
    }
    if (c.in_place_residual) continue;
    for (size_t k = channels; k < output_stride(s); ++k) wrong += out[p * output_stride(s) + k] != 77.0f;
  }
  CHECK(out.back() == 77.0f);
  CHECK(wrong == 0);
}

DepthwiseShape shape_of(size_t height, size_t width, size_t channels, size_t kernel, size_t stride, size_t pad,
                        size_t dilation = 1, size_t multiplier = 1) {
  DepthwiseShape s;
  s.input_height = height;
  s.input_width = width;
  s.channels = channels;
  s.multiplier = multiplier;
  s.kernel_height = s.kernel_width = kernel;
  s.stride_height = s.stride_width = stride;
  s.dilation_height = s.dilation_width = dilation;
  s.pad_top = s.pad_left = pad;
  s.output_height = (height + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  s.output_width = (width + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  return s;
}

}  // namespace

TEST_CASE("depthwise: kernels, strides, dilations and widths") {
  for (const size_t kernel : {1, 2, 3, 4, 5, 7}) {
    for (const size_t stride : {1, 2, 3}) {
      for (const size_t dilation : {1, 2}) {
        for (const size_t pad : {size_t{0}, kernel / 2, kernel}) {
          for (const size_t width : {13, 14, 15, 16, 17, 23, 28}) {
            CAPTURE(kernel);
            CAPTURE(stride);
            CAPTURE(dilation);
            CAPTURE(pad);
            CAPTURE(width);
            check({shape_of(13, width, 16, kernel, stride, pad, dilation)});
          }
        }
      }
    }
  }
}

TEST_CASE("depthwise: channels around the vector's length") {
  for (const size_t channels : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 100}) {
    for (const size_t kernel : {3, 5, 6}) {
      CAPTURE(channels);
      CAPTURE(kernel);
      check({shape_of(9, 11, channels, kernel, 1, 1)});
      Case c{shape_of(9, 11, channels, kernel, 2, 1)};
      c.shape.batch = 2;
      c.shape.input_pixel_stride = channels + 3;
      c.shape.output_pixel_stride = channels + 5;
      c.with_bias = false;
      check(c);
    }
  }
}

TEST_CASE("depthwise: several output channels for an input channel") {
  for (const size_t multiplier : {2, 3, 8, 32}) {
    for (const size_t channels : {1, 3, 8, 11}) {
      CAPTURE(multiplier);
      CAPTURE(channels);
      check({shape_of(6, 7, channels, 3, 1, 1, 1, multiplier)});
      check({shape_of(6, 7, channels, 5, 2, 2, 1, multiplier)});
    }
  }
}

TEST_CASE("depthwise: epilogue") {
  for (const size_t channels : {5, 16, 35}) {
    for (const size_t kernel : {3, 4}) {
      Case c{shape_of(10, 12, channels, kernel, 1, 1)};
      c.min = -0.25f;
      c.max = 0.5f;
      check(c);
      c.with_residual = true;
      check(c);
      c.in_place_residual = true;
      check(c);
      c.with_activation = true;
      check(c);
      c.shape.output_pixel_stride = channels + 2;
      check(c);
    }
  }
}

TEST_CASE("depthwise: input smaller than the kernel, asymmetric kernels and padding") {
  check({shape_of(1, 1, 16, 3, 1, 1)});
  check({shape_of(2, 1, 17, 5, 1, 2)});
  check({shape_of(1, 2, 8, 7, 2, 3)});
  DepthwiseShape s = shape_of(12, 15, 24, 3, 1, 1);
  s.kernel_height = 1;
  s.pad_top = 0;
  check({s});
  s.kernel_height = 5;
  s.stride_height = 3;
  s.pad_top = 2;
  s.pad_left = 0;
  s.output_height = 4;
  s.output_width = 15;  // two columns of padding on the right
  check({s});
}

TEST_CASE("depthwise: threads do not change the result, NaN and infinity pass") {
  const DepthwiseShape s = shape_of(57, 56, 72, 3, 1, 1);
  auto in = random_floats(57 * 56 * 72, 9);
  in[72 * 60 + 5] = std::numeric_limits<float>::quiet_NaN();
  in[72 * 999 + 7] = std::numeric_limits<float>::infinity();
  const auto weights = random_floats(9 * 72, 2);
  AlignedBuffer packed(depthwise_packed_bytes(s));
  depthwise_pack(s, weights.data(), 72, 1, nullptr, packed.data());
  std::vector<float> one(57 * 56 * 72), many(one.size()), rows(one.size());
  GemmEpilogue epilogue;
  epilogue.min = 0.0f;
  epilogue.max = 6.0f;
  set_num_threads(1);
  depthwise(s, packed.data(), in.data(), one.data(), epilogue);
  set_num_threads(3);
  depthwise(s, packed.data(), in.data(), many.data(), epilogue);
  set_num_threads(0);
  depthwise_rows(s, packed.data(), in.data(), rows.data(), 20, 57, epilogue);
  depthwise_rows(s, packed.data(), in.data(), rows.data(), 0, 20, epilogue);
  CHECK(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)) == 0);
  CHECK(std::memcmp(one.data(), rows.data(), one.size() * sizeof(float)) == 0);
  CHECK(std::isnan(one[72 * 60 + 5]));
  CHECK(std::isnan(one[72 * 3 + 5]));
  size_t nans = 0;
  for (const float v : one) nans += std::isnan(v);
  CHECK(nans == 9);
}

TEST_CASE("depthwise: few rows are cut by channels") {
  set_num_threads(3);
  Case c{shape_of(3, 400, 200, 3, 1, 1)};
  c.with_residual = c.with_activation = true;
  check(c);
  c.shape = shape_of(1, 900, 100, 5, 1, 2);
  c.shape.output_pixel_stride = 103;
  check(c);
  check({shape_of(1, 5000, 12, 3, 1, 1)});
  set_num_threads(0);
}

TEST_CASE("depthwise: ATen's weight layout") {
  const DepthwiseShape s = shape_of(8, 8, 19, 3, 1, 1);
  const auto in = random_floats(8 * 8 * 19, 1), weights = random_floats(9 * 19, 2);
  std::vector<float> aten(weights.size()), first(in.size()), second(in.size());
  for (size_t tap = 0; tap < 9; ++tap) {
    for (size_t k = 0; k < 19; ++k) aten[k * 9 + tap] = weights[tap * 19 + k];
  }
  AlignedBuffer packed(depthwise_packed_bytes(s));
  depthwise_pack(s, weights.data(), 19, 1, nullptr, packed.data());
  depthwise(s, packed.data(), in.data(), first.data());
  depthwise_pack(s, aten.data(), 1, 9, nullptr, packed.data());
  depthwise(s, packed.data(), in.data(), second.data());
  CHECK(first == second);
}

namespace {

void check_nchw(const DepthwiseShape& s, bool with_bias = true) {
  const size_t channels = s.output_channels(), pixels = s.output_height * s.output_width;
  const size_t in_pixels = s.input_height * s.input_width, taps = s.kernel_height * s.kernel_width;
  const auto nchw = random_floats(s.batch * s.channels * in_pixels, 1), weights = random_floats(channels * taps, 2);
  const auto bias = random_floats(channels, 3);
  std::vector<float> nhwc(nchw.size()), by_tap(weights.size()), out(s.batch * channels * pixels + 1, 77.0f);
  nchw_to_nhwc(nhwc.data(), nchw.data(), s.batch, s.channels, in_pixels, 4);
  nchw_to_nhwc(by_tap.data(), weights.data(), 1, channels, taps, 4);
  Case c{s};
  c.with_bias = with_bias;
  depthwise_nchw(s, weights.data(), with_bias ? bias.data() : nullptr, nchw.data(), out.data(), -0.75f, 1.5f);
  size_t wrong = 0;
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    const double expected = reference(c, nhwc, by_tap, bias, i / (channels * pixels),
                                      i / s.output_width % s.output_height, i % s.output_width, i / pixels % channels);
    if (!(std::abs(out[i] - std::min(std::max(expected, -0.75), 1.5)) <= 1e-5)) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(out.back() == 77.0f);
}

}  // namespace

TEST_CASE("depthwise planes: kernels, strides, dilations, widths") {
  for (const size_t kernel : {1, 2, 3, 5, 7}) {
    for (const size_t stride : {1, 2, 3}) {
      for (const size_t dilation : {1, 2}) {
        for (const size_t pad : {size_t{0}, kernel / 2, kernel}) {
          for (const size_t width : {13, 14, 16, 17, 31, 40}) {
            CAPTURE(kernel);
            CAPTURE(stride);
            CAPTURE(dilation);
            CAPTURE(pad);
            CAPTURE(width);
            check_nchw(shape_of(14, width, 3, kernel, stride, pad, dilation), stride != 2);
          }
        }
      }
    }
  }
}

TEST_CASE("depthwise planes: small, batched, multiplied, asymmetric, cut into strips, too wide for them") {
  check_nchw(shape_of(1, 1, 4, 3, 1, 1));
  check_nchw(shape_of(2, 5, 4, 5, 2, 2));
  check_nchw(shape_of(7, 7, 9, 3, 1, 1));
  DepthwiseShape s = shape_of(12, 15, 6, 3, 1, 1, 1, 3);
  s.batch = 2;
  check_nchw(s);
  s.kernel_height = 5;
  s.stride_height = 3;
  s.stride_width = 2;
  s.pad_top = 2;
  s.pad_left = 0;
  s.output_height = 4;
  s.output_width = 8;
  check_nchw(s);
  check_nchw(shape_of(150, 160, 2, 3, 1, 1));
  check_nchw(shape_of(151, 165, 2, 3, 2, 1));
  check_nchw(shape_of(9, 3000, 1, 5, 1, 2));
  check_nchw(shape_of(6, 13000, 1, 3, 1, 1));
}
