#pragma once

// Functions of one element.

#include "kernels/elementwise/loop.h"

namespace enr::kernels {

// name, cost (see Loop::cost). Parameters, where a function has them, stand beside it.
#define ENR_FLOATING_UNARY_OPS(X)                                                 \
  X(Abs, 1)                                                                       \
  X(Neg, 1)                                                                       \
  X(Floor, 1)                                                                     \
  X(Ceil, 1)                                                                      \
  X(Trunc, 1)                                                                     \
  X(Round, 1) /* half to even */                                                  \
  X(Sign, 1)  /* 0 for NaN, as eager has it */                                    \
  X(Square, 1)                                                                    \
  X(Sqrt, 2)                                                                      \
  X(Rsqrt, 3)                                                                     \
  X(Reciprocal, 2)                                                                \
  X(Exp, 4)                                                                       \
  X(Exp2, 4)                                                                      \
  X(Expm1, 6)                                                                     \
  X(Log, 5)                                                                       \
  X(Log2, 5)                                                                      \
  X(Log10, 5)                                                                     \
  X(Log1p, 6)                                                                     \
  X(Sin, 6)                                                                       \
  X(Cos, 6)                                                                       \
  X(Tan, 10)                                                                      \
  X(Asin, 10)                                                                     \
  X(Acos, 10)                                                                     \
  X(Atan, 10)                                                                     \
  X(Sinh, 10)                                                                     \
  X(Cosh, 10)                                                                     \
  X(Tanh, 6)                                                                      \
  X(Asinh, 12)                                                                    \
  X(Acosh, 12)                                                                    \
  X(Atanh, 12)                                                                    \
  X(Erf, 8)                                                                       \
  X(Erfc, 12)                                                                     \
  X(Relu, 1)                                                                      \
  X(Clamp, 1)     /* a: min, b: max (i, j for integers); a NaN bound gives NaN */ \
  X(LeakyRelu, 1) /* a: slope below zero */                                       \
  X(Elu, 6)       /* a: alpha, b: scale; input scale is 1 */                      \
  X(Sigmoid, 6)                                                                   \
  X(LogSigmoid, 8)                                                                \
  X(Silu, 6)                                                                      \
  X(Gelu, 9)     /* x/2 (1 + erf(x / sqrt 2)) */                                  \
  X(GeluTanh, 8) /* its tanh approximation */                                     \
  X(HardSwish, 2)                                                                 \
  X(HardSigmoid, 2)                                                               \
  X(Softplus, 8) /* a: beta, b: threshold */                                      \
  X(Mish, 12)                                                                     \
  X(Logit, 8) /* a: eps; negative for none */                                     \
  X(Scale, 1) /* a * x + b (i * x + j for integers) */

#define ENR_UNARY_OPS(X)    \
  ENR_FLOATING_UNARY_OPS(X) \
  X(BitwiseNot, 1) /* integers; on bool the logical not */

enum class Unary : uint8_t {
#define ENR_ENUMERATOR(name, cost) k##name,
  ENR_UNARY_OPS(ENR_ENUMERATOR)
#undef ENR_ENUMERATOR
};

// name, cost: functions whose result is bool.
#define ENR_PREDICATES(X) \
  X(IsNan, 1)             \
  X(IsInf, 1)             \
  X(IsFinite, 1)          \
  X(SignBit, 1)           \
  X(LogicalNot, 1)

enum class Predicate : uint8_t {
#define ENR_ENUMERATOR(name, cost) k##name,
  ENR_PREDICATES(ENR_ENUMERATOR)
#undef ENR_ENUMERATOR
};

// The loop that computes in `dtype` and gives the same dtype. Every function has float32 and float64 loops (BitwiseNot
// aside). Integer loops exist for int64 (Abs, Neg, Sign, Square, Relu, Clamp, Scale, BitwiseNot; the rounding functions
// are copies and have none), the same for int32, and BitwiseNot for bool. float32 results are within 3 ulp of the exact
// ones.
Loop unary_loop(Unary op, DType dtype) noexcept;

// Predicates compute in float32, float64, int64 or bool.
Loop predicate_loop(Predicate op, DType dtype) noexcept;

// An activation in place, for epilogues of other kernels. params points to a LoopParams.
using ActivationFn = void (*)(float* data, size_t n, const void* params) noexcept;
ActivationFn activation_fn(Unary op) noexcept;

const char* unary_name(Unary op) noexcept;

}  // namespace enr::kernels
