// Rarer functions of one tensor, all for floating results.

#include <cmath>

#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/pointwise/scalar_loop.h"
#include "ops/scratch_tensor.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

constexpr double kPi = 3.14159265358979323846;

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

// A first guess from a logarithmic approximation, then Newton's steps.
double erf_inverse(double y) {
  if (std::abs(y) > 1) return NAN;
  if (std::abs(y) == 1) return std::copysign(INFINITY, y);
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
  return x;
}

// -x log x, the summand of an entropy.
struct Entropy {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return x != x ? x : x > 0 ? -x * std::log(x) : x == 0 ? T{0} : static_cast<T>(-INFINITY);
  }
};

// The normal distribution's share below x.
double normal_share(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

// x = mantissa 2^exponent, the mantissa's size in [0.5, 1).
void frexp_out(OpContext& context, const Tensor& self, Tensor& mantissa, Tensor& exponent) {
  require_floating(self.dtype, "self");
  require_same_dtype(mantissa, self.dtype, "mantissa");
  require_same_dtype(exponent, DType::kInt32, "exponent");
  context.resize(mantissa, self.sizes(), "mantissa");
  context.resize(exponent, self.sizes(), "exponent");
  const auto* from = row_major_as<double>(context, self);
  RowMajorOut mantissas(context, mantissa, DType::kFloat64), exponents(context, exponent);
  for (int64_t i = 0; i < self.numel(); ++i) {
    int power = 0;
    mantissas.as<double>()[i] = std::frexp(from[i], &power);
    exponents.as<int32_t>()[i] = std::isfinite(from[i]) ? power : 0;
  }
  mantissas.commit();
  exponents.commit();
}

double times_power(double x, double power) { return x * std::exp2(power); }

struct PowerOfTwo {
  template <class T>
  T operator()(T power, const LoopParams&) const {
    return std::exp2(power);
  }
};
struct Times {
  template <class T>
  T operator()(T x, T y, const LoopParams&) const {
    return x * y;
  }
};

void ldexp_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  if (!is_complex(self.dtype) && is_integral_or_bool(other.dtype)) {
    return function_of_two_out<InDouble<times_power>>(context, self, other, out);
  }
  if (!is_complex(self.dtype) && !is_complex(other.dtype)) {  // eager rounds the power to other's dtype
    Tensor power = scratch_tensor(context, other.dtype, other.sizes());
    run_loop(context, scalar_unary_loop<PowerOfTwo>(other.dtype), {}, {other}, power);
    return function_of_two_out<Times>(context, self, power, out);
  }
  require_castable(floating_for(result_type(self, other)), out);
  map_complex(context, {&self, &other}, out, [](const Complex* x) { return x[0] * std::pow(2.0, x[1]); });
}

}  // namespace

void register_special(OperatorTable& table) {
  table.add<frexp_out>("aten::frexp.Tensor_out", "self, mantissa, exponent");
  table.add<ldexp_out>("aten::ldexp.out", "self, other, out");
  table.add<sinc_out>("aten::sinc.out", "self, out");
  table.add<function_out<DegreesToRadians>>("aten::deg2rad.out", "self, out");
  table.add<function_out<RadiansToDegrees>>("aten::rad2deg.out", "self, out");
  table.add<function_out<LogGamma>>("aten::lgamma.out", "self, out");
  table.add<function_out<InDouble<erf_inverse>>>("aten::erfinv.out", "self, out");
  table.add<function_out<Entropy>>("aten::special_entr.out", "self, out");
  table.add<function_out<InDouble<normal_share>>>("aten::special_ndtr.out", "self, out");
}

}  // namespace enr::ops
