#include <doctest/doctest.h>

#include <string>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/qconv/qconv.h"
#include "qreference.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace qreference;

// The input position that tap `tap` of output `position` sees, or -1.
long input_position(const ConvShape&, size_t position, size_t tap, size_t stride, size_t dilation, size_t pad) {
  return static_cast<long>(position * stride + tap * dilation) - static_cast<long>(pad);
}
long input_position(const ConvTransposeShape&, size_t position, size_t tap, size_t stride, size_t dilation,
                    size_t pad) {
  const long full = static_cast<long>(position + pad) - static_cast<long>(tap * dilation);
  return full >= 0 && full % static_cast<long>(stride) == 0 ? full / static_cast<long>(stride) : -1;
}

template <class Shape>
struct Problem {
  Shape shape;
  std::vector<uint8_t> input, weights;
  QConvWeights packing;

  explicit Problem(const Shape& s, QWeightType type) : shape(s) {
    input = random_bytes(s.batch * s.input_height * s.input_width * input_stride() + 1, 11);
    weights =
        random_bytes(s.output_channels * s.kernel_height * s.kernel_width * (s.input_channels / s.groups) + 1, 12);
    packing = {.type = type, .data = weights.data(), .zero_point = type == QWeightType::kUInt8 ? 140 : 0};
  }
  size_t input_stride() const {
    return shape.input_pixel_stride != 0 ? shape.input_pixel_stride : shape.input_channels;
  }
  size_t output_stride() const {
    return shape.output_pixel_stride != 0 ? shape.output_pixel_stride : shape.output_channels;
  }
  size_t output_size() const {
    return shape.batch * shape.output_height() * shape.output_width() * output_stride() + 1;
  }

  // The sum at output (n, y, x, o), with activations less their zero point.
  int64_t sum(size_t n, size_t y, size_t x, size_t o, bool is_unsigned, int32_t zero_point) const {
    const Shape& s = shape;
    const size_t channels = s.input_channels / s.groups, group = o / (s.output_channels / s.groups);
    int64_t result = 0;
    for (size_t ky = 0; ky < s.kernel_height; ++ky) {
      for (size_t kx = 0; kx < s.kernel_width; ++kx) {
        const long iy = input_position(s, y, ky, s.stride_height, s.dilation_height, s.pad_top);
        const long ix = input_position(s, x, kx, s.stride_width, s.dilation_width, s.pad_left);
        if (iy < 0 || ix < 0 || iy >= static_cast<long>(s.input_height) || ix >= static_cast<long>(s.input_width))
          continue;
        const size_t pixel = (n * s.input_height + static_cast<size_t>(iy)) * s.input_width + static_cast<size_t>(ix);
        for (size_t c = 0; c < channels; ++c) {
          const int32_t a = number(input[pixel * input_stride() + group * channels + c], is_unsigned) - zero_point;
          const uint8_t byte = weights[((o * s.kernel_height + ky) * s.kernel_width + kx) * channels + c];
          result += int64_t{a} * (number(byte, packing.type == QWeightType::kUInt8) - packing.zero_point);
        }
      }
    }
    return result;
  }
};

template <class Plan, class Shape, class... Format>
void check_static(const Shape& shape, QWeightType type, bool is_unsigned, size_t threads, Format... format) {
  const Problem<Shape> problem(shape, type);
  set_num_threads(threads);
  const Plan plan(shape, format...);
  const std::vector<int32_t> bias = random_ints(shape.output_channels + 1, 13, -10000, 10000);
  const std::vector<float> scales = random_floats(shape.output_channels + 1, 14, 1e-4f, 1e-2f);
  const std::vector<float> offsets = random_floats(shape.output_channels + 1, 16, -0.5f, 0.5f);
  const QStatic q{.is_unsigned = is_unsigned,
                  .input_zero_point = is_unsigned ? 111 : 9,
                  .scales = scales.data(),
                  .scale_count = shape.output_channels,
                  .offsets = shape.output_channels % 3 == 0 ? nullptr : offsets.data()};
  const QOutput range{
      .zero_point = is_unsigned ? 100 : -3, .min = is_unsigned ? 0 : -128, .max = is_unsigned ? 255 : 127};
  AlignedBuffer packed(plan.packed_bytes()), workspace(plan.workspace_bytes());
  plan.pack_static(problem.packing, bias.data(), q, packed.data());
  std::vector<uint8_t> output(problem.output_size(), 0xcd);
  plan.run({.input = problem.input.data(),
            .packed = packed.data(),
            .output = output.data(),
            .input_zero_point = q.input_zero_point,
            .output_range = range},
           workspace.data());
  size_t wrong = output.back() != 0xcd;
  const size_t height = shape.output_height(), width = shape.output_width();
  for (size_t pixel = 0; pixel < shape.batch * height * width; ++pixel) {
    for (size_t o = 0; o < problem.output_stride(); ++o) {
      uint8_t expected = 0xcd;
      if (o < shape.output_channels) {
        const int64_t sum = problem.sum(pixel / (height * width), pixel / width % height, pixel % width, o, is_unsigned,
                                        q.input_zero_point);
        expected = requantize(sum + bias[o], scales[o], q.offsets != nullptr ? offsets[o] : 0.0f, range);
      }
      wrong += output[pixel * problem.output_stride() + o] != expected;
    }
  }
  CHECK(wrong == 0);
}

template <class Plan, class Shape>
void check_dynamic(const Shape& shape, bool half, size_t threads) {
  const Problem<Shape> problem(shape, QWeightType::kInt8);
  set_num_threads(threads);
  const Plan plan(shape);
  const std::vector<float> scales = random_floats(shape.output_channels + 1, 14, 1e-4f, 1e-2f);
  const std::vector<float> bias = random_floats(shape.output_channels + 1, 15, -1.0f, 1.0f);
  const QDynamic q{.scales = scales.data(), .scale_count = shape.output_channels, .bias = bias.data()};
  std::vector<Quantization> images;
  for (size_t n = 0; n < shape.batch; ++n)
    images.push_back({0.02f * static_cast<float>(n + 1), static_cast<int32_t>(n * 5) - 7});
  AlignedBuffer packed(plan.packed_bytes()), workspace(plan.workspace_bytes());
  plan.pack_dynamic(problem.packing, q, packed.data());
  std::vector<float> output(problem.output_size(), -5.0f);
  std::vector<uint16_t> output_half(problem.output_size(), half_bits(-5.0f));
  const QClamp clamp{.min = -500.0f, .max = 400.0f};
  plan.run({.kind = half ? QKind::kDynamicF16 : QKind::kDynamic,
            .input = problem.input.data(),
            .packed = packed.data(),
            .output = half ? static_cast<void*>(output_half.data()) : output.data(),
            .images = images.data(),
            .clamp = clamp},
           workspace.data());
  for (size_t i = 0; half && i < output.size(); ++i) output[i] = half_value(output_half[i]);
  size_t wrong = output.back() != -5.0f;
  const size_t height = shape.output_height(), width = shape.output_width();
  for (size_t pixel = 0; pixel < shape.batch * height * width; ++pixel) {
    const size_t n = pixel / (height * width);
    for (size_t o = 0; o < problem.output_stride(); ++o) {
      double expected = -5;
      if (o < shape.output_channels) {
        const int64_t sum = problem.sum(n, pixel / width % height, pixel % width, o, false, images[n].zero_point);
        expected =
            std::clamp<double>(static_cast<double>(sum) * scales[o] * images[n].scale + bias[o], clamp.min, clamp.max);
      }
      const double tolerance = (half ? 1e-3 : 1e-6) * (1 + std::abs(expected));
      wrong += !(std::abs(output[pixel * problem.output_stride() + o] - expected) <= tolerance);
    }
  }
  CHECK(wrong == 0);
}

std::vector<ConvShape> conv_shapes() {
  ConvShape base;
  base.input_height = 9;
  base.input_width = 11;
  base.input_channels = 6;
  base.output_channels = 20;
  std::vector<ConvShape> shapes;
  const auto add = [&](auto change) {
    ConvShape s = base;
    change(s);
    shapes.push_back(s);
  };
  add([](ConvShape&) {});
  add([](ConvShape& s) { s.stride_height = s.stride_width = 2; });
  add([](ConvShape& s) {
    s.batch = 3;
    s.kernel_height = s.kernel_width = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
  });
  add([](ConvShape& s) {
    s.input_channels = 3;
    s.output_channels = 33;
    s.kernel_height = s.kernel_width = 7;
    s.stride_height = s.stride_width = 2;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 3;
  });
  add([](ConvShape& s) {
    s.kernel_height = 2;
    s.kernel_width = 4;
    s.pad_bottom = 1;
    s.pad_left = 1;
    s.pad_right = 2;
  });
  add([](ConvShape& s) {
    s.kernel_height = 3;
    s.kernel_width = 2;
    s.dilation_height = 2;
    s.dilation_width = 3;
    s.pad_top = 4;
    s.pad_left = 2;
    s.pad_right = 1;
  });
  add([](ConvShape& s) {
    s.groups = 2;
    s.kernel_height = s.kernel_width = 3;
    s.pad_top = s.pad_left = 1;
    s.stride_width = 3;
  });
  add([](ConvShape& s) {
    s.groups = 3;
    s.input_channels = 48;
    s.output_channels = 51;
    s.batch = 2;
  });
  add([](ConvShape& s) {
    s.input_pixel_stride = 10;
    s.output_pixel_stride = 23;
    s.kernel_width = 3;
    s.pad_right = 5;
  });
  add([](ConvShape& s) {
    s.input_height = 1;
    s.kernel_width = 5;
    s.pad_left = s.pad_right = 2;
    s.input_channels = 40;
    s.output_channels = 64;
  });
  add([](ConvShape& s) {
    s.kernel_width = 13;
    s.pad_left = 7;
    s.pad_right = 9;
  });
  add([](ConvShape& s) {
    s.input_width = 60;
    s.input_height = 30;
    s.input_channels = 64;
    s.kernel_height = s.kernel_width = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
  });
  add([](ConvShape& s) { s.kernel_height = 20; });
  add([](ConvShape& s) { s.batch = 0; });
  return shapes;
}

TEST_CASE("int8 convolutions are exact") {
  for (const ConvShape& s : conv_shapes()) {
    CAPTURE(s.kernel_height);
    CAPTURE(s.kernel_width);
    CAPTURE(s.groups);
    check_static<QConvPlan>(s, QWeightType::kInt8, false, 1);
    check_static<QConvPlan>(s, QWeightType::kInt8, true, 4);
    check_static<QConvPlan>(s, QWeightType::kUInt8, true, 2);
  }
  set_num_threads(0);
}

TEST_CASE("int8 convolutions that read windows in lines of the image are exact") {
  size_t fitting = 0;
  for (const ConvShape& s : conv_shapes()) {
    if (s.dilation_width != 1 || (s.groups == 1 && s.input_pixel_stride != 0)) continue;
    ++fitting;
    CAPTURE(s.kernel_height);
    CAPTURE(s.kernel_width);
    for (const size_t threads : {1, 3}) {
      check_static<QConvPlan>(s, QWeightType::kInt8, false, threads, QConvFormat::kLines);
      check_static<QConvPlan>(s, QWeightType::kInt8, true, threads, QConvFormat::kLines);
    }
  }
  set_num_threads(0);
  CHECK(fitting >= 8);
  ConvShape s;
  s.dilation_width = 2;
  CHECK_THROWS_AS((QConvPlan{s, QConvFormat::kLines}), Error);
}

TEST_CASE("Winograd's int8 convolutions are exact") {
  ConvShape base;
  base.input_height = base.input_width = 8;
  base.input_channels = base.output_channels = 32;
  base.kernel_height = base.kernel_width = 3;
  base.pad_top = base.pad_left = base.pad_bottom = base.pad_right = 1;
  std::vector<ConvShape> shapes{base};
  ConvShape odd = base;
  odd.batch = 3;
  odd.input_height = 7;
  odd.input_width = 5;
  odd.input_channels = 77;
  odd.output_channels = 45;
  odd.input_pixel_stride = 80;
  odd.output_pixel_stride = 51;
  shapes.push_back(odd);
  odd.pad_top = odd.pad_left = 0;
  odd.pad_right = 2;
  shapes.push_back(odd);
  ConvShape large = base;
  large.input_height = large.input_width = 30;
  large.input_channels = 64;
  shapes.push_back(large);
  base.batch = 0;
  shapes.push_back(base);
  for (const ConvShape& s : shapes) {
    for (const QConvFormat format : {QConvFormat::kWinograd2, QConvFormat::kWinograd4}) {
      check_static<QConvPlan>(s, QWeightType::kInt8, false, 1, format);
      check_static<QConvPlan>(s, QWeightType::kInt8, true, 4, format);
    }
    check_static<QConvPlan>(s, QWeightType::kUInt8, true, 2, QConvFormat::kWinograd2);
  }
  set_num_threads(0);
  base.stride_width = 2;
  CHECK_THROWS_AS((QConvPlan{base, QConvFormat::kWinograd2}), Error);
}

TEST_CASE("Winograd's sums wrap around and come out right at the limit of channels") {
  ConvShape s;
  s.input_height = s.input_width = 6;
  s.input_channels = 227;
  s.output_channels = 34;
  s.kernel_height = s.kernel_width = 3;
  const QConvPlan plan(s, QConvFormat::kWinograd4);
  for (const int8_t number : {-128, 127}) {
    const std::vector<int8_t> input(36 * s.input_channels, number);
    std::vector<int8_t> weights(s.output_channels * 9 * s.input_channels, 127);
    std::fill_n(weights.begin(), weights.size() / 2, int8_t{-128});
    const std::vector<float> scales(s.output_channels, 3e-6f);
    const QStatic q{.scales = scales.data(), .scale_count = scales.size()};
    const QOutput range{};
    AlignedBuffer packed(plan.packed_bytes()), workspace(plan.workspace_bytes());
    plan.pack_static({.data = weights.data()}, nullptr, q, packed.data());
    std::vector<uint8_t> output(16 * s.output_channels);
    plan.run({.input = input.data(), .packed = packed.data(), .output = output.data(), .output_range = range},
             workspace.data());
    for (size_t i = 0; i < output.size(); ++i) {
      const size_t o = i % s.output_channels;
      const int64_t sum = int64_t{9} * 227 * number * weights[o * 9 * s.input_channels];
      CHECK(output[i] == requantize(sum, scales[o], 0.0f, range));
    }
  }
  s.input_channels = 228;
  CHECK_THROWS_AS((QConvPlan{s, QConvFormat::kWinograd4}), Error);
}

TEST_CASE("dynamically quantised convolutions") {
  for (const ConvShape& s : conv_shapes()) {
    check_dynamic<QConvPlan>(s, false, 2);
    check_dynamic<QConvPlan>(s, true, 1);
  }
  set_num_threads(0);
}

TEST_CASE("a convolution's plan refuses shapes that make no sense") {
  ConvShape s;
  s.input_channels = 3;
  s.groups = 2;
  CHECK_THROWS_AS(QConvPlan{s}, Error);
  s.groups = 1;
  s.stride_width = 0;
  CHECK_THROWS_AS(QConvPlan{s}, Error);
}

TEST_CASE("int8 transposed convolutions are exact") {
  ConvTransposeShape base;
  base.batch = 2;
  base.input_height = 4;
  base.input_width = 5;
  base.input_channels = 6;
  base.output_channels = 20;
  std::vector<ConvTransposeShape> shapes;
  const auto add = [&](auto change) {
    ConvTransposeShape s = base;
    change(s);
    shapes.push_back(s);
  };
  add([](ConvTransposeShape&) {});
  add([](ConvTransposeShape& s) { s.kernel_height = s.kernel_width = s.stride_height = s.stride_width = 2; });
  add([](ConvTransposeShape& s) {
    s.kernel_height = s.kernel_width = 3;
    s.stride_height = s.stride_width = 2;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    s.adjustment_height = s.adjustment_width = 1;
  });
  add([](ConvTransposeShape& s) {
    s.kernel_height = 4;
    s.kernel_width = 1;
    s.stride_height = 2;
    s.stride_width = 3;
    s.pad_top = 1;
  });
  add([](ConvTransposeShape& s) {
    s.kernel_height = 3;
    s.kernel_width = 2;
    s.dilation_height = 2;
    s.dilation_width = 3;
    s.stride_width = 2;
    s.pad_left = 2;
  });
  add([](ConvTransposeShape& s) {
    s.groups = 2;
    s.kernel_height = s.kernel_width = 3;
    s.stride_height = 3;
    s.input_pixel_stride = 9;
    s.output_pixel_stride = 21;
  });
  for (const ConvTransposeShape& s : shapes) {
    CAPTURE(s.kernel_height);
    CAPTURE(s.kernel_width);
    check_static<QConvTransposePlan>(s, QWeightType::kInt8, false, 1);
    check_static<QConvTransposePlan>(s, QWeightType::kUInt8, true, 3);
    check_dynamic<QConvTransposePlan>(s, false, 1);
    check_dynamic<QConvTransposePlan>(s, true, 2);
  }
  set_num_threads(0);
}

}  // namespace
