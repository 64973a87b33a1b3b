#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/pool/pool.h"

namespace {

using namespace enr;
using namespace enr::kernels;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> random_values(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> values(std::is_unsigned_v<T> ? 0 : -100, 100);
  std::vector<T> result(count);
  for (T& v : result) v = static_cast<T>(static_cast<float>(values(engine)));
  return result;
}

PoolShape shape_of(size_t height, size_t width, size_t channels, size_t kernel, size_t stride, size_t pad,
                   size_t dilation = 1, bool ceil_mode = false) {
  PoolShape s;
  s.batch = 2;
  s.channels = channels;
  s.input_height = height;
  s.input_width = width;
  s.kernel_height = s.kernel_width = kernel;
  s.stride_height = s.stride_width = stride;
  s.dilation_height = s.dilation_width = dilation;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
  const auto size = [&](size_t input) {
    const size_t span = input + 2 * pad - dilation * (kernel - 1) - 1;
    size_t output = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (output - 1) * stride >= input + pad) --output;
    return output;
  };
  s.output_height = size(height);
  s.output_width = size(width);
  return s;
}

// The window of output (y, x): body(tap row, tap column, input y, input x) over what lies inside of the image.
template <class Body>
void for_each_tap(const PoolShape& s, size_t y, size_t x, const Body& body) {
  for (size_t i = 0; i < s.kernel_height; ++i) {
    for (size_t j = 0; j < s.kernel_width; ++j) {
      const long in_y = static_cast<long>(y * s.stride_height + i * s.dilation_height) - static_cast<long>(s.pad_top);
      const long in_x = static_cast<long>(x * s.stride_width + j * s.dilation_width) - static_cast<long>(s.pad_left);
      if (in_y < 0 || in_x < 0 || in_y >= static_cast<long>(s.input_height) ||
          in_x >= static_cast<long>(s.input_width)) {
        continue;
      }
      body(i, j, static_cast<size_t>(in_y), static_cast<size_t>(in_x));
    }
  }
}

double divisor_of(const PoolShape& s, AverageDivisor divisor, size_t y, size_t x, double inside) {
  if (divisor == AverageDivisor::kGiven) return 7;
  if (divisor == AverageDivisor::kExcludePadding) return inside;
  const auto extent = [](size_t position, size_t kernel, size_t stride, size_t before, size_t after, size_t size) {
    const long begin = static_cast<long>(position * stride) - static_cast<long>(before);
    return std::min(begin + static_cast<long>(kernel), static_cast<long>(size + after)) - begin;
  };
  return static_cast<double>(extent(y, s.kernel_height, s.stride_height, s.pad_top, s.pad_bottom, s.input_height) *
                             extent(x, s.kernel_width, s.stride_width, s.pad_left, s.pad_right, s.input_width));
}

// What one output is, read through at(y, x).
struct Expected {
  double max = -kInf, average = 0;
  size_t flat_index = 0, tap = 0;
};

template <class At>
Expected expected_of(const PoolShape& s, AverageDivisor divisor, size_t y, size_t x, const At& at) {
  Expected e;
  bool first = true;
  double inside = 0;
  for_each_tap(s, y, x, [&](size_t i, size_t j, size_t in_y, size_t in_x) {
    const double v = at(in_y, in_x);
    e.average += v;
    ++inside;
    if (first || v > e.max || std::isnan(v)) {
      e.max = first && !(v > e.max || std::isnan(v)) ? e.max : v;
      e.flat_index = in_y * s.input_width + in_x;
      e.tap = i * s.kernel_width + j;
    }
    first = false;
  });
  if (inside != 0) e.average /= divisor_of(s, divisor, y, x, inside);
  return e;
}

bool same(double got, double expected, double tolerance = 0) {
  if (std::isnan(expected)) return std::isnan(got);
  return got == expected || std::abs(got - expected) <= tolerance;
}

constexpr AverageDivisor kDivisors[] = {AverageDivisor::kExcludePadding, AverageDivisor::kIncludePadding,
                                        AverageDivisor::kGiven};

template <class T>
void check_max_nhwc(PoolShape s, size_t gap, bool with_nan) {
  s.input_pixel_stride = s.channels + gap;
  s.output_pixel_stride = gap == 0 ? 0 : s.channels + gap + 1;
  const size_t in_stride = s.channels + gap, out_stride = gap == 0 ? s.channels : s.output_pixel_stride;
  auto in = random_values<T>(s.batch * s.input_height * s.input_width * in_stride, 1);
  if constexpr (std::is_floating_point_v<T>) {
    for (size_t i = 5; with_nan && i < in.size(); i += 97) in[i] = i % 2 != 0 ? kNan : -kNan;
  }
  std::vector<T> out(s.batch * s.output_height * s.output_width * out_stride, T(3));
  max_pool_nhwc(s, in.data(), out.data(), T(10), T(90));
  size_t wrong = 0;
  for (size_t p = 0; p < s.batch * s.output_height * s.output_width; ++p) {
    const size_t b = p / (s.output_height * s.output_width);
    for (size_t c = 0; c < out_stride; ++c) {
      if (c >= s.channels) {
        wrong += out[p * out_stride + c] != T(3);
        continue;
      }
      const auto e = expected_of(
          s, kDivisors[0], p / s.output_width % s.output_height, p % s.output_width,
          [&](size_t y, size_t x) { return in[((b * s.input_height + y) * s.input_width + x) * in_stride + c]; });
      const double clamped = std::isnan(e.max) ? e.max : std::min(std::max(e.max, 10.0), 90.0);
      wrong += !same(out[p * out_stride + c], clamped);
    }
  }
  CHECK(wrong == 0);
}

void check_float_nhwc(PoolShape s) {
  auto in = random_values<float>(s.batch * s.input_height * s.input_width * s.channels, 2);
  for (size_t i = 11; i < in.size(); i += 301) in[i] = kNan;
  const size_t pixels = s.batch * s.output_height * s.output_width;
  std::vector<float> best(pixels * s.channels), average(best);
  std::vector<uint32_t> index(best.size());
  argmax_pool_nhwc(s, in.data(), best.data(), index.data());
  std::vector<uint32_t> index_alone(best.size());
  argmax_pool_nhwc(s, in.data(), nullptr, index_alone.data());
  CHECK(index == index_alone);
  for (const AverageDivisor divisor : kDivisors) {
    average_pool_nhwc(s, divisor, 7, in.data(), average.data(), -20.0f, 15.0f);
    size_t wrong = 0;
    for (size_t i = 0; i < best.size(); ++i) {
      const size_t p = i / s.channels, b = p / (s.output_height * s.output_width);
      const auto e =
          expected_of(s, divisor, p / s.output_width % s.output_height, p % s.output_width, [&](size_t y, size_t x) {
            return in[((b * s.input_height + y) * s.input_width + x) * s.channels + i % s.channels];
          });
      wrong += !same(best[i], e.max) || index[i] != e.tap;
      const double clamped = std::isnan(e.average) ? e.average : std::min(std::max(e.average, -20.0), 15.0);
      wrong += !same(average[i], clamped, 1e-4);
    }
    CHECK(wrong == 0);
  }
}

template <class T>
void check_nchw(const PoolShape& s, bool with_nan) {
  const size_t in_plane = s.input_height * s.input_width, out_plane = s.output_height * s.output_width;
  auto in = random_values<T>(s.batch * s.channels * in_plane, 3);
  if constexpr (!std::is_integral_v<T>) {
    for (size_t i = 7; with_nan && i < in.size(); i += 57) in[i] = T(kNan);
  }
  std::vector<T> best(s.batch * s.channels * out_plane), best_alone(best), average(best);
  std::vector<int64_t> index(best.size());
  max_pool_nchw(s, in.data(), best.data(), index.data());
  max_pool_nchw<T>(s, in.data(), best_alone.data(), nullptr);
  for (const AverageDivisor divisor : kDivisors) {
    average_pool_nchw(s, divisor, 7, in.data(), average.data());
    size_t wrong = 0;
    for (size_t i = 0; i < best.size(); ++i) {
      const size_t y = i / s.output_width % s.output_height, x = i % s.output_width;
      const auto e = expected_of(s, divisor, y, x, [&](size_t in_y, size_t in_x) {
        return static_cast<double>(in[i / out_plane * in_plane + in_y * s.input_width + in_x]);
      });
      wrong += !same(static_cast<double>(best[i]), e.max) || !same(static_cast<double>(best_alone[i]), e.max);
      wrong += index[i] != static_cast<int64_t>(e.flat_index);
      const double mean =
          std::is_integral_v<T> ? std::trunc(e.average) : static_cast<double>(T(static_cast<float>(e.average)));
      wrong += !same(static_cast<double>(average[i]), mean,
                     std::is_same_v<T, BFloat16> || std::is_same_v<T, Half> ? 0.5 : 1e-4);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("pool NHWC: windows, strides, padding, dilation, ceil mode") {
  for (const size_t kernel : {1, 2, 3, 5}) {
    for (const size_t stride : {1, 2, 3}) {
      for (const size_t pad : {size_t{0}, kernel / 2}) {
        for (const bool ceil_mode : {false, true}) {
          CAPTURE(kernel);
          CAPTURE(stride);
          CAPTURE(pad);
          CAPTURE(ceil_mode);
          check_max_nhwc<float>(shape_of(9, 12, 20, kernel, stride, pad, 1, ceil_mode), 0, false);
          check_max_nhwc<float>(shape_of(11, 12, 5, kernel, stride, pad, 2, ceil_mode), 2, true);
          check_max_nhwc<int8_t>(shape_of(9, 12, 70, kernel, stride, pad, 1, ceil_mode), 3, false);
          check_max_nhwc<uint8_t>(shape_of(9, 12, 33, kernel, stride, pad, 1, ceil_mode), 0, false);
          check_float_nhwc(shape_of(9, 12, 20, kernel, stride, pad, 1, ceil_mode));
        }
      }
    }
  }
}

TEST_CASE("pool NHWC: channels around the vectors' lengths") {
  for (const size_t channels : {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257}) {
    CAPTURE(channels);
    check_max_nhwc<float>(shape_of(5, 6, channels, 3, 2, 1), 0, true);
    check_max_nhwc<int8_t>(shape_of(5, 6, channels, 2, 2, 0), 0, false);
    check_max_nhwc<uint8_t>(shape_of(5, 6, channels, 3, 1, 1), 1, false);
    check_float_nhwc(shape_of(5, 6, channels, 3, 2, 1));
  }
}

TEST_CASE("pool NHWC: a window in the padding gives the lowest value, clamped") {
  PoolShape s = shape_of(2, 2, 3, 1, 1, 0);
  s.batch = 1;
  s.pad_top = 3;
  s.output_height = 5;
  const std::vector<float> in(12, 4.0f);
  std::vector<float> out(30);
  max_pool_nhwc(s, in.data(), out.data(), 0.0f, 6.0f);
  CHECK(out[0] == 0.0f);
  CHECK(out[29] == 4.0f);
  max_pool_nhwc(s, in.data(), out.data());
  CHECK(out[0] == -std::numeric_limits<float>::infinity());
}

TEST_CASE("pool NHWC: global average") {
  for (const size_t channels : {1, 7, 16, 17, 64, 100, 1280}) {
    for (const size_t pixels : {1, 2, 49, 63, 64, 65, 1000}) {
      const size_t stride = channels + 3;
      const auto in = random_values<float>(2 * pixels * stride, 4);
      std::vector<float> out(2 * channels);
      global_average_nhwc(2, pixels, channels, stride, in.data(), out.data(), -50.0f, 12.0f);
      size_t wrong = 0;
      for (size_t i = 0; i < out.size(); ++i) {
        double sum = 0;
        for (size_t p = 0; p < pixels; ++p) sum += in[(i / channels * pixels + p) * stride + i % channels];
        const double mean = std::min(std::max(sum / static_cast<double>(pixels), -50.0), 12.0);
        wrong += !same(out[i], mean, 1e-4);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("pool NCHW: every type, every mode") {
  for (const size_t kernel : {1, 2, 3, 4}) {
    for (const size_t stride : {1, 2, 3}) {
      for (const size_t pad : {size_t{0}, kernel / 2}) {
        for (const bool ceil_mode : {false, true}) {
          for (const size_t width : {9, 36}) {
            CAPTURE(kernel);
            CAPTURE(stride);
            CAPTURE(pad);
            CAPTURE(ceil_mode);
            const PoolShape s = shape_of(8, width, 3, kernel, stride, pad, 1, ceil_mode);
            check_nchw<float>(s, false);
            check_nchw<float>(s, true);
            check_nchw<double>(s, true);
            check_nchw<Half>(s, true);
            check_nchw<BFloat16>(s, false);
            check_nchw<int8_t>(s, false);
            check_nchw<uint8_t>(s, false);
            check_nchw<int16_t>(s, false);
            check_nchw<int32_t>(s, false);
            check_nchw<int64_t>(s, false);
          }
        }
      }
    }
  }
}

TEST_CASE("pool NCHW: dilated maxima") {
  PoolShape s = shape_of(11, 40, 3, 3, 1, 1, 2);
  const auto in = random_values<float>(2 * 3 * 11 * 40, 5);
  std::vector<float> out(2 * 3 * s.output_height * s.output_width);
  std::vector<int64_t> index(out.size());
  max_pool_nchw(s, in.data(), out.data(), index.data());
  size_t wrong = 0;
  const size_t plane = s.output_height * s.output_width;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto e = expected_of(s, kDivisors[0], i / s.output_width % s.output_height, i % s.output_width,
                               [&](size_t y, size_t x) { return in[i / plane * 440 + y * 40 + x]; });
    wrong += out[i] != static_cast<float>(e.max) || index[i] != static_cast<int64_t>(e.flat_index);
  }
  CHECK(wrong == 0);
}

TEST_CASE("pool NCHW: adaptive average as eager cuts the windows") {
  for (const size_t height : {1, 4, 7, 13}) {
    for (const size_t out_width : {1, 2, 3, 5, 9}) {
      const auto in = random_values<float>(3 * height * 9, 6);
      std::vector<float> out(3 * 2 * out_width);
      adaptive_average_pool_nchw(3, height, 9, 2, out_width, in.data(), out.data());
      size_t wrong = 0;
      for (size_t i = 0; i < out.size(); ++i) {
        const size_t y = i / out_width % 2, x = i % out_width;
        double sum = 0, count = 0;
        for (size_t r = y * height / 2; r < ((y + 1) * height + 1) / 2; ++r) {
          for (size_t c = x * 9 / out_width; c < ((x + 1) * 9 + out_width - 1) / out_width; ++c) {
            sum += in[(i / (2 * out_width) * height + r) * 9 + c];
            ++count;
          }
        }
        wrong += !same(out[i], sum / count, 1e-4);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("pool: threads do not change the result") {
  const PoolShape s = shape_of(60, 61, 40, 3, 2, 1);
  const auto in = random_values<float>(2 * 60 * 61 * 40, 7);
  std::vector<float> one(2 * s.output_height * s.output_width * 40), many(one);
  std::vector<float> means_one(80), means_many(80);
  set_num_threads(1);
  max_pool_nhwc(s, in.data(), one.data());
  global_average_nhwc(2, 60 * 61, 40, 0, in.data(), means_one.data());
  set_num_threads(3);
  max_pool_nhwc(s, in.data(), many.data());
  global_average_nhwc(2, 60 * 61, 40, 0, in.data(), means_many.data());
  set_num_threads(0);
  CHECK(one == many);
  CHECK(means_one == means_many);
}
