#include <doctest/doctest.h>

#include <array>
#include <string>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/convert/convert.h"
#include "kernels/norm/norm.h"
#include "kernels/softmax/softmax.h"
#include "numbers.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace enr::test;

constexpr DType kFloating[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

double tolerance_of(DType dtype) {
  return dtype == DType::kFloat64 ? 1e-13 : dtype == DType::kFloat32 ? 2e-6 : dtype == DType::kFloat16 ? 2e-3 : 1.6e-2;
}

// Values of a dtype, with what they are exactly.
struct Array {
  DType dtype;
  std::vector<double> values;
  std::vector<std::byte> bytes;
  Array(DType type, const std::vector<double>& given)
      : dtype(type), values(given), bytes(given.size() * dtype_size(type)) {
    convert_fn(DType::kFloat64, dtype)(values.data(), bytes.data(), values.size());
    read();
  }
  void read() { convert_fn(dtype, DType::kFloat64)(bytes.data(), values.data(), values.size()); }
  void* data() { return bytes.data(); }
};

void check_close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
    if (std::fabs(got[i] - expected[i]) <= tolerance * (std::fabs(expected[i]) + 0.1)) continue;
    FAIL_CHECK(what << " element " << i << ": " << got[i] << ", expected " << expected[i]);
    return;
  }
}

std::vector<double> softmax_reference(const std::vector<double>& x, size_t outer, size_t dim, size_t inner,
                                      bool logarithm) {
  std::vector<double> y(x.size());
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) {
      const auto at = [&](size_t d) { return (o * dim + d) * inner + i; };
      double top = x[at(0)], sum = 0;
      for (size_t d = 1; d < dim; ++d) top = std::max(top, x[at(d)]);
      for (size_t d = 0; d < dim; ++d) sum += std::exp(x[at(d)] - top);
      for (size_t d = 0; d < dim; ++d) {
        y[at(d)] = logarithm ? x[at(d)] - top - std::log(sum) : std::exp(x[at(d)] - top) / sum;
      }
    }
  }
  return y;
}

TEST_CASE("softmax along the last and along inner dimensions, in place too") {
  for (DType dtype : kFloating) {
    for (const auto& [outer, dim, inner] : std::vector<std::array<size_t, 3>>{{1, 1, 1},
                                                                              {3, 2, 1},
                                                                              {5, 15, 1},
                                                                              {4, 16, 1},
                                                                              {4, 17, 1},
                                                                              {2, 1000, 1},
                                                                              {700, 33, 1},
                                                                              {2, 7, 3},
                                                                              {3, 5, 130},
                                                                              {1, 40, 300}}) {
      for (bool logarithm : {false, true}) {
        Array x(dtype, random_values<double>(outer * dim * inner, 40, -30, 30)),
            y(dtype, std::vector<double>(x.values.size()));
        const std::vector<double> expected = softmax_reference(x.values, outer, dim, inner, logarithm);
        softmax(logarithm, dtype, x.data(), y.data(), outer, dim, inner);
        y.read();
        const std::string what =
            std::string(dtype_name(dtype)) + " dim " + std::to_string(dim) + " inner " + std::to_string(inner);
        check_close(y.values, expected, tolerance_of(dtype), what);
        softmax(logarithm, dtype, x.data(), x.data(), outer, dim, inner);
        x.read();
        check_close(x.values, expected, tolerance_of(dtype), what + " in place");
      }
    }
  }
}

TEST_CASE("softmax of infinities and NaN") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (size_t n : {3, 16, 40}) {
    std::vector<float> x(n, 1.0f), y(n);
    x[1] = -inf;
    softmax(false, DType::kFloat32, x.data(), y.data(), 1, n, 1);
    CHECK(y[1] == 0);
    CHECK(y[0] == doctest::Approx(1.0 / static_cast<double>(n - 1)));
    x[2] = nan;
    softmax(false, DType::kFloat32, x.data(), y.data(), 1, n, 1);
    CHECK((std::isnan(y[0]) && std::isnan(y[n - 1])));
    x.assign(n, -inf);
    softmax(false, DType::kFloat32, x.data(), y.data(), 1, n, 1);
    CHECK(std::isnan(y[0]));
    x.assign(n, 1e30f);
    softmax(false, DType::kFloat32, x.data(), y.data(), 1, n, 1);
    CHECK(y[0] == doctest::Approx(1.0 / static_cast<double>(n)));
  }
}

TEST_CASE("attention row: scale and mask") {
  for (size_t n : kLengths) {
    if (n == 0) continue;
    const std::vector<float> x = random_values<float>(n, 41, -8, 8), mask = random_values<float>(n, 42, -3, 0);
    std::vector<double> scaled(n);
    for (size_t i = 0; i < n; ++i) scaled[i] = 0.125 * static_cast<double>(x[i]) + static_cast<double>(mask[i]);
    std::vector<float> y(n);
    softmax_row(x.data(), y.data(), n, 0.125f, mask.data());
    check_close({y.begin(), y.end()}, softmax_reference(scaled, 1, n, 1, false), 2e-6, "attention row");
    for (size_t i = 0; i < n; ++i) scaled[i] = 0.125 * static_cast<double>(x[i]);
    softmax_row(x.data(), y.data(), n, 0.125f, nullptr);
    check_close({y.begin(), y.end()}, softmax_reference(scaled, 1, n, 1, false), 2e-6, "attention row");
  }
}

struct Moments {
  double mean, variance;
};
Moments moments(const double* x, size_t n) {
  long double sum = 0, squares = 0;
  for (size_t i = 0; i < n; ++i) sum += static_cast<long double>(x[i]);
  const long double mean = sum / static_cast<long double>(n);
  for (size_t i = 0; i < n; ++i)
    squares += (static_cast<long double>(x[i]) - mean) * (static_cast<long double>(x[i]) - mean);
  return {static_cast<double>(mean), static_cast<double>(squares / static_cast<long double>(n))};
}

void check_layer_norm(DType dtype, size_t rows, size_t cols, bool has_gamma, bool has_beta) {
  Array x(dtype, random_values<double>(rows * cols, 50, 1, 5)), y(dtype, x.values),
      gamma(dtype, random_values<double>(cols, 51)), beta(dtype, random_values<double>(cols, 52)),
      mean(dtype, std::vector<double>(rows)), rstd(dtype, std::vector<double>(rows));
  std::vector<double> expected(x.values.size()), means(rows), rstds(rows);
  for (size_t r = 0; r < rows; ++r) {
    const Moments m = moments(&x.values[r * cols], cols);
    means[r] = m.mean;
    rstds[r] = 1 / std::sqrt(m.variance + 1e-5);
    for (size_t c = 0; c < cols; ++c) {
      expected[r * cols + c] = (x.values[r * cols + c] - m.mean) * rstds[r] * (has_gamma ? gamma.values[c] : 1) +
                               (has_beta ? beta.values[c] : 0);
    }
  }
  layer_norm(dtype, x.data(), has_gamma ? gamma.data() : nullptr, has_beta ? beta.data() : nullptr, y.data(),
             mean.data(), rstd.data(), rows, cols, 1e-5);
  y.read();
  mean.read();
  rstd.read();
  const std::string what = "layer norm " + std::string(dtype_name(dtype)) + " cols " + std::to_string(cols);
  const double tolerance = 8 * tolerance_of(dtype);
  check_close(y.values, expected, tolerance, what);
  check_close(mean.values, means, tolerance, what + " mean");
  check_close(rstd.values, rstds, tolerance, what + " rstd");
  layer_norm(dtype, x.data(), has_gamma ? gamma.data() : nullptr, has_beta ? beta.data() : nullptr, x.data(), nullptr,
             nullptr, rows, cols, 1e-5);
  x.read();
  CHECK(x.values == y.values);
}

TEST_CASE("layer norm") {
  for (DType dtype : kFloating) {
    for (size_t cols : {2, 15, 16, 17, 64, 192, 1000}) {
      check_layer_norm(dtype, 5, cols, true, true);
      check_layer_norm(dtype, 3, cols, true, false);
      check_layer_norm(dtype, 3, cols, false, true);
      check_layer_norm(dtype, 300, cols, false, false);
    }
  }
}

TEST_CASE("rms norm") {
  for (DType dtype : kFloating) {
    for (size_t cols : {1, 15, 16, 17, 300}) {
      const size_t rows = 7;
      Array x(dtype, random_values<double>(rows * cols, 53)), y(dtype, x.values),
          gamma(dtype, random_values<double>(cols, 54));
      std::vector<double> expected(x.values.size());
      for (size_t r = 0; r < rows; ++r) {
        double squares = 0;
        for (size_t c = 0; c < cols; ++c) squares += x.values[r * cols + c] * x.values[r * cols + c];
        for (size_t c = 0; c < cols; ++c) {
          expected[r * cols + c] =
              x.values[r * cols + c] / std::sqrt(squares / static_cast<double>(cols) + 1e-6) * gamma.values[c];
        }
      }
      rms_norm(dtype, x.data(), gamma.data(), y.data(), rows, cols, 1e-6);
      y.read();
      check_close(y.values, expected, 4 * tolerance_of(dtype), "rms norm");
    }
  }
}

TEST_CASE("group norm") {
  for (DType dtype : kFloating) {
    const size_t batch = 2, channels = 6, groups = 3, spatial = 35, each = channels / groups * spatial;
    Array x(dtype, random_values<double>(batch * channels * spatial, 55, 0, 4)), y(dtype, x.values),
        gamma(dtype, random_values<double>(channels, 56)), beta(dtype, random_values<double>(channels, 57));
    Array mean(dtype, std::vector<double>(batch * groups)), rstd(dtype, std::vector<double>(batch * groups));
    std::vector<double> expected(x.values.size()), means;
    for (size_t g = 0; g < batch * groups; ++g) {
      const Moments m = moments(&x.values[g * each], each);
      means.push_back(m.mean);
      for (size_t i = g * each; i < (g + 1) * each; ++i) {
        const size_t c = i / spatial % channels;
        expected[i] = (x.values[i] - m.mean) / std::sqrt(m.variance + 1e-5) * gamma.values[c] + beta.values[c];
      }
    }
    group_norm(dtype, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), rstd.data(), batch, channels, spatial,
               groups, 1e-5);
    y.read();
    mean.read();
    check_close(y.values, expected, 8 * tolerance_of(dtype), "group norm");
    check_close(mean.values, means, 8 * tolerance_of(dtype), "group norm mean");
  }
}

TEST_CASE("batch norm at inference, channels outermost and innermost") {
  for (DType dtype : kFloating) {
    for (const auto& [outer, channels, inner] :
         std::vector<std::array<size_t, 3>>{{2, 5, 49}, {2, 3, 7}, {50, 33, 1}, {1, 64, 1}, {3, 16, 2}}) {
      Array x(dtype, random_values<double>(outer * channels * inner, 60)), y(dtype, x.values),
          gamma(dtype, random_values<double>(channels, 61)), beta(dtype, random_values<double>(channels, 62)),
          mean(dtype, random_values<double>(channels, 63)), var(dtype, random_values<double>(channels, 64, 0.5, 2)),
          scale(dtype, gamma.values), shift(dtype, gamma.values);
      batch_norm_fold(dtype, gamma.data(), beta.data(), mean.data(), var.data(), 1e-5, scale.data(), shift.data(),
                      channels);
      channel_affine(dtype, x.data(), scale.data(), shift.data(), y.data(), outer, channels, inner);
      y.read();
      std::vector<double> expected(x.values.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        const size_t c = i / inner % channels;
        expected[i] =
            (x.values[i] - mean.values[c]) / std::sqrt(var.values[c] + 1e-5) * gamma.values[c] + beta.values[c];
      }
      check_close(y.values, expected, 10 * tolerance_of(dtype), "batch norm");
    }
  }
}

TEST_CASE("channel statistics") {
  const size_t outer = 3, channels = 4, inner = 50;
  Array x(DType::kFloat32, random_values<double>(outer * channels * inner, 65, 100, 101)),
      mean(DType::kFloat32, std::vector<double>(channels)), var(DType::kFloat32, std::vector<double>(channels));
  channel_mean_var(DType::kFloat32, x.data(), mean.data(), var.data(), outer, channels, inner);
  mean.read();
  var.read();
  for (size_t c = 0; c < channels; ++c) {
    std::vector<double> values;
    for (size_t i = 0; i < x.values.size(); ++i) {
      if (i / inner % channels == c) values.push_back(x.values[i]);
    }
    const Moments m = moments(values.data(), values.size());
    CHECK(mean.values[c] == doctest::Approx(m.mean).epsilon(1e-6));
    CHECK(var.values[c] == doctest::Approx(m.variance).epsilon(1e-5));
  }
}

}  // namespace
