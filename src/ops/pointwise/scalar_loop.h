#pragma once

// Loops over functions of single numbers, for operators too rare for a kernel of their own.

#include "ops/pointwise/elementwise.h"

namespace enr::ops {

namespace detail {

template <class F, class T>
void run_scalar_unary(void* out, const void* const* in, const uint8_t* step, size_t n,
                      const LoopParams& params) noexcept {
  const T* x = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out);
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<T>(F()(x[i * step[0]], params));
}

template <class F, class T>
void run_scalar_binary(void* out, const void* const* in, const uint8_t* step, size_t n,
                       const LoopParams& params) noexcept {
  const T* x = static_cast<const T*>(in[0]);
  const T* y = static_cast<const T*>(in[1]);
  T* to = static_cast<T*>(out);
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<T>(F()(x[i * step[0]], y[i * step[1]], params));
}

constexpr uint8_t kScalarCost = 16;

}  // namespace detail

// A function of one or two numbers, computed in double whatever they are.
template <auto function>
struct InDouble {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return static_cast<T>(function(static_cast<double>(x)));
  }
  template <class T>
  T operator()(T x, T y, const LoopParams&) const {
    return static_cast<T>(function(static_cast<double>(x), static_cast<double>(y)));
  }
};

// F()(x, params) for T float or double.
template <class F>
Loop scalar_unary_loop(DType common) {
  const bool is_double = common == DType::kFloat64;
  Loop loop;
  loop.run = is_double ? &detail::run_scalar_unary<F, double> : &detail::run_scalar_unary<F, float>;
  loop.out = loop.in[0] = is_double ? DType::kFloat64 : DType::kFloat32;
  loop.inputs = 1;
  loop.cost = detail::kScalarCost;
  return loop;
}

// F()(x, y, params) for T float or double.
template <class F>
Loop scalar_binary_loop(DType common) {
  const bool is_double = common == DType::kFloat64;
  Loop loop;
  loop.run = is_double ? &detail::run_scalar_binary<F, double> : &detail::run_scalar_binary<F, float>;
  loop.out = loop.in[0] = loop.in[1] = is_double ? DType::kFloat64 : DType::kFloat32;
  loop.inputs = 2;
  loop.cost = detail::kScalarCost;
  return loop;
}

// F()(x, y, params) for int64.
template <class F>
Loop integer_binary_loop() {
  Loop loop;
  loop.run = &detail::run_scalar_binary<F, int64_t>;
  loop.out = loop.in[0] = loop.in[1] = DType::kInt64;
  loop.inputs = 2;
  loop.cost = detail::kScalarCost;
  return loop;
}

// Operators of such functions, which give floating results for integers too.
template <class F>
void function_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_real(self.dtype, "self");
  const DType common = floating_for(self.dtype);
  require_castable(common, out);
  run_loop(context, scalar_unary_loop<F>(common), {}, {self}, out);
}
template <class F>
void function_of_two_out(OpContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  require_real(self.dtype, "self");
  require_real(other.dtype, "other");
  const DType common = floating_for(result_type(self, other));
  require_castable(common, out);
  run_loop(context, scalar_binary_loop<F>(common), {},
           {as_dtype(context, self, common), as_dtype(context, other, common)}, out);
}
template <class F>
void function_of_number_and_tensor_out(OpContext& context, const Scalar& self, const Tensor& other, Tensor& out) {
  require_real(other.dtype, "other");
  const DType common = floating_for(result_type(other, self));
  require_castable(common, out);
  const Number number(self, computing_dtype(common));
  run_loop(context, scalar_binary_loop<F>(common), {}, {number, as_dtype(context, other, common)}, out);
}
template <class F>
void function_of_tensor_and_number_out(OpContext& context, const Tensor& self, const Scalar& other, Tensor& out) {
  require_real(self.dtype, "self");
  const DType common = floating_for(result_type(self, other));
  require_castable(common, out);
  const Number number(other, computing_dtype(common));
  run_loop(context, scalar_binary_loop<F>(common), {}, {as_dtype(context, self, common), number}, out);
}

}  // namespace enr::ops
