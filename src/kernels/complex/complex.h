#pragma once

// Elementwise loops on complex64 and complex128.

#include "kernels/binary/binary.h"
#include "kernels/unary/unary.h"

namespace enr::kernels {

// Arithmetic, exponential and trigonometric functions; Abs gives the real dtype.
Loop complex_unary_loop(Unary op, DType dtype) noexcept;

// The conjugate.
Loop conjugate_loop(DType dtype) noexcept;

// Add, Sub (with alpha), Mul, Div, Pow.
Loop complex_binary_loop(Binary op, DType dtype) noexcept;

// Eq, Ne, LogicalAnd, LogicalOr, LogicalXor.
Loop complex_comparison_loop(Comparison op, DType dtype) noexcept;

}  // namespace enr::kernels
