#pragma once

// Logarithms of floating vectors, and the functions made of them, within 2 ulp (the inverse hyperbolic ones 3).

#include "kernels/simd/exponential.h"

namespace enr::kernels::ENR_ISA {

// x = 2^exponent * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).
template <class V>
struct LogParts {
  V exponent;
  V f;
};

inline constexpr double kRootHalf = 0.70710678118654752440, kRootTwo = 1.41421356237309504880;

// A vector's biased exponents, as bits, to floating.
template <class V>
ENR_INLINE V exponent_value(UnsignedOf<V> exponent) {
  // 2^mantissa_bits with the exponent in its lowest bits is the exponent as a float.
  const V whole = constant<V>(static_cast<double>(1ull << FloatFormat<V>::kMantissaBits));
  return (V)((UnsignedOf<V>)whole | exponent) - (whole + constant<V>(FloatFormat<V>::kBias));
}

// x positive, and normal where there are no instructions for exponents; anything else gives rubbish.
#if defined(__AVX512F__)
ENR_INLINE LogParts<F32> split(F32 x) {
  const __m512 mantissa = _mm512_getmant_ps((__m512)x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
  const __mmask16 is_high = _mm512_cmp_ps_mask(mantissa, _mm512_set1_ps((float)kRootTwo), _CMP_GT_OQ);
  const __m512 one = _mm512_set1_ps(1), low = _mm512_getexp_ps((__m512)x);
  const __m512 near = _mm512_mask_mul_ps(mantissa, is_high, mantissa, _mm512_set1_ps(0.5f));
  return {(F32)_mm512_mask_add_ps(low, is_high, low, one), (F32)_mm512_sub_ps(near, one)};
}
ENR_INLINE LogParts<F64> split(F64 x) {
  const __m512d mantissa = _mm512_getmant_pd((__m512d)x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
  const __mmask8 is_high = _mm512_cmp_pd_mask(mantissa, _mm512_set1_pd(kRootTwo), _CMP_GT_OQ);
  const __m512d one = _mm512_set1_pd(1), low = _mm512_getexp_pd((__m512d)x);
  const __m512d near = _mm512_mask_mul_pd(mantissa, is_high, mantissa, _mm512_set1_pd(0.5));
  return {(F64)_mm512_mask_add_pd(low, is_high, low, one), (F64)_mm512_sub_pd(near, one)};
}
template <class V>
ENR_INLINE LogParts<V> split_any(V x) {
  return split(x);
}
#else
template <class V>
ENR_INLINE LogParts<V> split(V x) {
  using U = UnsignedOf<V>;
  const U one = (U)constant<V>(1);
  const U shifted = (U)x - (U)constant<V>(kRootHalf) + one;
  const U exponent = shifted >> FloatFormat<V>::kMantissaBits;
  const V mantissa = (V)((U)x - (exponent << FloatFormat<V>::kMantissaBits) + one);
  return {exponent_value<V>(exponent), mantissa - constant<V>(1)};
}
// Denormal numbers too.
template <class V>
ENR_INLINE LogParts<V> split_any(V x) {
  const auto is_small = x < constant<V>(FloatFormat<V>::kSmallestNormal);
  LogParts<V> parts = split(is_small ? x * constant<V>(0x1p54) : x);
  parts.exponent = parts.exponent + (is_small ? constant<V>(-54) : V{});
  return parts;
}
#endif

// (log(1 + f) - f) c.
ENR_INLINE F32 log_rest(F32 f, double c = 1) {
  const F32 square = f * f;
  const F32 p = polynomial(f, 0.333333135 * c, -0.250000089 * c, 0.200021192 * c, -0.166679978 * c, 0.142195299 * c,
                           -0.124055274 * c, 0.118883073 * c, -0.116761811 * c, 0.067469418 * c);
  return fma(square * f, p, constant<F32>(-0.5 * c) * square);
}
// By log((1 + s) / (1 - s)), s = f / (2 + f).
ENR_INLINE F64 log_rest(F64 f, double c = 1) {
  const F64 s = f / (f + constant<F64>(2));
  const F64 z = s * s;
  const F64 r = z * polynomial(z, 0.6666666666666734, 0.39999999999415087, 0.28571428742325938, 0.22222198575858579,
                               0.18183564389773274, 0.15314043802172564, 0.14796065973036251);
  const F64 half_square = constant<F64>(0.5) * f * f;
  return (s * (half_square + r) - half_square) * constant<F64>(c);
}

// Puts the right values where x is not a positive number.
#if defined(__AVX512F__)
// What to take for a quiet and a signalling NaN, 0, 1, -inf, inf, a negative and a positive number, four bits each:
// 0 the result, 1 x, 2 x as a quiet NaN, 3 a NaN, 4 -inf, 5 inf.
inline constexpr int kLogSpecial = 0x03530422;
ENR_INLINE F32 log_special(F32 x, F32 result) {
  return (F32)_mm512_fixupimm_ps((__m512)result, (__m512)x, _mm512_set1_epi32(kLogSpecial), 0);
}
ENR_INLINE F64 log_special(F64 x, F64 result) {
  return (F64)_mm512_fixupimm_pd((__m512d)result, (__m512d)x, _mm512_set1_epi64(kLogSpecial), 0);
}
#else
template <class V>
ENR_INLINE V log_special(V x, V result) {
  const V infinity = constant<V>(__builtin_inf());
  result = x > V{} ? result : (x == V{} ? negate(infinity) : constant<V>(__builtin_nan("")));
  return x < infinity ? result : x;
}
#endif

template <class V>
ENR_INLINE V log(V x) {
  const LogParts<V> parts = split_any(x);
  const V n = parts.exponent;
  const V rest = fma(n, constant<V>(FloatFormat<V>::kLn2Low), log_rest(parts.f));
  return log_special(x, fma(n, constant<V>(FloatFormat<V>::kLn2High), parts.f + rest));
}

template <class V>
ENR_INLINE V log2(V x) {
  const LogParts<V> parts = split_any(x);
  const V n = parts.exponent;
  constexpr double kFactor = 1.4426950408889634074;
  const V factor = constant<V>(kFactor);
  // What float loses of log2(e); float64 loses nothing that counts.
  const V lost = constant<V>(sizeof(ScalarOf<V>) == 4 ? 1.9259629911266175e-8 : 2.0355273740931033e-17);
  const V rest = fma(parts.f, lost, log_rest(parts.f, kFactor));
  return log_special(x, n + fma(parts.f, factor, rest));
}

template <class V>
ENR_INLINE V log10(V x) {
  constexpr bool is_float = sizeof(ScalarOf<V>) == 4;
  const LogParts<V> parts = split_any(x);
  const V n = parts.exponent;
  constexpr double kFactor = 0.43429448190325182765;
  const V factor = constant<V>(kFactor);
  const V lost = constant<V>(is_float ? -1.0103050052231684e-8 : 1.0983196502167651e-17);
  // log10(2) in two parts, the first short enough for an exact product with n.
  const V high = constant<V>(is_float ? 0.301025390625 : 0.30102999566315702);
  const V low = constant<V>(is_float ? 4.6050389811952137e-6 : 8.2417125860235717e-13);
  const V rest = fma(n, low, fma(parts.f, lost, log_rest(parts.f, kFactor)));
  return log_special(x, fma(n, high, fma(parts.f, factor, rest)));
}

// log(1 + x) for -1 < x < 2^100.
template <class V>
ENR_INLINE V log1p_near(V x) {
  // 2^-e for the exponent e of u = 1 + x; then 1 + f = (1 + x) 2^-e without what u has lost.
  const V one = constant<V>(1);
#if defined(__AVX512F__)
  const V root = constant<V>(kRootTwo), u = fma(x, root, root);
  V exponent, inverse;
  if constexpr (sizeof(ScalarOf<V>) == 4) {
    exponent = (V)_mm512_getexp_ps((__m512)u);
    inverse = (V)_mm512_scalef_ps((__m512)one, (__m512)negate(exponent));
  } else {
    exponent = (V)_mm512_getexp_pd((__m512d)u);
    inverse = (V)_mm512_scalef_pd((__m512d)one, (__m512d)negate(exponent));
  }
#else
  using U = UnsignedOf<V>;
  constexpr int bits = FloatFormat<V>::kMantissaBits;
  const U biased = ((U)(one + x) - (U)constant<V>(kRootHalf) + (U)one) >> bits;
  const V exponent = exponent_value<V>(biased);
  const V inverse = (V)(((U)(SignedOf<V>{} + 2 * FloatFormat<V>::kBias) - biased) << bits);
#endif
  const V f = fma(x, inverse, inverse - one);
  const V rest = fma(exponent, constant<V>(FloatFormat<V>::kLn2Low), log_rest(f));
  return fma(exponent, constant<V>(FloatFormat<V>::kLn2High), f + rest);
}

template <class V>
ENR_INLINE V log1p(V x) {
  if (__builtin_expect(all_between(x, -1, 0x1p100), 1)) return copysign(log1p_near(x), x);
  const auto is_large = x >= constant<V>(0x1p100);
  const V y = is_large ? log(x) : copysign(log1p_near(x), x);
  return x > constant<V>(-1) ? y
                             : (x == constant<V>(-1) ? constant<V>(-__builtin_inf()) : constant<V>(__builtin_nan("")));
}

template <class V>
ENR_INLINE V asinh(V x) {
  const V a = abs(x);
  const V one = constant<V>(1);
  const V square = a * a;
  const V near = log1p_near(a + square / (one + sqrt(square + one)));
  if (__builtin_expect(all_between(a, -1, 0x1p50), 1)) return copysign(near, x);
  const auto is_large = a >= constant<V>(0x1p50);
  return copysign(is_large ? log(a) + constant<V>(0.69314718055994530942) : near, x);
}

template <class V>
ENR_INLINE V acosh(V x) {
  const V one = constant<V>(1);
  const V t = x - one;
  const V near = log1p_near(t + sqrt(t * (t + constant<V>(2))));
  if (__builtin_expect(all_between(x, 1, 0x1p50), 1)) return near;
  const auto is_large = x >= constant<V>(0x1p50);
  const V result = is_large ? log(x) + constant<V>(0.69314718055994530942) : near;
  return x >= one ? result : constant<V>(__builtin_nan(""));
}

template <class V>
ENR_INLINE V atanh(V x) {
  const V a = abs(x);
  const V one = constant<V>(1);
  const V near = constant<V>(0.5) * log1p_near((a + a) / (one - a));
  if (__builtin_expect(all_between(a, -1, 1), 1)) return copysign(near, x);
  const V far = a == one ? constant<V>(__builtin_inf()) : constant<V>(__builtin_nan(""));
  return copysign(a < one ? near : far, x);
}

// |x|^y from a logarithm of twice the precision, where products and sums round once: the exponent multiplies its error.
#if defined(__FMA__) || defined(__aarch64__)
template <class V>
struct TwoParts {
  V high, low;
};

// 1 / x within an ulp or two, for x in [1, 4]. Where a register is wide a division takes longer than this.
template <class V>
ENR_INLINE V nearly_inverse(V x) {
  const V one = constant<V>(1);
#if defined(__AVX512F__)
  if constexpr (sizeof(ScalarOf<V>) == 4) {
    const V first = (V)_mm512_rcp14_ps((__m512)x);
    return fma(minus_fused(one, x, first), first, first);
  }
#endif
  return one / x;
}

// log2(a) of a positive number.
template <class V>
ENR_INLINE TwoParts<V> log2_parts(V a) {
  constexpr bool is_float = sizeof(ScalarOf<V>) == 4;
  const LogParts<V> parts = split_any(a);
  const V n = parts.exponent;
  // log(1 + f) = 2s + 2/3 s^3 + ..., s = f / (2 + f) in two parts.
  const V two = constant<V>(2);
  const V sum = parts.f + two, sum_low = parts.f - (sum - two);
  const V inverse = nearly_inverse(sum);
  const V s = parts.f * inverse;
  const V s_low = minus_fused(minus_fused(parts.f, s, sum), s, sum_low) * inverse;
  const V z = s * s;
  V high, low;
  if constexpr (is_float) {
    const V factor = constant<V>(2.8853900817779268147);  // 2 / ln(2)
    const V tail = s * z * polynomial(z, 0.96179669, 0.57708286, 0.41170525, 0.34024076);
    high = s * factor;
    low = fma(s, constant<V>(3.8519259822532349e-8), fused_minus(s, factor, high));
    low = fma(s_low, fma(z, factor, factor), low) + tail;
  } else {
    const V z_low = fma(s + s, s_low, fused_minus(s, s, z));
    const V cube = s * z;
    const V cube_low = fused_minus(s, z, cube) + fma(s, z_low, s_low * z);
    const V third = constant<V>(2.0 / 3);
    const V term = cube * third;
    const V term_low =
        fused_minus(cube, third, term) + fma(cube, constant<V>(3.70074341541718826e-17), cube_low * third);
    const V tail = cube * z *
                   polynomial(z, 0.400000000000022733, 0.285714285700909593, 0.222222225215227557, 0.181817842220269612,
                              0.153867642360775972, 0.132566521230888286, 0.131979082002784867);
    const V first = s + s + term;
    const V rest = (term - (first - (s + s))) + (fma(two, s_low, term_low) + tail);
    const V logarithm = first + rest;
    const V logarithm_low = rest - (logarithm - first);
    const V factor = constant<V>(1.4426950408889634074);
    high = logarithm * factor;
    low = fused_minus(logarithm, factor, high) +
          fma(logarithm, constant<V>(2.0355273740931033e-17), logarithm_low * factor);
  }
  const V whole = n + high;
  return {whole, (high - (whole - n)) + low};
}

// 2^(product + rest), the product bounded and the rest small.
template <class V>
ENR_INLINE V exp2_parts(V product, V rest) {
  const Whole<V> n = nearest_whole(product, 1.0);
  const V r = (product - n.value) + rest;
  return scale_by(fma(exp2_tail(r), r, constant<V>(1)), n);
}

template <class V>
ENR_INLINE V pow_of_magnitude(V a, V y) {
  const V infinity = constant<V>(__builtin_inf());
  TwoParts<V> logarithm = log2_parts(a);
  const auto is_special = (a == V{}) | ~(a < infinity);
  logarithm.high = a == V{} ? negate(infinity) : is_special ? a : logarithm.high;
  const V product = y * logarithm.high;
  const V limited = min_keep_nan(max_keep_nan(product, constant<V>(FloatFormat<V>::kExp2Low)),
                                 constant<V>(FloatFormat<V>::kExp2High));
  const V rest = fma(y, logarithm.low, fused_minus(y, logarithm.high, product));
  return exp2_parts(limited, product == limited ? rest : V{});
}
#else
ENR_INLINE F64 pow_core(F64 x, F64 y) {
  const LogParts<F64> parts = split(x);
  const F64 s = parts.f / (parts.f + constant<F64>(2));
  const F64 z = s * s;
  const F64 r = fma(polynomial(z, 0.66666666675798059, 0.39999995622149115, 0.28572109211004421, 0.22176183171374048,
                               0.19584272267159802) *
                        z,
                    s, s + s);
  F64 logarithm = fma(r, constant<F64>(1.4426950408889634074), parts.exponent);
  logarithm = x == F64{} ? constant<F64>(-__builtin_inf()) : x < constant<F64>(__builtin_inf()) ? logarithm : x;
  const F64 product = min_keep_nan(max_keep_nan(y * logarithm, constant<F64>(-300)), constant<F64>(300));
  const Whole<F64> n = nearest_whole(product, 1.0);
  const F64 f = product - n.value;
  const F64 q = polynomial(f, 0.69314718070592563, 0.24022651066998002, 0.055504103625025281, 0.009618038046460475,
                           0.0013333936729175184, 0.00015466788706855323, 1.5195985034357734e-05);
  return fma(q, f, constant<F64>(1)) * power_of_two<F64>(n.integer);
}

// In float64's range and 2^-33 of accuracy.
ENR_INLINE F32 pow_of_magnitude(F32 a, F32 y) {
  return to_floats(pow_core(low_doubles(a), low_doubles(y)), pow_core(high_doubles(a), high_doubles(y)));
}
ENR_INLINE F64 pow_of_magnitude(F64 a, F64 y) {
  return each_lane(a, y, [](double x, double power) { return __builtin_pow(x, power); });
}
#endif

template <class V>
ENR_INLINE V pow(V x, V y) {
  const V a = abs(x), one = constant<V>(1), infinity = constant<V>(__builtin_inf());
#if defined(__FMA__) || defined(__aarch64__)
  const TwoParts<V> logarithm = log2_parts(x);
  const V product = y * logarithm.high;
  constexpr double limit = FloatFormat<V>::kBias - 1;
  // Positive numbers whose powers neither overflow nor vanish, which is most of them.
  if (__builtin_expect(all_between(x, 0, __builtin_inf()) & all_between(product, -limit, limit), 1)) {
    return exp2_parts(product, fma(y, logarithm.low, fused_minus(y, logarithm.high, product)));
  }
#endif
  V result = pow_of_magnitude(a, y);
  const V half = y * constant<V>(0.5);
  const auto is_whole = round<Rounding::kTowardsZero>(y) == y;
  const auto is_odd = is_whole & (round<Rounding::kTowardsZero>(half) != half);
  const auto is_negative = (SignedOf<V>)x < 0;
  result = (V)((UnsignedOf<V>)result ^ ((UnsignedOf<V>)(is_negative & is_odd) & BitsOf<V>::kSign));
  const auto has_no_root = (x < V{}) & (x > negate(infinity)) & ~is_whole;
  result = has_no_root ? constant<V>(__builtin_nan("")) : result;
  return (y == V{}) | (x == one) | ((a == one) & (abs(y) == infinity)) ? one : result;
}

}  // namespace enr::kernels::ENR_ISA
