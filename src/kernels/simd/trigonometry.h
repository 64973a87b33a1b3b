#pragma once

// Trigonometric functions of floating vectors: sin and cos within 2 ulp, the others within 3. Arguments beyond a
// million, which hardly occur, go to the C library one by one.

#include "kernels/simd/exponential.h"

namespace enr::kernels::ENR_ISA {

inline constexpr double kTrigLimit = 1e6;
inline constexpr double kTwoOverPi = 0.63661977236758134308;
// pi / 2 in parts of 33 bits: the product of a part and a quadrant number is exact.
inline constexpr double kHalfPi1 = 1.57079632673412561417e+00, kHalfPi2 = 6.07710050630396597660e-11,
                        kHalfPi3 = 2.02226624871116645580e-21, kHalfPi3Rest = 8.47842766036889956997e-32;
inline constexpr double kPi = 3.14159265358979323846;

// x = quadrant pi/2 + r + rest, |r| <= pi/4.
template <class V>
struct Angle {
  SignedOf<V> quadrant;  // its lowest two bits
  V r;
  V rest;
};

// Float angles are reduced in double.
ENR_INLINE Angle<F32> reduce_angle(F32 x) {
  const F64 low = low_doubles(x), high = high_doubles(x);
  const F64 n_low = nearest_whole(low, kTwoOverPi).value, n_high = nearest_whole(high, kTwoOverPi).value;
  const F64 first = constant<F64>(-kHalfPi1), second = constant<F64>(-kHalfPi2);
  const F32 r = to_floats(fma(n_low, second, fma(n_low, first, low)), fma(n_high, second, fma(n_high, first, high)));
  return {__builtin_convertvector(to_floats(n_low, n_high), I32), r, F32{}};
}

ENR_INLINE Angle<F64> reduce_angle(F64 x) {
  const Whole<F64> n = nearest_whole(x, kTwoOverPi);
  const F64 t = x - n.value * constant<F64>(kHalfPi1);
  const F64 w = n.value * constant<F64>(kHalfPi2);
  const F64 y = t - w;
  const F64 back = t - y;
  const F64 lost = (t - (y + back)) + (back - w);
  const F64 low = lost - n.value * constant<F64>(kHalfPi3) - n.value * constant<F64>(kHalfPi3Rest);
  const F64 r = y + low;
  return {n.integer, r, (y - r) + low};
}

template <class V>
ENR_INLINE V sin_near(V r, V rest) {
  const V z = r * r;
  if constexpr (sizeof(ScalarOf<V>) == 4) {
    return fma(polynomial(z, -0.166666552, 0.00833217613, -0.00019516972) * z, r, r);
  } else {
    const V s = polynomial(z, -0.16666666666666632, 0.0083333333333223854, -0.00019841269829780825,
                           2.7557313681337901e-06, -2.5050756286647916e-08, 1.5896680840754378e-10);
    return r + fma(s * z, r, rest);
  }
}

template <class V>
ENR_INLINE V cos_near(V r, V rest) {
  const V z = r * r;
  const V half = constant<V>(0.5) * z;
  const V one = constant<V>(1);
  if constexpr (sizeof(ScalarOf<V>) == 4) {
    return one + fma(z * z, polynomial(z, 0.0416666456, -0.00138873141, 2.44328621e-05), negate(half));
  } else {
    const V c = polynomial(z, 0.041666666666666595, -0.0013888888888872984, 2.4801587288803416e-05,
                           -2.7557314164696465e-07, 2.0875698780559423e-09, -1.1358426252496385e-11);
    const V w = one - half;
    return w + (((one - w) - half) + (z * z * c - r * rest));
  }
}

// sin of the angle turned on by `turns` quadrants.
template <class V>
ENR_INLINE V sin_turned(V x, int turns) {
  const Angle<V> angle = reduce_angle(x);
  const UnsignedOf<V> quadrant = (UnsignedOf<V>)(angle.quadrant + turns);
  const V value = (quadrant & 1) != 0 ? cos_near(angle.r, angle.rest) : sin_near(angle.r, angle.rest);
  return (V)((UnsignedOf<V>)value ^ ((quadrant & 2) << (sizeof(ScalarOf<V>) * 8 - 2)));
}

// Takes the lanes of x beyond the limit, and what is not finite, to f.
template <class V, class F>
ENR_INLINE V patch_far_angles(V x, V result, F f) {
  const auto is_far = ~(abs(x) < constant<V>(kTrigLimit));
  if (__builtin_expect(!any(is_far), 1)) return result;
  const V patched = each_lane(x, [&](ScalarOf<V> v) {
    return __builtin_fabs(v) < kTrigLimit ? v : static_cast<ScalarOf<V>>(f(static_cast<ScalarOf<V>>(v)));
  });
  return is_far ? patched : result;
}

ENR_INLINE float far_sin(float x) { return __builtin_sinf(x); }
ENR_INLINE double far_sin(double x) { return __builtin_sin(x); }
ENR_INLINE float far_cos(float x) { return __builtin_cosf(x); }
ENR_INLINE double far_cos(double x) { return __builtin_cos(x); }
ENR_INLINE float far_tan(float x) { return __builtin_tanf(x); }
ENR_INLINE double far_tan(double x) { return __builtin_tan(x); }

template <class V>
ENR_INLINE V sin(V x) {
  return patch_far_angles(x, x == V{} ? x : sin_turned(x, 0), [](ScalarOf<V> v) { return far_sin(v); });
}

template <class V>
ENR_INLINE V cos(V x) {
  return patch_far_angles(x, sin_turned(x, 1), [](ScalarOf<V> v) { return far_cos(v); });
}

template <class V>
ENR_INLINE V tan(V x) {
  const Angle<V> angle = reduce_angle(x);
  const V sine = sin_near(angle.r, angle.rest), cosine = cos_near(angle.r, angle.rest);
  const auto is_odd = ((UnsignedOf<V>)angle.quadrant & 1) != 0;
  const V quotient = (is_odd ? negate(cosine) : sine) / (is_odd ? sine : cosine);
  return patch_far_angles(x, x == V{} ? x : quotient, [](ScalarOf<V> v) { return far_tan(v); });
}

// atan of 0 <= a <= 1.
ENR_INLINE F32 atan_near(F32 a) {
  const F32 z = a * a;
  const F32 p = polynomial(z, -0.333332986, 0.199985489, -0.142642424, 0.109521873, -0.0840345323, 0.0579576306,
                           -0.0311778747, 0.0109146172, -0.00179362355);
  return fma(p * z, a, a);
}

ENR_INLINE F32 atan(F32 x) {
  const F32 a = abs(x);
  const I32 is_steep = a > constant<F32>(1);
  const F32 near = atan_near(is_steep ? constant<F32>(1) / a : a);
  return copysign(is_steep ? constant<F32>(kPi / 2) - near : near, x);
}

ENR_INLINE F32 atan2(F32 y, F32 x) {
  const F32 ax = abs(x), ay = abs(y);
  const I32 is_steep = ay > ax;
  const F32 larger = is_steep ? ay : ax, smaller = is_steep ? ax : ay;
  // 0 / 0 counts as 0, infinity / infinity as 1.
  F32 ratio = smaller / larger;
  ratio = larger == F32{} ? F32{} : smaller == constant<F32>(__builtin_inf()) ? constant<F32>(1) : ratio;
  F32 angle = atan_near(ratio);
  angle = is_steep ? constant<F32>(kPi / 2) - angle : angle;
  // pi in two parts.
  angle = (I32)x < 0 ? constant<F32>(3.14159274101257324) - (angle + constant<F32>(8.74227765734758577e-8)) : angle;
  return (x != x) | (y != y) ? x + y : copysign(angle, y);
}

// asin(s) for 0 <= s <= 1/2, z = s^2.
ENR_INLINE F32 asin_near(F32 s, F32 z) {
  return fma(polynomial(z, 0.166667521, 0.0749530047, 0.0454701185, 0.0241804272, 0.0421652645) * z, s, s);
}

ENR_INLINE F32 asin(F32 x) {
  const F32 a = abs(x);
  const I32 is_large = a > constant<F32>(0.5);
  const F32 z = is_large ? (constant<F32>(1) - a) * constant<F32>(0.5) : a * a;
  const F32 near = asin_near(is_large ? sqrt(z) : a, z);
  const F32 far = constant<F32>(1.57079637050628662) - (near + near + constant<F32>(4.37113882867379289e-8));
  return copysign(is_large ? far : near, x);
}

ENR_INLINE F32 acos(F32 x) {
  const F32 a = abs(x);
  const I32 is_large = a > constant<F32>(0.5);
  const F32 z = is_large ? (constant<F32>(1) - a) * constant<F32>(0.5) : a * a;
  const F32 near = asin_near(is_large ? sqrt(z) : a, z);
  const F32 doubled = near + near;
  const F32 far =
      x < F32{} ? constant<F32>(3.14159274101257324) - (doubled + constant<F32>(8.74227765734758577e-8)) : doubled;
  const F32 middle = constant<F32>(1.57079637050628662) - (copysign(near, x) + constant<F32>(4.37113882867379289e-8));
  return is_large ? far : middle;
}

}  // namespace enr::kernels::ENR_ISA
