#pragma once

// The functions of binary.h on floating vectors: NAME{params}(x, y).

#include "kernels/binary/binary.h"
#include "kernels/simd/math.h"

namespace enr::kernels::ENR_ISA {

#define ENR_FUNCTION(name, value)                             \
  template <class V>                                          \
  struct name {                                               \
    explicit ENR_INLINE name(const LoopParams&) {}            \
    ENR_INLINE V operator()(V x, V y) const { return value; } \
  };

ENR_FUNCTION(Mul, x* y)
ENR_FUNCTION(Div, x / y)
ENR_FUNCTION(DivTrunc, round<Rounding::kTowardsZero>(x / y))
ENR_FUNCTION(DivFloor, floor_divide(x, y))
ENR_FUNCTION(Fmod, fmod(x, y))
ENR_FUNCTION(Remainder, floor_modulo(x, y))
ENR_FUNCTION(Pow, pow(x, y))
ENR_FUNCTION(Atan2, atan2(x, y))
ENR_FUNCTION(Hypot, hypot(x, y))
ENR_FUNCTION(Copysign, copysign(x, y))
ENR_FUNCTION(Maximum, max_nan(x, y))
ENR_FUNCTION(Minimum, min_nan(x, y))
ENR_FUNCTION(Fmax, x >= y ? x : (y != y ? x : y))
ENR_FUNCTION(Fmin, x <= y ? x : (y != y ? x : y))
ENR_FUNCTION(SquaredDifference, (x - y) * (x - y))
ENR_FUNCTION(Prelu, x > V{} ? x : x * y)
#undef ENR_FUNCTION

template <class V>
struct Add {
  V alpha;
  explicit ENR_INLINE Add(const LoopParams& p) : alpha(constant<V>(p.a)) {}
  ENR_INLINE V operator()(V x, V y) const { return fma(alpha, y, x); }
};

template <class V>
struct Sub {
  V alpha;
  explicit ENR_INLINE Sub(const LoopParams& p) : alpha(constant<V>(-p.a)) {}
  ENR_INLINE V operator()(V x, V y) const { return fma(alpha, y, x); }
};

template <class V>
struct LogAddExp {
  explicit ENR_INLINE LogAddExp(const LoopParams&) {}
  ENR_INLINE V operator()(V x, V y) const {
    const V larger = max_nan(x, y);
    const V sum = larger + log1p(exp(negate(abs(x - y))));
    return x == y && abs(x) == constant<V>(__builtin_inf()) ? x : sum;
  }
};

}  // namespace enr::kernels::ENR_ISA
