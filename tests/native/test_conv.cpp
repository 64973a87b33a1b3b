#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/conv/conv.h"
#include "numbers.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using enr::test::random_floats;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUntouched = -12345.0f;

void square(float* row, size_t count, const void* context) {
  for (size_t i = 0; i < count; ++i) row[i] = row[i] * row[i] + *static_cast<const float*>(context);
}

struct Extras {
  bool with_bias = true, with_activation = false, with_residual = false;
  size_t residual_gap = 1;  // behind a row of it
  float min = -kInfinity, max = kInfinity;
  std::optional<ConvWeights> format = std::nullopt;
  double tolerance = 1e-6;
};

struct Threads {
  explicit Threads(size_t count) { set_num_threads(count); }
  ~Threads() { set_num_threads(0); }
};

// The definition, in double, before bias and epilogue; size is the sum of the products' magnitudes.
double window_sum(const ConvShape& s, const std::vector<float>& in, const std::vector<float>& weights, size_t image,
                  size_t y, size_t x, size_t o, double& size) {
  const size_t inputs = s.input_channels / s.groups, group = o / (s.output_channels / s.groups);
  const size_t pixel_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.input_channels;
  double sum = 0;
  for (size_t ky = 0; ky < s.kernel_height; ++ky) {
    for (size_t kx = 0; kx < s.kernel_width; ++kx) {
      const long in_y = static_cast<long>(y * s.stride_height + ky * s.dilation_height) - static_cast<long>(s.pad_top);
      const long in_x = static_cast<long>(x * s.stride_width + kx * s.dilation_width) - static_cast<long>(s.pad_left);
      if (in_y < 0 || in_x < 0 || in_y >= static_cast<long>(s.input_height) ||
          in_x >= static_cast<long>(s.input_width)) {
        continue;
      }
      const size_t pixel =
          (image * s.input_height + static_cast<size_t>(in_y)) * s.input_width + static_cast<size_t>(in_x);
      for (size_t i = 0; i < inputs; ++i) {
        const double product = static_cast<double>(in[pixel * pixel_stride + group * inputs + i]) *
                               weights[((o * s.kernel_height + ky) * s.kernel_width + kx) * inputs + i];
        sum += product;
        size += std::fabs(product);
      }
    }
  }
  return sum;
}

// And of the transposed convolution.
double window_sum(const ConvTransposeShape& s, const std::vector<float>& in, const std::vector<float>& weights,
                  size_t image, size_t y, size_t x, size_t o, double& size) {
  const size_t inputs = s.input_channels / s.groups, group = o / (s.output_channels / s.groups);
  const size_t pixel_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.input_channels;
  double sum = 0;
  for (size_t ky = 0; ky < s.kernel_height; ++ky) {
    for (size_t kx = 0; kx < s.kernel_width; ++kx) {
      const long far_y = static_cast<long>(y + s.pad_top) - static_cast<long>(ky * s.dilation_height);
      const long far_x = static_cast<long>(x + s.pad_left) - static_cast<long>(kx * s.dilation_width);
      if (far_y < 0 || far_x < 0 || far_y % static_cast<long>(s.stride_height) != 0 ||
          far_x % static_cast<long>(s.stride_width) != 0) {
        continue;
      }
      const size_t in_y = static_cast<size_t>(far_y) / s.stride_height,
                   in_x = static_cast<size_t>(far_x) / s.stride_width;
      if (in_y >= s.input_height || in_x >= s.input_width) continue;
      const size_t pixel = (image * s.input_height + in_y) * s.input_width + in_x;
      for (size_t i = 0; i < inputs; ++i) {
        const double product = static_cast<double>(in[pixel * pixel_stride + group * inputs + i]) *
                               weights[((o * s.kernel_height + ky) * s.kernel_width + kx) * inputs + i];
        sum += product;
        size += std::fabs(product);
      }
    }
  }
  return sum;
}

ConvPlan make_plan(const ConvShape& s, const Extras& extras) { return ConvPlan(s, extras.format); }
ConvTransposePlan make_plan(const ConvTransposeShape& s, const Extras&) { return ConvTransposePlan(s); }

// Compares every output with the definition; returns the output with its gaps.
template <class Shape>
std::vector<float> check(const Shape& s, const Extras& extras = {}) {
  const std::string text = concat(s.batch, "x", s.input_height, "x", s.input_width, "x", s.input_channels, " -> ",
                                  s.output_channels, ", kernel ", s.kernel_height, "x", s.kernel_width, ", stride ",
                                  s.stride_height, "x", s.stride_width, ", groups ", s.groups);
  CAPTURE(text);
  const size_t height = s.output_height(), width = s.output_width(), pixels = s.batch * height * width;
  const size_t in_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.input_channels;
  const size_t out_stride = s.output_pixel_stride != 0 ? s.output_pixel_stride : s.output_channels;
  const std::vector<float> in = random_floats(s.batch * s.input_height * s.input_width * in_stride, 1);
  const std::vector<float> weights =
      random_floats(s.output_channels * s.kernel_height * s.kernel_width * (s.input_channels / s.groups), 2);
  const std::vector<float> bias = random_floats(s.output_channels, 3);
  const size_t residual_stride = s.output_channels + extras.residual_gap;
  const std::vector<float> residual = random_floats(pixels * residual_stride, 4);
  std::vector<float> out(pixels * out_stride, kUntouched);
  const float shift = 0.25f;
  GemmEpilogue epilogue;
  epilogue.min = extras.min;
  epilogue.max = extras.max;
  if (extras.with_residual) {
    epilogue.residual = residual.data();
    epilogue.residual_stride = residual_stride;
    epilogue.residual_scale = 0.5f;
  }
  if (extras.with_activation) {
    epilogue.activation = square;
    epilogue.activation_context = &shift;
  }
  const auto plan = make_plan(s, extras);
  AlignedBuffer packed(plan.packed_bytes()), workspace(plan.workspace_bytes());
  plan.pack(weights.data(), extras.with_bias ? bias.data() : nullptr, packed.data());
  if (workspace.size_bytes() != 0) std::memset(workspace.data(), 0xff, workspace.size_bytes());  // NaN
  plan.run(in.data(), packed.data(), out.data(), epilogue, workspace.data());
  size_t wrong = 0, touched = 0;
  double worst = 0;
  for (size_t pixel = 0; pixel < pixels; ++pixel) {
    const size_t image = pixel / (height * width), y = pixel / width % height, x = pixel % width;
    for (size_t o = 0; o < s.output_channels; ++o) {
      double size = 2;
      double want = window_sum(s, in, weights, image, y, x, o, size);
      if (extras.with_bias) want += bias[o];
      if (extras.with_residual) want += 0.5 * residual[pixel * residual_stride + o];
      want = std::min<double>(std::max<double>(want, extras.min), extras.max);
      double tolerance = extras.tolerance * size;
      if (extras.with_activation) {
        tolerance *= 2 * std::fabs(want) + 1;
        want = want * want + shift;
      }
      const double difference = std::fabs(out[pixel * out_stride + o] - want);
      worst = std::max(worst, difference / size);
      wrong += !(difference <= tolerance);
    }
    for (size_t o = s.output_channels; o < out_stride; ++o) touched += out[pixel * out_stride + o] != kUntouched;
  }
  CAPTURE(worst);
  CHECK(wrong == 0);
  CHECK(touched == 0);
  return out;
}

// The same bits on any number of threads.
void check_threads(const ConvShape& s, const Extras& extras = {}) {
  const Threads one(1);
  const std::vector<float> want = check(s, extras);
  for (const size_t threads : {2, 3, 8}) {
    set_num_threads(threads);
    const std::vector<float> got = check(s, extras);
    CHECK(std::memcmp(want.data(), got.data(), want.size() * sizeof(float)) == 0);
  }
}

ConvShape square_shape(size_t size, size_t inputs, size_t outputs, size_t kernel, size_t stride = 1, size_t pad = 0) {
  ConvShape s;
  s.input_height = s.input_width = size;
  s.input_channels = inputs;
  s.output_channels = outputs;
  s.kernel_height = s.kernel_width = kernel;
  s.stride_height = s.stride_width = stride;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
  return s;
}

}  // namespace

TEST_CASE("convolution: kernels, strides, paddings, dilations") {
  for (const size_t kernel : {1, 2, 3, 5, 7}) {
    for (const size_t stride : {1, 2, 3}) {
      for (const size_t pad : {0, 1, 2, 4}) {
        for (const size_t dilation : {1, 2}) {
          ConvShape s = square_shape(17, 3, 5, kernel, stride, pad);
          s.dilation_height = dilation;
          s.dilation_width = 3 - dilation;
          check(s);
        }
      }
    }
  }
}

TEST_CASE("convolution: sizes from one pixel to some tiles") {
  for (const size_t size : {1, 2, 3, 4, 7, 13, 14, 15, 28, 31}) {
    for (const size_t channels : {1, 4, 17, 32}) {
      check(square_shape(size, channels, 33, 3, 1, 1));
      check(square_shape(size, channels, 16, 3, 2, 1));
      check(square_shape(size, channels, 8, 1, 1, 0));
      check(square_shape(size, channels, 8, 1, 2, 0));
    }
  }
}

TEST_CASE("convolution: every side of its own") {
  ConvShape s;
  s.batch = 3;
  s.input_height = 9;
  s.input_width = 23;
  s.input_channels = 6;
  s.output_channels = 10;
  s.kernel_height = 4;
  s.kernel_width = 3;
  s.stride_height = 1;
  s.stride_width = 2;
  s.pad_top = 2;
  s.pad_left = 0;
  s.pad_bottom = 1;
  s.pad_right = 3;
  for (const size_t groups : {1, 2}) {
    s.groups = groups;
    check(s);
    s.input_pixel_stride = 11;
    s.output_pixel_stride = 13;
    check(s, {.with_activation = true, .with_residual = true, .min = -1.0f, .max = 1.5f});
    s.input_pixel_stride = s.output_pixel_stride = 0;
  }
}

TEST_CASE("convolution: padding as wide as the kernel and wider") {
  ConvShape s = square_shape(3, 4, 6, 3, 1, 5);
  check(s);
  s = square_shape(1, 4, 6, 2, 2, 4);
  check(s);
}

TEST_CASE("convolution: groups") {
  for (const size_t groups : {2, 3, 6}) {
    for (const size_t kernel : {1, 3}) {
      for (const size_t size : {4, 19}) {
        ConvShape s = square_shape(size, 12, 18, kernel, 1, kernel / 2);
        s.groups = groups;
        check(s);
        check(s, {.with_bias = false, .with_activation = true, .with_residual = true});
      }
    }
  }
}

TEST_CASE("convolution: one dimension") {
  for (const size_t kernel : {1, 3, 10, 80}) {
    ConvShape s;
    s.batch = 2;
    s.input_width = 111;
    s.input_channels = 5;
    s.output_channels = 40;
    s.kernel_width = kernel;
    s.stride_width = 2;
    s.pad_left = kernel / 2;
    check(s);
    ConvShape upright = s;
    std::swap(upright.input_height, upright.input_width);
    std::swap(upright.kernel_height, upright.kernel_width);
    std::swap(upright.stride_height, upright.stride_width);
    std::swap(upright.pad_top, upright.pad_left);
    check(upright);
  }
}

TEST_CASE("convolution: deep windows are summed in pieces") {
  ConvShape s = square_shape(15, 400, 40, 3, 2, 1);
  check(s, {.with_activation = true, .with_residual = true, .min = 0.0f, .tolerance = 3e-7});
  s = square_shape(5, 400, 40, 3, 1, 1);
  check(s, {.with_residual = true, .min = 0.0f, .format = ConvWeights::kGemm});
}

TEST_CASE("convolution: the same bits on any number of threads") {
  ConvShape strided = square_shape(28, 64, 128, 3, 2, 1), first = square_shape(112, 3, 32, 3, 2, 1);
  ConvShape narrow = square_shape(7, 64, 160, 5, 1, 2), grouped = square_shape(40, 64, 64, 3, 1, 1);
  grouped.groups = 4;
  for (const ConvShape& s : {strided, first, narrow, grouped}) check_threads(s);
}

TEST_CASE("convolution: nothing to compute") {
  check(square_shape(2, 3, 4, 5));
  ConvShape s = square_shape(4, 3, 4, 3);
  s.batch = 0;
  check(s);
  s.batch = 1;
  s.input_channels = 0;
  check(s);
}

TEST_CASE("convolution: inconsistent shapes are refused") {
  ConvShape s = square_shape(8, 6, 8, 3);
  s.groups = 4;
  CHECK_THROWS_AS(ConvPlan{s}, Error);
  s.groups = 1;
  s.stride_height = 0;
  CHECK_THROWS_AS(ConvPlan{s}, Error);
}

TEST_CASE("convolution: Winograd's formats") {
  for (const ConvWeights format : {ConvWeights::kWinograd2, ConvWeights::kWinograd4, ConvWeights::kWinogradHalf}) {
    for (const size_t size : {1, 2, 3, 4, 5, 7, 8, 14, 19}) {
      for (const size_t pad : {0, 1, 2, 4}) {
        if (size + 2 * pad < 3) continue;
        for (const size_t inputs : {1, 5, 16, 20}) {
          check(square_shape(size, inputs, 7 + inputs, 3, 1, pad), {.format = format, .tolerance = 8e-6});
        }
      }
    }
    ConvShape s = square_shape(13, 18, 40, 3, 1, 1);
    s.batch = 3;
    s.input_width = 10;
    s.pad_left = 0;
    s.pad_bottom = 2;
    s.input_pixel_stride = 21;
    s.output_pixel_stride = 47;
    check(s, {.with_activation = true,
              .with_residual = true,
              .min = -1.0f,
              .max = 2.0f,
              .format = format,
              .tolerance = 8e-6});
    check(s, {.with_bias = false, .format = format, .tolerance = 8e-6});
    check(square_shape(9, 135, 50, 3, 1, 1), {.format = format, .tolerance = 8e-6});
    check_threads(square_shape(30, 64, 96, 3, 1, 1), {.format = format});
  }
  CHECK_THROWS_AS(ConvPlan(square_shape(9, 8, 8, 3, 2, 1), ConvWeights::kWinograd4), Error);
  CHECK_THROWS_AS(ConvPlan(square_shape(9, 8, 8, 3, 1, 1), ConvWeights::kWinograd3), Error);
}

TEST_CASE("convolution: Winograd's formats of stride 2") {
  struct Case {
    size_t kernel;
    ConvWeights format;
  };
  for (const Case& c :
       {Case{5, ConvWeights::kWinograd2}, Case{5, ConvWeights::kWinograd4}, Case{6, ConvWeights::kWinograd2},
        Case{6, ConvWeights::kWinograd4}, Case{7, ConvWeights::kWinograd3}, Case{8, ConvWeights::kWinograd3}}) {
    const Extras extras = {.format = c.format, .tolerance = 8e-6};
    for (const size_t size : {1, 2, 4, 7, 8, 13, 22, 31}) {
      for (const size_t pad : {0, 1, 2, 3, 4, 9}) {
        if (size + 2 * pad < c.kernel) continue;
        for (const size_t inputs : {1, 3, 5}) check(square_shape(size, inputs, 30 + inputs, c.kernel, 2, pad), extras);
      }
    }
    ConvShape s = square_shape(23, 18, 40, c.kernel, 2, 3);
    s.batch = 3;
    s.input_width = 17;
    s.pad_left = 0;
    s.pad_bottom = 2;
    s.input_pixel_stride = 21;
    s.output_pixel_stride = 47;
    check(s, {.with_activation = true,
              .with_residual = true,
              .min = -1.0f,
              .max = 2.0f,
              .format = c.format,
              .tolerance = 8e-6});
    check_threads(square_shape(90, 3, 64, c.kernel, 2, 3), extras);
  }
  CHECK(ConvPlan(square_shape(224, 3, 64, 7, 2, 3)).weights_format() == ConvWeights::kWinograd3);
  CHECK_THROWS_AS(ConvPlan(square_shape(224, 3, 64, 7, 2, 3), ConvWeights::kWinograd4), Error);
  CHECK_THROWS_AS(ConvPlan(square_shape(224, 3, 64, 5, 2, 3), ConvWeights::kWinograd3), Error);
  CHECK_THROWS_AS(ConvPlan(square_shape(224, 6, 64, 5, 2, 3), ConvWeights::kWinograd4, {{3, 3}, {3, 3}}), Error);
}

TEST_CASE("convolution: planes give the bits of pixels") {
  for (const size_t channels : {1, 2, 3, 4}) {
    for (const size_t kernel : {3, 7}) {
      ConvShape s = square_shape(53, channels, 40, kernel, 2, kernel / 2);
      s.batch = 2;
      const size_t plane = 53 * 53, floats = 2 * plane * channels;
      const std::vector<float> pixels = random_floats(floats, 7);
      const std::vector<float> weights = random_floats(40 * kernel * kernel * channels, 8);
      std::vector<float> planes(floats);
      for (size_t i = 0; i < floats; ++i) {
        const size_t image = i / (plane * channels), pixel = i / channels % plane, c = i % channels;
        planes[(image * channels + c) * plane + pixel] = pixels[i];
      }
      const auto run = [&](bool is_planar, const std::vector<float>& in) {
        s.is_planar = is_planar;
        const ConvPlan plan(s);
        AlignedBuffer packed(plan.packed_bytes()), workspace(plan.workspace_bytes());
        std::vector<float> out(2 * s.output_height() * s.output_width() * 40);
        plan.pack(weights.data(), nullptr, packed.data());
        plan.run(in.data(), packed.data(), out.data(), {}, workspace.data());
        return out;
      };
      CHECK(run(false, pixels) == run(true, planes));
    }
  }
}

TEST_CASE("convolution: Winograd's formats lose little more than float32 does") {
  const ConvShape plain = square_shape(16, 128, 32, 3, 1, 1), strided = square_shape(32, 16, 32, 7, 2, 3);
  for (const ConvWeights format : {ConvWeights::kGemm, ConvWeights::kWinograd2, ConvWeights::kWinograd3,
                                   ConvWeights::kWinograd4, ConvWeights::kWinogradHalf}) {
    const ConvShape& s = format == ConvWeights::kWinograd3 ? strided : plain;
    const std::vector<float> in = random_floats(s.input_height * s.input_width * s.input_channels, 7);
    const std::vector<float> weights = random_floats(32 * s.kernel_height * s.kernel_width * s.input_channels, 8);
    const ConvPlan plan(s, format);
    AlignedBuffer packed(plan.packed_bytes()), workspace(plan.workspace_bytes());
    std::vector<float> out(16 * 16 * 32);
    plan.pack(weights.data(), nullptr, packed.data());
    plan.run(in.data(), packed.data(), out.data(), {}, workspace.data());
    double error = 0, size = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      double ignored = 0;
      const double want = window_sum(s, in, weights, 0, i / 32 / 16, i / 32 % 16, i % 32, ignored);
      error += (out[i] - want) * (out[i] - want);
      size += want * want;
    }
    CHECK(std::sqrt(error / size) < 1.5e-6);
  }
}

TEST_CASE("transposed convolution: kernels, strides, paddings, dilations, adjustments") {
  for (const size_t kernel : {1, 2, 3, 4}) {
    for (const size_t stride : {1, 2, 3}) {
      for (const size_t pad : {0, 1}) {
        for (const size_t dilation : {1, 2}) {
          for (const size_t groups : {1, 2}) {
            ConvTransposeShape s;
            s.batch = 2;
            s.input_height = 6;
            s.input_width = 15;
            s.input_channels = 4;
            s.output_channels = 6;
            s.groups = groups;
            s.kernel_height = kernel;
            s.kernel_width = 5 - kernel;
            s.stride_height = stride;
            s.stride_width = 4 - stride;
            s.dilation_height = dilation;
            s.pad_top = pad;
            s.pad_right = pad;
            s.adjustment_height = stride - 1;
            check(s);
            s.input_pixel_stride = 7;
            s.output_pixel_stride = 9;
            check(s, {.with_activation = true, .with_residual = true, .min = -0.5f, .max = 1.0f});
          }
        }
      }
    }
  }
}

TEST_CASE("transposed convolution: columns of few channels are taken together") {
  for (const size_t channels : {1, 2, 3, 7}) {
    for (const size_t kernel : {1, 2, 3, 4, 5}) {
      for (const size_t stride : {2, 3}) {
        for (const size_t width : {1, 2, 5, 9}) {
          for (const size_t pad : {0, 1, 2}) {
            ConvTransposeShape s;
            s.batch = 2;
            s.input_height = 4;
            s.input_width = width;
            s.input_channels = 5;
            s.output_channels = channels;
            s.kernel_height = s.kernel_width = kernel;
            s.stride_height = s.stride_width = stride;
            s.pad_top = s.pad_bottom = s.pad_left = pad;
            s.pad_right = pad / 2;
            s.adjustment_width = pad;
            check(s);
            for (const size_t gap : {0, 1}) {
              check(s,
                    {.with_activation = true, .with_residual = true, .residual_gap = gap, .min = -0.5f, .max = 1.0f});
            }
          }
        }
      }
    }
  }
}

TEST_CASE("transposed convolution: upsampling layers") {
  ConvTransposeShape s;
  s.input_height = s.input_width = 16;
  s.input_channels = 64;
  s.output_channels = 32;
  s.kernel_height = s.kernel_width = 2;
  s.stride_height = s.stride_width = 2;
  check(s);
  s.kernel_height = s.kernel_width = 4;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
  const Threads one(1);
  const std::vector<float> want = check(s);
  for (const size_t threads : {2, 5}) {
    set_num_threads(threads);
    const std::vector<float> got = check(s);
    CHECK(std::memcmp(want.data(), got.data(), want.size() * sizeof(float)) == 0);
  }
}
