#include <doctest/doctest.h>

#include <cstring>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "qreference.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace qreference;

struct Size {
  size_t m, n, k;
};
const Size kSizes[] = {{0, 5, 7},   {5, 0, 7},      {3, 5, 0},      {1, 1, 1},      {1, 16, 4},    {2, 17, 5},
                       {3, 31, 8},  {5, 33, 31},    {6, 8, 16},     {7, 32, 33},    {13, 48, 64},  {14, 64, 27},
                       {15, 65, 9}, {29, 100, 96},  {49, 24, 144},  {100, 16, 576}, {1, 1000, 64}, {64, 19, 300},
                       {4, 40, 63}, {200, 70, 129}, {33, 257, 260}, {8, 30, 7}};

QWeights make_weights(QWeightType type, size_t n, size_t k, const std::vector<uint8_t>& bytes,
                      WeightLayout layout = WeightLayout::kOutputMajor) {
  QWeights w;
  w.type = type;
  w.layout = layout;
  w.n = n;
  w.k = k;
  w.data = bytes.data();
  const size_t row = layout == WeightLayout::kOutputMajor ? k : n;
  w.row_bytes = type == QWeightType::kInt4 ? (row + 1) / 2 : row;
  if (type == QWeightType::kInt4) w.zero_point = 8;
  return w;
}

// whole: results take the whole range of their dtype, and there are no offsets.
void check_static(const Size& size, QWeightType type, int32_t weight_zero_point, bool is_unsigned, WeightLayout layout,
                  size_t threads, float largest_scale = 2e-2f, bool whole = false) {
  const auto [m, n, k] = size;
  const size_t a_stride = k + 3, c_stride = n + 5;
  const std::vector<uint8_t> a = random_bytes(m * a_stride + 1, 1), bytes = random_bytes(n * k + 1, 2);
  const std::vector<int32_t> bias = random_ints(n + 1, 3, -20000, 20000);
  const std::vector<float> scales = random_floats(n + 1, 4, 1e-4f, largest_scale);
  QWeights w = make_weights(type, n, k, bytes, layout);
  w.zero_point = weight_zero_point;
  QStatic q{.is_unsigned = is_unsigned, .input_zero_point = is_unsigned ? 131 : -7, .scales = scales.data()};
  q.scale_count = n % 2 == 0 && n != 0 ? n : 1;
  const std::vector<float> offsets = random_floats(n + 1, 6, -0.5f, 0.5f);
  if (n % 4 != 1 && !whole) q.offsets = offsets.data();
  QOutput output{.zero_point = is_unsigned ? 120 : 3, .min = is_unsigned ? 4 : -120, .max = is_unsigned ? 250 : 125};
  if (whole) {
    output.min = is_unsigned ? 0 : -128;
    output.max = is_unsigned ? 255 : 127;
  }
  AlignedBuffer packed(qgemm_packed_bytes(w));
  qgemm_pack_static(w, n % 3 == 0 ? nullptr : bias.data(), q, packed.data());
  set_num_threads(threads);
  AlignedBuffer workspace(qgemm_workspace_bytes(m, n, k));
  std::vector<uint8_t> c(m * c_stride + 1, 0xee);
  qgemm_static(m, n, k, a.data(), a_stride, packed.data(), output, c.data(), c_stride,
               {workspace.data(), workspace.size_bytes()});
  size_t wrong = 0;
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < c_stride; ++j) {
      uint8_t expected = 0xee;
      if (j < n) {
        int64_t sum = n % 3 == 0 ? 0 : bias[j];
        for (size_t p = 0; p < k; ++p) {
          sum += (number(a[i * a_stride + p], is_unsigned) - q.input_zero_point) * int64_t{weight(w, j, p)};
        }
        expected =
            requantize(sum, scales[q.scale_count == 1 ? 0 : j], q.offsets != nullptr ? offsets[j] : 0.0f, output);
      }
      wrong += c[i * c_stride + j] != expected;
    }
  }
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CHECK(wrong == 0);
}

TEST_CASE("static int8 products are exact") {
  for (const Size& size : kSizes) {
    check_static(size, QWeightType::kInt8, 0, false, WeightLayout::kOutputMajor, 1);
    check_static(size, QWeightType::kInt8, 0, true, WeightLayout::kInputMajor, 1);
    check_static(size, QWeightType::kUInt8, 97, true, WeightLayout::kOutputMajor, 2);
    check_static(size, QWeightType::kInt8, 0, false, WeightLayout::kOutputMajor, 7);
    for (const bool is_unsigned : {false, true}) {
      check_static(size, QWeightType::kInt8, 0, is_unsigned, WeightLayout::kOutputMajor, 2, 2e-2f, true);
    }
  }
  set_num_threads(0);
}

TEST_CASE("static int8 products whose scaled sums exceed int32 saturate") {
  for (const Size& size : kSizes) {
    check_static(size, QWeightType::kInt8, 0, size.m % 2 == 0, WeightLayout::kOutputMajor, 1, 1e5f);
  }
  set_num_threads(0);
}

TEST_CASE("a workspace for one thread serves any number of threads") {
  const std::vector<uint8_t> bytes = random_bytes(300 * 300, 5);
  const QWeights w = make_weights(QWeightType::kInt8, 300, 300, bytes);
  const float scale = 1e-3f;
  AlignedBuffer packed(qgemm_packed_bytes(w));
  qgemm_pack_static(w, nullptr, {.scales = &scale}, packed.data());
  std::vector<uint8_t> one(300 * 300), many(300 * 300);
  set_num_threads(1);
  AlignedBuffer workspace(qgemm_workspace_bytes(300, 300, 300));
  const QWorkspace space{workspace.data(), workspace.size_bytes()};
  qgemm_static(300, 300, 300, bytes.data(), 300, packed.data(), {}, one.data(), 300, space);
  set_num_threads(8);
  qgemm_static(300, 300, 300, bytes.data(), 300, packed.data(), {}, many.data(), 300, space);
  set_num_threads(0);
  CHECK(one == many);
}

void check_dynamic(const Size& size, QWeightType type, size_t block_size, WeightLayout layout, bool half,
                   size_t threads, bool float_scales = false) {
  const auto [m, n, k] = size;
  const size_t a_stride = k + 1, c_stride = n + 2, blocks = block_size == 0 ? 1 : (k + block_size - 1) / block_size;
  const std::vector<uint8_t> a = random_bytes(m * a_stride + 1, 1), bytes = random_bytes(n * k + n + k + 1, 2);
  const std::vector<float> scales = random_floats(n + 1, 4, 1e-4f, 2e-2f), bias = random_floats(n + 1, 5, -1.0f, 1.0f);
  const std::vector<float> block_floats = random_floats(n * blocks + 1, 6, 1e-4f, 2e-2f);
  std::vector<uint16_t> block_scales;
  for (const float v : block_floats) block_scales.push_back(bfloat16_bits(v));
  QWeights w = make_weights(type, n, k, bytes, layout);
  w.block_size = block_size;
  w.has_float_scales = float_scales;
  const bool with_bias = n % 3 != 0;
  const QDynamic q{.scales = float_scales ? block_floats.data() : scales.data(),
                   .scale_count = n % 2 == 0 && n != 0 ? n : 1,
                   .block_scales = block_scales.data(),
                   .bias = with_bias ? bias.data() : nullptr};
  AlignedBuffer packed(qgemm_packed_bytes(w));
  qgemm_pack_dynamic(w, q, packed.data());
  const std::vector<int32_t> zero_points = random_ints(m + 1, 7, -128, 127);
  std::vector<Quantization> rows;
  for (size_t i = 0; i < m + 1; ++i) rows.push_back({0.01f * static_cast<float>(i % 7 + 1), zero_points[i]});
  set_num_threads(threads);
  AlignedBuffer workspace(qgemm_workspace_bytes(m, n, k));
  const QWorkspace space{workspace.data(), workspace.size_bytes()};
  const QClamp clamp{.min = -100.0f, .max = 90.0f};
  const bool backwards = (m + n) % 2 != 0;
  std::vector<float> c(m * c_stride + 1, 77.0f);
  std::vector<uint16_t> c_half(m * c_stride + 1, half_bits(77.0f));
  const int8_t* rows_of_a = reinterpret_cast<const int8_t*>(a.data());
  if (half) {
    qgemm_dynamic(m, w, rows_of_a, a_stride, rows.data(), packed.data(), clamp, c_half.data(), c_stride, space,
                  backwards);
    for (size_t i = 0; i < c.size(); ++i) c[i] = half_value(c_half[i]);
  } else {
    qgemm_dynamic(m, w, rows_of_a, a_stride, rows.data(), packed.data(), clamp, c.data(), c_stride, space, backwards);
  }
  size_t wrong = 0;
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < c_stride; ++j) {
      double expected = 77, magnitude = 77;
      if (j < n) {
        double sum = 0;
        magnitude = 1;
        for (size_t p = 0; p < k; ++p) {
          const size_t at = block_size == 0 ? 0 : j * blocks + p / block_size;
          const double scale = block_size == 0 ? scales[q.scale_count == 1 ? 0 : j]
                               : float_scales  ? block_floats[at]
                                               : bfloat16_value(block_scales[at]);
          const double term = (number(a[i * a_stride + p], false) - rows[i].zero_point) * scale * weight(w, j, p);
          sum += term;
          magnitude += std::abs(term) * rows[i].scale;
        }
        expected = std::clamp<double>(sum * rows[i].scale + (with_bias ? bias[j] : 0.0f), clamp.min, clamp.max);
      }
      const double tolerance = half ? 1e-3 * std::abs(expected) + 1e-5 * magnitude : 2e-6 * magnitude;
      wrong += !(std::abs(c[i * c_stride + j] - expected) <= tolerance);
    }
  }
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(block_size);
  CHECK(wrong == 0);
}

TEST_CASE("dynamically quantised products with int8 weights") {
  for (const Size& size : kSizes) {
    check_dynamic(size, QWeightType::kInt8, 0, WeightLayout::kOutputMajor, false, 1);
    check_dynamic(size, QWeightType::kInt8, 0, WeightLayout::kInputMajor, true, 3);
  }
  set_num_threads(0);
}

TEST_CASE("dynamically quantised products with int4 weights") {
  for (const Size& size : kSizes) {
    check_dynamic(size, QWeightType::kInt4, 0, WeightLayout::kOutputMajor, false, 1);
    check_dynamic(size, QWeightType::kInt4, 0, WeightLayout::kInputMajor, true, 3);
  }
  set_num_threads(0);
}

TEST_CASE("dynamically quantised products with int4 weights in blocks") {
  for (const Size& size : kSizes) {
    for (const size_t block : {32, 64, 96, 256}) {
      check_dynamic(size, QWeightType::kInt4, block, WeightLayout::kOutputMajor, block == 64, block == 32 ? 3 : 1);
      check_dynamic(size, QWeightType::kInt4, block, WeightLayout::kOutputMajor, false, 1, true);
    }
  }
  set_num_threads(0);
}

}  // namespace
