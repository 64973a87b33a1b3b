#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"
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

enum class Residual { kNone, kOther, kInPlace, kOneRow };

struct Case {
  size_t m, n, k;
  size_t a_gap = 0, c_gap = 0;
  bool with_bias = true, with_activation = false;
  Residual residual = Residual::kNone;
  float min = -kInfinity, max = kInfinity;
  WeightLayout layout = WeightLayout::kOutputMajor;
  std::optional<HalfType> half = {};
};

// The bits of 16-bit weights; `values` become what they stand for.
std::vector<uint16_t> halve(HalfType type, std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (float& v : values) {
    bits.push_back(type == HalfType::kFloat16 ? half_bits(v) : bfloat16_bits(v));
    v = type == HalfType::kFloat16 ? half_value(bits.back()) : bfloat16_value(bits.back());
  }
  return bits;
}

// Runs the case and compares every element with the definition in double; returns C with its gaps.
std::vector<float> check(const Case& c) {
  CAPTURE(c.m);
  CAPTURE(c.n);
  CAPTURE(c.k);
  const size_t a_stride = c.k + c.a_gap, c_stride = c.n + c.c_gap;
  // One float more than needed in front: nothing is aligned.
  const std::vector<float> a = random_floats(1 + c.m * a_stride, 1), bias = random_floats(c.n, 2);
  const bool output_major = c.layout == WeightLayout::kOutputMajor;
  const size_t b_stride = (output_major ? c.k : c.n) + 3;
  std::vector<float> b = random_floats((output_major ? c.n : c.k) * b_stride, 3);
  const std::vector<uint16_t> halves = c.half ? halve(*c.half, b) : std::vector<uint16_t>();
  std::vector<float> out(1 + c.m * c_stride, kUntouched);
  const std::vector<float> other = random_floats((c.m + 1) * (c.n + 2), 4);
  const float shift = 0.25f;
  GemmEpilogue epilogue;
  epilogue.min = c.min;
  epilogue.max = c.max;
  if (c.with_activation) {
    epilogue.activation = square;
    epilogue.activation_context = &shift;
  }
  if (c.residual != Residual::kNone) {
    epilogue.residual = other.data();
    epilogue.residual_stride = c.residual == Residual::kOneRow ? 0 : c.n + 2;
    epilogue.residual_scale = 0.5f;
  }
  if (c.residual == Residual::kInPlace) {
    for (size_t i = 0; i < c.m; ++i) {
      for (size_t j = 0; j < c.n; ++j) out[1 + i * c_stride + j] = other[i * (c.n + 2) + j];
    }
    epilogue.residual = out.data() + 1;
    epilogue.residual_stride = c_stride;
  }
  const float* used_bias = c.with_bias ? bias.data() : nullptr;
  if (c.half) {
    AlignedBuffer packed(gemm_half_packed_bytes(c.n, c.k));
    gemm_half_pack(c.layout, c.n, c.k, halves.data(), b_stride, used_bias, packed.data());
    gemm_half(*c.half, c.m, c.n, c.k, a.data() + 1, a_stride, packed.data(), out.data() + 1, c_stride, epilogue);
  } else {
    AlignedBuffer packed(gemm_packed_bytes(c.n, c.k));
    gemm_pack(c.layout, c.n, c.k, b.data(), b_stride, used_bias, packed.data());
    gemm(c.m, c.n, c.k, a.data() + 1, a_stride, packed.data(), out.data() + 1, c_stride, epilogue);
  }
  size_t wrong = 0, touched = 0;
  for (size_t i = 0; i < c.m; ++i) {
    for (size_t j = 0; j < c.n; ++j) {
      double want = c.with_bias ? bias[j] : 0.0, size = std::fabs(want) + 1;
      for (size_t p = 0; p < c.k; ++p) {
        const double product =
            static_cast<double>(a[1 + i * a_stride + p]) * b[output_major ? j * b_stride + p : p * b_stride + j];
        want += product;
        size += std::fabs(product);
      }
      if (c.residual != Residual::kNone) want += 0.5 * other[(c.residual == Residual::kOneRow ? 0 : i) * (c.n + 2) + j];
      want = std::min<double>(std::max<double>(want, c.min), c.max);
      double tolerance = 1e-6 * size;
      if (c.with_activation) {
        tolerance *= 2 * std::fabs(want) + 1;
        want = want * want + shift;
      }
      wrong += !(std::fabs(out[1 + i * c_stride + j] - want) <= tolerance);
    }
    for (size_t j = c.n; j < c_stride; ++j) touched += out[1 + i * c_stride + j] != kUntouched;
  }
  CHECK(wrong == 0);
  CHECK(touched == 0);
  CHECK(out[0] == kUntouched);
  return out;
}

struct Threads {
  explicit Threads(size_t count) { set_num_threads(count); }
  ~Threads() { set_num_threads(0); }
};

}  // namespace

TEST_CASE("gemm: every number of rows and columns around the tiles") {
  for (size_t m = 0; m <= 31; ++m) {
    for (const size_t n : {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 49, 64, 65}) {
      for (const size_t k : {0, 1, 2, 3, 4, 5, 17}) check({.m = m, .n = n, .k = k});
    }
  }
}

TEST_CASE("gemm: epilogues") {
  for (const size_t n : {1, 5, 16, 20, 33, 70}) {
    for (const size_t k : {0, 9, 2500}) {
      for (const Residual residual : {Residual::kNone, Residual::kOther, Residual::kInPlace, Residual::kOneRow}) {
        for (const bool with_bias : {false, true}) {
          for (const bool with_activation : {false, true}) {
            check({.m = 23,
                   .n = n,
                   .k = k,
                   .a_gap = 5,
                   .c_gap = 7,
                   .with_bias = with_bias,
                   .with_activation = with_activation,
                   .residual = residual,
                   .min = -0.5f,
                   .max = 0.75f});
          }
        }
      }
    }
  }
}

TEST_CASE("gemm: weights of both layouts") {
  for (const size_t n : {1, 16, 40}) {
    for (const size_t k : {1, 15, 16, 33}) check({.m = 9, .n = n, .k = k, .layout = WeightLayout::kInputMajor});
  }
}

TEST_CASE("gemm: sizes of real models give the same bits on any number of threads") {
  const Case cases[] = {
      {.m = 197, .n = 192, .k = 768},
      {.m = 49, .n = 320, .k = 960},
      {.m = 1, .n = 1000, .k = 1280},
      {.m = 1000, .n = 17, .k = 40},
      {.m = 70, .n = 600, .k = 3000, .with_activation = true, .residual = Residual::kInPlace, .min = 0.0f},
  };
  for (const Case& c : cases) {
    const Threads one(1);
    const std::vector<float> want = check(c);
    for (const size_t threads : {2, 3, 5}) {
      set_num_threads(threads);
      const std::vector<float> got = check(c);
      CHECK(std::memcmp(want.data(), got.data(), want.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("gemm: parts by columns are the product's columns, parts by depth add up to it") {
  const size_t m = 31, n = 150, k = 1700, c_stride = n + 2;
  const std::vector<float> a = random_floats(m * k, 1), b = random_floats(n * k, 2), bias = random_floats(n, 3);
  const std::vector<float> residual = random_floats(m * n, 4);
  AlignedBuffer packed(gemm_packed_bytes(n, k));
  gemm_pack(WeightLayout::kOutputMajor, n, k, b.data(), k, bias.data(), packed.data());
  GemmEpilogue epilogue;
  epilogue.residual = residual.data();
  epilogue.residual_stride = n;
  epilogue.residual_scale = 0.5f;
  std::vector<float> plain(m * c_stride, kUntouched);
  gemm(m, n, k, a.data(), k, packed.data(), plain.data(), c_stride, epilogue);
  const float shift = 0.25f;
  epilogue.min = -1.0f;
  epilogue.max = 1.0f;
  epilogue.activation = square;
  epilogue.activation_context = &shift;
  std::vector<float> whole(m * c_stride, kUntouched), columns(whole), sums(whole), rest(m * n);
  gemm(m, n, k, a.data(), k, packed.data(), whole.data(), c_stride, epilogue);

  const size_t step = gemm_column_step();
  for (size_t column = 0; column < n; column += 2 * step) {
    gemm_part(m, n, k, {column, std::min(column + 2 * step, n), 0, k}, a.data(), k, packed.data(),
              columns.data() + column, c_stride, epilogue);
  }
  CHECK(std::memcmp(columns.data(), whole.data(), whole.size() * sizeof(float)) == 0);

  const size_t cut = 1601;
  gemm_part(m, n, k, {0, n, 0, cut}, a.data(), k, packed.data(), sums.data(), c_stride, epilogue);
  gemm_part(m, n, k, {0, n, cut, k}, a.data() + cut, k, packed.data(), rest.data(), n);
  size_t wrong = 0;
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      wrong += !(std::fabs(sums[i * c_stride + j] + rest[i * n + j] - plain[i * c_stride + j]) <= 1e-3f);
    }
    CHECK(sums[i * c_stride + n] == kUntouched);
  }
  CHECK(wrong == 0);
}

TEST_CASE("gemm: NaN passes the clamp, infinity is cut") {
  const size_t m = 15, n = 33, k = 3;
  std::vector<float> a(m * k, 1.0f), c(m * n);
  a[0] = std::numeric_limits<float>::quiet_NaN();
  a[k] = kInfinity;
  const std::vector<float> b(n * k, 1.0f);
  AlignedBuffer packed(gemm_packed_bytes(n, k));
  gemm_pack(WeightLayout::kOutputMajor, n, k, b.data(), k, nullptr, packed.data());
  GemmEpilogue epilogue;
  epilogue.min = 0.0f;
  epilogue.max = 6.0f;
  gemm(m, n, k, a.data(), k, packed.data(), c.data(), n, epilogue);
  for (size_t j = 0; j < n; ++j) {
    CHECK(std::isnan(c[j]));
    CHECK(c[n + j] == 6.0f);
    CHECK(c[2 * n + j] == 3.0f);
  }
}

TEST_CASE("gemm: 16-bit weights are those of the float they stand for") {
  for (const HalfType half : {HalfType::kFloat16, HalfType::kBFloat16}) {
    for (const WeightLayout layout : {WeightLayout::kOutputMajor, WeightLayout::kInputMajor}) {
      for (const size_t m : {1, 2, 3, 4, 5, 14, 15, 30, 33}) {
        for (const size_t n : {1, 16, 37, 70}) {
          for (const size_t k : {0, 1, 7, 21, 256, 300}) {
            check({.m = m, .n = n, .k = k, .a_gap = 1, .c_gap = 2, .layout = layout, .half = half});
          }
        }
      }
    }
    for (const Residual residual : {Residual::kOther, Residual::kInPlace, Residual::kOneRow}) {
      for (const size_t m : {3, 23}) {
        check({.m = m,
               .n = 100,
               .k = 1700,
               .with_bias = false,
               .with_activation = true,
               .residual = residual,
               .min = -0.5f,
               .max = 0.75f,
               .half = half});
      }
    }
  }
}

TEST_CASE("gemm: every 16-bit weight is widened as it is multiplied, as before") {
  // One input of 1: C is what the weights stand for, whatever the number of rows. A NaN's bits may differ.
  const size_t n = 1 << 16;
  std::vector<uint16_t> bits(n);
  for (size_t i = 0; i < n; ++i) bits[i] = static_cast<uint16_t>(i);
  for (const HalfType type : {HalfType::kFloat16, HalfType::kBFloat16}) {
    AlignedBuffer packed(gemm_half_packed_bytes(n, 1));
    gemm_half_pack(WeightLayout::kOutputMajor, n, 1, bits.data(), 1, nullptr, packed.data());
    for (const size_t m : {1, 6}) {
      const std::vector<float> a(m, 1.0f);
      std::vector<float> c(m * n);
      gemm_half(type, m, n, 1, a.data(), 1, packed.data(), c.data(), n);
      size_t wrong = 0;
      for (size_t i = 0; i < m * n; ++i) {
        const uint16_t weight = bits[i % n];
        const float want = type == HalfType::kFloat16 ? half_value(weight) : bfloat16_value(weight);
        wrong += std::isnan(want) ? !std::isnan(c[i]) : c[i] != want;
      }
      CHECK(wrong == 0);
    }
  }
}

namespace {

// Compares a batch of products with the definition; returns C.
std::vector<float> check_batch(size_t outer, size_t inner, size_t m, size_t n, size_t k, bool b_transposed,
                               bool with_addend, float alpha = 0.3f) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  // Heads side by side, as attention has them: the inner batch is a slice of the rows.
  BatchMatmul call;
  call.batch_outer = outer;
  call.batch_inner = inner;
  call.m = m;
  call.n = n;
  call.k = k;
  call.b_transposed = b_transposed;
  call.a_inner_stride = k;
  call.a_stride = inner * k + 1;
  call.a_outer_stride = m * call.a_stride;
  call.b_inner_stride = b_transposed ? k : n;
  call.b_stride = inner * call.b_inner_stride + 2;
  call.b_outer_stride = (b_transposed ? n : k) * call.b_stride;
  call.c_stride = n + 1;
  call.c_inner_stride = m * call.c_stride;
  call.c_outer_stride = inner * call.c_inner_stride;
  const std::vector<float> a = random_floats(outer * call.a_outer_stride, 1);
  const std::vector<float> b = random_floats(outer * call.b_outer_stride, 2), addend = random_floats(outer * n, 3);
  std::vector<float> c(outer * call.c_outer_stride, kUntouched);
  call.a = a.data();
  call.b = b.data();
  call.c = c.data();
  call.alpha = alpha;
  call.beta = -2.0f;
  call.max = 1.5f;
  if (with_addend) {  // one row for each outer batch
    call.addend = addend.data();
    call.addend_outer_stride = n;
  }
  AlignedBuffer workspace(batch_matmul_workspace_bytes(outer * inner, m, n, k));
  batch_matmul(call, workspace.data());
  size_t wrong = 0;
  for (size_t o = 0; o < outer; ++o) {
    for (size_t in = 0; in < inner; ++in) {
      for (size_t i = 0; i < m; ++i) {
        const float* row = c.data() + o * call.c_outer_stride + in * call.c_inner_stride + i * call.c_stride;
        for (size_t j = 0; j < n; ++j) {
          double sum = 0, size = 1;
          for (size_t p = 0; p < k; ++p) {
            const float* matrix = b.data() + o * call.b_outer_stride + in * call.b_inner_stride;
            const double product =
                static_cast<double>(a[o * call.a_outer_stride + in * call.a_inner_stride + i * call.a_stride + p]) *
                (b_transposed ? matrix[j * call.b_stride + p] : matrix[p * call.b_stride + j]);
            sum += product;
            size += std::fabs(product);
          }
          double want = alpha * sum;
          if (with_addend) want += -2.0 * addend[o * n + j];
          wrong += !(std::fabs(row[j] - std::min(want, 1.5)) <= 1e-6 * size);
        }
        wrong += row[n] != kUntouched;
      }
    }
  }
  CHECK(wrong == 0);
  return c;
}

}  // namespace

TEST_CASE("batch_matmul: sizes around the tiles") {
  for (const size_t m : {1, 2, 4, 5, 14, 15, 29}) {
    for (const size_t n : {1, 4, 15, 16, 33, 70}) {
      for (const size_t k : {0, 1, 7, 16, 19, 64}) {
        for (const bool b_transposed : {false, true}) check_batch(2, 3, m, n, k, b_transposed, (m + n + k) % 2 == 0);
        check_batch(2, 3, m, n, k, false, (m + n + k) % 2 == 1, 1.0f);
      }
    }
  }
  check_batch(0, 3, 4, 5, 6, true, false);
  check_batch(1, 1, 0, 5, 6, true, false);
}

TEST_CASE("batch_matmul: the same bits on any number of threads") {
  for (const size_t m : {1, 197}) {
    for (const bool b_transposed : {false, true}) {
      const Threads one(1);
      const std::vector<float> want = check_batch(1, 3, m, 197, 64, b_transposed, false);
      for (const size_t threads : {2, 4}) {
        set_num_threads(threads);
        const std::vector<float> got = check_batch(1, 3, m, 197, 64, b_transposed, false);
        CHECK(std::memcmp(want.data(), got.data(), want.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("batch_matmul: more matrices than the workspace holds at once") {
  check_batch(3, 9, 3, 300, 300, false, true);
}
