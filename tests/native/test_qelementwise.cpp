#include <doctest/doctest.h>

#include "base/thread_pool.h"
#include "kernels/qelementwise/qelementwise.h"
#include "qreference.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace qreference;

template <class T>
std::vector<T> random_numbers(size_t n, unsigned seed) {
  const std::vector<uint8_t> bytes = random_bytes(n, seed);
  std::vector<T> result;
  for (const uint8_t byte : bytes) result.push_back(static_cast<T>(byte));
  return result;
}

template <class T>
T saturate(double value) {
  return static_cast<T>(std::clamp<double>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// XNNPACK's rules, in numbers that cannot overflow.
template <class T>
T expected_binary(QBinary op, Quantization a, Quantization b, Quantization out, int64_t min, int64_t max, T x, T y) {
  int64_t value;
  if (op == QBinary::kMultiply) {
    const float scale = a.scale * b.scale / out.scale;
    value = static_cast<int64_t>(std::nearbyint(static_cast<float>((x - a.zero_point) * (y - b.zero_point)) * scale));
  } else {
    const float a_ratio = a.scale / out.scale, b_ratio = b.scale / out.scale;
    const int shift = 20 - std::ilogb(std::max(a_ratio, b_ratio));
    const int64_t a_factor = static_cast<int64_t>(std::nearbyint(std::ldexp(static_cast<double>(a_ratio), shift)));
    const int64_t b_factor = static_cast<int64_t>(std::nearbyint(std::ldexp(static_cast<double>(b_ratio), shift)));
    const int64_t sum = (x - a.zero_point) * a_factor + (op == QBinary::kAdd ? 1 : -1) * (y - b.zero_point) * b_factor;
    value = (sum + (int64_t{1} << (shift - 1))) >> shift;
  }
  return static_cast<T>(std::clamp(value + out.zero_point, min, max));
}

template <class T>
void check_binary(QBinary op, const QBroadcast& shape) {
  const int32_t middle = std::numeric_limits<T>::min() == 0 ? 128 : 0;
  const Quantization a{0.03f, middle - 9}, b{0.011f, middle + 20},
      out{op == QBinary::kMultiply ? 0.02f : 0.05f, middle + 3};
  const std::vector<T> x = random_numbers<T>(shape.rows * shape.n + 1, 51),
                       y = random_numbers<T>(shape.rows * shape.n + 1, 52);
  for (const int32_t cut : {0, 40}) {
    const int32_t min = std::numeric_limits<T>::min() + cut, max = std::numeric_limits<T>::max() - cut;
    std::vector<T> output(shape.rows * shape.n + 1, T{99});
    qbinary(make_qbinary(op, a, b, out, min, max), shape, x.data(), y.data(), output.data());
    size_t wrong = output.back() != 99;
    for (size_t row = 0; row < shape.rows; ++row) {
      for (size_t i = 0; i < shape.n; ++i) {
        wrong += output[row * shape.n + i] != expected_binary(op, a, b, out, min, max,
                                                              x[row * shape.a_row + i * shape.a_step],
                                                              y[row * shape.b_row + i * shape.b_step]);
      }
    }
    CAPTURE(shape.n);
    CHECK(wrong == 0);
  }
}

TEST_CASE("int8 sums, differences and products") {
  for (const QBinary op : {QBinary::kAdd, QBinary::kSubtract, QBinary::kMultiply}) {
    for (const size_t n : {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 100, 200000}) {
      check_binary<int8_t>(op, {.n = n});
      check_binary<uint8_t>(op, {.n = n});
    }
    check_binary<int8_t>(op, {.rows = 5, .n = 19, .a_row = 19, .b_row = 0});
    check_binary<uint8_t>(op, {.rows = 3, .n = 37, .a_row = 1, .b_row = 37, .a_step = 0});
    for (const size_t n : {0, 1, 3, 24, 512, 600}) {
      check_binary<int8_t>(op, {.rows = 1001, .n = n, .a_row = n, .b_row = 0});
      check_binary<uint8_t>(op, {.rows = 1001, .n = n, .a_row = 0, .b_row = n});
    }
    check_binary<int8_t>(op, {.rows = 70, .n = 2000, .a_row = 2000, .b_row = 1, .b_step = 0});
  }
}

TEST_CASE("every pair of int8 numbers adds and multiplies as XNNPACK does") {
  std::vector<int8_t> x, y;
  for (int i = -128; i < 128; ++i) {
    for (int j = -128; j < 128; ++j) {
      x.push_back(static_cast<int8_t>(i));
      y.push_back(static_cast<int8_t>(j));
    }
  }
  std::vector<int8_t> output(x.size());
  const Quantization quantizations[][3] = {{{0.5f, 0}, {0.25f, 0}, {1.0f, 0}},
                                           {{0.003f, -128}, {0.9f, 127}, {0.8f, -5}},
                                           {{1.0f, 3}, {1.0f, -3}, {1.0f, 0}},
                                           {{0.01f, 0}, {0.00123f, 77}, {0.0003f, 0}}};
  for (const auto& [a, b, out] : quantizations) {
    for (const QBinary op : {QBinary::kAdd, QBinary::kSubtract, QBinary::kMultiply}) {
      qbinary(make_qbinary(op, a, b, out, -128, 127), {.n = x.size()}, x.data(), y.data(), output.data());
      size_t wrong = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        wrong += output[i] != expected_binary<int8_t>(op, a, b, out, -128, 127, x[i], y[i]);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("operations know the parameters they support") {
  CHECK(qadd_supports(1, 1, 1));
  CHECK_FALSE(qadd_supports(1, 256, 1));
  CHECK_FALSE(qadd_supports(0.0001f, 1, 1));
  CHECK(qmul_supports(0.1f, 0.1f, 0.1f));
  CHECK_FALSE(qmul_supports(100, 100, 0.1f));
  CHECK(qconvert_supports(1, 256));
  CHECK_FALSE(qconvert_supports(129, 1));
}

TEST_CASE("tables of 256") {
  const std::vector<uint8_t> table = random_bytes(256, 61);
  for (const size_t n : {0, 1, 31, 64, 127, 128, 129, 255, 256, 257, 1000, 200003}) {
    std::vector<uint8_t> in = random_bytes(n + 1, 62), out(n + 1, 5);
    for (size_t i = 0; i < std::min<size_t>(n, 256); ++i) in[i] = static_cast<uint8_t>(i);
    apply_lut(table.data(), in.data(), out.data(), n);
    size_t wrong = out[n] != 5;
    for (size_t i = 0; i < n; ++i) wrong += out[i] != table[in[i]];
    CHECK(wrong == 0);
    std::vector<uint8_t> in_place = in;
    apply_lut(table.data(), in_place.data(), in_place.data(), n);
    CHECK(std::equal(out.begin(), out.begin() + static_cast<long>(n), in_place.begin()));
  }
  const std::vector<uint8_t> in = random_bytes(7 * 150, 63);
  std::vector<uint8_t> out(7 * 160, 9);
  apply_lut_rows(table.data(), 7, 140, in.data(), 150, out.data(), 160);
  size_t wrong = 0;
  for (size_t i = 0; i < out.size(); ++i) wrong += out[i] != (i % 160 < 140 ? table[in[i / 160 * 150 + i % 160]] : 9);
  CHECK(wrong == 0);
}

template <class T>
void check_tables() {
  const int32_t middle = std::numeric_limits<T>::min() == 0 ? 128 : 0;
  const Quantization in{0.04f, middle + 10}, out{0.03f, middle - 20};
  uint8_t lut[256], leaky[256], convert[256], clamp[256];
  make_lut<T>([](float x, const void*) { return std::tanh(x); }, nullptr, in, out, lut);
  make_leaky_relu_lut<T>(0.1f, in, out, leaky);
  make_convert_lut<T>(in, out, convert);
  make_clamp_lut<T>(middle - 50, middle + 60, clamp);
  size_t wrong = 0;
  for (size_t i = 0; i < 256; ++i) {
    const int32_t x = static_cast<T>(i), relative = x - in.zero_point;
    const float value = std::tanh((static_cast<float>(x) - static_cast<float>(in.zero_point)) * in.scale);
    wrong += static_cast<T>(lut[i]) !=
             saturate<T>(std::nearbyint(value * (1.0f / out.scale) + static_cast<float>(out.zero_point)));
    const int32_t factor = static_cast<int32_t>(std::lrint(256.0f * (in.scale / out.scale)));
    const int32_t negative = static_cast<int32_t>(std::lrint(256.0f * (in.scale / out.scale * 0.1f)));
    const double scaled = std::floor((relative * factor + 128) / 256.0) + out.zero_point;
    const double leaked = std::floor((relative * (relative > 0 ? factor : negative) + 128) / 256.0) + out.zero_point;
    wrong += static_cast<T>(convert[i]) != saturate<T>(scaled);
    wrong += static_cast<T>(leaky[i]) != saturate<T>(leaked);
    wrong += static_cast<T>(clamp[i]) != std::clamp(x, middle - 50, middle + 60);
  }
  CHECK(wrong == 0);
}

TEST_CASE("tables hold the functions they are made of") {
  check_tables<int8_t>();
  check_tables<uint8_t>();
}

TEST_CASE("clamping 8-bit numbers") {
  for (const size_t n : {0, 1, 15, 16, 33, 100000}) {
    const std::vector<int8_t> in = random_numbers<int8_t>(n, 71);
    std::vector<int8_t> out(n);
    qclamp(in.data(), out.data(), n, -20, 30);
    const std::vector<uint8_t> in_unsigned = random_numbers<uint8_t>(n, 71);
    std::vector<uint8_t> out_unsigned(n);
    qclamp(in_unsigned.data(), out_unsigned.data(), n, 100, 200);
    size_t wrong = 0;
    for (size_t i = 0; i < n; ++i) {
      wrong += out[i] != std::clamp<int8_t>(in[i], -20, 30);
      wrong += out_unsigned[i] != std::clamp<uint8_t>(in_unsigned[i], 100, 200);
    }
    CHECK(wrong == 0);
  }
}

template <class T>
void check_mean(size_t outer, size_t reduced, size_t inner, size_t row) {
  const std::vector<T> in = random_numbers<T>(outer * reduced * std::max(row, inner) + 1, 81);
  const int32_t middle = std::numeric_limits<T>::min() == 0 ? 128 : 0;
  const Quantization from{0.05f, middle + 5}, to{0.02f, middle - 5};
  std::vector<T> out(outer * inner + 1, T{55});
  qmean(outer, reduced, inner, row, in.data(), out.data(), from, to, reduced);
  size_t wrong = out.back() != 55;
  const float scale = from.scale / to.scale * (1.0f / static_cast<float>(reduced));
  const float shift =
      static_cast<float>(to.zero_point) - static_cast<float>(reduced) * static_cast<float>(from.zero_point) * scale;
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) {
      int32_t sum = 0;
      for (size_t r = 0; r < reduced; ++r) sum += in[(o * reduced + r) * (row == 0 ? inner : row) + i];
      wrong += out[o * inner + i] != saturate<T>(std::nearbyint(static_cast<float>(sum) * scale + shift));
    }
  }
  CAPTURE(inner);
  CHECK(wrong == 0);
}

TEST_CASE("means of 8-bit numbers") {
  for (const size_t inner : {1, 3, 16, 17, 64, 70, 300, 1280}) {
    check_mean<int8_t>(2, 49, inner, 0);
    check_mean<uint8_t>(1, 49, inner, inner + 3);
    check_mean<int8_t>(3, 1, inner, 0);
  }
  check_mean<int8_t>(40, 1000, 1, 0);
}

TEST_CASE("means of int8 that are stored unsigned round as those of int8") {
  for (const size_t reduced : {3, 49, 200}) {
    const size_t outer = 2, inner = 301;
    const std::vector<int8_t> in = random_numbers<int8_t>(outer * reduced * inner, 83);
    std::vector<uint8_t> in_unsigned(in.size()), out_unsigned(outer * inner);
    for (size_t i = 0; i < in.size(); ++i) in_unsigned[i] = static_cast<uint8_t>(in[i] + 128);
    std::vector<int8_t> out(outer * inner);
    qmean(outer, reduced, inner, 0, in.data(), out.data(), {0.05f, 5}, {0.02f, -5}, reduced);
    qmean(outer, reduced, inner, 0, in_unsigned.data(), out_unsigned.data(), {0.05f, 133}, {0.02f, 123}, reduced, true);
    size_t wrong = 0;
    for (size_t i = 0; i < out.size(); ++i) wrong += out_unsigned[i] != static_cast<uint8_t>(out[i] + 128);
    CHECK(wrong == 0);
  }
}

template <class T>
void check_average_pool(AverageDivisor divisor, size_t channels) {
  PoolShape s;
  s.batch = 2;
  s.channels = channels;
  s.input_height = 6;
  s.input_width = 7;
  s.kernel_height = 3;
  s.kernel_width = 2;
  s.stride_height = 2;
  s.pad_top = s.pad_left = 1;
  s.output_height = 3;
  s.output_width = 8;
  const std::vector<T> in = random_numbers<T>(2 * 6 * 7 * channels, 91);
  std::vector<T> out(2 * 3 * 8 * channels);
  const int32_t middle = std::numeric_limits<T>::min() == 0 ? 128 : 0;
  const Quantization from{0.05f, middle + 5}, to{0.04f, middle - 5};
  qaverage_pool_nhwc(s, divisor, in.data(), out.data(), from, to, middle - 100, middle + 100);
  size_t wrong = 0;
  for (size_t index = 0; index < out.size(); ++index) {
    const size_t c = index % channels, pixel = index / channels, x = pixel % 8, y = pixel / 8 % 3, n = pixel / 24;
    double sum = 0, count = 0;
    for (size_t tap = 0; tap < 6; ++tap) {
      const size_t iy = y * 2 + tap / 2 - 1, ix = x + tap % 2 - 1;
      if (iy >= 6 || ix >= 7) continue;
      sum += in[((n * 6 + iy) * 7 + ix) * channels + c] - from.zero_point;
      ++count;
    }
    if (divisor == AverageDivisor::kIncludePadding) count = 6;
    const double exact = sum / count * static_cast<double>(from.scale) / static_cast<double>(to.scale) + to.zero_point;
    const double clamped = std::clamp<double>(exact, middle - 100, middle + 100);
    wrong += !(std::abs(out[index] - clamped) <= 0.5001);
  }
  CHECK(wrong == 0);
}

TEST_CASE("average pooling of 8-bit numbers") {
  for (const size_t channels : {5, 16, 77}) {
    check_average_pool<int8_t>(AverageDivisor::kExcludePadding, channels);
    check_average_pool<uint8_t>(AverageDivisor::kIncludePadding, channels);
  }
}

template <class T>
void check_resize(size_t input, size_t output, size_t channels, bool align_corners) {
  ResizeShape s;
  s.batch = 2;
  s.channels = channels;
  s.input_height = input;
  s.input_width = input + 2;
  s.output_height = output;
  s.output_width = output + 3;
  s.output_pixel_stride = channels + 1;
  const std::vector<T> in = random_numbers<T>(2 * s.input_height * s.input_width * channels, 95);
  std::vector<T> out(2 * s.output_height * s.output_width * (channels + 1), T{44});
  qresize_bilinear_nhwc(s, align_corners, in.data(), out.data());
  const auto position = [&](size_t i, size_t in_size, size_t out_size) {
    if (align_corners)
      return out_size == 1
                 ? 0.0
                 : static_cast<double>(i) * (static_cast<double>(in_size) - 1) / (static_cast<double>(out_size) - 1);
    return std::clamp(
        (static_cast<double>(i) + 0.5) * static_cast<double>(in_size) / static_cast<double>(out_size) - 0.5, 0.0,
        static_cast<double>(in_size) - 1);
  };
  size_t wrong = 0;
  for (size_t index = 0; index < out.size(); ++index) {
    const size_t c = index % (channels + 1), x = index / (channels + 1) % s.output_width;
    const size_t y = index / (channels + 1) / s.output_width % s.output_height;
    const size_t n = index / (channels + 1) / s.output_width / s.output_height;
    if (c == channels) {
      wrong += out[index] != 44;
      continue;
    }
    const double fy = position(y, s.input_height, s.output_height), fx = position(x, s.input_width, s.output_width);
    const size_t y0 = static_cast<size_t>(fy), x0 = static_cast<size_t>(fx);
    const size_t y1 = std::min(y0 + 1, s.input_height - 1), x1 = std::min(x0 + 1, s.input_width - 1);
    const auto at = [&](size_t iy, size_t ix) {
      return static_cast<double>(in[((n * s.input_height + iy) * s.input_width + ix) * channels + c]);
    };
    const double wx = fx - static_cast<double>(x0), wy = fy - static_cast<double>(y0);
    const double exact =
        (at(y0, x0) * (1 - wx) + at(y0, x1) * wx) * (1 - wy) + (at(y1, x0) * (1 - wx) + at(y1, x1) * wx) * wy;
    wrong += !(std::abs(out[index] - exact) <= 0.7);  // weights have 11 bits
  }
  CHECK(wrong == 0);
}

TEST_CASE("bilinear resizing of 8-bit numbers") {
  for (const size_t channels : {1, 8, 17, 33}) {
    for (const bool align_corners : {false, true}) {
      check_resize<int8_t>(4, 9, channels, align_corners);
      check_resize<uint8_t>(7, 3, channels, align_corners);
      check_resize<int8_t>(5, 1, channels, align_corners);
    }
  }
}

}  // namespace
