#pragma once

// Elementary functions of floating vectors.

#include "kernels/simd/exponential.h"
#include "kernels/simd/logarithm.h"
#include "kernels/simd/trigonometry.h"

namespace enr::kernels::ENR_ISA {

// The C library's functions, lane by lane, where there is no vector form.
#define ENR_LANE_FUNCTION(type, scalar, name, builtin)                \
  ENR_INLINE type name(type x) {                                      \
    return each_lane(x, [](scalar value) { return builtin(value); }); \
  }
ENR_LANE_FUNCTION(F64, double, erf, __builtin_erf)
ENR_LANE_FUNCTION(F64, double, erfc, __builtin_erfc)
ENR_LANE_FUNCTION(F32, float, erfc, __builtin_erfcf)
#undef ENR_LANE_FUNCTION

ENR_INLINE F64 hypot(F64 x, F64 y) {
  return each_lane(x, y, [](double a, double b) { return __builtin_hypot(a, b); });
}
// Squares of floats neither overflow nor vanish in double.
ENR_INLINE F32 hypot(F32 x, F32 y) {
  const F64 xl = low_doubles(x), xh = high_doubles(x), yl = low_doubles(y), yh = high_doubles(y);
  const F32 result = to_floats(sqrt(fma(xl, xl, yl * yl)), sqrt(fma(xh, xh, yh * yh)));
  const F32 infinity = constant<F32>(__builtin_inf());
  return (abs(x) == infinity) | (abs(y) == infinity) ? infinity : result;
}

// x P(x^2) / Q(x^2), within 5 ulp (6 where multiply-adds are not fused); beyond 3.93 the result rounds to 1.
ENR_INLINE F32 erf(F32 x) {
  const F32 z = min_keep_nan(x * x, constant<F32>(15.5));
  const F32 p = polynomial(z, 1.12837923, 0.185151532, 0.0542546473, 0.00384037266, 0.000377144228, 4.61934587e-06,
                           -1.28545645e-08);
  const F32 q = polynomial(z, 1, 0.497419685, 0.11388801, 0.015434918, 0.00130239432, 6.2494124e-05);
  return saturate(x, x * p / q, 3.93);
}

// The rest of a division that truncates, exactly.
ENR_INLINE F64 fmod(F64 x, F64 y) {
#if defined(__FMA__) || defined(__aarch64__)
  // What is left is a number of its own wherever the quotient is at most one too large: the fused subtraction is exact.
  const F64 ratio = x / y;
  const I64 is_near = (abs(ratio) < constant<F64>(0x1p52)) & (abs(y) < constant<F64>(__builtin_inf()));
  if (__builtin_expect(!any(~is_near), 1)) {
    const F64 rest = minus_fused(x, round<Rounding::kTowardsZero>(ratio), y);
    const F64 back = rest + copysign(y, x);
    return copysign(((rest < F64{}) != (x < F64{})) & (rest != F64{}) ? back : rest, x);
  }
#endif
  return each_lane(x, y, [](double a, double b) { return __builtin_fmod(a, b); });
}
// In double, whose products of a float and a quotient below 2^28 are exact; the quotient may be one too large.
ENR_INLINE F64 fmod_near(F64 x, F64 y) {
  const F64 quotient = round<Rounding::kTowardsZero>(x / y);
  const F64 rest = x - quotient * y;
  return ((rest < F64{}) != (x < F64{})) & (rest != F64{}) ? rest + copysign(y, x) : rest;
}
ENR_INLINE F32 fmod(F32 x, F32 y) {
  const I32 is_near = (abs(x / y) < constant<F32>(0x1p27)) & (y == y) & (abs(y) < constant<F32>(__builtin_inf()));
  if (__builtin_expect(any(~is_near), 0)) {
    return each_lane(x, y, [](float a, float b) { return __builtin_fmodf(a, b); });
  }
  const F32 rest = to_floats(fmod_near(low_doubles(x), low_doubles(y)), fmod_near(high_doubles(x), high_doubles(y)));
  return copysign(rest, x);
}

// The remainder that has y's sign.
template <class V>
ENR_INLINE V floor_modulo(V x, V y) {
  const V rest = fmod(x, y);
  return ((rest < V{}) != (y < V{})) & (rest != V{}) ? rest + y : rest;
}

// The quotient rounded down, consistent with floor_modulo.
template <class V>
ENR_INLINE V floor_divide(V x, V y) {
  const V rest = fmod(x, y);
  V quotient = (x - rest) / y;
  quotient = ((rest < V{}) != (y < V{})) & (rest != V{}) ? quotient - constant<V>(1) : quotient;
  V whole = round<Rounding::kDown>(quotient);
  whole = quotient - whole > constant<V>(0.5) ? whole + constant<V>(1) : whole;
  whole = quotient == V{} ? copysign(V{}, x / y) : whole;
  return y == V{} ? x / y : whole;
}

}  // namespace enr::kernels::ENR_ISA
