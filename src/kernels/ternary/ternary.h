#pragma once

// Functions of three elements.

#include "kernels/elementwise/loop.h"

namespace enr::kernels {

#define ENR_TERNARY_OPS(X)                                                      \
  X(Clamp, 2)   /* min(max(x, y), z); NaN if any is */                          \
  X(AddCMul, 2) /* x + a y z (i for integers) */                                \
  X(AddCDiv, 4) /* x + a y / z; floating only */                                \
  X(MulAdd, 1)  /* x y + z, one rounding where the processor has a fused one */ \
  X(Lerp, 2)    /* x + z (y - x), exact at both ends; floating only */

enum class Ternary : uint8_t {
#define ENR_ENUMERATOR(name, cost) k##name,
  ENR_TERNARY_OPS(ENR_ENUMERATOR)
#undef ENR_ENUMERATOR
};

// float32, float64 and int64.
Loop ternary_loop(Ternary op, DType dtype) noexcept;

// in[0] (bool) ? in[1] : in[2], for every dtype: only the size of an element counts.
Loop where_loop(DType dtype) noexcept;

}  // namespace enr::kernels
