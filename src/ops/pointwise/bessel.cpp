// Bessel's functions and Airy's.

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/families.h"
#include "ops/pointwise/scalar_loop.h"

namespace enr::ops {

namespace {

using std::numbers::egamma;
using std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// I_n(x) e^-|x|, n 0 or 1: the power series, or the asymptotic one for large arguments.
template <int n>
double scaled_i(double given) {
  const double x = std::abs(given);
  double sum, term;
  if (std::isinf(x)) return 0;
  if (x < 30) {
    const double quarter = x * x / 4;
    sum = term = n == 0 ? 1 : x / 2;
    for (int k = 1; term > sum * 1e-17; ++k) sum += term *= quarter / (static_cast<double>(k) * (k + n));
    sum *= std::exp(-x);
  } else {
    sum = term = 1;
    for (int k = 1; k < 20; ++k) sum += term *= ((2.0 * k - 1) * (2.0 * k - 1) - 4 * n) / (8.0 * k * x);
    sum /= std::sqrt(2 * pi * x);
  }
  return n == 1 && given < 0 ? -sum : sum;
}

template <int n>
double bessel_i(double x) {
  if (std::isinf(x)) return kNan;  // as eager has it
  return scaled_i<n>(x) * std::exp(std::abs(x));
}

// K_n(x), n 0 or 1, times e^x if `scaled`: the series around 0, or Steed's continued fraction as Temme has it.
template <int n, bool scaled>
double bessel_k(double x) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNan;
  if (std::isinf(x)) return 0;
  if (x < 2) {
    const double quarter = x * x / 4, logarithm = std::log(x / 2) + egamma;
    double term = n == 0 ? 1 : x / 2, harmonic = 0, sum = 0;
    for (int k = 0; k < 40; ++k) {
      // The digamma function of k + 1 and k + 2, without Euler's constant.
      sum += n == 0 ? term * (harmonic - logarithm) : term * (logarithm - (harmonic + harmonic + 1.0 / (k + 1)) / 2);
      harmonic += 1.0 / (k + 1);
      term *= quarter / (static_cast<double>(k + 1) * (k + 1 + n));
    }
    const double value = n == 0 ? sum : sum + 1 / x;
    return scaled ? value * std::exp(x) : value;
  }
  double b = 2 * (1 + x), d = 1 / b, h = d, step = d;
  double q0 = 0, q1 = 1, a = -0.25, c = 0.25, q = c, s = 1 + q * step;
  for (int i = 2; i < 1000; ++i) {
    a -= 2 * (i - 1);
    c *= -a / i;
    const double q2 = (q0 - b * q1) / a;
    q0 = q1;
    q1 = q2;
    q += c * q2;
    b += 2;
    d = 1 / (b + a * d);
    step *= b * d - 1;
    h += step;
    const double change = q * step;
    s += change;
    if (std::abs(change) < std::abs(s) * 1e-17) break;
  }
  const double k0 = std::sqrt(pi / (2 * x)) * (scaled ? 1 : std::exp(-x)) / s;
  return n == 0 ? k0 : k0 * (x + 0.5 - h / 4) / x;
}

double spherical_j0(double x) {
  if (std::isinf(x)) return 0;
  if (std::abs(x) < 0.5) {
    double term = 1, sum = 1;
    for (int k = 1; k < 10; ++k) sum += term *= -x * x / (2.0 * k * (2 * k + 1));
    return sum;
  }
  return std::sin(x) / x;
}

// The power series, whose terms cancel, in long double; asymptotic series further out.
double airy(double x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return 0;
  const double size = std::abs(x), zeta = 2.0 / 3 * size * std::sqrt(size);
  if (x > 100) return 0;
  if (x > -9 && x < 5) {
    const long double cube = static_cast<long double>(x) * x * x;
    long double even = 0.355028053887817239260063186004L, odd = -0.258819403792806798405183560189L * x;
    long double sum = even + odd;
    for (int k = 3; k < 200; k += 3) {
      even *= cube / (static_cast<long double>(k) * (k - 1));
      odd *= cube / (static_cast<long double>(k) * (k + 1));
      sum += even + odd;
    }
    return static_cast<double>(sum);
  }
  double term = 1, even = 0, odd = 0;  // sums of the terms of even and of odd index, signs in turn
  double last = kInfinity;
  for (int k = 0; k < 40 && std::abs(term) < last; ++k) {
    last = std::abs(term);
    (k % 2 == 0 ? even : odd) += x > 0 || k % 4 < 2 ? term : -term;
    term *= (6.0 * k + 1) * (6.0 * k + 3) * (6.0 * k + 5) / (216.0 * (k + 1) * (2 * k + 1)) / zeta;
  }
  const double root = std::sqrt(pi) * std::sqrt(std::sqrt(size));
  if (x > 0) return std::exp(-zeta) * (even - odd) / (2 * root);
  return (std::sin(zeta + pi / 4) * even - std::cos(zeta + pi / 4) * odd) / root;
}

// Infinite numbers give NaN, as in eager.
double bessel_j0(double x) { return std::isinf(x) ? kNan : ::j0(x); }
double bessel_j1(double x) { return std::isinf(x) ? kNan : ::j1(x); }
double bessel_y0(double x) { return x < 0 || std::isinf(x) ? kNan : ::y0(x); }
double bessel_y1(double x) { return x < 0 || std::isinf(x) ? kNan : ::y1(x); }

}  // namespace

void register_bessel(OperatorTable& table) {
  table.add<function_out<InDouble<bessel_i<0>>>>("aten::i0.out", "self, out");
  table.add<function_out<InDouble<bessel_i<0>>>>("aten::special_modified_bessel_i0.out", "self, out");
  table.add<function_out<InDouble<bessel_i<1>>>>("aten::special_i1.out", "self, out");
  table.add<function_out<InDouble<bessel_i<1>>>>("aten::special_modified_bessel_i1.out", "self, out");
  table.add<function_out<InDouble<scaled_i<0>>>>("aten::special_i0e.out", "self, out");
  table.add<function_out<InDouble<scaled_i<1>>>>("aten::special_i1e.out", "self, out");
  table.add<function_out<InDouble<bessel_k<0, false>>>>("aten::special_modified_bessel_k0.out", "self, out");
  table.add<function_out<InDouble<bessel_k<1, false>>>>("aten::special_modified_bessel_k1.out", "self, out");
  table.add<function_out<InDouble<bessel_k<0, true>>>>("aten::special_scaled_modified_bessel_k0.out", "x, out");
  table.add<function_out<InDouble<bessel_k<1, true>>>>("aten::special_scaled_modified_bessel_k1.out", "x, out");
  table.add<function_out<InDouble<bessel_j0>>>("aten::special_bessel_j0.out", "self, out");
  table.add<function_out<InDouble<bessel_j1>>>("aten::special_bessel_j1.out", "self, out");
  table.add<function_out<InDouble<bessel_y0>>>("aten::special_bessel_y0.out", "self, out");
  table.add<function_out<InDouble<bessel_y1>>>("aten::special_bessel_y1.out", "self, out");
  table.add<function_out<InDouble<spherical_j0>>>("aten::special_spherical_bessel_j0.out", "x, out");
  table.add<function_out<InDouble<airy>>>("aten::special_airy_ai.out", "x, out");
}

}  // namespace enr::ops
