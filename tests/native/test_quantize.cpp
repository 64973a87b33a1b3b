#include <doctest/doctest.h>

#include <limits>

#include "base/thread_pool.h"
#include "kernels/quantize/quantize.h"
#include "qreference.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace qreference;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<size_t> lengths() {
  std::vector<size_t> result;
  for (size_t n = 0; n <= 35; ++n) result.push_back(n);
  for (const size_t n : {63, 64, 65, 100, 1000, 100003}) result.push_back(n);
  return result;
}

// Numbers near ties and bounds, infinities and NaN among them.
std::vector<float> numbers(size_t n, float scale) {
  std::vector<float> result = random_floats(n, 21, -200 * scale, 200 * scale);
  const float specials[] = {kInfinity, -kInfinity, kNan, 0.0f, -0.0f, 1e-40f, 1e30f, -1e30f, 127.4f, -128.6f, 32767.0f};
  for (size_t i = 0; i < n; ++i) {
    if (i % 5 == 0) result[i] = scale * (std::floor(result[i] / scale) + 0.5f);
    if (i % 7 == 3) result[i] = specials[i / 7 % 11] * (i % 2 == 0 ? 1 : scale);
  }
  return result;
}

template <class T>
int64_t expected(float value, float factor, int32_t zero_point, int64_t min, int64_t max) {
  const double scaled = static_cast<double>(value * factor);
  if (std::isnan(scaled)) return max;
  return static_cast<int64_t>(
      std::clamp(std::nearbyint(scaled) + zero_point, static_cast<double>(min), static_cast<double>(max)));
}

template <class T>
void check_quantize() {
  constexpr int64_t lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  const Quantization q{0.037f, sizeof(T) == 1 && lowest == 0 ? 130 : -3};
  for (const size_t n : lengths()) {
    for (const bool narrow : {false, true}) {
      const int64_t min = narrow ? lowest + 20 : lowest, max = narrow ? lowest + 100 : highest;
      const std::vector<float> in = numbers(n, q.scale);
      std::vector<uint16_t> halves;
      for (const float v : in) halves.push_back(half_bits(v));
      std::vector<T> out(n + 1, T{77}), from_halves(n + 1, T{77});
      quantize(in.data(), out.data(), n, q, min, max);
      quantize_f16(halves.data(), from_halves.data(), n, q, min, max);
      size_t wrong = (out[n] != 77) + (from_halves[n] != 77);
      for (size_t i = 0; i < n; ++i) {
        wrong += out[i] != expected<T>(in[i], 1.0f / q.scale, q.zero_point, min, max);
        wrong += from_halves[i] != expected<T>(half_value(halves[i]), 1.0f / q.scale, q.zero_point, min, max);
      }
      CAPTURE(n);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("quantising rounds to even and saturates") {
  check_quantize<int8_t>();
  check_quantize<uint8_t>();
  check_quantize<int16_t>();
  check_quantize<uint16_t>();
  check_quantize<int32_t>();
}

template <class T>
void check_dequantize() {
  for (const size_t n : lengths()) {
    const std::vector<uint8_t> bytes = random_bytes(n * sizeof(T) + 8, 31);
    std::vector<T> in(n);
    std::copy_n(bytes.data(), n * sizeof(T), reinterpret_cast<uint8_t*>(in.data()));
    std::vector<float> out(n + 1, 7.0f);
    std::vector<uint16_t> halves(n + 1, 7);
    const Quantization q{0.013f, 5};
    dequantize(in.data(), out.data(), n, q);
    dequantize_f16(in.data(), halves.data(), n, q);
    size_t wrong = (out[n] != 7.0f) + (halves[n] != 7);
    for (size_t i = 0; i < n; ++i) {
      const float value = static_cast<float>(static_cast<int64_t>(in[i]) - 5) * q.scale;
      wrong += out[i] != value;
      wrong += halves[i] != half_bits(value);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("dequantising") {
  check_dequantize<int8_t>();
  check_dequantize<uint8_t>();
  check_dequantize<int16_t>();
  check_dequantize<uint16_t>();
  check_dequantize<int32_t>();
}

TEST_CASE("sums of floats times bytes") {
  for (const size_t n : {0u, 1u, 7u, 16u, 33u, 64u, 200u, 1031u}) {
    std::vector<float> x(n);
    std::vector<int8_t> w(n);
    double expected = 0, size = 1;
    for (size_t i = 0; i < n; ++i) {
      x[i] = static_cast<float>(i % 13) * 0.25f - 1.5f;
      w[i] = static_cast<int8_t>(i * 37 % 256);
      const double term = static_cast<double>(x[i]) * (w[i] - 1.5);
      expected += term;
      size += std::abs(term);
    }
    CHECK(std::abs(static_cast<double>(dot_bytes(x.data(), w.data(), n, 1.5f)) - expected) <= 1e-6 * size);
  }
}

TEST_CASE("quantising by channel and back") {
  const size_t outer = 3, channels = 5, inner = 37, n = outer * channels * inner;
  const std::vector<float> scales = random_floats(channels, 1, 0.01f, 0.1f), in = random_floats(n, 2, -5, 5);
  const std::vector<int32_t> zero_points = random_ints(channels, 3, -20, 20);
  ChannelQuantization q{outer, channels, inner, scales.data(), zero_points.data()};
  std::vector<int8_t> out(n);
  std::vector<float> back(n);
  quantize_channels(in.data(), out.data(), q, -128, 127);
  dequantize_channels(out.data(), back.data(), q);
  std::vector<uint16_t> halves(n), half_back(n);
  for (size_t i = 0; i < n; ++i) halves[i] = half_bits(in[i]);
  std::vector<int8_t> from_halves(n);
  quantize_channels_f16(halves.data(), from_halves.data(), q, -128, 127);
  dequantize_channels_f16(out.data(), half_back.data(), q);
  size_t wrong = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t c = i / inner % channels;
    wrong += out[i] != expected<int8_t>(in[i], 1.0f / scales[c], zero_points[c], -128, 127);
    wrong += from_halves[i] != expected<int8_t>(half_value(halves[i]), 1.0f / scales[c], zero_points[c], -128, 127);
    wrong += back[i] != static_cast<float>(out[i] - zero_points[c]) * scales[c];
    wrong += half_back[i] != half_bits(back[i]);
  }
  CHECK(wrong == 0);
  q.zero_points = nullptr;
  quantize_channels(in.data(), out.data(), q, -128, 127);
  CHECK(out[0] == expected<int8_t>(in[0], 1.0f / scales[0], 0, -128, 127));
}

TEST_CASE("dynamic parameters cover 0 and the row") {
  CHECK(dynamic_quantization(0, 0).scale == 1.0f);
  CHECK(dynamic_quantization(0, 0).zero_point == -128 + 255);
  const Quantization positive = dynamic_quantization(2.0f, 10.0f);
  CHECK(positive.zero_point == -128);
  CHECK(positive.scale == 1.0f / (255.0f / 10.0f));
  CHECK(dynamic_quantization(-3.0f, -1.0f).zero_point == 127);
  CHECK(dynamic_quantization(-1.0f, 1.0f).zero_point == 0);
}

TEST_CASE("rows get parameters of their own") {
  for (const size_t cols : lengths()) {
    if (cols > 2000) continue;
    const size_t rows = 3, stride = cols + 2;
    std::vector<float> in = random_floats(rows * stride, 5, -2, 9);
    for (size_t j = 0; j < cols; ++j) in[stride + j] = 0;
    std::vector<uint16_t> halves;
    for (const float v : in) halves.push_back(half_bits(v));
    std::vector<int8_t> out(rows * cols + 1, 99), half_out(rows * cols + 1, 99);
    std::vector<Quantization> q(rows), half_q(rows);
    quantize_rows(rows, cols, in.data(), stride, out.data(), q.data());
    quantize_rows_f16(rows, cols, halves.data(), stride, half_out.data(), half_q.data());
    size_t wrong = (out.back() != 99) + (half_out.back() != 99);
    for (size_t i = 0; i < rows; ++i) {
      float min = 0, max = 0, half_min = 0, half_max = 0;
      for (size_t j = 0; j < cols; ++j) {
        min = std::min(min, in[i * stride + j]);
        max = std::max(max, in[i * stride + j]);
        half_min = std::min(half_min, half_value(halves[i * stride + j]));
        half_max = std::max(half_max, half_value(halves[i * stride + j]));
      }
      const Quantization want = dynamic_quantization(min, max), want_half = dynamic_quantization(half_min, half_max);
      wrong += q[i].scale != want.scale || q[i].zero_point != want.zero_point;
      wrong += half_q[i].scale != want_half.scale || half_q[i].zero_point != want_half.zero_point;
      const float factor = min == max ? 1.0f : 255.0f / (max - min);
      const float half_factor = half_min == half_max ? 1.0f : half_value(half_bits(255.0f / (half_max - half_min)));
      for (size_t j = 0; j < cols; ++j) {
        wrong += out[i * cols + j] != expected<int8_t>(in[i * stride + j], factor, want.zero_point, -128, 127);
        wrong += half_out[i * cols + j] !=
                 expected<int8_t>(half_value(halves[i * stride + j]), half_factor, want_half.zero_point, -128, 127);
      }
    }
    CAPTURE(cols);
    CHECK(wrong == 0);
  }
}

TEST_CASE("clamp bounds in quanta") {
  CHECK(quantize_bound<int8_t>(-kInfinity, {0.1f, 3}) == -128);
  CHECK(quantize_bound<int8_t>(kInfinity, {0.1f, 3}) == 127);
  CHECK(quantize_bound<uint8_t>(0.0f, {0.1f, 3}) == 3);
  CHECK(quantize_bound<uint8_t>(6.0f, {0.1f, 3}) == 63);
  CHECK(quantize_bound<int8_t>(0.25f, {0.1f, 0}) == 2);  // 2.5 to even
}

}  // namespace
