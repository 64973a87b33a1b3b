// Functions of three tensors: clamping, selection, fused arithmetic.

#include <bit>
#include <limits>
#include <utility>

#include "ops/element.h"
#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/pointwise/scalar_loop.h"

namespace enr::ops {

namespace {

using kernels::Binary;
using kernels::Ternary;
using kernels::Unary;

template <class Bound>
void require_bound(const Bound& low, const Bound& high) {
  if (!low && !high) fail_execution("min: expected min, max or both, got neither");
}

void clamp_out(OpContext& context, const Tensor& self, const std::optional<Scalar>& low,
               const std::optional<Scalar>& high, Tensor& out) {
  require_bound(low, high);
  ResultType type;
  type.add(self);
  if (low) type.add(*low);
  if (high) type.add(*high);
  const DType common = type.get();
  require_not_bool(common, "self");
  require_real(common, "self");
  require_castable(common, out);
  if (is_integer(common)) {
    // As any number that becomes an element: out of range is refused, below zero wraps in unsigned dtypes.
    for (const auto& [bound, name] : {std::pair(&low, "min"), std::pair(&high, "max")}) {
      if (*bound) element_of(**bound, common, name);
    }
  }
  if (low && high && common != DType::kUInt64) {
    const LoopParams params{low->to<double>(), high->to<double>(), low->to<int64_t>(), high->to<int64_t>()};
    return run_loop(context, loop_for(Unary::kClamp, common), params, {self}, out);
  }
  // One bound is a maximum or minimum with a number; uint64, which has no clamp loop, takes both in turn.
  const Operand operand = as_dtype(context, self, common);
  if (low) run_loop(context, loop_for(Binary::kMaximum, common), {}, {operand, Number(*low, common)}, out);
  if (high) {
    run_loop(context, loop_for(Binary::kMinimum, common), {}, {low ? Operand(out) : operand, Number(*high, common)},
             out);
  }
}
void clamp_min_out(OpContext& context, const Tensor& self, const Scalar& low, Tensor& out) {
  clamp_out(context, self, low, std::nullopt, out);
}
void clamp_max_out(OpContext& context, const Tensor& self, const Scalar& high, Tensor& out) {
  clamp_out(context, self, std::nullopt, high, out);
}

void clamp_tensor_out(OpContext& context, const Tensor& self, const Tensor* low, const Tensor* high, Tensor& out) {
  require_bound(low, high);
  ResultType type;
  type.add(self);
  if (low != nullptr) type.add(*low);
  if (high != nullptr) type.add(*high);
  const DType common = type.get();
  require_real(common, "self");
  require_castable(common, out);
  const Operand operand = as_dtype(context, self, common);
  if (low != nullptr && high != nullptr) {
    require_not_bool(common, "self");
    return run_loop(context, loop_for(Ternary::kClamp, common), {},
                    {operand, as_dtype(context, *low, common), as_dtype(context, *high, common)}, out);
  }
  const Loop loop = loop_for(low != nullptr ? Binary::kMaximum : Binary::kMinimum, common);
  run_loop(context, loop, {}, {operand, as_dtype(context, low != nullptr ? *low : *high, common)}, out);
}
void clamp_min_tensor_out(OpContext& context, const Tensor& self, const Tensor& low, Tensor& out) {
  clamp_tensor_out(context, self, &low, nullptr, out);
}
void clamp_max_tensor_out(OpContext& context, const Tensor& self, const Tensor& high, Tensor& out) {
  clamp_tensor_out(context, self, nullptr, &high, out);
}

void where_out(OpContext& context, const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  if (condition.dtype != DType::kBool && condition.dtype != DType::kUInt8) {
    fail_execution("condition: expected bool, got ", dtype_name(condition.dtype));
  }
  const DType common = result_type(self, other);
  require_castable(common, out);
  run_loop(context, kernels::where_loop(common), {},
           {condition, as_dtype(context, self, common), as_dtype(context, other, common)}, out);
}

// self + value * tensor1 * tensor2, or / tensor2
void add_product(OpContext& context, Ternary op, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                 const Scalar& value, Tensor& out) {
  const DType common = ResultType().add(self).add(tensor1).add(tensor2).get();
  require_not_bool(common, "self");
  require_castable(common, out);
  if (is_complex(common)) {
    return map_complex(context, {&self, &tensor1, &tensor2}, out, [&](const Complex* x) {
      const Complex scaled = value.to<double>() * x[1];
      return x[0] + (op == Ternary::kAddCMul ? scaled * x[2] : scaled / x[2]);
    });
  }
  const LoopParams params{value.to<double>(), 0, value.to<int64_t>()};
  run_loop(context, loop_for(op, common), params,
           {as_dtype(context, self, common), as_dtype(context, tensor1, common), as_dtype(context, tensor2, common)},
           out);
}
void addcmul_out(OpContext& context, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                 const Scalar& value, Tensor& out) {
  add_product(context, Ternary::kAddCMul, self, tensor1, tensor2, value, out);
}
void addcdiv_out(OpContext& context, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                 const Scalar& value, Tensor& out) {
  if (is_integral_or_bool(tensor1.dtype) && is_integral_or_bool(tensor2.dtype)) {
    fail_execution("tensor2: expected a floating dtype to divide integers, got ", dtype_name(tensor1.dtype), " and ",
                   dtype_name(tensor2.dtype));
  }
  add_product(context, Ternary::kAddCDiv, self, tensor1, tensor2, value, out);
}

// The way from the nearer end, as eager goes.
Complex interpolated(Complex from, Complex to, Complex weight) {
  return std::abs(weight) < 0.5 ? from + weight * (to - from) : to - (to - from) * (1.0 - weight);
}

void interpolate(OpContext& context, const Tensor& self, const Tensor& end, const Operand& weight, Tensor& out) {
  require_floating(self.dtype, "self");
  require_same_dtype(end, self.dtype, "end");
  require_castable(self.dtype, out);
  run_loop(context, loop_for(Ternary::kLerp, self.dtype), {}, {self, end, weight}, out);
}
void lerp_out(OpContext& context, const Tensor& self, const Tensor& end, const Tensor& weight, Tensor& out) {
  require_same_dtype(weight, self.dtype, "weight");
  if (is_complex(self.dtype)) {
    require_same_dtype(end, self.dtype, "end");
    require_castable(self.dtype, out);
    return map_complex(context, {&self, &end, &weight}, out,
                       [](const Complex* x) { return interpolated(x[0], x[1], x[2]); });
  }
  interpolate(context, self, end, weight, out);
}
void lerp_scalar_out(OpContext& context, const Tensor& self, const Tensor& end, const Scalar& weight, Tensor& out) {
  if (is_complex(self.dtype)) {
    require_same_dtype(end, self.dtype, "end");
    require_castable(self.dtype, out);
    return map_complex(context, {&self, &end}, out,
                       [&](const Complex* x) { return interpolated(x[0], x[1], weight.to<double>()); });
  }
  interpolate(context, self, end, Number(weight, computing_dtype(self.dtype)), out);
}

// a stands for NaN, b for infinity, the bits of i for its negative.
struct ReplaceNonFinite {
  template <class T>
  T operator()(T x, const LoopParams& params) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    if (x != x) return static_cast<T>(params.a);
    if (x == kInfinity) return static_cast<T>(params.b);
    return x == -kInfinity ? static_cast<T>(std::bit_cast<double>(params.i)) : x;
  }
};

// NaN and the infinities replaced: by 0 and the dtype's own limits where no number is given.
void nan_to_num_out(OpContext& context, const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                    std::optional<double> neginf, Tensor& out) {
  require_castable(self.dtype, out);
  if (is_integral_or_bool(self.dtype)) return copy_elements(context, self, out);
  const DType part = real_dtype(self.dtype);
  const double largest = part == DType::kFloat16    ? 65504.0
                         : part == DType::kBFloat16 ? 0x1.fep127
                         : part == DType::kFloat32  ? double{std::numeric_limits<float>::max()}
                                                    : std::numeric_limits<double>::max();
  const LoopParams params{nan.value_or(0), posinf.value_or(largest), std::bit_cast<int64_t>(neginf.value_or(-largest))};
  if (is_complex(self.dtype)) {
    const auto replaced = [&](double x) { return ReplaceNonFinite()(x, params); };
    return map_complex(context, {&self}, out,
                       [&](const Complex* x) { return Complex(replaced(x->real()), replaced(x->imag())); });
  }
  run_loop(context, scalar_unary_loop<ReplaceNonFinite>(self.dtype), params, {self}, out);
}

}  // namespace

void register_ternary(OperatorTable& table) {
  table.add<clamp_out>("aten::clamp.out", "self, min, max, out");
  table.add<clamp_out>("aten::clip.out", "self, min, max, out");
  table.add<clamp_tensor_out>("aten::clamp.Tensor_out", "self, min, max, out");
  table.add<clamp_tensor_out>("aten::clip.Tensor_out", "self, min, max, out");
  table.add<clamp_min_out>("aten::clamp_min.out", "self, min, out");
  table.add<clamp_min_tensor_out>("aten::clamp_min.Tensor_out", "self, min, out");
  table.add<clamp_max_out>("aten::clamp_max.out", "self, max, out");
  table.add<clamp_max_tensor_out>("aten::clamp_max.Tensor_out", "self, max, out");
  table.add<where_out>("aten::where.self_out", "condition, self, other, out", kTruth<0>);
  table.add<addcmul_out>("aten::addcmul.out", "self, tensor1, tensor2, value, out");
  table.add<addcdiv_out>("aten::addcdiv.out", "self, tensor1, tensor2, value, out");
  table.add<lerp_out>("aten::lerp.Tensor_out", "self, end, weight, out");
  table.add<lerp_scalar_out>("aten::lerp.Scalar_out", "self, end, weight, out");
  table.add<nan_to_num_out>("aten::nan_to_num.out", "self, nan, posinf, neginf, out");
}

}  // namespace enr::ops
