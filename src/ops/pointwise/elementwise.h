#pragma once

// How elementwise operators reach their kernels: operands with broadcasting, dtype rules, and a short way for the plain
// case.

#include <initializer_list>
#include <span>

#include "kernels/binary/binary.h"
#include "kernels/elementwise/loop.h"
#include "kernels/ternary/ternary.h"
#include "kernels/unary/unary.h"
#include "ops/context.h"
#include "ops/scalar.h"
#include "ops/shapes.h"
#include "ops/type_rules.h"

namespace enr::ops {

using kernels::Loop;
using kernels::LoopParams;

// A number held as an element of `dtype` (converted as eager does: integers wrap).
class Number {
 public:
  Number(const Scalar& value, DType dtype) noexcept;
  const void* data() const noexcept { return bytes_; }
  DType dtype() const noexcept { return dtype_; }

 private:
  alignas(16) std::byte bytes_[16];
  DType dtype_;
};

// What an elementwise loop reads: a tensor or a Number, which must outlive it.
struct Operand {
  const void* data;
  DType dtype;
  Sizes sizes;
  Sizes strides;

  Operand(const Tensor& tensor) noexcept  // NOLINT(google-explicit-constructor)
      : data(tensor.data), dtype(tensor.dtype), sizes(tensor.sizes()), strides(tensor.strides()) {}
  Operand(const Number& number) noexcept  // NOLINT(google-explicit-constructor)
      : data(number.data()), dtype(number.dtype()) {}

  bool is_one_element() const noexcept {
    for (const int64_t size : sizes) {
      if (size != 1) return false;
    }
    return true;
  }
};

// The tensor as eager's TensorIterator hands it to a kernel that computes in `common`. A tensor whose conversion to
// `common` would round is converted in scratch memory: the loops may compute in a wider dtype.
Operand as_dtype(OpContext& context, const Tensor& tensor, DType common);

// Resizes out to the shape the operands broadcast to and runs the loop. Converts from and to the loop's dtypes.
void run_loop(OpContext& context, const Loop& loop, const LoopParams& params, std::initializer_list<Operand> in,
              Tensor& out, const char* what = "out");

// The loop for values of dtype `common`: float32 for the half kinds, int64 for integers without a loop of their own.
// Throws where there is none.
Loop loop_for(kernels::Unary op, DType common);
Loop loop_for(kernels::Predicate op, DType common);
Loop loop_for(kernels::Binary op, DType common);
Loop loop_for(kernels::Comparison op, DType common);
Loop loop_for(kernels::Ternary op, DType common);

// Copies any elements of `dtype`, whatever they mean.
Loop copy_loop(DType dtype) noexcept;

// out[index] = in[index], with broadcasting and conversion.
void copy_elements(OpContext& context, const Operand& in, Tensor& out, const char* what = "out");

// Throws where an integer would be divided by zero: `common` is the dtype that divides.
void require_nonzero(const Operand& dividend, const Operand& divisor, DType common, const char* what);

}  // namespace enr::ops
