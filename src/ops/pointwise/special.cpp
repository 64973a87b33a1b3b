// Rarer functions of one tensor, all for floating results.

#include <cmath>

#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/pointwise/scalar_loop.h"

namespace enr::ops {

namespace {

constexpr double kPi = 3.14159265358979323846;

template <class F>
void function_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_real(self.dtype, "self");
  const DType common = floating_for(self.dtype);
  require_castable(common, out);
  run_loop(context, scalar_unary_loop<F>(common), {}, {self}, out);
}

struct Sinc {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    if (x == 0) return 1;
    const T angle = static_cast<T>(kPi) * x;
    return std::sin(angle) / angle;
  }
};

void sinc_out(OpContext& context, const Tensor& self, Tensor& out) {
  if (!is_complex(self.dtype)) return function_out<Sinc>(context, self, out);
  require_castable(self.dtype, out);
  map_complex(context, {&self}, out, [](const Complex* x) {
    const Complex angle = kPi * *x;
    return *x == 0.0 ? 1.0 : std::sin(angle) / angle;
  });
}

struct DegreesToRadians {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return x * static_cast<T>(kPi / 180);
  }
};
struct RadiansToDegrees {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return x * static_cast<T>(180 / kPi);
  }
};

struct LogGamma {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return std::lgamma(x);
  }
};

// Recurrence up to where the asymptotic series holds, reflection below zero.
struct Digamma {
  template <class T>
  T operator()(T given, const LoopParams&) const {
    double x = static_cast<double>(given);
    if (x == 0) return static_cast<T>(std::copysign(INFINITY, -x));
    double result = 0;
    if (x < 0) {
      if (x == std::trunc(x)) return NAN;
      result = -kPi / std::tan(kPi * (x - std::trunc(x)));
      x = 1 - x;
    }
    for (; x < 10; ++x) result -= 1 / x;
    const double z = 1 / (x * x);
    const double series =
        z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * 691.0 / 32760)))));
    return static_cast<T>(result + std::log(x) - 0.5 / x - series);
  }
};

// A first guess from a logarithmic approximation, then Newton's steps in double.
struct ErfInverse {
  template <class T>
  T operator()(T given, const LoopParams&) const {
    const double y = static_cast<double>(given);
    if (std::abs(y) > 1) return NAN;
    if (std::abs(y) == 1) return static_cast<T>(std::copysign(INFINITY, y));
    const double a = 0.147, log_term = std::log((1 - y) * (1 + y));
    const double half = 2 / (kPi * a) + log_term / 2;
    double x = std::copysign(std::sqrt(std::sqrt(half * half - log_term / a) - half), y);
    for (int i = 0; i < 3; ++i) {
      // Near 1 the complement keeps the digits.
      const double sign = y < 0 ? -1 : 1;
      const double error = std::abs(y) < 0.5 ? std::erf(x) - y : sign * ((1 - std::abs(y)) - std::erfc(std::abs(x)));
      const double slope = 2 / std::sqrt(kPi) * std::exp(-x * x);
      const double step = error / slope;
      x -= step / (1 + x * step);
    }
    return static_cast<T>(x);
  }
};

// Modified Bessel function of the first kind, order 0: its series, or its asymptotic form for large arguments.
struct BesselI0 {
  template <class T>
  T operator()(T given, const LoopParams&) const {
    const double x = std::abs(static_cast<double>(given));
    double term = 1, sum = 1;
    if (x < 30) {
      const double quarter = x * x / 4;
      for (int k = 1; term > sum * 1e-17; ++k) sum += term *= quarter / (static_cast<double>(k) * k);
      return static_cast<T>(sum);
    }
    for (int k = 1; k < 20; ++k) sum += term *= (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k * x);
    return static_cast<T>(std::exp(x) / std::sqrt(2 * kPi * x) * sum);
  }
};

// -x log x, the summand of an entropy.
struct Entropy {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return x != x ? x : x > 0 ? -x * std::log(x) : x == 0 ? T{0} : static_cast<T>(-INFINITY);
  }
};

// The normal distribution's share below x.
struct NormalShare {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return static_cast<T>(std::erfc(-static_cast<double>(x) / std::sqrt(2.0)) / 2);
  }
};

}  // namespace

void register_special(OperatorTable& table) {
  table.add<sinc_out>("aten::sinc.out");
  table.add<function_out<DegreesToRadians>>("aten::deg2rad.out");
  table.add<function_out<RadiansToDegrees>>("aten::rad2deg.out");
  table.add<function_out<LogGamma>>("aten::lgamma.out");
  table.add<function_out<Digamma>>("aten::digamma.out");
  table.add<function_out<ErfInverse>>("aten::erfinv.out");
  table.add<function_out<Entropy>>("aten::special_entr.out");
  table.add<function_out<NormalShare>>("aten::special_ndtr.out");
  table.add<function_out<BesselI0>>("aten::i0.out");
}

}  // namespace enr::ops
