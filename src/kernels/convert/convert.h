#pragma once

// Conversion between dtypes, with the results PyTorch eager gives on the same processor: floating to integer truncates
// and wraps as x86 does (out of int32's or int64's range gives the smallest value, cut to the type's low bits), to bool
// is "not zero" (NaN is true), to half and bfloat16 rounds to nearest even, complex to real takes the real part.

#include <stddef.h>
#include <stdint.h>

namespace enr {
enum class DType : int8_t;
}

namespace enr::kernels {

// Converts n contiguous elements of any alignment. The ranges may be the same where both types have the same size, and
// must not overlap otherwise.
using ConvertFn = void (*)(const void* from, void* to, size_t n) noexcept;

// Null for a dtype that has no conversions (float8, packed 4-bit and unknown codes). Quantised types convert as the
// integers that store them. from == to copies.
ConvertFn convert_fn(DType from, DType to) noexcept;

// Converts a large array with threads.
void convert(DType from_dtype, const void* from, DType to_dtype, void* to, size_t n) noexcept;

}  // namespace enr::kernels
