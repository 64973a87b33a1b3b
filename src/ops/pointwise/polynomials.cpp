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

// By recurrence, in the precision of x as in eager (what overflows gives NaN in the end), or by angles where the degree
// is high.
template <Kind kind, class T>
T chebyshev(T x, T n) {
  if (n < 0) return 0;
  const bool is_even = std::fmod(n, 2) == 0;
  const T odd_sign = is_even ? 1 : -1;
  if (std::abs(x) == 1) {
    if constexpr (kind == Kind::kFirst) return x > 0 ? 1 : odd_sign;
    if constexpr (kind == Kind::kSecond) return x > 0 ? n + 1 : odd_sign * (n + 1);
    if constexpr (kind == Kind::kThird) return x > 0 ? 1 : odd_sign * (2 * n + 1);
    if constexpr (kind == Kind::kFourth) return x > 0 ? 2 * n + 1 : odd_sign;
  }
  if (n > (kind == Kind::kFirst ? 6 : 8) && std::abs(x) < 1) {
    const T angle = std::acos(x);
    if constexpr (kind == Kind::kFirst) return std::cos(n * angle);
    if constexpr (kind == Kind::kSecond) return std::sin((n + 1) * angle) / std::sin(angle);
    if constexpr (kind == Kind::kThird) return std::cos((n + T{0.5}) * angle) / std::cos(angle / 2);
    if constexpr (kind == Kind::kFourth) return std::sin((n + T{0.5}) * angle) / std::sin(angle / 2);
  }
  if (n == 0) return 1;
  T before = 1, value = kind == Kind::kFirst    ? x
                        : kind == Kind::kSecond ? 2 * x
                        : kind == Kind::kThird  ? 2 * x - 1
                                                : 2 * x + 1;
  for (T k = 2; k <= n && !std::isnan(value); ++k) {
    const T next = 2 * x * value - before;
    before = value;
    value = next;
  }
  return value;
}
template <Kind kind, class T>
T shifted_chebyshev(T x, T n) {
  return chebyshev<kind, T>(2 * x - 1, n);
}

// Beyond this degree eager gives NaN.
template <class T>
constexpr T kHermiteLimit = sizeof(T) == sizeof(float) ? 128 : 512;

template <class T>
T hermite_of_physicists(T x, T n) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kHermiteLimit<T>) return std::numeric_limits<T>::quiet_NaN();
  T before = 1, value = 2 * x;
  for (T k = 1; k < n; ++k) {
    const T next = 2 * x * value - 2 * k * before;
    before = value;
    value = next;
  }
  return value;
}
template <class T>
T hermite_of_probabilists(T x, T n) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kHermiteLimit<T>) return std::numeric_limits<T>::quiet_NaN();
  T before = 1, value = x;
  for (T k = 1; k < n; ++k) {
    const T next = x * value - k * before;
    before = value;
    value = next;
  }
  return value;
}
template <class T>
T laguerre(T x, T n) {
  if (n < 0) return 0;
  if (x == 0 || n == 0) return 1;
  T before = 1, value = 1 - x;
  for (T k = 1; k < n && !std::isnan(value); ++k) {
    const T next = ((2 * k + (1 - x)) * value - k * before) / (k + 1);
    before = value;
    value = next;
  }
  return value;
}
template <class T>
T legendre(T x, T n) {
  if (n < 0) return 0;
  if (std::abs(x) == 1) return x > 0 || std::fmod(n, 2) == 0 ? 1 : -1;
  if (n == 0) return 1;
  T before = 1, value = x;
  for (T k = 1; k < n && !std::isnan(value); ++k) {
    const T next = ((2 * k + 1) * x * value - k * before) / (k + 1);
    before = value;
    value = next;
  }
  return value;
}

template <auto polynomial>
struct Polynomial {
  template <class T>
  T operator()(T x, T n, const LoopParams&) const {
    // No more steps than a call may take.
    constexpr T most = 1e6;
    const T degree = std::isnan(n) ? -1 : std::trunc(n);
    return polynomial(x, degree < most ? degree : most);
  }
};

template <auto polynomial>
void add(OperatorTable& table, const std::string& name) {
  using F = Polynomial<polynomial>;
  table.add<function_of_two_out<F>>("aten::special_" + name + ".out", "x, n, out");
  table.add<function_of_number_and_tensor_out<F>>("aten::special_" + name + ".x_scalar_out", "x, n, out");
  table.add<function_of_tensor_and_number_out<F>>("aten::special_" + name + ".n_scalar_out", "x, n, out");
}

}  // namespace

void register_polynomials(OperatorTable& table) {
  add<[](auto x, auto n) { return chebyshev<Kind::kFirst>(x, n); }>(table, "chebyshev_polynomial_t");
  add<[](auto x, auto n) { return chebyshev<Kind::kSecond>(x, n); }>(table, "chebyshev_polynomial_u");
  add<[](auto x, auto n) { return chebyshev<Kind::kThird>(x, n); }>(table, "chebyshev_polynomial_v");
  add<[](auto x, auto n) { return chebyshev<Kind::kFourth>(x, n); }>(table, "chebyshev_polynomial_w");
  add<[](auto x, auto n) { return shifted_chebyshev<Kind::kFirst>(x, n); }>(table, "shifted_chebyshev_polynomial_t");
  add<[](auto x, auto n) { return shifted_chebyshev<Kind::kSecond>(x, n); }>(table, "shifted_chebyshev_polynomial_u");
  add<[](auto x, auto n) { return shifted_chebyshev<Kind::kThird>(x, n); }>(table, "shifted_chebyshev_polynomial_v");
  add<[](auto x, auto n) { return shifted_chebyshev<Kind::kFourth>(x, n); }>(table, "shifted_chebyshev_polynomial_w");
  add<[](auto x, auto n) { return hermite_of_physicists(x, n); }>(table, "hermite_polynomial_h");
  add<[](auto x, auto n) { return hermite_of_probabilists(x, n); }>(table, "hermite_polynomial_he");
  add<[](auto x, auto n) { return laguerre(x, n); }>(table, "laguerre_polynomial_l");
  add<[](auto x, auto n) { return legendre(x, n); }>(table, "legendre_polynomial_p");
}

}  // namespace enr::ops
