#pragma once

// Which dtype an operator computes and answers in, as PyTorch eager has it.

#include "ops/scalar.h"
#include "ops/tensor.h"

namespace enr::ops {

// torch.result_type over any mix of tensors and numbers: tensors with dims count most, rank-0 tensors only where their
// category is higher, bare numbers only where theirs is higher still.
class ResultType {
 public:
  ResultType& add(const Tensor& tensor) noexcept;
  ResultType& add(const Scalar& number) noexcept;
  DType get() const noexcept;

 private:
  struct Level {
    bool is_set = false;
    DType dtype = DType::kBool;
    void add(DType other) noexcept;
  };
  Level dims_, rank0_, numbers_;
};

inline DType result_type(const Tensor& a, const Tensor& b) noexcept {
  return a.dtype == b.dtype ? a.dtype : ResultType().add(a).add(b).get();
}
inline DType result_type(const Tensor& a, const Scalar& b) noexcept { return ResultType().add(a).add(b).get(); }

// float32 where `dtype` is an integer or bool: what functions without integer results compute in.
constexpr DType floating_for(DType dtype) noexcept {
  return is_floating(dtype) || is_complex(dtype) ? dtype : DType::kFloat32;
}

// The dtype whose loops compute for `dtype`: float32 for the half kinds, complex64 for complex32.
constexpr DType computing_dtype(DType dtype) noexcept {
  return is_half_kind(dtype) ? DType::kFloat32 : dtype == DType::kComplex32 ? DType::kComplex64 : dtype;
}

constexpr bool is_integral_or_bool(DType dtype) noexcept { return is_integer(dtype) || is_bool(dtype); }

// Throws unless a result of dtype `result` may be written to `out` (no complex to real, no floating to integer, nothing
// but bool to bool).
void require_castable(DType result, const Tensor& out, const char* what = "out");

// Throw unless the argument has such a dtype. `what` names it.
void require_not_bool(DType dtype, const char* what);
void require_real(DType dtype, const char* what);
void require_convertible(DType dtype, const char* what);  // kernels can read and write it
void require_floating(DType dtype, const char* what);     // float16, bfloat16, float32, float64
void require_floating_or_complex(DType dtype, const char* what);
void require_integral_or_bool(DType dtype, const char* what);
// Norms take parameters of the input's dtype, beside half kinds also float32 ones.
void require_parameter_dtype(const Tensor& parameter, const Tensor& input, const char* what);
void require_same_dtype(const Tensor& tensor, DType expected, const char* what);

}  // namespace enr::ops
