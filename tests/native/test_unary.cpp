#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "base/dtype.h"
#include "kernels/unary/unary.h"
#include "numbers.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace enr::test;
using Real = long double;

struct Reference {
  Unary op;
  std::function<Real(Real)> exact;
  double ulps;          // allowed for float32
  double absolute = 0;  // or this far off, relative to |x| + 1, where the function's own formula cancels
  LoopParams params = {};
};

LoopParams with(double a, double b = 0) {
  LoopParams params;
  params.a = a;
  params.b = b;
  return params;
}

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real exact_sign(Real x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
Real relu6(Real x) { return std::isnan(x) ? x : std::min<Real>(std::max<Real>(x, 0), 6); }
constexpr float kSlope = 0.01f;
constexpr float kCoefficient = 0.044715f, kRootTwoOverPi = 0.7978845608f;

std::vector<Reference> references() {
  return {
      {Unary::kAbs, [](Real x) { return std::fabs(x); }, 0},
      {Unary::kNeg, [](Real x) { return -x; }, 0},
      {Unary::kFloor, [](Real x) { return std::floor(x); }, 0},
      {Unary::kCeil, [](Real x) { return std::ceil(x); }, 0},
      {Unary::kTrunc, [](Real x) { return std::trunc(x); }, 0},
      {Unary::kRound, [](Real x) { return std::rint(x); }, 0},
      {Unary::kSign, exact_sign, 0},
      {Unary::kSquare, [](Real x) { return x * x; }, 0.51},
      {Unary::kSqrt, [](Real x) { return std::sqrt(x); }, 0.51},
      {Unary::kRsqrt, [](Real x) { return 1 / std::sqrt(x); }, 1.5},
      {Unary::kReciprocal, [](Real x) { return 1 / x; }, 0.51},
      {Unary::kExp, [](Real x) { return std::exp(x); }, 1},
      {Unary::kExp2, [](Real x) { return std::exp2(x); }, 1.5},
      {Unary::kExpm1, [](Real x) { return std::expm1(x); }, 2},
      {Unary::kLog, [](Real x) { return std::log(x); }, 1},
      {Unary::kLog2, [](Real x) { return std::log2(x); }, 2},
      {Unary::kLog10, [](Real x) { return std::log10(x); }, 2},
      {Unary::kLog1p, [](Real x) { return std::log1p(x); }, 2},
      {Unary::kSin, [](Real x) { return std::sin(x); }, 2},
      {Unary::kCos, [](Real x) { return std::cos(x); }, 2},
      {Unary::kTan, [](Real x) { return std::tan(x); }, 4},
      {Unary::kAsin, [](Real x) { return std::asin(x); }, 3},
      {Unary::kAcos, [](Real x) { return std::acos(x); }, 3},
      {Unary::kAtan, [](Real x) { return std::atan(x); }, 3},
      {Unary::kSinh, [](Real x) { return std::sinh(x); }, 3},
      {Unary::kCosh, [](Real x) { return std::cosh(x); }, 3},
      {Unary::kTanh, [](Real x) { return std::tanh(x); }, 6},
      {Unary::kAsinh, [](Real x) { return std::asinh(x); }, 3},
      {Unary::kAcosh, [](Real x) { return std::acosh(x); }, 3},
      {Unary::kAtanh, [](Real x) { return std::atanh(x); }, 3},
      {Unary::kErf, [](Real x) { return std::erf(x); }, 6},
      {Unary::kErfc, [](Real x) { return std::erfc(x); }, 3},
      {Unary::kRelu, [](Real x) { return std::isnan(x) ? x : std::max<Real>(x, 0); }, 0},
      {Unary::kClamp, [](Real x) { return std::isnan(x) ? x : std::min<Real>(std::max<Real>(x, -1), 2); }, 0, 0,
       with(-1, 2)},
      {Unary::kLeakyRelu, [](Real x) { return x > 0 ? x : x * kSlope; }, 0.51, 0, with(kSlope)},
      {Unary::kElu, [](Real x) { return x <= 0 ? std::expm1(x) * 1.5 : x; }, 3, 0, with(1.5, 1)},
      {Unary::kSigmoid, sigmoid, 2.5},
      {Unary::kLogSigmoid, [](Real x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }, 3},
      {Unary::kSilu, [](Real x) { return std::isinf(x) && x < 0 ? std::nanl("") : x * sigmoid(x); }, 3},
      {Unary::kGelu,
       [](Real x) { return std::isinf(x) ? (x > 0 ? x : std::nanl("")) : x / 2 * std::erfc(-x / std::sqrt(Real(2))); },
       3, 1.2e-7},
      {Unary::kGeluTanh,
       [](Real x) {
         if (std::isinf(x)) return x > 0 ? x : Real(std::nanl(""));
         return x / 2 * (1 + std::tanh(kRootTwoOverPi * (x + kCoefficient * x * x * x)));
       },
       4, 2.4e-7},
      {Unary::kHardSwish, [](Real x) { return x * relu6(x + 3) / 6; }, 3, 1e-7},
      {Unary::kHardSigmoid, [](Real x) { return relu6(x + 3) / 6; }, 2, 1e-7},
      {Unary::kSoftplus, [](Real x) { return x * 2 > 20 ? x : std::log1p(std::exp(x * 2)) / 2; }, 3, 0, with(2, 20)},
      {Unary::kMish,
       [](Real x) {
         return std::isinf(x) ? (x > 0 ? x : Real(std::nanl(""))) : x * std::tanh(std::log1p(std::exp(x)));
       },
       4},
      {Unary::kLogit, [](Real x) { return std::log(x / (1 - x)); }, 4, 3e-7, with(-1)},
      {Unary::kScale, [](Real x) { return x * 2 + 0.5; }, 0.51, 0, with(2, 0.5)},
  };
}

template <class T>
std::vector<T> run(const Loop& loop, const std::vector<T>& x, const LoopParams& params) {
  std::vector<T> y(x.size());
  const void* in = x.data();
  const uint8_t step = 1;
  loop.run(y.data(), &in, &step, x.size(), params);
  return y;
}

// The worst error of a function, as a message.
template <class T>
void check_accuracy(const Reference& reference, const std::vector<T>& x, double ulps, double absolute) {
  const Loop loop = unary_loop(reference.op, dtype_of<T>);
  REQUIRE(loop);
  const std::vector<T> y = run(loop, x, reference.params);
  // A factor of a product may be denormal.
  const Real allowed = absolute + std::numeric_limits<T>::denorm_min();
  for (size_t i = 0; i < x.size(); ++i) {
    const Real exact = reference.exact(x[i]);
    const double off = ulps_off(y[i], exact);
    if (off <= ulps) continue;
    if (std::fabs(static_cast<Real>(y[i]) - exact) <= allowed * (std::fabs(static_cast<Real>(x[i])) + 1)) continue;
    FAIL_CHECK(std::string(unary_name(reference.op)) << "(" << x[i] << ") = " << y[i] << ", expected "
                                                     << static_cast<double>(exact) << ", " << off << " ulp");
    return;
  }
}

TEST_CASE("unary float32 functions are accurate over the whole range") {
  const std::vector<float> x = hard_values<float>(60000, 1);
  for (const Reference& reference : references()) check_accuracy(reference, x, reference.ulps, reference.absolute);
}

TEST_CASE("unary float64 functions are accurate over the whole range") {
  const std::vector<double> x = hard_values<double>(20000, 2);
  for (Reference& reference : references()) {
    // The float32 constants of the tanh approximation are not float64's.
    if (reference.op == Unary::kGeluTanh) continue;
    check_accuracy(reference, x, reference.ulps + 1, reference.absolute * 1e-9);
  }
}

TEST_CASE("unary results depend neither on length nor on alignment, in place or not") {
  const std::vector<float> x = hard_values<float>(1100, 3);
  for (const Reference& reference : references()) {
    const Loop loop = unary_loop(reference.op, DType::kFloat32);
    const std::vector<float> whole = run(loop, x, reference.params);
    for (size_t n : kLengths) {
      std::vector<float> y(n + 2, 77.0f), z(x.begin(), x.begin() + 1 + static_cast<ptrdiff_t>(n));
      const void* in = x.data() + 1;
      const uint8_t step = 1;
      loop.run(y.data() + 1, &in, &step, n, reference.params);
      const void* own = z.data() + 1;
      loop.run(z.data() + 1, &own, &step, n, reference.params);
      bool equal = y[0] == 77.0f && y[n + 1] == 77.0f && same_bits(z[0], x[0]);
      for (size_t i = 0; i < n; ++i) equal &= same_value(y[i + 1], whole[i + 1]) && same_value(z[i + 1], whole[i + 1]);
      CHECK_MESSAGE(equal, std::string(unary_name(reference.op)), " of ", n);
    }
  }
}

TEST_CASE("unary loops repeat one value, activations equal the loops") {
  for (const Reference& reference : references()) {
    const Loop loop = unary_loop(reference.op, DType::kFloat32);
    const float x = 0.7f;
    const std::vector<float> expected = run(loop, std::vector<float>(5, x), reference.params);
    std::vector<float> y(5), data(5, x);
    const void* in = &x;
    const uint8_t step = 0;
    loop.run(y.data(), &in, &step, 5, reference.params);
    activation_fn(reference.op)(data.data(), 5, &reference.params);
    for (size_t i = 0; i < 5; ++i) {
      CHECK(same_value(y[i], expected[i]));
      CHECK(same_value(data[i], expected[i]));
    }
  }
}

TEST_CASE("integer unary functions wrap") {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  const std::vector<int64_t> x = {0, 1, -1, 5, -7, lowest, std::numeric_limits<int64_t>::max()};
  const auto of = [&](Unary op, LoopParams params = {}) { return run(unary_loop(op, DType::kInt64), x, params); };
  CHECK(of(Unary::kAbs) == std::vector<int64_t>{0, 1, 1, 5, 7, lowest, std::numeric_limits<int64_t>::max()});
  CHECK(of(Unary::kNeg) == std::vector<int64_t>{0, -1, 1, -5, 7, lowest, lowest + 1});
  CHECK(of(Unary::kSign) == std::vector<int64_t>{0, 1, -1, 1, -1, -1, 1});
  CHECK(of(Unary::kBitwiseNot) == std::vector<int64_t>{-1, -2, 0, -6, 6, std::numeric_limits<int64_t>::max(), lowest});
  LoopParams bounds;
  bounds.i = -3;
  bounds.j = 4;
  CHECK(of(Unary::kClamp, bounds) == std::vector<int64_t>{0, 1, -1, 4, -3, -3, 4});
  CHECK_FALSE(unary_loop(Unary::kExp, DType::kInt64));
  const std::vector<uint8_t> truth = {0, 1, 1, 0};
  std::vector<uint8_t> inverse(4);
  const void* in = truth.data();
  const uint8_t step = 1;
  unary_loop(Unary::kBitwiseNot, DType::kBool).run(inverse.data(), &in, &step, 4, {});
  CHECK(inverse == std::vector<uint8_t>{1, 0, 0, 1});
}

template <class T>
void check_predicates() {
  const std::vector<T> x = hard_values<T>(300, 4);
  const std::vector<std::pair<Predicate, std::function<bool(T)>>> rows = {
      {Predicate::kIsNan, [](T v) { return std::isnan(v); }},
      {Predicate::kIsInf, [](T v) { return std::isinf(v); }},
      {Predicate::kIsFinite, [](T v) { return std::isfinite(v); }},
      {Predicate::kSignBit, [](T v) { return std::signbit(v); }},
      {Predicate::kLogicalNot, [](T v) { return v == 0; }}};
  for (const auto& [op, expected] : rows) {
    std::vector<uint8_t> y(x.size());
    const void* in = x.data();
    const uint8_t step = 1;
    predicate_loop(op, dtype_of<T>).run(y.data(), &in, &step, x.size(), {});
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]) && op == Predicate::kSignBit) continue;
      CHECK(bool(y[i]) == expected(x[i]));
    }
  }
}

TEST_CASE("predicates") {
  check_predicates<float>();
  check_predicates<double>();
}

}  // namespace
