// Functions of one tensor, element by element.

#include <cmath>

#include "kernels/complex/complex.h"
#include "kernels/transpose/pad.h"
#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/pointwise/scalar_loop.h"

namespace enr::ops {

namespace {

using kernels::Predicate;
using kernels::Unary;

// Functions whose result for integers is float32.
template <Unary op>
void floating(OpContext& context, const Tensor& self, Tensor& out) {
  const DType common = floating_for(self.dtype);
  require_castable(common, out);
  run_loop(context, loop_for(op, common), {}, {self}, out);
}

// Rounding leaves integers as they are.
template <Unary op>
void rounding(OpContext& context, const Tensor& self, Tensor& out) {
  require_not_bool(self.dtype, "self");
  require_real(self.dtype, "self");
  require_castable(self.dtype, out);
  if (is_integer(self.dtype)) return copy_elements(context, self, out);
  run_loop(context, loop_for(op, self.dtype), {}, {self}, out);
}

void neg_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_not_bool(self.dtype, "self");
  require_castable(self.dtype, out);
  run_loop(context, loop_for(Unary::kNeg, self.dtype), {}, {self}, out);
}

void abs_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_not_bool(self.dtype, "self");
  const Loop loop = loop_for(Unary::kAbs, self.dtype);
  require_castable(is_complex(self.dtype) ? loop.out : self.dtype, out);
  if (is_unsigned(self.dtype)) return copy_elements(context, self, out);
  run_loop(context, loop, {}, {self}, out);
}

void sign_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_real(self.dtype, "self");
  require_castable(self.dtype, out);
  if (is_bool(self.dtype)) return copy_elements(context, self, out);
  if (self.dtype == DType::kUInt64) {  // half of its values are negative as an int64
    const Number zero(int64_t{0}, self.dtype);
    return run_loop(context, loop_for(kernels::Comparison::kNe, self.dtype), {}, {self, zero}, out);
  }
  run_loop(context, loop_for(Unary::kSign, self.dtype), {}, {self}, out);
}

// Of a complex number, the one of length 1 in its direction.
void sgn_out(OpContext& context, const Tensor& self, Tensor& out) {
  if (!is_complex(self.dtype)) return sign_out(context, self, out);
  require_castable(self.dtype, out);
  map_complex(context, {&self}, out, [](const Complex* x) { return *x == 0.0 ? 0.0 : *x / std::abs(*x); });
}

void square_out(OpContext& context, const Tensor& self, Tensor& out) {
  const DType common = is_bool(self.dtype) ? DType::kInt64 : self.dtype;
  require_castable(common, out);
  run_loop(context, loop_for(Unary::kSquare, common), {}, {self}, out);
}

void positive_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_not_bool(self.dtype, "self");
  require_castable(self.dtype, out);
  copy_elements(context, self, out);
}

void conj_physical_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_castable(self.dtype, out);
  if (!is_complex(self.dtype)) return copy_elements(context, self, out);
  run_loop(context, kernels::conjugate_loop(computing_dtype(self.dtype)), {}, {self}, out);
}

void bitwise_not_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_integral_or_bool(self.dtype, "self");
  require_castable(self.dtype, out);
  run_loop(context, loop_for(Unary::kBitwiseNot, self.dtype), {}, {self}, out);
}

void logical_not_out(OpContext& context, const Tensor& self, Tensor& out) {
  const Loop own = kernels::predicate_loop(Predicate::kLogicalNot, self.dtype);
  run_loop(context, own ? own : loop_for(Predicate::kLogicalNot, DType::kBool), {}, {self}, out);
}

// Tests that integers fail or pass whatever their value: as "not equal to itself" and "equal to itself" do.
template <Predicate op, bool kOfIntegers>
void floating_test(OpContext& context, const Tensor& self, Tensor& out) {
  if (is_complex(self.dtype)) {
    return map_complex(context, {&self}, out, [](const Complex* x) {
      if constexpr (op == Predicate::kIsFinite) return std::isfinite(x->real()) && std::isfinite(x->imag()) ? 1.0 : 0.0;
      if constexpr (op == Predicate::kIsInf) return std::isinf(x->real()) || std::isinf(x->imag()) ? 1.0 : 0.0;
      return std::isnan(x->real()) || std::isnan(x->imag()) ? 1.0 : 0.0;
    });
  }
  if (is_integral_or_bool(self.dtype)) {
    if (is_bool(out.dtype)) {
      context.resize(out, self.sizes());
      const uint8_t answer = kOfIntegers ? 1 : 0;
      return kernels::fill(out.data, &answer, static_cast<size_t>(out.numel()), 1);
    }
    const auto same = kOfIntegers ? kernels::Comparison::kEq : kernels::Comparison::kNe;
    return run_loop(context, loop_for(same, self.dtype), {}, {self, self}, out);
  }
  run_loop(context, loop_for(op, self.dtype), {}, {self}, out);
}

void signbit_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_real(self.dtype, "self");
  if (is_unsigned(self.dtype) || is_bool(self.dtype))
    return floating_test<Predicate::kSignBit, false>(context, self, out);
  run_loop(context, loop_for(Predicate::kSignBit, self.dtype), {}, {self}, out);
}

template <bool kPositive>
void is_signed_infinity_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_real(self.dtype, "self");
  if (is_integral_or_bool(self.dtype)) return floating_test<Predicate::kIsInf, false>(context, self, out);
  const Number infinity(kPositive ? INFINITY : -INFINITY, computing_dtype(self.dtype));
  run_loop(context, loop_for(kernels::Comparison::kEq, self.dtype), {}, {self, infinity}, out);
}

void logit_out(OpContext& context, const Tensor& self, std::optional<double> eps, Tensor& out) {
  require_real(self.dtype, "self");
  const DType common = floating_for(self.dtype);
  require_castable(common, out);
  LoopParams params;
  params.a = eps.value_or(-1);
  run_loop(context, loop_for(Unary::kLogit, common), params, {self}, out);
}

struct RoundDecimals {
  template <class T>
  T operator()(T x, const LoopParams& params) const {
    const T power = static_cast<T>(params.a);
    return params.i > 0 ? std::nearbyint(x * power) / power : std::nearbyint(x / power) * power;
  }
};

void round_decimals_out(OpContext& context, const Tensor& self, int64_t decimals, Tensor& out) {
  if (decimals == 0) return rounding<Unary::kRound>(context, self, out);
  require_floating(self.dtype, "self");
  require_castable(self.dtype, out);
  LoopParams params;
  params.i = decimals;
  params.a = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  run_loop(context, scalar_unary_loop<RoundDecimals>(self.dtype), params, {self}, out);
}

struct Fraction {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return x - std::trunc(x);
  }
};

void frac_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_floating(self.dtype, "self");
  require_castable(self.dtype, out);
  run_loop(context, scalar_unary_loop<Fraction>(self.dtype), {}, {self}, out);
}

}  // namespace

void register_unary(OperatorTable& table) {
  table.add<abs_out>("aten::abs.out", "self, out");
  table.add<floating<Unary::kAcos>>("aten::acos.out", "self, out");
  table.add<floating<Unary::kAcosh>>("aten::acosh.out", "self, out");
  table.add<floating<Unary::kAsin>>("aten::asin.out", "self, out");
  table.add<floating<Unary::kAsinh>>("aten::asinh.out", "self, out");
  table.add<floating<Unary::kAtan>>("aten::atan.out", "self, out");
  table.add<floating<Unary::kAtanh>>("aten::atanh.out", "self, out");
  table.add<floating<Unary::kCos>>("aten::cos.out", "self, out");
  table.add<floating<Unary::kCosh>>("aten::cosh.out", "self, out");
  table.add<floating<Unary::kErf>>("aten::erf.out", "self, out");
  table.add<floating<Unary::kErfc>>("aten::erfc.out", "self, out");
  table.add<floating<Unary::kExp>>("aten::exp.out", "self, out");
  table.add<floating<Unary::kExp2>>("aten::exp2.out", "self, out");
  table.add<floating<Unary::kExpm1>>("aten::expm1.out", "self, out");
  table.add<floating<Unary::kLog>>("aten::log.out", "self, out");
  table.add<floating<Unary::kLog10>>("aten::log10.out", "self, out");
  table.add<floating<Unary::kLog1p>>("aten::log1p.out", "self, out");
  table.add<floating<Unary::kLog2>>("aten::log2.out", "self, out");
  table.add<floating<Unary::kReciprocal>>("aten::reciprocal.out", "self, out");
  table.add<floating<Unary::kRsqrt>>("aten::rsqrt.out", "self, out");
  table.add<floating<Unary::kSigmoid>>("aten::sigmoid.out", "self, out");
  table.add<floating<Unary::kSin>>("aten::sin.out", "self, out");
  table.add<floating<Unary::kSinh>>("aten::sinh.out", "self, out");
  table.add<floating<Unary::kSqrt>>("aten::sqrt.out", "self, out");
  table.add<floating<Unary::kTan>>("aten::tan.out", "self, out");
  table.add<floating<Unary::kTanh>>("aten::tanh.out", "self, out");

  table.add<rounding<Unary::kCeil>>("aten::ceil.out", "self, out");
  table.add<rounding<Unary::kFloor>>("aten::floor.out", "self, out");
  table.add<rounding<Unary::kRound>>("aten::round.out", "self, out");
  table.add<rounding<Unary::kTrunc>>("aten::trunc.out", "self, out");
  table.add<rounding<Unary::kTrunc>>("aten::fix.out", "self, out");
  table.add<round_decimals_out>("aten::round.decimals_out", "self, decimals, out");
  table.add<frac_out>("aten::frac.out", "self, out");

  table.add<neg_out>("aten::neg.out", "self, out");
  table.add<sign_out>("aten::sign.out", "self, out");
  table.add<sgn_out>("aten::sgn.out", "self, out");
  table.add<square_out>("aten::square.out", "self, out");
  table.add<positive_out>("aten::positive.out", "self, out");
  table.add<conj_physical_out>("aten::_conj_physical.out", "self, out");
  table.add<conj_physical_out>("aten::conj_physical.out", "self, out");
  table.add<bitwise_not_out>("aten::bitwise_not.out", "self, out", kTruth<0>);
  table.add<logit_out>("aten::logit.out", "self, eps, out");

  table.add<logical_not_out>("aten::logical_not.out", "self, out", kTruth<0>);
  table.add<floating_test<Predicate::kIsNan, false>>("aten::isnan.out", "self, out");
  table.add<floating_test<Predicate::kIsInf, false>>("aten::isinf.out", "self, out");
  table.add<floating_test<Predicate::kIsFinite, true>>("aten::isfinite.out", "self, out");
  table.add<is_signed_infinity_out<true>>("aten::isposinf.out", "self, out");
  table.add<is_signed_infinity_out<false>>("aten::isneginf.out", "self, out");
  table.add<signbit_out>("aten::signbit.out", "self, out");
}

}  // namespace enr::ops
