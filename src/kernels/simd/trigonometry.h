#pragma once

// Trigonometric functions of floating vectors: sin and cos within 2 ulp, tan within 4, the others within 3. Arguments
// beyond a million, which hardly occur, go to the C library one by one.

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

// Angles up to here are reduced by reduce_near. In float, where products and sums round once: then the first step is
// exact.
template <class V>
inline constexpr double kNearLimit = kTrigLimit;
#if defined(__FMA__) || defined(__aarch64__)
template <>
inline constexpr double kNearLimit<F32> = 8192;

ENR_INLINE Angle<F32> reduce_near(F32 x) {
  const Whole<F32> n = nearest_whole(x, kTwoOverPi);
  const F32 first = fma(n.value, constant<F32>(-1.57079637050628662), x);
  const F32 second = fma(n.value, constant<F32>(4.37113882867379289e-8), first);
  return {n.integer, fma(n.value, constant<F32>(1.71512449944288281e-15), second), F32{}};
}
#endif

// In double.
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

#if !defined(__FMA__) && !defined(__aarch64__)
ENR_INLINE Angle<F32> reduce_near(F32 x) { return reduce_angle(x); }
#endif
ENR_INLINE Angle<F64> reduce_near(F64 x) { return reduce_angle(x); }

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
ENR_INLINE V sin_turned(Angle<V> angle, int turns) {
  const UnsignedOf<V> quadrant = (UnsignedOf<V>)(angle.quadrant + turns);
  const V value = (quadrant & 1) != 0 ? cos_near(angle.r, angle.rest) : sin_near(angle.r, angle.rest);
  return (V)((UnsignedOf<V>)value ^ ((quadrant & 2) << (sizeof(ScalarOf<V>) * 8 - 2)));
}

ENR_INLINE F32 tan_of(Angle<F32> angle) {
  const F32 r = angle.r, z = r * r;
  const F32 p = polynomial(z, 0.3333315657, 0.1333880694, 0.0534106452, 0.02443244285, 0.003116162518, 0.009387659358);
  const F32 tangent = fma(p * z, r, r);
  return (angle.quadrant & 1) != 0 ? constant<F32>(-1) / tangent : tangent;
}
ENR_INLINE F64 tan_of(Angle<F64> angle) {
  const F64 sine = sin_near(angle.r, angle.rest), cosine = cos_near(angle.r, angle.rest);
  const auto is_odd = (angle.quadrant & 1) != 0;
  return (is_odd ? negate(cosine) : sine) / (is_odd ? sine : cosine);
}

// f of an angle; far_f of the numbers beyond the limit, and of what is not finite, one by one.
template <class V, class F, class G>
ENR_INLINE V of_angle(V x, F f, G far_f) {
  if (__builtin_expect(all_between(x, -kNearLimit<V>, kNearLimit<V>), 1)) return f(reduce_near(x));
  V result = f(reduce_angle(x));
  // The lanes' results do not depend on their neighbours.
  if constexpr (kNearLimit<V> != kTrigLimit) {
    result = abs(x) < constant<V>(kNearLimit<V>) ? f(reduce_near(x)) : result;
  }
  const auto is_far = ~(abs(x) < constant<V>(kTrigLimit));
  if (!any(is_far)) return result;
  const V patched = each_lane(x, [&](ScalarOf<V> v) {
    return __builtin_fabs(v) < kTrigLimit ? v : static_cast<ScalarOf<V>>(far_f(static_cast<ScalarOf<V>>(v)));
  });
  return is_far ? patched : result;
}

ENR_INLINE float far_sin(float x) { return __builtin_sinf(x); }
ENR_INLINE double far_sin(double x) { return __builtin_sin(x); }
ENR_INLINE float far_cos(float x) { return __builtin_cosf(x); }
ENR_INLINE double far_cos(double x) { return __builtin_cos(x); }
ENR_INLINE float far_tan(float x) { return __builtin_tanf(x); }
ENR_INLINE double far_tan(double x) { return __builtin_tan(x); }

#define ENR_OF_ANGLE(name, value)                                                \
  template <class V>                                                             \
  ENR_INLINE V name(V x) {                                                       \
    return of_angle(                                                             \
        x, [&](Angle<V> angle) __attribute__((always_inline)) { return value; }, \
        [](ScalarOf<V> v) { return far_##name(v); });                            \
  }
ENR_OF_ANGLE(sin, x == V{} ? x : sin_turned(angle, 0))
ENR_OF_ANGLE(cos, sin_turned(angle, 1))
ENR_OF_ANGLE(tan, x == V{} ? x : tan_of(angle))
#undef ENR_OF_ANGLE

// atan of 0 <= a <= 1.
ENR_INLINE F32 atan_near(F32 a) {
  const F32 z = a * a;
  const F32 p = polynomial(z, -0.333332986, 0.199985489, -0.142642424, 0.109521873, -0.0840345323, 0.0579576306,
                           -0.0311778747, 0.0109146172, -0.00179362355);
  return fma(p * z, a, a);
}

// atan(u) for |u| <= tan(pi/8), within half an ulp of what it is added to.
ENR_INLINE F64 atan_near(F64 u) {
  const F64 z = u * u;
  const F64 p =
      polynomial(z, -0.33333333333333199, 0.1999999999995404805, -0.14285714280244870188, 0.111111107859464286,
                 -0.090908978307004493737, 0.076920615308976105135, -0.066631191350100791853, 0.058479995485719145683,
                 -0.050398021191403490121, 0.038077190164330437816, -0.017921011538626720758);
  return fma(p * z, u, u);
}

inline constexpr double kTanPi8 = 0.41421356237309504880;
// What the doubles nearest to pi/2 and pi/4 leave out.
inline constexpr double kHalfPiRest = 6.12323399573676603587e-17, kQuarterPiRest = 3.06161699786838301793e-17;

// atan(a) = atan(1) + atan((a - 1) / (a + 1)), or pi/2 - atan(1 / a).
ENR_INLINE F64 atan(F64 x) {
  const F64 a = abs(x), one = constant<F64>(1);
  const I64 is_middle = a > constant<F64>(kTanPi8), is_steep = a > constant<F64>(1 / kTanPi8);
  const F64 numerator = is_steep ? negate(one) : is_middle ? a - one : a;
  const F64 denominator = is_steep ? a : is_middle ? a + one : one;
  const F64 base = is_steep ? constant<F64>(kPi / 2) : is_middle ? constant<F64>(kPi / 4) : F64{};
  const F64 rest = is_steep ? constant<F64>(kHalfPiRest) : is_middle ? constant<F64>(kQuarterPiRest) : F64{};
  return copysign(base + (atan_near(numerator / denominator) + rest), x);
}

ENR_INLINE F64 atan2(F64 y, F64 x) {
  const F64 infinity = constant<F64>(__builtin_inf());
  const F64 ax = abs(x), ay = abs(y);
  const I64 is_steep = ay > ax;
  const F64 largest = is_steep ? ay : ax;
  // So that sums do not overflow and quotients of denormals keep their digits.
  const F64 scale = largest > constant<F64>(0x1p1000)   ? constant<F64>(0x1p-100)
                    : largest < constant<F64>(0x1p-900) ? constant<F64>(0x1p100)
                                                        : constant<F64>(1);
  const F64 larger = largest * scale, smaller = (is_steep ? ax : ay) * scale;
  const I64 is_middle = (smaller > larger * constant<F64>(kTanPi8)) | (smaller == infinity);
  F64 u = (is_middle ? smaller - larger : smaller) / (is_middle ? smaller + larger : larger);
  // 0 / 0 counts as 0, infinity / infinity as 1.
  u = (larger == F64{}) | (smaller == infinity) ? F64{} : u;
  F64 angle = atan_near(u) + (is_middle ? constant<F64>(kQuarterPiRest) : F64{});
  angle = (is_middle ? constant<F64>(kPi / 4) : F64{}) + angle;
  angle = is_steep ? constant<F64>(kPi / 2) - (angle - constant<F64>(kHalfPiRest)) : angle;
  angle = (I64)x < 0 ? constant<F64>(kPi) - (angle - constant<F64>(2 * kHalfPiRest)) : angle;
  return (x != x) | (y != y) ? x + y : copysign(angle, y);
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

ENR_INLINE F64 asin_near(F64 s, F64 z) {
  const F64 p =
      polynomial(z, 0.16666666666665382516, 0.075000000003431024732, 0.044642856823454301406, 0.030381959331654499304,
                 0.022371753529437026399, 0.017359770813565626311, 0.013884603027928063844, 0.012173240275318878227,
                 0.0065110555026878572051, 0.019573274613841605927, -0.016292975980587950751, 0.031958149375763367062);
  return fma(p * z, s, s);
}

ENR_INLINE F64 asin(F64 x) {
  const F64 a = abs(x);
  const I64 is_large = a > constant<F64>(0.5);
  const F64 z = is_large ? (constant<F64>(1) - a) * constant<F64>(0.5) : a * a;
  const F64 near = asin_near(is_large ? sqrt(z) : a, z);
  const F64 far = constant<F64>(kPi / 2) - (near + near - constant<F64>(kHalfPiRest));
  return copysign(is_large ? far : near, x);
}

ENR_INLINE F64 acos(F64 x) {
  const F64 a = abs(x);
  const I64 is_large = a > constant<F64>(0.5);
  const F64 z = is_large ? (constant<F64>(1) - a) * constant<F64>(0.5) : a * a;
  const F64 near = asin_near(is_large ? sqrt(z) : a, z);
  const F64 doubled = near + near;
  const F64 far = x < F64{} ? constant<F64>(kPi) - (doubled - constant<F64>(2 * kHalfPiRest)) : doubled;
  const F64 middle = constant<F64>(kPi / 2) - (copysign(near, x) - constant<F64>(kHalfPiRest));
  return is_large ? far : middle;
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
