// The gamma function's relatives, Hurwitz' zeta function, and functions of the normal distribution.

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/families.h"
#include "ops/pointwise/scalar_loop.h"

namespace enr::ops {

namespace {

using std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Recurrence up to where the asymptotic series holds, reflection below zero.
double digamma(double x) {
  if (x == 0) return std::copysign(INFINITY, -x);
  double result = 0;
  if (x < 0) {
    if (x == std::trunc(x)) return kNan;
    result = -pi / std::tan(pi * (x - std::trunc(x)));
    x = 1 - x;
  }
  for (; x < 10; ++x) result -= 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * 691.0 / 32760)))));
  return result + std::log(x) - 0.5 / x - series;
}

double trigamma(double x) {
  double sign = 1, result = 0;
  if (x < 0.5) {
    sign = -1;
    const double sine = std::sin(pi * x);
    result = -(pi * pi) / (sine * sine);
    x = 1 - x;
  }
  for (; x < 10; ++x) result += 1 / (x * x);
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * 691.0 / 2730)))));
  return sign * (result + 1 / x + 0.5 * z + series / x);
}

// The sum of (q + k)^-x: some terms, and Euler's and Maclaurin's formula for the rest.
double zeta(double x, double q) {
  if (x == 1) return kInfinity;
  if (!(x > 1) || std::isnan(q)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (x != std::floor(x)) return kNan;
  }
  double sum = 0;
  for (int k = 0; k < 12 || q < 12; ++k, ++q) {
    const double term = std::pow(q, -x);
    sum += term;
    if (q > 0 && term < sum * 1e-17) return sum;
  }
  // Bernoulli numbers over factorials.
  constexpr double kCoefficients[] = {1.0 / 12,          -1.0 / 720,
                                      1.0 / 30240,       -1.0 / 1209600,
                                      1.0 / 47900160,    -691.0 / 1307674368000,
                                      1.0 / 74724249600, -3617.0 / 10670622842880000};
  double power = std::pow(q, -x), factor = x;
  sum += power * q / (x - 1) + power / 2;
  power /= q;
  for (int j = 0; j < 8; ++j) {
    sum += kCoefficients[j] * factor * power;
    factor *= (x + 2 * j + 1) * (x + 2 * j + 2);
    power /= q * q;
  }
  return sum;
}

// What overflows and underflows does so in T, as in eager.
template <class T>
T polygamma(int64_t n, T x) {
  if (n == 0) return static_cast<T>(digamma(static_cast<double>(x)));
  if (n == 1) return static_cast<T>(trigamma(static_cast<double>(x)));
  const double order = static_cast<double>(n) + 1;
  const auto factor = static_cast<T>(std::exp(std::lgamma(order)));
  return (n % 2 == 0 ? -1 : 1) * factor * static_cast<T>(zeta(order, static_cast<double>(x)));
}

// The regularised incomplete gamma functions: P(a, x), or Q = 1 - P. Its power series below a + 1, beyond it
// Legendre's continued fraction.
double incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0) || !(x >= 0)) return kNan;
  const double all = upper ? 0 : 1, none = 1 - all;
  if (a == 0) return x > 0 ? all : kNan;
  if (x == 0) return none;
  if (std::isinf(a)) return std::isinf(x) ? kNan : none;
  if (std::isinf(x)) return all;
  const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double k = a + 1; term > sum * 1e-17; ++k) sum += term *= x / k;
    const double p = front * sum;
    return upper ? 1 - p : p;
  }
  constexpr double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (int k = 1; k < 100000; ++k) {
    const double numerator = -k * (k - a);
    b += 2;
    d = numerator * d + b;
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    c = b + numerator / c;
    if (std::abs(c) < tiny) c = tiny;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-16) break;
  }
  const double q = front * h;
  return upper ? q : 1 - q;
}

// erfc(x) e^(x^2): beyond 2 a continued fraction.
double scaled_erfc(double x) {
  if (std::isnan(x)) return x;
  if (x < 0) return x < -26.7 ? kInfinity : 2 * std::exp(x * x) - scaled_erfc(-x);
  if (x < 2) return std::exp(x * x) * std::erfc(x);
  double fraction = x;
  for (int k = 60; k > 0; --k) fraction = x + 0.5 * k / fraction;
  return 1 / (std::sqrt(pi) * fraction);
}

// The logarithm of the normal distribution's share below x.
double log_normal_share(double x) {
  const double t = x / std::numbers::sqrt2;
  if (x < -1) return std::log(scaled_erfc(-t) / 2) - t * t;
  return std::log1p(-std::erfc(t) / 2);
}

// Where the normal distribution's share is p: a rational guess, then Halley's steps.
double normal_quantile(double p) {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (!(p > 0 && p < 1)) return kNan;
  const double tail = p < 0.5 ? p : 1 - p;
  if (tail == 0.5) return 0;
  const double t = std::sqrt(-2 * std::log(tail));
  double x = t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t));
  for (int i = 0; i < 4; ++i) {
    // The error over the density, neither of which may vanish.
    const double ratio = scaled_erfc(x / std::numbers::sqrt2) / 2 - tail * std::exp(x * x / 2);
    const double step = ratio * std::sqrt(2 * pi);
    x += step / (1 - x * step / 2);
  }
  return p < 0.5 ? -x : x;
}

double lower_gamma(double a, double x) { return incomplete_gamma(a, x, false); }
double upper_gamma(double a, double x) { return incomplete_gamma(a, x, true); }

struct Polygamma {
  template <class T>
  T operator()(T x, const LoopParams& params) const {
    return polygamma(params.i, x);
  }
};

void polygamma_out(OpContext& context, int64_t n, const Tensor& self, Tensor& out) {
  if (n < 0) fail_execution("n: expected a number of at least 0, got ", n);
  require_real(self.dtype, "self");
  const DType common = floating_for(self.dtype);
  require_castable(common, out);
  LoopParams params;
  params.i = n;
  run_loop(context, scalar_unary_loop<Polygamma>(common), params, {self}, out);
}

struct SumOfLogGammas {
  template <class T>
  T operator()(T x, const LoopParams& params) const {
    const auto p = static_cast<double>(params.i);
    double sum = p * (p - 1) / 4 * std::log(pi);
    for (int64_t k = 0; k < params.i; ++k) sum += std::lgamma(static_cast<double>(x) - static_cast<double>(k) / 2);
    return static_cast<T>(sum);
  }
};

void mvlgamma_out(OpContext& context, const Tensor& self, int64_t p, Tensor& out) {
  if (p < 1 || p > 1000) fail_execution("p: expected a number from 1 to 1000, got ", p);
  require_real(self.dtype, "self");
  const DType common = floating_for(self.dtype);
  require_castable(common, out);
  LoopParams params;
  params.i = p;
  run_loop(context, scalar_unary_loop<SumOfLogGammas>(common), params, {self}, out);
}

}  // namespace

void register_gamma(OperatorTable& table) {
  table.add<function_out<InDouble<digamma>>>("aten::digamma.out", "self, out");
  table.add<polygamma_out>("aten::polygamma.out", "n, self, out");
  table.add<polygamma_out>("aten::special_polygamma.out", "n, self, out");
  table.add<mvlgamma_out>("aten::mvlgamma.out", "self, p, out");
  table.add<mvlgamma_out>("aten::special_multigammaln.out", "self, p, out");
  for (const char* name : {"aten::igamma.out", "aten::special_gammainc.out"}) {
    table.add<function_of_two_out<InDouble<lower_gamma>>>(name, "self, other, out");
  }
  for (const char* name : {"aten::igammac.out", "aten::special_gammaincc.out"}) {
    table.add<function_of_two_out<InDouble<upper_gamma>>>(name, "self, other, out");
  }
  table.add<function_of_two_out<InDouble<zeta>>>("aten::special_zeta.out", "self, other, out");
  table.add<function_of_number_and_tensor_out<InDouble<zeta>>>("aten::special_zeta.self_scalar_out",
                                                               "self, other, out");
  table.add<function_of_tensor_and_number_out<InDouble<zeta>>>("aten::special_zeta.other_scalar_out",
                                                               "self, other, out");
  table.add<function_out<InDouble<scaled_erfc>>>("aten::special_erfcx.out", "self, out");
  table.add<function_out<InDouble<log_normal_share>>>("aten::special_log_ndtr.out", "self, out");
  table.add<function_out<InDouble<normal_quantile>>>("aten::special_ndtri.out", "self, out");
}

}  // namespace enr::ops
