#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/resize/resize.h"
#include "numbers.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using enr::test::random_floats;

double step_of(size_t input, size_t output, bool align, std::optional<double> scale) {
  if (align) return output > 1 ? static_cast<double>(input - 1) / static_cast<double>(output - 1) : 0;
  return scale ? 1.0 / *scale : static_cast<double>(input) / static_cast<double>(output);
}

double source_of(size_t position, size_t input, size_t output, bool align, std::optional<double> scale) {
  const double step = step_of(input, output, align, scale);
  if (input == output) return static_cast<double>(position);
  return align ? step * static_cast<double>(position)
               : std::max(0.0, step * (static_cast<double>(position) + 0.5) - 0.5);
}

// The definition, read through at(y, x).
template <class At>
double bilinear(const ResizeShape& s, bool align, size_t y, size_t x, const At& at) {
  const double from_y = source_of(y, s.input_height, s.output_height, align, s.scale_height);
  const double from_x = source_of(x, s.input_width, s.output_width, align, s.scale_width);
  const size_t top = std::min(static_cast<size_t>(from_y), s.input_height - 1);
  const size_t left = std::min(static_cast<size_t>(from_x), s.input_width - 1);
  const size_t bottom = std::min(top + 1, s.input_height - 1), right = std::min(left + 1, s.input_width - 1);
  const double wy = std::min(from_y - static_cast<double>(top), 1.0),
               wx = std::min(from_x - static_cast<double>(left), 1.0);
  return (1 - wy) * ((1 - wx) * at(top, left) + wx * at(top, right)) +
         wy * ((1 - wx) * at(bottom, left) + wx * at(bottom, right));
}

ResizeShape shape_of(size_t channels, size_t input_height, size_t input_width, size_t output_height,
                     size_t output_width) {
  ResizeShape s;
  s.batch = 2;
  s.channels = channels;
  s.input_height = input_height;
  s.input_width = input_width;
  s.output_height = output_height;
  s.output_width = output_width;
  return s;
}

void check_bilinear(ResizeShape s, bool align, size_t gap = 0) {
  s.input_pixel_stride = gap == 0 ? 0 : s.channels + gap;
  s.output_pixel_stride = gap == 0 ? 0 : s.channels + 2 * gap;
  const size_t in_stride = s.channels + gap, out_stride = s.channels + 2 * gap;
  const size_t in_pixels = s.input_height * s.input_width, out_pixels = s.output_height * s.output_width;
  const auto nhwc = random_floats(s.batch * in_pixels * in_stride, 1);
  std::vector<float> nchw(s.batch * s.channels * in_pixels);
  for (size_t i = 0; i < nchw.size(); ++i) {
    nchw[i] = nhwc[(i / (s.channels * in_pixels) * in_pixels + i % in_pixels) * in_stride + i / in_pixels % s.channels];
  }
  const std::vector<double> wide(nchw.begin(), nchw.end());
  std::vector<float> out(s.batch * out_pixels * out_stride, 9.0f), planes(s.batch * s.channels * out_pixels);
  std::vector<double> wide_planes(planes.size());
  resize_bilinear_nhwc(s, align, nhwc.data(), out.data());
  resize_bilinear_nchw(s, align, nchw.data(), planes.data());
  resize_bilinear_nchw(s, align, wide.data(), wide_planes.data());
  // Positions are computed in float32, as eager does: their error grows with the image.
  const double tolerance = 2e-5 + 3e-7 * static_cast<double>(std::max(s.input_width, s.output_width));
  size_t wrong = 0, wrong_planes = 0, wrong_wide = 0;
  for (size_t i = 0; i < planes.size(); ++i) {
    const size_t plane = i / out_pixels, b = plane / s.channels, c = plane % s.channels;
    const double expected =
        bilinear(s, align, i / s.output_width % s.output_height, i % s.output_width,
                 [&](size_t y, size_t x) { return nchw[plane * in_pixels + y * s.input_width + x]; });
    wrong_planes += !(std::abs(planes[i] - expected) <= tolerance);
    wrong_wide += !(std::abs(wide_planes[i] - expected) <= 1e-9);
    wrong += !(std::abs(out[(b * out_pixels + i % out_pixels) * out_stride + c] - expected) <= tolerance);
  }
  for (size_t p = 0; p < s.batch * out_pixels; ++p) {
    for (size_t c = s.channels; c < out_stride; ++c) wrong += out[p * out_stride + c] != 9.0f;
  }
  CHECK(wrong == 0);
  CHECK(wrong_planes == 0);
  CHECK(wrong_wide == 0);
}

}  // namespace

TEST_CASE("resize: bilinear, both layouts, against the definition") {
  for (const bool align : {false, true}) {
    CAPTURE(align);
    check_bilinear(shape_of(3, 8, 8, 16, 16), align);
    check_bilinear(shape_of(17, 5, 7, 13, 30), align);
    check_bilinear(shape_of(16, 20, 21, 7, 9), align);
    check_bilinear(shape_of(5, 1, 1, 4, 3), align);
    check_bilinear(shape_of(4, 6, 5, 1, 1), align);
    check_bilinear(shape_of(33, 6, 5, 6, 5), align, 3);
    check_bilinear(shape_of(1, 3, 200, 5, 700), align);
    check_bilinear(shape_of(2, 3, 700, 5, 300), align, 1);
  }
}

TEST_CASE("resize: bilinear with the caller's factors") {
  ResizeShape s = shape_of(3, 10, 10, 15, 23);
  s.scale_height = 1.55;
  s.scale_width = 2.35;
  check_bilinear(s, false);
  check_bilinear(s, true);
}

TEST_CASE("resize: bilinear of half kinds and bytes") {
  const ResizeShape s = shape_of(2, 6, 7, 11, 20);
  const auto values = random_floats(4 * 42, 3);
  std::vector<Half> half(values.size()), half_out(4 * 220);
  std::vector<BFloat16> brain(values.size()), brain_out(half_out.size());
  std::vector<uint8_t> bytes(values.size()), bytes_out(half_out.size());
  for (size_t i = 0; i < values.size(); ++i) {
    half[i] = Half(values[i]);
    brain[i] = BFloat16(values[i]);
    bytes[i] = static_cast<uint8_t>(values[i] * 127 + 128);
  }
  resize_bilinear_nchw(s, false, half.data(), half_out.data());
  resize_bilinear_nchw(s, false, brain.data(), brain_out.data());
  resize_bilinear_bytes_nchw(s, false, bytes.data(), bytes_out.data());
  size_t wrong = 0;
  for (size_t i = 0; i < half_out.size(); ++i) {
    const auto expected = [&](const auto& in) {
      return bilinear(s, false, i / 20 % 11, i % 20,
                      [&](size_t y, size_t x) { return static_cast<double>(in[i / 220 * 42 + y * 7 + x]); });
    };
    wrong += !(std::abs(half_out[i] - expected(half)) <= 1e-3);
    wrong += !(std::abs(brain_out[i] - expected(brain)) <= 1e-2);
    wrong += !(std::abs(bytes_out[i] - expected(bytes)) <= 1.01);  // rounded twice
  }
  CHECK(wrong == 0);
}

TEST_CASE("resize: nearest moves the elements eager moves") {
  const auto check = [](const ResizeShape& s, size_t element) {
    CAPTURE(element);
    const size_t in_pixels = s.input_height * s.input_width, out_pixels = s.output_height * s.output_width;
    std::vector<unsigned char> in(s.batch * s.channels * in_pixels * element),
        out(s.batch * s.channels * out_pixels * element);
    std::mt19937 engine(4);
    for (auto& b : in) b = static_cast<unsigned char>(engine());
    resize_nearest_nchw(s, in.data(), out.data(), element);
    const auto source = [](size_t position, size_t input, size_t output, std::optional<double> scale) {
      const float step =
          scale ? static_cast<float>(1.0 / *scale) : static_cast<float>(input) / static_cast<float>(output);
      return std::min(static_cast<size_t>(std::floor(static_cast<float>(position) * step)), input - 1);
    };
    size_t wrong = 0;
    for (size_t i = 0; i < s.batch * s.channels * out_pixels; ++i) {
      const size_t y = source(i / s.output_width % s.output_height, s.input_height, s.output_height, s.scale_height);
      const size_t x = source(i % s.output_width, s.input_width, s.output_width, s.scale_width);
      wrong += std::memcmp(&out[i * element], &in[(i / out_pixels * in_pixels + y * s.input_width + x) * element],
                           element) != 0;
    }
    CHECK(wrong == 0);
    // As NHWC with every plane's pixels as one batch of one channel.
    ResizeShape pixels = s;
    pixels.batch = s.batch * s.channels;
    pixels.channels = 1;
    std::vector<unsigned char> again(out.size());
    resize_nearest_nhwc(pixels, in.data(), again.data(), element);
    CHECK(again == out);
  };
  for (const size_t element : {1, 2, 4, 8, 16}) {
    check(shape_of(3, 8, 8, 16, 16), element);
    check(shape_of(2, 5, 7, 13, 30), element);
    check(shape_of(2, 9, 300, 4, 520), element);
    check(shape_of(1, 6, 5, 6, 5), element);
    ResizeShape s = shape_of(1, 10, 10, 15, 23);
    s.scale_height = 1.55;
    s.scale_width = 2.35;
    check(s, element);
  }
}

TEST_CASE("resize: antialiased is the triangle filter, a plain blend where it enlarges") {
  for (const bool align : {false, true}) {
    const ResizeShape s = shape_of(2, 23, 40, 9, 13);
    const auto in = random_floats(4 * 23 * 40, 5);
    std::vector<float> out(4 * 9 * 13);
    resize_bilinear_antialias_nchw(s, align, in.data(), out.data());
    const auto weights = [&](size_t position, size_t input, size_t output) {
      const double step = step_of(input, output, align, {}), support = std::max(step, 1.0);
      const double centre = step * (static_cast<double>(position) + 0.5);
      std::vector<double> w(input);
      double total = 0;
      for (size_t i = 0; i < input; ++i) {
        total += w[i] = std::max(0.0, 1 - std::abs((static_cast<double>(i) + 0.5 - centre) / support));
      }
      for (double& v : w) v /= total;
      return w;
    };
    size_t wrong = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      const auto wy = weights(i / 13 % 9, 23, 9), wx = weights(i % 13, 40, 13);
      double expected = 0;
      for (size_t y = 0; y < 23; ++y) {
        for (size_t x = 0; x < 40; ++x) expected += wy[y] * wx[x] * in[i / 117 * 920 + y * 40 + x];
      }
      wrong += !(std::abs(out[i] - expected) <= 1e-5);
    }
    CHECK(wrong == 0);
  }
  const ResizeShape s = shape_of(2, 6, 7, 13, 20);
  const auto in = random_floats(4 * 42, 6);
  std::vector<float> smooth(4 * 260), plain(smooth);
  resize_bilinear_antialias_nchw(s, false, in.data(), smooth.data());
  resize_bilinear_nchw(s, false, in.data(), plain.data());
  size_t wrong = 0;
  for (size_t i = 0; i < plain.size(); ++i) wrong += !(std::abs(smooth[i] - plain[i]) <= 1e-5);
  CHECK(wrong == 0);
}

TEST_CASE("resize: threads do not change the result") {
  const ResizeShape s = shape_of(40, 40, 41, 90, 95);
  const auto in = random_floats(2 * 40 * 40 * 41, 7);
  std::vector<float> one(2 * 40 * 90 * 95), many(one), planes_one(one), planes_many(one);
  set_num_threads(1);
  resize_bilinear_nhwc(s, false, in.data(), one.data());
  resize_bilinear_nchw(s, false, in.data(), planes_one.data());
  set_num_threads(3);
  resize_bilinear_nhwc(s, false, in.data(), many.data());
  resize_bilinear_nchw(s, false, in.data(), planes_many.data());
  set_num_threads(0);
  CHECK(one == many);
  CHECK(planes_one == planes_many);
}
