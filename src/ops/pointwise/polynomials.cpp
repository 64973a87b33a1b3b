// Orthogonal polynomials of x, of the degree in a second tensor.

#include <cmath>
#include <limits>
#include <string>

#include "ops/families.h"
#include "ops/pointwise/scalar_loop.h"
#include "ops/scalar.h"

namespace enr::ops {

namespace {

enum class Kind { kFirst, kSecond, kThird, kFourth };  // Chebyshev's

// By recurrence, or by angles where the degree is high.
template <Kind kind>
double chebyshev(double x, double n) {
  if (n < 0) return 0;
  const bool is_even = std::fmod(n, 2) == 0;
  const double odd_sign = is_even ? 1 : -1;
  if (std::abs(x) == 1) {
    if constexpr (kind == Kind::kFirst) return x > 0 ? 1 : odd_sign;
    if constexpr (kind == Kind::kSecond) return x > 0 ? n + 1 : odd_sign * (n + 1);
    if constexpr (kind == Kind::kThird) return x > 0 ? 1 : odd_sign * (2 * n + 1);
    if constexpr (kind == Kind::kFourth) return x > 0 ? 2 * n + 1 : odd_sign;
  }
  if (n > (kind == Kind::kFirst ? 6 : 8) && std::abs(x) < 1) {
    const double angle = std::acos(x);
    if constexpr (kind == Kind::kFirst) return std::cos(n * angle);
    if constexpr (kind == Kind::kSecond) return std::sin((n + 1) * angle) / std::sin(angle);
    if constexpr (kind == Kind::kThird) return std::cos((n + 0.5) * angle) / std::cos(angle / 2);
    if constexpr (kind == Kind::kFourth) return std::sin((n + 0.5) * angle) / std::sin(angle / 2);
  }
  if (n == 0) return 1;
  double before = 1, value = kind == Kind::kFirst    ? x
                             : kind == Kind::kSecond ? 2 * x
                             : kind == Kind::kThird  ? 2 * x - 1
                                                     : 2 * x + 1;
  for (double k = 2; k <= n && !std::isnan(value); ++k) {
    const double next = 2 * x * value - before;
    before = value;
    value = next;
  }
  return value;
}
template <Kind kind>
double shifted_chebyshev(double x, double n) {
  return chebyshev<kind>(2 * x - 1, n);
}

// Beyond this degree eager gives NaN.
constexpr double kHermiteLimit = 128;

double hermite_of_physicists(double x, double n) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kHermiteLimit) return std::numeric_limits<double>::quiet_NaN();
  double before = 1, value = 2 * x;
  for (double k = 1; k < n; ++k) {
    const double next = 2 * x * value - 2 * k * before;
    before = value;
    value = next;
  }
  return value;
}
double hermite_of_probabilists(double x, double n) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kHermiteLimit) return std::numeric_limits<double>::quiet_NaN();
  double before = 1, value = x;
  for (double k = 1; k < n; ++k) {
    const double next = x * value - k * before;
    before = value;
    value = next;
  }
  return value;
}
double laguerre(double x, double n) {
  if (n < 0) return 0;
  if (x == 0 || n == 0) return 1;
  double before = 1, value = 1 - x;
  for (double k = 1; k < n && !std::isnan(value); ++k) {
    const double next = ((2 * k + 1 - x) * value - k * before) / (k + 1);
    before = value;
    value = next;
  }
  return value;
}
double legendre(double x, double n) {
  if (n < 0) return 0;
  if (std::abs(x) == 1) return x > 0 || std::fmod(n, 2) == 0 ? 1 : -1;
  if (n == 0) return 1;
  double before = 1, value = x;
  for (double k = 1; k < n && !std::isnan(value); ++k) {
    const double next = ((2 * k + 1) * x * value - k * before) / (k + 1);
    before = value;
    value = next;
  }
  return value;
}

template <double (*polynomial)(double, double)>
struct Polynomial {
  template <class T>
  T operator()(T x, T n, const LoopParams&) const {
    // No more steps than a call may take.
    constexpr double most = 1e6;
    const double degree = std::isnan(n) ? -1 : std::trunc(static_cast<double>(n));
    return static_cast<T>(polynomial(static_cast<double>(x), degree < most ? degree : most));
  }
};

template <double (*polynomial)(double, double)>
void add(OperatorTable& table, const std::string& name) {
  using F = Polynomial<polynomial>;
  table.add<function_of_two_out<F>>("aten::special_" + name + ".out", "x, n, out");
  table.add<function_of_number_and_tensor_out<F>>("aten::special_" + name + ".x_scalar_out", "x, n, out");
  table.add<function_of_tensor_and_number_out<F>>("aten::special_" + name + ".n_scalar_out", "x, n, out");
}

}  // namespace

void register_polynomials(OperatorTable& table) {
  add<chebyshev<Kind::kFirst>>(table, "chebyshev_polynomial_t");
  add<chebyshev<Kind::kSecond>>(table, "chebyshev_polynomial_u");
  add<chebyshev<Kind::kThird>>(table, "chebyshev_polynomial_v");
  add<chebyshev<Kind::kFourth>>(table, "chebyshev_polynomial_w");
  add<shifted_chebyshev<Kind::kFirst>>(table, "shifted_chebyshev_polynomial_t");
  add<shifted_chebyshev<Kind::kSecond>>(table, "shifted_chebyshev_polynomial_u");
  add<shifted_chebyshev<Kind::kThird>>(table, "shifted_chebyshev_polynomial_v");
  add<shifted_chebyshev<Kind::kFourth>>(table, "shifted_chebyshev_polynomial_w");
  add<hermite_of_physicists>(table, "hermite_polynomial_h");
  add<hermite_of_probabilists>(table, "hermite_polynomial_he");
  add<laguerre>(table, "laguerre_polynomial_l");
  add<legendre>(table, "legendre_polynomial_p");
}

}  // namespace enr::ops
