// Functions of two tensors beside plain arithmetic: powers, extremes, bits, angles.

#include <cmath>
#include <utility>

#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/pointwise/scalar_loop.h"

namespace enr::ops {

namespace {

using kernels::Binary;
using kernels::Unary;

// Powers with a number as exponent that have a loop of their own, as eager has it.
std::optional<Unary> special_power(double exponent) noexcept {
  if (exponent == 2) return Unary::kSquare;
  if (exponent == 0.5) return Unary::kSqrt;
  if (exponent == -0.5) return Unary::kRsqrt;
  if (exponent == -1) return Unary::kReciprocal;
  return std::nullopt;
}

void power(OpContext& context, const Operand& base, const Operand& exponent, DType common, Tensor& out) {
  require_not_bool(common, "self");
  require_castable(common, out);
  run_loop(context, loop_for(Binary::kPow, common), {}, {base, exponent}, out);
}
void pow_out(OpContext& context, const Tensor& self, const Tensor& exponent, Tensor& out) {
  const DType common = result_type(self, exponent);
  power(context, as_dtype(context, self, common), as_dtype(context, exponent, common), common, out);
}
void pow_tensor_scalar_out(OpContext& context, const Tensor& self, const Scalar& exponent, Tensor& out) {
  const DType common = result_type(self, exponent);
  require_castable(common, out);
  if (is_integral_or_bool(common)) {
    if (exponent.to<int64_t>() < 0) {
      fail_execution("exponent: expected at least 0 for integers, got ", exponent.to<int64_t>());
    }
    require_not_bool(common, "self");
  } else if (const auto special = special_power(exponent.to<double>());
             special && (!is_complex(common) || *special == Unary::kSquare)) {
    return run_loop(context, loop_for(*special, common), {}, {self}, out);
  }
  power(context, self, Number(exponent, computing_dtype(common)), common, out);
}
void pow_scalar_out(OpContext& context, const Scalar& self, const Tensor& exponent, Tensor& out) {
  const DType common = result_type(exponent, self);
  power(context, Number(self, computing_dtype(common)), exponent, common, out);
}

// Powers in float64 or complex128, whatever the dtypes.
void float_power(OpContext& context, const Operand& base, const Operand& exponent, Tensor& out) {
  const bool any_complex = is_complex(base.dtype) || is_complex(exponent.dtype);
  const DType common = any_complex ? DType::kComplex128 : DType::kFloat64;
  require_same_dtype(out, common, "out");
  run_loop(context, loop_for(Binary::kPow, common), {}, {base, exponent}, out);
}
void float_power_out(OpContext& context, const Tensor& self, const Tensor& exponent, Tensor& out) {
  float_power(context, self, exponent, out);
}
void float_power_tensor_scalar_out(OpContext& context, const Tensor& self, const Scalar& exponent, Tensor& out) {
  float_power(context, self, Number(exponent, DType::kFloat64), out);
}
void float_power_scalar_out(OpContext& context, const Scalar& self, const Tensor& exponent, Tensor& out) {
  float_power(context, Number(self, DType::kFloat64), exponent, out);
}

// Functions of floating tensors.
template <Binary op>
void floating_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  require_floating(common, "self");
  require_castable(common, out);
  run_loop(context, loop_for(op, common), {}, {as_dtype(context, self, common), as_dtype(context, other, common)}, out);
}

// The same, integers taken as float32.
template <Binary op>
void to_floating_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = floating_for(result_type(self, other));
  require_floating(common, "self");
  require_castable(common, out);
  run_loop(context, loop_for(op, common), {}, {as_dtype(context, self, common), as_dtype(context, other, common)}, out);
}
void copysign_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  const DType common = floating_for(result_type(self, other));
  require_floating(common, "self");
  require_castable(common, out);
  run_loop(context, loop_for(Binary::kCopysign, common), {}, {self, Number(other, common)}, out);
}

template <Binary op>
void extreme_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  require_real(common, "self");
  require_castable(common, out);
  run_loop(context, loop_for(op, common), {}, {as_dtype(context, self, common), as_dtype(context, other, common)}, out);
}

// And, or, exclusive or; of bools too.
void bits(OpContext& context, Binary op, const Operand& x, const Operand& y, DType common, Tensor& out) {
  require_integral_or_bool(common, "self");
  require_castable(common, out);
  run_loop(context, loop_for(op, common), {}, {x, y}, out);
}
template <Binary op>
void bits_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  bits(context, op, as_dtype(context, self, common), as_dtype(context, other, common), common, out);
}
template <Binary op>
void bits_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  const DType common = result_type(self, other);
  bits(context, op, self, Number(other, common), common, out);
}
template <Binary op>
void bits_scalar_tensor_out(OpContext& context, const Scalar& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(other, self);
  bits(context, op, Number(self, common), other, common, out);
}

template <Binary op>
void shift_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  require_not_bool(result_type(self, other), "self");
  bits_out<op>(context, self, other, out);
}
template <Binary op>
void shift_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  require_not_bool(result_type(self, other), "self");
  bits_scalar_out<op>(context, self, other, out);
}
template <Binary op>
void shift_scalar_tensor_out(OpContext& context, const Scalar& self, const Tensor& other, Tensor& out) {
  require_not_bool(result_type(other, self), "self");
  bits_scalar_tensor_out<op>(context, self, other, out);
}

struct XLogY {
  template <class T>
  T operator()(T x, T y, const LoopParams&) const {
    return y != y ? y : x == 0 ? T(0) : x * std::log(y);
  }
};
void xlogy(OpContext& context, const Operand& x, const Operand& y, DType common, Tensor& out) {
  require_castable(common, out);
  run_loop(context, scalar_binary_loop<XLogY>(common), {}, {x, y}, out);
}
void xlogy_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  xlogy(context, self, other, floating_for(result_type(self, other)), out);
}
void xlogy_scalar_other_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  const DType common = floating_for(result_type(self, other));
  xlogy(context, self, Number(other, computing_dtype(common)), common, out);
}
void xlogy_scalar_self_out(OpContext& context, const Scalar& self, const Tensor& other, Tensor& out) {
  const DType common = floating_for(result_type(other, self));
  xlogy(context, Number(self, computing_dtype(common)), other, common, out);
}

struct XLog1pY {
  template <class T>
  T operator()(T x, T y, const LoopParams&) const {
    return y != y ? y : x == 0 ? T(0) : x * std::log1p(y);
  }
};
void xlog1py_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = floating_for(result_type(self, other));
  require_castable(common, out);
  run_loop(context, scalar_binary_loop<XLog1pY>(common), {}, {self, other}, out);
}

// log2(2^x + 2^y) without overflow.
struct LogAddExp2 {
  template <class T>
  T operator()(T x, T y, const LoopParams&) const {
    if (x == y && std::isinf(x)) return x;
    constexpr T kInverseLog2 = static_cast<T>(1.44269504088896340736);
    if (x != x || y != y) return x + y;
    return std::fmax(x, y) + std::log1p(std::exp2(-std::abs(x - y))) * kInverseLog2;
  }
};
void logaddexp_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  if (!is_complex(common)) return floating_out<Binary::kLogAddExp>(context, self, other, out);
  require_castable(common, out);
  map_complex(context, {&self, &other}, out, [](const Complex* x) { return log_add_exp(x[0], x[1]); });
}

void logaddexp2_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  require_floating(common, "self");
  require_castable(common, out);
  run_loop(context, scalar_binary_loop<LogAddExp2>(common), {},
           {as_dtype(context, self, common), as_dtype(context, other, common)}, out);
}

struct Heaviside {
  template <class T>
  T operator()(T x, T value, const LoopParams&) const {
    return x == 0 ? value : static_cast<T>(x > 0);
  }
};
void heaviside_out(OpContext& context, const Tensor& self, const Tensor& values, Tensor& out) {
  require_same_dtype(values, self.dtype, "values");
  require_castable(self.dtype, out);
  const bool is_integral = is_integral_or_bool(self.dtype);
  run_loop(context, is_integral ? integer_binary_loop<Heaviside>() : scalar_binary_loop<Heaviside>(self.dtype), {},
           {self, values}, out);
}

// The neighbour of x in the direction of y.
struct NextAfter {
  template <class T>
  T operator()(T x, T y, const LoopParams&) const {
    return std::nextafter(x, y);
  }
};

// The same among the numbers of a 16-bit kind, which the loop sees as float.
template <class H>
struct NextAfterHalf {
  template <class T>
  T operator()(T x, T y, const LoopParams&) const {
    if (!(x < y || x > y)) return y;  // equal, or a NaN
    H number(static_cast<float>(x));
    constexpr uint16_t kSign = 0x8000;
    if (x == 0) {
      number.bits = static_cast<uint16_t>(1 | (y < 0 ? kSign : 0));
    } else {
      number.bits = static_cast<uint16_t>(number.bits + ((x < y) == (x > 0) ? 1 : -1));
    }
    return static_cast<T>(static_cast<float>(number));
  }
};

void nextafter_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  require_floating(common, "self");
  require_castable(common, out);
  const Loop loop = common == DType::kFloat16    ? scalar_binary_loop<NextAfterHalf<Half>>(common)
                    : common == DType::kBFloat16 ? scalar_binary_loop<NextAfterHalf<BFloat16>>(common)
                                                 : scalar_binary_loop<NextAfter>(common);
  run_loop(context, loop, {}, {self, other}, out);
}

uint64_t magnitude(int64_t x) noexcept { return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x); }

uint64_t greatest_common_divisor(int64_t x, int64_t y) noexcept {
  uint64_t a = magnitude(x), b = magnitude(y);
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}
struct Gcd {
  int64_t operator()(int64_t x, int64_t y, const LoopParams&) const {
    return static_cast<int64_t>(greatest_common_divisor(x, y));
  }
};
struct Lcm {
  int64_t operator()(int64_t x, int64_t y, const LoopParams&) const {
    const uint64_t divisor = greatest_common_divisor(x, y);
    return divisor == 0 ? 0 : static_cast<int64_t>(magnitude(x) / divisor * magnitude(y));
  }
};
template <class F>
void divisor_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  require_not_bool(common, "self");
  require_integral_or_bool(common, "self");
  require_castable(common, out);
  run_loop(context, integer_binary_loop<F>(), {}, {as_dtype(context, self, common), as_dtype(context, other, common)},
           out);
}

}  // namespace

void register_binary(OperatorTable& table) {
  table.add<pow_out>("aten::pow.Tensor_Tensor_out", "self, exponent, out");
  table.add<pow_tensor_scalar_out>("aten::pow.Tensor_Scalar_out", "self, exponent, out");
  table.add<pow_scalar_out>("aten::pow.Scalar_out", "self, exponent, out");
  table.add<float_power_out>("aten::float_power.Tensor_Tensor_out", "self, exponent, out");
  table.add<float_power_tensor_scalar_out>("aten::float_power.Tensor_Scalar_out", "self, exponent, out");
  table.add<float_power_scalar_out>("aten::float_power.Scalar_out", "self, exponent, out");
  table.add<to_floating_out<Binary::kAtan2>>("aten::atan2.out", "self, other, out");
  table.add<to_floating_out<Binary::kCopysign>>("aten::copysign.out", "self, other, out");
  table.add<copysign_scalar_out>("aten::copysign.Scalar_out", "self, other, out");
  table.add<floating_out<Binary::kHypot>>("aten::hypot.out", "self, other, out");
  table.add<logaddexp_out>("aten::logaddexp.out", "self, other, out");
  table.add<logaddexp2_out>("aten::logaddexp2.out", "self, other, out");
  table.add<xlog1py_out>("aten::special_xlog1py.out", "self, other, out");
  table.add<nextafter_out>("aten::nextafter.out", "self, other, out");
  table.add<heaviside_out>("aten::heaviside.out", "self, values, out");
  table.add<xlogy_out>("aten::xlogy.OutTensor", "self, other, out");
  table.add<xlogy_scalar_other_out>("aten::xlogy.OutScalar_Other", "self, other, out");
  table.add<xlogy_scalar_self_out>("aten::xlogy.OutScalar_Self", "self, other, out");
  table.add<divisor_out<Gcd>>("aten::gcd.out", "self, other, out");
  table.add<divisor_out<Lcm>>("aten::lcm.out", "self, other, out");

  table.add<extreme_out<Binary::kMaximum>>("aten::maximum.out", "self, other, out", kTruth<0, 1>);
  table.add<extreme_out<Binary::kMaximum>>("aten::max.out", "self, other, out", kTruth<0, 1>);
  table.add<extreme_out<Binary::kMinimum>>("aten::minimum.out", "self, other, out", kTruth<0, 1>);
  table.add<extreme_out<Binary::kMinimum>>("aten::min.out", "self, other, out", kTruth<0, 1>);
  table.add<extreme_out<Binary::kFmax>>("aten::fmax.out", "self, other, out", kTruth<0, 1>);
  table.add<extreme_out<Binary::kFmin>>("aten::fmin.out", "self, other, out", kTruth<0, 1>);

  table.add<bits_out<Binary::kAnd>>("aten::bitwise_and.Tensor_out", "self, other, out", kTruth<0, 1>);
  table.add<bits_scalar_out<Binary::kAnd>>("aten::bitwise_and.Scalar_out", "self, other, out");
  table.add<bits_scalar_tensor_out<Binary::kAnd>>("aten::bitwise_and.Scalar_Tensor_out", "self, other, out");
  table.add<bits_out<Binary::kOr>>("aten::bitwise_or.Tensor_out", "self, other, out", kTruth<0, 1>);
  table.add<bits_scalar_out<Binary::kOr>>("aten::bitwise_or.Scalar_out", "self, other, out");
  table.add<bits_scalar_tensor_out<Binary::kOr>>("aten::bitwise_or.Scalar_Tensor_out", "self, other, out");
  table.add<bits_out<Binary::kXor>>("aten::bitwise_xor.Tensor_out", "self, other, out", kTruth<0, 1>);
  table.add<bits_scalar_out<Binary::kXor>>("aten::bitwise_xor.Scalar_out", "self, other, out");
  table.add<bits_scalar_tensor_out<Binary::kXor>>("aten::bitwise_xor.Scalar_Tensor_out", "self, other, out");

  table.add<shift_out<Binary::kShiftLeft>>("aten::bitwise_left_shift.Tensor_out", "self, other, out");
  table.add<shift_scalar_out<Binary::kShiftLeft>>("aten::bitwise_left_shift.Tensor_Scalar_out", "self, other, out");
  table.add<shift_scalar_tensor_out<Binary::kShiftLeft>>("aten::bitwise_left_shift.Scalar_Tensor_out",
                                                         "self, other, out");
  table.add<shift_out<Binary::kShiftLeft>>("aten::__lshift__.Tensor_out", "self, other, out");
  table.add<shift_scalar_out<Binary::kShiftLeft>>("aten::__lshift__.Scalar_out", "self, other, out");
  table.add<shift_out<Binary::kShiftRight>>("aten::bitwise_right_shift.Tensor_out", "self, other, out");
  table.add<shift_scalar_out<Binary::kShiftRight>>("aten::bitwise_right_shift.Tensor_Scalar_out", "self, other, out");
  table.add<shift_scalar_tensor_out<Binary::kShiftRight>>("aten::bitwise_right_shift.Scalar_Tensor_out",
                                                          "self, other, out");
  table.add<shift_out<Binary::kShiftRight>>("aten::__rshift__.Tensor_out", "self, other, out");
  table.add<shift_scalar_out<Binary::kShiftRight>>("aten::__rshift__.Scalar_out", "self, other, out");
}

}  // namespace enr::ops
