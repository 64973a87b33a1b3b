// Comparisons and logic; the answer is bool, written in any dtype.

#include <algorithm>
#include <cmath>

#include "kernels/reduce/reduce.h"
#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/pointwise/scalar_loop.h"
#include "ops/scratch_tensor.h"

namespace enr::ops {

namespace {

using kernels::Comparison;

constexpr bool is_order(Comparison op) noexcept { return op != Comparison::kEq && op != Comparison::kNe; }

void compare(OpContext& context, Comparison op, const Operand& x, const Operand& y, DType common, Tensor& out) {
  if (is_order(op)) require_real(common, "self");
  run_loop(context, loop_for(op, common), {}, {x, y}, out);
}
template <Comparison op>
void compare_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const DType common = result_type(self, other);
  compare(context, op, as_dtype(context, self, common), as_dtype(context, other, common), common, out);
}
template <Comparison op>
void compare_scalar_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  const DType common = result_type(self, other);
  if (is_bool(self.dtype) && is_integer(common)) {  // 0 and 1 compare alike with all numbers beyond them
    const int64_t near = std::clamp<int64_t>(other.to<int64_t>(), -1, 2);
    return compare(context, op, self, Number(Scalar(near), DType::kInt8), DType::kInt8, out);
  }
  compare(context, op, as_dtype(context, self, common), Number(other, common), common, out);
}

// Of truth values, whatever the dtypes.
template <Comparison op>
void logical_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const Loop own = self.dtype == other.dtype ? kernels::comparison_loop(op, self.dtype) : Loop{};
  run_loop(context, own ? own : loop_for(op, DType::kBool), {}, {self, other}, out);
}

// a holds rtol, b atol, i whether NaN equals NaN.
struct IsClose {
  template <class T>
  T operator()(T x, T y, const LoopParams& params) const {
    if (x == y) return 1;
    if (x != x || y != y) return params.i != 0 && x != x && y != y;
    const double difference = std::abs(static_cast<double>(x) - static_cast<double>(y));
    const double allowed = params.b + std::abs(params.a * static_cast<double>(y));
    return difference <= allowed && difference < INFINITY;
  }
};

// The loop of IsClose that answers in bool.
template <class T>
void run_is_close(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const T* x = static_cast<const T*>(in[0]);
  const T* y = static_cast<const T*>(in[1]);
  for (size_t i = 0; i < n; ++i) {
    static_cast<uint8_t*>(out)[i] = IsClose()(x[i * step[0]], y[i * step[1]], params) != 0;
  }
}

Loop is_close_loop(DType common) {
  Loop loop;
  const DType dtype = is_integral_or_bool(common) ? DType::kInt64 : computing_dtype(common);
  loop.run = dtype == DType::kInt64     ? &run_is_close<int64_t>
             : dtype == DType::kFloat64 ? &run_is_close<double>
                                        : &run_is_close<float>;
  loop.in[0] = loop.in[1] = dtype;
  loop.out = DType::kBool;
  loop.inputs = 2;
  loop.cost = 4;
  return loop;
}

LoopParams close_params(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  require_same_dtype(other, self.dtype, "other");
  if (!(rtol >= 0)) fail_execution("rtol: expected at least 0, got ", rtol);
  if (!(atol >= 0)) fail_execution("atol: expected at least 0, got ", atol);
  return {rtol, atol, int64_t{equal_nan}};
}

void is_close(OpContext& context, const Tensor& self, const Tensor& other, const LoopParams& params, Tensor& out) {
  if (!is_complex(self.dtype)) {
    return run_loop(context, is_close_loop(self.dtype), params, {self, other}, out);
  }
  const auto is_nan = [](Complex x) { return std::isnan(x.real()) || std::isnan(x.imag()); };
  map_complex(context, {&self, &other}, out, [&](const Complex* x) {
    if (x[0] == x[1] || (params.i != 0 && is_nan(x[0]) && is_nan(x[1]))) return 1.0;
    const double difference = std::abs(x[0] - x[1]);
    return std::isfinite(difference) && difference <= params.b + std::abs(params.a * x[1]) ? 1.0 : 0.0;
  });
}

void isclose_out(OpContext& context, const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan,
                 Tensor& out) {
  const LoopParams params = close_params(self, other, rtol, atol, equal_nan);
  is_close(context, self, other, params, out);
}

// A single answer for all elements.
void allclose_out(OpContext& context, const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan,
                  bool, Tensor& out) {
  const LoopParams params = close_params(self, other, rtol, atol, equal_nan);
  require_same_dtype(out, DType::kBool, "out");
  const Shape shape = broadcast(self.sizes(), other.sizes());
  Tensor answers = scratch_tensor(context, DType::kBool, shape);
  is_close(context, self, other, params, answers);
  if (out.numel() != 1) context.resize(out, {});
  const auto every_dim = static_cast<uint32_t>((1u << shape.rank) - 1);
  kernels::reduce(kernels::Reduce::kAll, {}, answers.sizes(), {answers.data, answers.dtype, answers.strides().data()},
                  every_dim, DType::kBool, out.data);
}

}  // namespace

void register_comparison(OperatorTable& table) {
  table.add<compare_out<Comparison::kEq>>("aten::eq.Tensor_out", "self, other, out");
  table.add<compare_scalar_out<Comparison::kEq>>("aten::eq.Scalar_out", "self, other, out");
  table.add<compare_out<Comparison::kNe>>("aten::ne.Tensor_out", "self, other, out");
  table.add<compare_scalar_out<Comparison::kNe>>("aten::ne.Scalar_out", "self, other, out");
  table.add<compare_out<Comparison::kLt>>("aten::lt.Tensor_out", "self, other, out");
  table.add<compare_scalar_out<Comparison::kLt>>("aten::lt.Scalar_out", "self, other, out");
  table.add<compare_out<Comparison::kLe>>("aten::le.Tensor_out", "self, other, out");
  table.add<compare_scalar_out<Comparison::kLe>>("aten::le.Scalar_out", "self, other, out");
  table.add<compare_out<Comparison::kGt>>("aten::gt.Tensor_out", "self, other, out");
  table.add<compare_scalar_out<Comparison::kGt>>("aten::gt.Scalar_out", "self, other, out");
  table.add<compare_out<Comparison::kGe>>("aten::ge.Tensor_out", "self, other, out");
  table.add<compare_scalar_out<Comparison::kGe>>("aten::ge.Scalar_out", "self, other, out");
  table.add<logical_out<Comparison::kLogicalAnd>>("aten::logical_and.out", "self, other, out", kTruth<0, 1>);
  table.add<logical_out<Comparison::kLogicalOr>>("aten::logical_or.out", "self, other, out", kTruth<0, 1>);
  table.add<logical_out<Comparison::kLogicalXor>>("aten::logical_xor.out", "self, other, out", kTruth<0, 1>);
  table.add<isclose_out>("aten::isclose.out", "self, other, rtol, atol, equal_nan, out");
  table.add<allclose_out>("aten::allclose.out", "self, other, rtol, atol, equal_nan, dummy_param, out");
  table.add<allclose_out>("aten::allclose.Tensor", "self, other, rtol, atol, equal_nan, dummy_param, out");
}

}  // namespace enr::ops
