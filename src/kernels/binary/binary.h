#pragma once

// Functions of two elements.

#include "kernels/elementwise/loop.h"

namespace enr::kernels {

// name, cost (see Loop::cost). "x" is the first operand, "y" the second.
#define ENR_FLOATING_BINARY_OPS(X)                                                             \
  X(Add, 1) /* x + alpha y; alpha is a, or i for integers */                                   \
  X(Sub, 1) /* x - alpha y; likewise */                                                        \
  X(Mul, 1)                                                                                    \
  X(Div, 2)        /* floating only */                                                         \
  X(DivFloor, 4)   /* rounds down; an integer divided by 0 gives 0, callers refuse it first */ \
  X(DivTrunc, 4)   /* rounds towards zero; likewise */                                         \
  X(Fmod, 8)       /* the sign of x; likewise */                                               \
  X(Remainder, 8)  /* the sign of y, as Python's %; likewise */                                \
  X(Pow, 16)       /* integers: a negative exponent gives 0 unless x is 1 or -1 */             \
  X(Atan2, 16)     /* floating only */                                                         \
  X(Hypot, 8)      /* floating only */                                                         \
  X(Copysign, 1)   /* floating only */                                                         \
  X(Maximum, 1)    /* NaN if either is */                                                      \
  X(Minimum, 1)    /* NaN if either is */                                                      \
  X(Fmax, 1)       /* the other one where one is NaN */                                        \
  X(Fmin, 1)       /* likewise */                                                              \
  X(LogAddExp, 12) /* floating only */                                                         \
  X(SquaredDifference, 1)                                                                      \
  X(Prelu, 1) /* x > 0 ? x : x y; floating only */

#define ENR_BINARY_OPS(X)                                                      \
  ENR_FLOATING_BINARY_OPS(X)                                                   \
  X(And, 1) /* this and the next four: integers and bool (shifts: integers) */ \
  X(Or, 1)                                                                     \
  X(Xor, 1)                                                                    \
  X(ShiftLeft, 1)  /* a count that is negative or too large gives 0 */         \
  X(ShiftRight, 1) /* such a count gives 0 or -1, by x's sign */

enum class Binary : uint8_t {
#define ENR_ENUMERATOR(name, cost) k##name,
  ENR_BINARY_OPS(ENR_ENUMERATOR)
#undef ENR_ENUMERATOR
};

// Functions of two elements whose result is bool.
#define ENR_COMPARISONS(X) \
  X(Eq, 1)                 \
  X(Ne, 1)                 \
  X(Lt, 1)                 \
  X(Le, 1)                 \
  X(Gt, 1)                 \
  X(Ge, 1)                 \
  X(LogicalAnd, 1)         \
  X(LogicalOr, 1)          \
  X(LogicalXor, 1)

enum class Comparison : uint8_t {
#define ENR_ENUMERATOR(name, cost) k##name,
  ENR_COMPARISONS(ENR_ENUMERATOR)
#undef ENR_ENUMERATOR
};

// The loop that computes in `dtype`: float32, float64 and int64, int32, int16, int8, uint8 and uint64 have all that
// make sense; bool has And, Or, Xor, Maximum, Minimum, Mul, and Add as "or". Integers wrap on overflow. A caller that
// gets no loop for its dtype computes in int64.
Loop binary_loop(Binary op, DType dtype) noexcept;

// float32, float64, int64, int32, int16, int8, uint8, uint64 and bool.
Loop comparison_loop(Comparison op, DType dtype) noexcept;

const char* binary_name(Binary op) noexcept;
const char* comparison_name(Comparison op) noexcept;

}  // namespace enr::kernels
