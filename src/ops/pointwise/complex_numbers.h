#pragma once

// Complex numbers for operators where they are too rare for a kernel: computed one by one, as complex128.

#include <complex>
#include <initializer_list>
#include <span>

#include "base/function_ref.h"
#include "ops/context.h"

namespace enr::ops {

using Complex = std::complex<double>;

// The dtype of a complex dtype's parts; a real dtype is its own.
constexpr DType real_dtype(DType dtype) noexcept {
  return dtype == DType::kComplex128  ? DType::kFloat64
         : dtype == DType::kComplex64 ? DType::kFloat32
         : dtype == DType::kComplex32 ? DType::kFloat16
                                      : dtype;
}

// function(the numbers at one place of the tensors, which broadcast), for every place. Where out is real, the result's
// real part counts; so below.
void map_complex(OpContext& context, std::initializer_list<const Tensor*> in, Tensor& out,
                 FunctionRef<Complex(const Complex*)> function);

// function(the numbers along the masked dims), for every place of the other dims.
void reduce_complex(OpContext& context, const Tensor& self, uint32_t mask, bool keepdim, Tensor& out,
                    FunctionRef<Complex(std::span<const Complex>)> function, const char* what = "out");

// Along a dim, each result is function(the one before, self's number); the first is self's.
void scan_complex(OpContext& context, const Tensor& self, size_t dim, Tensor& out,
                  FunctionRef<Complex(Complex, Complex)> function);

// log(exp(x) + exp(y)), without overflow.
Complex log_add_exp(Complex x, Complex y) noexcept;

}  // namespace enr::ops
