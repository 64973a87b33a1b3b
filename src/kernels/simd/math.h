#pragma once

// Elementary functions of floating vectors.

#include "kernels/simd/arith.h"

namespace enr::kernels::ENR_ISA {

#define ENR_LANE_FUNCTION(name)                                                  \
  ENR_INLINE F32 name(F32 x) {                                                   \
    return each_lane(x, [](float value) { return __builtin_##name##f(value); }); \
  }                                                                              \
  ENR_INLINE F64 name(F64 x) {                                                   \
    return each_lane(x, [](double value) { return __builtin_##name(value); });   \
  }
ENR_LANE_FUNCTION(exp)
ENR_LANE_FUNCTION(exp2)
ENR_LANE_FUNCTION(expm1)
ENR_LANE_FUNCTION(log)
ENR_LANE_FUNCTION(log2)
ENR_LANE_FUNCTION(log10)
ENR_LANE_FUNCTION(log1p)
ENR_LANE_FUNCTION(sin)
ENR_LANE_FUNCTION(cos)
ENR_LANE_FUNCTION(tan)
ENR_LANE_FUNCTION(asin)
ENR_LANE_FUNCTION(acos)
ENR_LANE_FUNCTION(atan)
ENR_LANE_FUNCTION(sinh)
ENR_LANE_FUNCTION(cosh)
ENR_LANE_FUNCTION(tanh)
ENR_LANE_FUNCTION(asinh)
ENR_LANE_FUNCTION(acosh)
ENR_LANE_FUNCTION(atanh)
ENR_LANE_FUNCTION(erf)
ENR_LANE_FUNCTION(erfc)
#undef ENR_LANE_FUNCTION

#define ENR_LANE_FUNCTION_2(name)                                                       \
  ENR_INLINE F32 name(F32 x, F32 y) {                                                   \
    return each_lane(x, y, [](float a, float b) { return __builtin_##name##f(a, b); }); \
  }                                                                                     \
  ENR_INLINE F64 name(F64 x, F64 y) {                                                   \
    return each_lane(x, y, [](double a, double b) { return __builtin_##name(a, b); });  \
  }
ENR_LANE_FUNCTION_2(fmod)
ENR_LANE_FUNCTION_2(pow)
ENR_LANE_FUNCTION_2(atan2)
ENR_LANE_FUNCTION_2(hypot)
#undef ENR_LANE_FUNCTION_2

// The remainder that has y's sign.
template <class V>
ENR_INLINE V floor_modulo(V x, V y) {
  const V rest = fmod(x, y);
  return (rest < V{}) != (y < V{}) && rest != V{} ? rest + y : rest;
}

// The quotient rounded down, consistent with floor_modulo.
template <class V>
ENR_INLINE V floor_divide(V x, V y) {
  const V rest = fmod(x, y);
  V quotient = (x - rest) / y;
  quotient = (rest < V{}) != (y < V{}) && rest != V{} ? quotient - constant<V>(1) : quotient;
  V whole = round<Rounding::kDown>(quotient);
  whole = quotient - whole > constant<V>(0.5) ? whole + constant<V>(1) : whole;
  whole = quotient == V{} ? copysign(V{}, x / y) : whole;
  return y == V{} ? x / y : whole;
}

template <class V>
ENR_INLINE V sigmoid(V x) {
  return constant<V>(1) / (constant<V>(1) + exp(negate(x)));
}

}  // namespace enr::kernels::ENR_ISA
