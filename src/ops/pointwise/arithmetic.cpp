// Sums, differences, products and quotients of two tensors, or of a tensor and a number.

#include "ops/families.h"
#include "ops/pointwise/elementwise.h"

namespace enr::ops {

namespace {

using kernels::Binary;

// Eager rounds every operand to the common dtype first, but for a number or rank-0 tensor that a half kind is
// multiplied with or divided by: that one stays float32.
Operand factor(OpContext& context, const Tensor& other, DType common) {
  return other.rank == 0 && is_half_kind(common) ? Operand(other) : as_dtype(context, other, common);
}

LoopParams alpha_params(const Scalar& alpha, DType common) {
  if (alpha.is_double() && is_integral_or_bool(common)) {
    fail_execution("alpha: expected an integer for ", dtype_name(common), " tensors, got ", alpha.to<double>());
  }
  if (alpha.is_bool() && !is_bool(common)) {
    fail_execution("alpha: expected a number for ", dtype_name(common), " tensors, got a bool");
  }
  const int64_t integer = is_bool(common) ? int64_t{alpha.to<bool>()} : alpha.to<int64_t>();
  return {alpha.to<double>(), 0, integer};
}

// x + alpha y. Of bools: x or y, which the sum of 0s and 1s gives for any alpha.
void add_like(OpContext& context, Binary op, const Operand& x, const Operand& y, DType common, const Scalar& alpha,
              Tensor& out) {
  require_castable(common, out);
  const LoopParams params = alpha_params(alpha, common);
  const bool is_scaled_bool = is_bool(common) && params.i == 0;
  run_loop(context, loop_for(op, is_scaled_bool ? DType::kInt64 : common), params, {x, y}, out);
}

void add_out(OpContext& context, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  const DType common = result_type(self, other);
  add_like(context, Binary::kAdd, as_dtype(context, self, common), as_dtype(context, other, common), common, alpha,
           out);
}
void add_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  const DType common = result_type(self, other);
  add_like(context, Binary::kAdd, self, Number(other, common), common, alpha, out);
}

void add_relu_out(OpContext& context, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  add_out(context, self, other, alpha, out);
  require_real(out.dtype, "out");
  run_loop(context, loop_for(kernels::Unary::kRelu, out.dtype), {}, {out}, out);
}

void require_subtractable(DType dtype, const char* what) {
  if (is_bool(dtype)) fail_execution(what, ": expected a dtype with a difference, got bool");
}

void sub_out(OpContext& context, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  require_subtractable(self.dtype, "self");
  require_subtractable(other.dtype, "other");
  const DType common = result_type(self, other);
  add_like(context, Binary::kSub, as_dtype(context, self, common), as_dtype(context, other, common), common, alpha,
           out);
}
void sub_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  require_subtractable(self.dtype, "self");
  require_subtractable(other.dtype(), "other");
  const DType common = result_type(self, other);
  add_like(context, Binary::kSub, self, Number(other, common), common, alpha, out);
}
void rsub_out(OpContext& context, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  require_subtractable(self.dtype, "self");
  require_subtractable(other.dtype, "other");
  const DType common = result_type(self, other);
  add_like(context, Binary::kSub, as_dtype(context, other, common), as_dtype(context, self, common), common, alpha,
           out);
}
void rsub_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  require_subtractable(self.dtype, "self");
  require_subtractable(other.dtype(), "other");
  const DType common = result_type(self, other);
  add_like(context, Binary::kSub, Number(other, common), self, common, alpha, out);
}

void multiply(OpContext& context, const Operand& x, const Operand& y, DType common, Tensor& out) {
  require_castable(common, out);
  run_loop(context, loop_for(Binary::kMul, common), {}, {x, y}, out);
}
void mul_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  multiply(context, as_dtype(context, self, common), factor(context, other, common), common, out);
}
void mul_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  const DType common = result_type(self, other);
  multiply(context, self, Number(other, computing_dtype(common)), common, out);
}

// An example of a custom operator that this package's versions 1.x came with.
void triple_out(OpContext& context, const Tensor& self, Tensor& out) {
  mul_scalar_out(context, self, Scalar(int64_t{3}), out);
}

enum class RoundingMode { kNone, kTrunc, kFloor };

RoundingMode rounding_mode(const std::optional<std::string_view>& text) {
  if (!text) return RoundingMode::kNone;
  if (*text == "trunc") return RoundingMode::kTrunc;
  if (*text == "floor") return RoundingMode::kFloor;
  fail_execution("rounding_mode: expected None, 'trunc' or 'floor', got '", *text, "'");
}

void divide(OpContext& context, RoundingMode mode, const Operand& x, const Operand& y, DType common, Tensor& out) {
  if (mode == RoundingMode::kNone) {
    common = floating_for(common);
    require_castable(common, out);
    return run_loop(context, loop_for(Binary::kDiv, common), {}, {x, y}, out);
  }
  require_not_bool(common, "self");
  require_castable(common, out);
  const Loop loop = loop_for(mode == RoundingMode::kTrunc ? Binary::kDivTrunc : Binary::kDivFloor, common);
  require_nonzero(x, y, common, "other");
  run_loop(context, loop, {}, {x, y}, out);
}
void divide_tensors(OpContext& context, RoundingMode mode, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  const DType quotient = mode == RoundingMode::kNone ? floating_for(common) : common;
  divide(context, mode, as_dtype(context, self, quotient), factor(context, other, quotient), quotient, out);
}
void divide_scalar(OpContext& context, RoundingMode mode, const Tensor& self, const Scalar& other, Tensor& out) {
  const DType common = result_type(self, other);
  const DType quotient = mode == RoundingMode::kNone ? floating_for(common) : common;
  const Number divisor(other, computing_dtype(quotient));
  divide(context, mode, self, divisor, common, out);
}

void div_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  divide_tensors(context, RoundingMode::kNone, self, other, out);
}
void div_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  divide_scalar(context, RoundingMode::kNone, self, other, out);
}
void div_out_mode(OpContext& context, const Tensor& self, const Tensor& other, std::optional<std::string_view> mode,
                  Tensor& out) {
  divide_tensors(context, rounding_mode(mode), self, other, out);
}
void div_scalar_mode_out(OpContext& context, const Tensor& self, const Scalar& other,
                         std::optional<std::string_view> mode, Tensor& out) {
  divide_scalar(context, rounding_mode(mode), self, other, out);
}
void floor_divide_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  divide_tensors(context, RoundingMode::kFloor, self, other, out);
}
void floor_divide_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  divide_scalar(context, RoundingMode::kFloor, self, other, out);
}

// What is left after a division: with the sign of self (fmod) or of other (remainder).
void rest(OpContext& context, Binary op, const Operand& x, const Operand& y, DType common, Tensor& out) {
  require_not_bool(common, "self");
  require_real(common, "self");
  require_castable(common, out);
  const Loop loop = loop_for(op, common);
  require_nonzero(x, y, common, "other");
  run_loop(context, loop, {}, {x, y}, out);
}
template <Binary op>
void rest_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  rest(context, op, as_dtype(context, self, common), as_dtype(context, other, common), common, out);
}
template <Binary op>
void rest_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  const DType common = result_type(self, other);
  rest(context, op, self, Number(other, common), common, out);
}
template <Binary op>
void rest_scalar_tensor_out(OpContext& context, const Scalar& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(other, self);
  rest(context, op, Number(self, common), other, common, out);
}

}  // namespace

void register_arithmetic(OperatorTable& table) {
  table.add<add_out>("aten::add.out", "self, other, alpha, out");
  table.add<add_relu_out>("aten::_add_relu.out", "self, other, alpha, out");
  table.add<add_scalar_out>("aten::add.Scalar_out", "self, other, alpha, out");
  table.add<sub_out>("aten::sub.out", "self, other, alpha, out");
  table.add<sub_out>("aten::subtract.out", "self, other, alpha, out");
  table.add<sub_scalar_out>("aten::sub.Scalar_out", "self, other, alpha, out");
  table.add<rsub_out>("aten::rsub.Tensor_out", "self, other, alpha, out");
  table.add<rsub_scalar_out>("aten::rsub.Scalar_out", "self, other, alpha, out");
  table.add<mul_out>("aten::mul.out", "self, other, out");
  table.add<mul_out>("aten::multiply.out", "self, other, out");
  table.add<mul_scalar_out>("aten::mul.Scalar_out", "self, other, out");
  table.add<triple_out>("etnp::triple.out", "self, out");
  table.add<div_out>("aten::div.out", "self, other, out");
  table.add<div_out>("aten::divide.out", "self, other, out");
  table.add<div_out>("aten::true_divide.out", "self, other, out");
  table.add<div_scalar_out>("aten::div.Scalar_out", "self, other, out");
  table.add<div_out_mode>("aten::div.out_mode", "self, other, rounding_mode, out");
  table.add<div_out_mode>("aten::divide.out_mode", "self, other, rounding_mode, out");
  table.add<div_scalar_mode_out>("aten::div.Scalar_mode_out", "self, other, rounding_mode, out");
  table.add<floor_divide_out>("aten::floor_divide.out", "self, other, out");
  table.add<floor_divide_scalar_out>("aten::floor_divide.Scalar_out", "self, other, out");
  table.add<rest_out<Binary::kFmod>>("aten::fmod.Tensor_out", "self, other, out");
  table.add<rest_scalar_out<Binary::kFmod>>("aten::fmod.Scalar_out", "self, other, out");
  table.add<rest_out<Binary::kRemainder>>("aten::remainder.Tensor_out", "self, other, out");
  table.add<rest_scalar_out<Binary::kRemainder>>("aten::remainder.Scalar_out", "self, other, out");
  table.add<rest_scalar_tensor_out<Binary::kRemainder>>("aten::remainder.Scalar_Tensor_out", "self, other, out");
}

}  // namespace enr::ops
