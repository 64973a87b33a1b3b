#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "base/dtype.h"
#include "kernels/binary/binary.h"
#include "kernels/ternary/ternary.h"
#include "numbers.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace enr::test;
using Real = long double;

template <class Out, class In>
std::vector<Out> run(const Loop& loop, const std::vector<In>& x, const std::vector<In>& y,
                     const LoopParams& params = {}) {
  std::vector<Out> z(x.size());
  const void* in[] = {x.data(), y.data()};
  const uint8_t step[] = {1, 1};
  loop.run(z.data(), in, step, x.size(), params);
  return z;
}

struct Row {
  Binary op;
  std::function<Real(Real, Real)> exact;
  double ulps;
};

Real python_modulo(Real x, Real y) {
  const Real rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

std::vector<Row> rows() {
  return {
      {Binary::kAdd, [](Real x, Real y) { return x + y; }, 0.51},
      {Binary::kSub, [](Real x, Real y) { return x - y; }, 0.51},
      {Binary::kMul, [](Real x, Real y) { return x * y; }, 0.51},
      {Binary::kDiv, [](Real x, Real y) { return x / y; }, 0.51},
      {Binary::kFmod, [](Real x, Real y) { return std::fmod(x, y); }, 0},
      {Binary::kRemainder, python_modulo, 0.51},
      {Binary::kPow, [](Real x, Real y) { return std::pow(x, y); }, 1.5},
      {Binary::kAtan2, [](Real x, Real y) { return std::atan2(x, y); }, 3},
      {Binary::kHypot, [](Real x, Real y) { return std::hypot(x, y); }, 1},
      {Binary::kCopysign, [](Real x, Real y) { return std::copysign(x, y); }, 0},
      {Binary::kMaximum, [](Real x, Real y) { return std::isnan(x) || std::isnan(y) ? x + y : std::max(x, y); }, 0},
      {Binary::kMinimum, [](Real x, Real y) { return std::isnan(x) || std::isnan(y) ? x + y : std::min(x, y); }, 0},
      {Binary::kFmax, [](Real x, Real y) { return std::fmax(x, y); }, 0},
      {Binary::kFmin, [](Real x, Real y) { return std::fmin(x, y); }, 0},
      {Binary::kPrelu, [](Real x, Real y) { return x > 0 ? x : x * y; }, 0.51},
  };
}

// Pairs of hard values; ordinary ones in the second half.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
  std::vector<T> x, y;
  const std::vector<T> special = special_values<T>();
  for (T a : special) {
    for (T b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  const std::vector<T> a = hard_values<T>(5000, 8), b = random_values<T>(5000, 9, -8, 8);
  x.insert(x.end(), a.begin(), a.end());
  y.insert(y.end(), b.begin(), b.end());
  return {x, y};
}

template <class T>
void check_accuracy() {
  const auto [x, y] = pairs<T>();
  for (const Row& row : rows()) {
    const std::vector<T> z = run<T>(binary_loop(row.op, dtype_of<T>), x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      // float64's exact results may need more than long double's range or bits.
      const Real exact =
          sizeof(T) == 8 && row.op == Binary::kFmod ? Real(std::fmod(x[i], y[i])) : row.exact(x[i], y[i]);
      const double off = ulps_off(z[i], exact);
      if (off <= row.ulps + (sizeof(T) == 8 ? 0.5 : 0)) continue;
      FAIL_CHECK(std::string(binary_name(row.op))
                 << "(" << x[i] << ", " << y[i] << ") = " << z[i] << ", expected " << static_cast<double>(exact));
      break;
    }
  }
}

TEST_CASE("binary float32 functions, all pairs of special values") { check_accuracy<float>(); }
TEST_CASE("binary float64 functions, all pairs of special values") { check_accuracy<double>(); }

TEST_CASE("signs of zero and whole powers") {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {-0.0f, -0.0f, -2, -2, -8, -inf, -inf, 0, -1, 1};
  const std::vector<float> y = {3, -3, 3, 0.5f, -1, 3, -3, -2, inf, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> z = run<float>(binary_loop(Binary::kPow, DType::kFloat32), x, y);
  for (size_t i = 0; i < x.size(); ++i) CHECK((same_bits(z[i], std::pow(x[i], y[i])) || std::isnan(z[i])));
  CHECK(std::isnan(z[3]));
  CHECK_FALSE(std::isnan(z[9]));
}

TEST_CASE("division rounds as asked") {
  const std::vector<float> x = {7, -7, 7, -7, 6, -0.5f, 1, 0}, y = {2, 2, -2, -2, 3, 2, 0, 5};
  const auto of = [&](Binary op) { return run<float>(binary_loop(op, DType::kFloat32), x, y); };
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(of(Binary::kDivFloor) == std::vector<float>{3, -4, -4, 3, 2, -1, inf, 0});
  CHECK(of(Binary::kDivTrunc) == std::vector<float>{3, -3, -3, 3, 2, 0, inf, 0});
  const std::vector<int64_t> a = {7, -7, 7, -7, 6, -1, std::numeric_limits<int64_t>::min(), 5};
  const std::vector<int64_t> b = {2, 2, -2, -2, 3, 2, -1, 0};
  const auto whole = [&](Binary op) { return run<int64_t>(binary_loop(op, DType::kInt64), a, b); };
  CHECK(whole(Binary::kDivFloor) == std::vector<int64_t>{3, -4, -4, 3, 2, -1, std::numeric_limits<int64_t>::min(), 0});
  CHECK(whole(Binary::kDivTrunc) == std::vector<int64_t>{3, -3, -3, 3, 2, 0, std::numeric_limits<int64_t>::min(), 0});
  CHECK(whole(Binary::kRemainder) == std::vector<int64_t>{1, 1, -1, -1, 0, 1, 0, 0});
  CHECK(whole(Binary::kFmod) == std::vector<int64_t>{1, -1, 1, -1, 0, -1, 0, 0});
}

template <class T>
void check_one_divisor() {
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  std::vector<T> x = {0, 1, -1, 2, -2, 6, 7, 8, -6, -7, -8, kLeast, kLeast + 1, kMost, kMost - 1, kMost / 2};
  std::mt19937_64 engine(5);
  for (int i = 0; i < 100; ++i) x.push_back(static_cast<T>(engine() >> (i % 64)));
  std::vector<T> divisors = {1, 2, 3, 5, 7, 8, 10, 641, 1 << 20, kMost, kMost - 1, kMost / 2 + 1, -1, -7, kLeast, 0};
  for (int i = 0; i < 100; ++i) divisors.push_back(static_cast<T>(engine() >> (i % 64)));
  for (const Binary op : {Binary::kDivFloor, Binary::kDivTrunc, Binary::kRemainder, Binary::kFmod, Binary::kPow}) {
    const Loop loop = binary_loop(op, dtype_of<T>);
    for (const T divisor : divisors) {
      std::vector<T> one(x.size());
      const void* in[] = {x.data(), &divisor};
      const uint8_t step[] = {1, 0};
      loop.run(one.data(), in, step, x.size(), {});
      CAPTURE(binary_name(op));
      CAPTURE(divisor);
      CHECK(one == run<T>(loop, x, std::vector<T>(x.size(), divisor)));
    }
  }
}

TEST_CASE("integers by one number are as by many") {
  check_one_divisor<int32_t>();
  check_one_divisor<int64_t>();
}

template <class T>
void check_byte_products() {
  std::vector<T> x, y, expected;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; b += 5) {
      x.push_back(static_cast<T>(a));
      y.push_back(static_cast<T>(b));
      expected.push_back(static_cast<T>(a * b));
    }
  }
  x.push_back(static_cast<T>(251));  // an odd count
  y.push_back(static_cast<T>(13));
  expected.push_back(static_cast<T>(251 * 13));
  CHECK(run<T>(binary_loop(Binary::kMul, dtype_of<T>), x, y) == expected);
}

// Every operator of a narrow type against int64's, cut to its low bits.
template <class T>
void check_narrow(std::initializer_list<Binary> ops) {
  std::mt19937_64 engine(11);
  std::vector<T> x, y;
  std::vector<int64_t> wide_x, wide_y;
  const T limits[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0), T(1), static_cast<T>(-1)};
  for (size_t i = 0; i < 5000; ++i) {
    x.push_back(i % 7 == 0 ? limits[i / 7 % 5] : static_cast<T>(engine()));
    y.push_back(i % 5 == 0 ? limits[i / 5 % 5] : static_cast<T>(engine() >> (i % 48)));
    wide_x.push_back(x.back());
    wide_y.push_back(y.back());
  }
  for (const Binary op : ops) {
    const auto narrow = run<T>(binary_loop(op, dtype_of<T>), x, y);
    const auto wide = run<int64_t>(binary_loop(op, DType::kInt64), wide_x, wide_y);
    bool equal = true;
    for (size_t i = 0; i < x.size(); ++i) equal &= narrow[i] == static_cast<T>(wide[i]);
    CHECK_MESSAGE(equal, std::string(binary_name(op)));
  }
}

TEST_CASE("narrow integers are as int64 cut to their width") {
  const auto ops = {Binary::kPow,      Binary::kSquaredDifference, Binary::kShiftLeft, Binary::kShiftRight,
                    Binary::kDivFloor, Binary::kDivTrunc,          Binary::kFmod,      Binary::kRemainder};
  check_narrow<int16_t>(ops);
  check_narrow<int8_t>(ops);
  check_narrow<uint8_t>(ops);
  check_narrow<int32_t>(ops);
}

TEST_CASE("products of bytes wrap") {
  check_byte_products<int8_t>();
  check_byte_products<uint8_t>();
}

TEST_CASE("alpha scales the second operand") {
  LoopParams params;
  params.a = -0.5;
  params.i = 3;
  CHECK(run<float>(binary_loop(Binary::kAdd, DType::kFloat32), std::vector<float>{1, 2}, {4, 6}, params) ==
        std::vector<float>{-1, -1});
  CHECK(run<float>(binary_loop(Binary::kSub, DType::kFloat32), std::vector<float>{1, 2}, {4, 6}, params) ==
        std::vector<float>{3, 5});
  CHECK(run<int32_t>(binary_loop(Binary::kSub, DType::kInt32), std::vector<int32_t>{1, 2}, {4, 6}, params) ==
        std::vector<int32_t>{-11, -16});
}

template <class T>
void check_integers(DType dtype) {
  std::mt19937_64 engine(10);
  std::vector<T> x, y;
  for (int i = 0; i < 500; ++i) {
    x.push_back(static_cast<T>(engine() >> (i % 60)));
    y.push_back(static_cast<T>(engine() >> (i % 60)));
  }
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  const std::vector<std::pair<Binary, std::function<Wide(Wide, Wide)>>> ops = {
      {Binary::kAdd, [](Wide a, Wide b) { return a + b; }},
      {Binary::kSub, [](Wide a, Wide b) { return a - b; }},
      {Binary::kMul,
       [](Wide a, Wide b) {
         return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
       }},
      {Binary::kMaximum, [](Wide a, Wide b) { return std::max(a, b); }},
      {Binary::kMinimum, [](Wide a, Wide b) { return std::min(a, b); }},
      {Binary::kAnd, [](Wide a, Wide b) { return a & b; }},
      {Binary::kOr, [](Wide a, Wide b) { return a | b; }},
      {Binary::kXor, [](Wide a, Wide b) { return a ^ b; }}};
  for (const auto& [op, exact] : ops) {
    const std::vector<T> z = run<T>(binary_loop(op, dtype), x, y);
    bool equal = true;
    for (size_t i = 0; i < x.size(); ++i) equal &= z[i] == static_cast<T>(exact(x[i], y[i]));
    CHECK_MESSAGE(equal, std::string(binary_name(op)));
  }
  const std::vector<std::pair<Comparison, std::function<bool(T, T)>>> comparisons = {
      {Comparison::kEq, std::equal_to<T>()},
      {Comparison::kNe, std::not_equal_to<T>()},
      {Comparison::kLt, std::less<T>()},
      {Comparison::kLe, std::less_equal<T>()},
      {Comparison::kGt, std::greater<T>()},
      {Comparison::kGe, std::greater_equal<T>()},
      {Comparison::kLogicalAnd, [](T a, T b) { return a != 0 && b != 0; }},
      {Comparison::kLogicalOr, [](T a, T b) { return a != 0 || b != 0; }},
      {Comparison::kLogicalXor, [](T a, T b) { return (a != 0) != (b != 0); }}};
  for (size_t i = 0; i < x.size(); i += 5) y[i] = x[i];
  for (const auto& [op, exact] : comparisons) {
    const std::vector<uint8_t> z = run<uint8_t>(comparison_loop(op, dtype), x, y);
    bool equal = true;
    for (size_t i = 0; i < x.size(); ++i) equal &= z[i] == static_cast<uint8_t>(exact(x[i], y[i]));
    CHECK_MESSAGE(equal, std::string(comparison_name(op)));
  }
}

TEST_CASE("integer arithmetic wraps, comparisons are exact") {
  check_integers<int64_t>(DType::kInt64);
  check_integers<int32_t>(DType::kInt32);
  check_integers<int16_t>(DType::kInt16);
  check_integers<int8_t>(DType::kInt8);
  check_integers<uint8_t>(DType::kUInt8);
  check_integers<uint64_t>(DType::kUInt64);
}

TEST_CASE("comparisons of many floats are as of one") {
  const auto [x, y] = pairs<float>();
  for (const Comparison op : {Comparison::kEq, Comparison::kNe, Comparison::kLt, Comparison::kLe, Comparison::kGt,
                              Comparison::kGe, Comparison::kLogicalAnd}) {
    const Loop loop = comparison_loop(op, DType::kFloat32);
    const std::vector<uint8_t> many = run<uint8_t>(loop, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      if (many[i] != run<uint8_t>(loop, std::vector<float>{x[i]}, {y[i]})[0]) FAIL_CHECK(x[i] << " and " << y[i]);
    }
  }
}

TEST_CASE("comparisons with NaN are false, but for not-equal") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x(20, nan), y(20, 1.0f);
  for (Comparison op : {Comparison::kEq, Comparison::kLt, Comparison::kLe, Comparison::kGt, Comparison::kGe}) {
    CHECK(run<uint8_t>(comparison_loop(op, DType::kFloat32), x, y) == std::vector<uint8_t>(20, 0));
  }
  CHECK(run<uint8_t>(comparison_loop(Comparison::kNe, DType::kFloat32), x, y) == std::vector<uint8_t>(20, 1));
  CHECK(run<uint8_t>(comparison_loop(Comparison::kLogicalAnd, DType::kFloat32), x, y) == std::vector<uint8_t>(20, 1));
}

TEST_CASE("shifts by too much, integer powers") {
  const std::vector<int64_t> x = {1, -8, 5, -5, 1, 3, -1, -1, 2, 1}, y = {63, 1, 64, 70, -1, 5, 7, -3, -1, -9};
  CHECK(run<int64_t>(binary_loop(Binary::kShiftLeft, DType::kInt64), x, y) ==
        std::vector<int64_t>{std::numeric_limits<int64_t>::min(), -16, 0, 0, 0, 96, -128, 0, 0, 0});
  CHECK(run<int64_t>(binary_loop(Binary::kShiftRight, DType::kInt64), x, y) ==
        std::vector<int64_t>{0, -4, 0, -1, 0, 0, -1, -1, 0, 0});
  const std::vector<int64_t> base = {1, -8, 2, 3, 1, -1, -1, 2, 0, 10},
                             exponent = {63, 1, 64, 5, -9, -3, -2, -1, 0, 18};
  CHECK(run<int64_t>(binary_loop(Binary::kPow, DType::kInt64), base, exponent) ==
        std::vector<int64_t>{1, -8, 0, 243, 1, -1, 1, 0, 1, 1000000000000000000});
}

TEST_CASE("bool arithmetic is logic") {
  const std::vector<uint8_t> x = {0, 0, 1, 1}, y = {0, 1, 0, 1};
  const auto of = [&](Binary op) { return run<uint8_t>(binary_loop(op, DType::kBool), x, y); };
  CHECK(of(Binary::kAdd) == std::vector<uint8_t>{0, 1, 1, 1});
  CHECK(of(Binary::kMul) == std::vector<uint8_t>{0, 0, 0, 1});
  CHECK(of(Binary::kXor) == std::vector<uint8_t>{0, 1, 1, 0});
  CHECK_FALSE(binary_loop(Binary::kSub, DType::kBool));
}

// Every form and length gives what vector-vector gives on the same values.
void check_forms(const Loop& loop, const std::string& name) {
  const std::vector<float> x = random_values<float>(1002, 11, -5, 5), y = random_values<float>(1002, 12, 0.1, 5);
  const size_t out_size = loop.out == DType::kBool ? 1 : 4;
  for (size_t n : kLengths) {
    for (int form = 0; form < 4; ++form) {
      const uint8_t step[] = {static_cast<uint8_t>(form & 1), static_cast<uint8_t>(form >> 1)};
      std::vector<float> full_x(x.begin() + 1, x.begin() + 1 + static_cast<ptrdiff_t>(n)),
          full_y(y.begin() + 1, y.begin() + 1 + static_cast<ptrdiff_t>(n));
      if (step[0] == 0) full_x.assign(n, x[1]);
      if (step[1] == 0) full_y.assign(n, y[1]);
      std::vector<uint8_t> expected(n * 4 + 4), got(n * 4 + 4, 99);
      const void* full[] = {full_x.data(), full_y.data()};
      const uint8_t ones[] = {1, 1};
      loop.run(expected.data(), full, ones, n, {});
      const void* in[] = {x.data() + 1, y.data() + 1};
      loop.run(got.data(), in, step, n, {});
      if (n != 0) {
        CHECK_MESSAGE(std::memcmp(expected.data(), got.data(), n * out_size) == 0, name, " form ", form, " length ", n);
      }
      CHECK(got[n * out_size] == 99);
      if (n != 0 && out_size == 4 && step[0] == 1) {
        loop.run(full_x.data(), full, step[1] == 1 ? ones : ones, n, {});
        CHECK_MESSAGE(std::memcmp(expected.data(), full_x.data(), n * 4) == 0, name, " in place, length ", n);
      }
    }
  }
}

TEST_CASE("binary forms: vectors, repeated values, unaligned, in place") {
  for (const Row& row : rows()) check_forms(binary_loop(row.op, DType::kFloat32), binary_name(row.op));
  check_forms(binary_loop(Binary::kDivFloor, DType::kFloat32), "DivFloor");
  check_forms(comparison_loop(Comparison::kLt, DType::kFloat32), "Lt");
}

TEST_CASE("ternary functions") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const size_t n = 37;
  const std::vector<float> x = random_values<float>(n, 13), y = random_values<float>(n, 14),
                           z = random_values<float>(n, 15);
  LoopParams params;
  params.a = 0.25;
  const auto of = [&](Ternary op, std::vector<float> a, const std::vector<float>& b, const std::vector<float>& c) {
    std::vector<float> out(a.size());
    const void* in[] = {a.data(), b.data(), c.data()};
    const uint8_t step[] = {1, 1, 1};
    ternary_loop(op, DType::kFloat32).run(out.data(), in, step, a.size(), params);
    return out;
  };
  const std::vector<float> mul_add = of(Ternary::kMulAdd, x, y, z), product = of(Ternary::kAddCMul, x, y, z);
  const std::vector<float> quotient = of(Ternary::kAddCDiv, x, y, z), between = of(Ternary::kLerp, x, y, z);
  for (size_t i = 0; i < n; ++i) {
    CHECK(mul_add[i] == doctest::Approx(x[i] * y[i] + z[i]).epsilon(1e-6));
    CHECK(product[i] == doctest::Approx(x[i] + 0.25f * y[i] * z[i]).epsilon(1e-6));
    CHECK(quotient[i] == doctest::Approx(x[i] + 0.25f * y[i] / z[i]).epsilon(1e-6));
    CHECK(between[i] == doctest::Approx(x[i] + z[i] * (y[i] - x[i])).epsilon(1e-5));
  }
  const std::vector<float> clamped =
      of(Ternary::kClamp, {5, -5, 0.5f, nan, 1, 1}, {0, 0, 0, 0, nan, 3}, {1, 1, 1, 1, 1, 2});
  CHECK(clamped[0] == 1);
  CHECK(clamped[1] == 0);
  CHECK(clamped[2] == 0.5f);
  CHECK(std::isnan(clamped[3]));
  CHECK(std::isnan(clamped[4]));
  CHECK(clamped[5] == 2);
}

template <class T>
void check_where(DType dtype) {
  for (size_t n : kLengths) {
    for (int form = 0; form < 8; ++form) {
      const uint8_t step[] = {static_cast<uint8_t>(form & 1), static_cast<uint8_t>(form >> 1 & 1),
                              static_cast<uint8_t>(form >> 2)};
      std::vector<uint8_t> condition(n + 1);
      std::vector<T> x(n + 1), y(n + 1), out(n + 1);
      for (size_t i = 0; i <= n; ++i) {
        condition[i] = i % 3 == 1;
        std::memset(&x[i], static_cast<int>(i % 100 + 1), sizeof(T));
        std::memset(&y[i], static_cast<int>(i % 100 + 101), sizeof(T));
      }
      const void* in[] = {condition.data(), x.data(), y.data()};
      where_loop(dtype).run(out.data(), in, step, n, {});
      bool equal = true;
      for (size_t i = 0; i < n; ++i) {
        equal &= same_bits(out[i], condition[i * step[0]] != 0 ? x[i * step[1]] : y[i * step[2]]);
      }
      CHECK(equal);
    }
  }
}

TEST_CASE("where picks elements of every size") {
  check_where<uint8_t>(DType::kInt8);
  check_where<uint16_t>(DType::kFloat16);
  check_where<float>(DType::kFloat32);
  check_where<double>(DType::kInt64);
  check_where<std::array<double, 2>>(DType::kComplex128);
}

}  // namespace
