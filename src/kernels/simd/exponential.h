#pragma once

// Exponentials of floating vectors, and the functions made of them. Polynomials are minimax fits of our own (Remez),
// their errors well below half an ulp; the functions stay within 1 ulp (exp, exp2), 2 (expm1, tanh, sigmoid) and 3
// (sinh, cosh).

#include "kernels/simd/arith.h"

namespace enr::kernels::ENR_ISA {

// c[0] + c[1] x + ... with the coefficients given from the lowest power up.
template <class V, class... Rest>
ENR_INLINE V polynomial(V x, double first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return constant<V>(first);
  } else {
    return fma(polynomial(x, rest...), x, constant<V>(first));
  }
}

template <class V>
struct FloatFormat;
template <>
struct FloatFormat<F32> {
  static constexpr int kMantissaBits = 23;
  static constexpr int32_t kBias = 127;
  static constexpr double kRounder = 12582912.0;  // 1.5 * 2^23: adding it rounds to a whole number
  static constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440054690581e-4;
  static constexpr double kExpLow = -104, kExpHigh = 89, kExp2Low = -151, kExp2High = 129;
  static constexpr double kExpm1Low = -30, kSmallestNormal = 0x1p-126;
};
template <>
struct FloatFormat<F64> {
  static constexpr int kMantissaBits = 52;
  static constexpr int64_t kBias = 1023;
  static constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kExpLow = -746, kExpHigh = 710, kExp2Low = -1076, kExp2High = 1025;
  static constexpr double kExpm1Low = -60, kSmallestNormal = 0x1p-1022;
};

// 2^n for whole n within the normal range.
template <class V>
ENR_INLINE V power_of_two(SignedOf<V> n) {
  return (V)((UnsignedOf<V>)(n + FloatFormat<V>::kBias) << FloatFormat<V>::kMantissaBits);
}

// A whole number as vector and as integers.
template <class V>
struct Whole {
  V value;
  SignedOf<V> integer;
};
// The whole number nearest to x * factor, which must be small.
template <class V>
ENR_INLINE Whole<V> nearest_whole(V x, double factor) {
  const V rounder = constant<V>(FloatFormat<V>::kRounder);
  const V sum = fma(x, constant<V>(factor), rounder);
  return {sum - rounder, (SignedOf<V>)sum - (SignedOf<V>)rounder};
}

// x * 2^n, right for results that overflow or are denormal.
template <class V>
ENR_INLINE V scale_by(V x, Whole<V> n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(ScalarOf<V>) == 4) {
    return (V)_mm512_scalef_ps((__m512)x, (__m512)n.value);
  } else {
    return (V)_mm512_scalef_pd((__m512d)x, (__m512d)n.value);
  }
#else
  // Half by a logical shift: 64-bit vectors have no arithmetic one everywhere.
  const SignedOf<V> half = (SignedOf<V>)((UnsignedOf<V>)(n.integer + 4096) >> 1) - 2048;
  return x * power_of_two<V>(half) * power_of_two<V>(n.integer - half);
#endif
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <class V>
ENR_INLINE V exp_tail(V r) {
  if constexpr (sizeof(ScalarOf<V>) == 4) {
    return polynomial(r, 0.49999994, 0.166665211, 0.041668389, 0.00836874545, 0.00138145394);
  } else {
    return polynomial(r, 0.5, 0.16666666666666682, 0.041666666666666088, 0.0083333333333169852, 0.0013888888889116687,
                      0.0001984126989651166, 2.4801586925175438e-05, 2.7557234729827087e-06, 2.7557582675627208e-07,
                      2.5112084167210263e-08, 2.0826478430876861e-09);
  }
}

// The same, relative to exp(r) - 1.
template <class V>
ENR_INLINE V expm1_tail(V r) {
  if constexpr (sizeof(ScalarOf<V>) == 4) {
    return polynomial(r, 0.5, 0.166666657, 0.0416663587, 0.00833339058, 0.00139406696, 0.000198455382);
  } else {
    return polynomial(r, 0.5, 0.16666666666666677, 0.041666666666666505, 0.0083333333333216551, 0.0013888888888962606,
                      0.00019841269886073504, 2.4801587172229389e-05, 2.7557244254027037e-06, 2.7557402775640854e-07,
                      2.5109024546407806e-08, 2.0875329036851668e-09);
  }
}

// x = n ln(2) + r.
template <class V>
ENR_INLINE V exp_reduce(V x, Whole<V>& n) {
  n = nearest_whole(x, 1.4426950408889634074);
  const V r = fma(n.value, constant<V>(-FloatFormat<V>::kLn2High), x);
  return fma(n.value, constant<V>(-FloatFormat<V>::kLn2Low), r);
}

template <class V>
ENR_INLINE V exp(V x) {
  x = min_keep_nan(max_keep_nan(x, constant<V>(FloatFormat<V>::kExpLow)), constant<V>(FloatFormat<V>::kExpHigh));
  Whole<V> n;
  const V r = exp_reduce(x, n);
  return scale_by(fma(exp_tail(r), r * r, r) + constant<V>(1), n);
}

// (2^r - 1) / r for |r| <= 1/2.
template <class V>
ENR_INLINE V exp2_tail(V r) {
  if constexpr (sizeof(ScalarOf<V>) == 4) {
    return polynomial(r, 0.693147182, 0.240226477, 0.0555033237, 0.00961844157, 0.00133988925, 0.000153525078);
  } else {
    return polynomial(r, 0.69314718055994529, 0.24022650695910072, 0.055504108664821687, 0.0096181291076283294,
                      0.0013333558146392634, 0.00015403530393641145, 1.5252733854378731e-05, 1.3215486594673559e-06,
                      1.017805191463964e-07, 7.0549745290768629e-09, 4.4565749341050995e-10, 2.5625399948375645e-11);
  }
}

template <class V>
ENR_INLINE V exp2(V x) {
  x = min_keep_nan(max_keep_nan(x, constant<V>(FloatFormat<V>::kExp2Low)), constant<V>(FloatFormat<V>::kExp2High));
  const Whole<V> n = nearest_whole(x, 1.0);
  const V r = x - n.value;
  return scale_by(fma(exp2_tail(r), r, constant<V>(1)), n);
}

// (exp(x) - 1) / 2 for x between kExpm1Low and kExpHigh: with half the power of two the largest one still is finite.
template <class V>
ENR_INLINE V half_expm1(V x) {
  Whole<V> n;
  const V r = exp_reduce(x, n);
  const V p = fma(expm1_tail(r), r * r, r);
  const V half = power_of_two<V>(n.integer - 1);
  return fma(half, p, half - constant<V>(0.5));
}

template <class V>
ENR_INLINE V expm1(V x) {
  const V limited =
      min_keep_nan(max_keep_nan(x, constant<V>(FloatFormat<V>::kExpm1Low)), constant<V>(FloatFormat<V>::kExpHigh));
  const V halved = half_expm1(limited);
  return x == V{} ? x : halved + halved;
}

// 1 / (1 + e^-x): e^-|x| neither overflows nor loses the small results.
template <class V>
ENR_INLINE V sigmoid(V x) {
  const V e = exp(negate(abs(x)));
  return (x < V{} ? e : constant<V>(1)) / (constant<V>(1) + e);
}

// `ratio` where |x| is below limit, 1 with x's sign beyond and nowhere more than that.
ENR_INLINE F32 saturate(F32 x, F32 ratio, double limit) {
  const F32 one = constant<F32>(1);
  const F32 bounded = min_keep_nan(max_keep_nan(ratio, negate(one)), one);
  return abs(x) >= constant<F32>(limit) ? copysign(one, x) : bounded;
}

// x P(x^2) / Q(x^2), within 5 ulp (6 where multiply-adds are not fused); beyond 9.02 the result rounds to 1.
ENR_INLINE F32 tanh(F32 x) {
  const F32 z = min_keep_nan(x * x, constant<F32>(81.4));
  const F32 p = polynomial(z, 1, 0.136799321, 0.00386834797, 2.80078148e-05, 3.05856709e-08, -1.22037606e-11);
  const F32 q = polynomial(z, 1, 0.470132649, 0.0272459146, 0.000393866503, 1.28738873e-06);
  return saturate(x, x * p / q, 9.02);
}
ENR_INLINE F64 tanh(F64 x) {
  const F64 t = expm1(abs(x) * constant<F64>(-2));
  return copysign(negate(t) / (t + constant<F64>(2)), x);
}

template <class V>
ENR_INLINE V sinh(V x) {
  constexpr double limit = FloatFormat<V>::kExpHigh - 2;
  const V a = abs(x);
  // With h = (e^a - 1) / 2: (e^a - e^-a) / 2 = h + h / (2h + 1).
  const V h = half_expm1(min_keep_nan(a, constant<V>(limit)));
  const V near = copysign(h + h / (h + h + constant<V>(1)), x);
  if (__builtin_expect(all_between(a, -1, limit), 1)) return near;
  const V half = exp(a * constant<V>(0.5));
  return a > constant<V>(limit) ? copysign(constant<V>(0.5) * half * half, x) : near;
}

template <class V>
ENR_INLINE V cosh(V x) {
  constexpr double limit = FloatFormat<V>::kExpHigh - 2;
  const V a = abs(x);
  const V e = exp(a);
  const V near = constant<V>(0.5) * e + constant<V>(0.5) / e;
  if (__builtin_expect(all_between(a, -1, limit), 1)) return near;
  const V half = exp(a * constant<V>(0.5));
  return a > constant<V>(limit) ? constant<V>(0.5) * half * half : near;
}

}  // namespace enr::kernels::ENR_ISA
