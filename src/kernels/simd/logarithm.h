#pragma once

// Logarithms of floating vectors, and the functions made of them, within 2 ulp (the inverse hyperbolic ones 3).

#include "kernels/simd/exponential.h"

namespace enr::kernels::ENR_ISA {

// x = 2^exponent * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).
template <class V>
struct LogParts {
  V exponent;
  UnsignedOf<V> biased_exponent;
  V f;
};

// x positive and normal; anything else gives finite rubbish.
template <class V>
ENR_INLINE LogParts<V> split(V x) {
  using U = UnsignedOf<V>;
  constexpr int bits = FloatFormat<V>::kMantissaBits;
  const U root_half = (U)constant<V>(0.70710678118654752440);
  const U one = (U)constant<V>(1);
  const U shifted = (U)x - root_half + one;
  const U exponent = shifted >> bits;
  const V mantissa = (V)((U)x - (shifted & (~U{} << bits)) + one);
  // 2^mantissa_bits with the exponent in its lowest bits is the exponent as a float.
  const V whole = constant<V>(static_cast<double>(1ull << bits));
  const V value = (V)((U)whole | exponent) - (whole + constant<V>(FloatFormat<V>::kBias));
  return {value, exponent, mantissa - constant<V>(1)};
}

// log(1 + f) - f.
ENR_INLINE F32 log_rest(F32 f) {
  const F32 square = f * f;
  const F32 p = polynomial(f, 0.333333135, -0.250000089, 0.200021192, -0.166679978, 0.142195299, -0.124055274,
                           0.118883073, -0.116761811, 0.067469418);
  return fma(square * f, p, constant<F32>(-0.5) * square);
}
// By log((1 + s) / (1 - s)), s = f / (2 + f).
ENR_INLINE F64 log_rest(F64 f) {
  const F64 s = f / (f + constant<F64>(2));
  const F64 z = s * s;
  const F64 r = z * polynomial(z, 0.6666666666666734, 0.39999999999415087, 0.28571428742325938, 0.22222198575858579,
                               0.18183564389773274, 0.15314043802172564, 0.14796065973036251);
  const F64 half_square = constant<F64>(0.5) * f * f;
  return s * (half_square + r) - half_square;
}

// Puts the right values where x is not a positive number.
template <class V>
ENR_INLINE V log_special(V x, V result) {
  const V infinity = constant<V>(__builtin_inf());
  result = x > V{} ? result : (x == V{} ? negate(infinity) : constant<V>(__builtin_nan("")));
  return x < infinity ? result : x;
}

// Denormals as normal numbers; `shift` is what to add to the exponent.
template <class V>
ENR_INLINE V normalise(V x, V& shift) {
  const auto is_small = x < constant<V>(FloatFormat<V>::kSmallestNormal);
  shift = is_small ? constant<V>(-54) : V{};
  return is_small ? x * constant<V>(0x1p54) : x;
}

template <class V>
ENR_INLINE V log(V x) {
  V shift;
  const LogParts<V> parts = split(normalise(x, shift));
  const V n = parts.exponent + shift;
  const V rest = fma(n, constant<V>(FloatFormat<V>::kLn2Low), log_rest(parts.f));
  return log_special(x, fma(n, constant<V>(FloatFormat<V>::kLn2High), parts.f + rest));
}

template <class V>
ENR_INLINE V log2(V x) {
  V shift;
  const LogParts<V> parts = split(normalise(x, shift));
  const V n = parts.exponent + shift;
  const V factor = constant<V>(1.4426950408889634074);
  // What float loses of log2(e); float64 loses nothing that counts.
  const V lost = constant<V>(sizeof(ScalarOf<V>) == 4 ? 1.9259629911266175e-8 : 2.0355273740931033e-17);
  const V rest = fma(parts.f, lost, log_rest(parts.f) * factor);
  return log_special(x, n + fma(parts.f, factor, rest));
}

template <class V>
ENR_INLINE V log10(V x) {
  constexpr bool is_float = sizeof(ScalarOf<V>) == 4;
  V shift;
  const LogParts<V> parts = split(normalise(x, shift));
  const V n = parts.exponent + shift;
  const V factor = constant<V>(0.43429448190325182765);
  const V lost = constant<V>(is_float ? -1.0103050052231684e-8 : 1.0983196502167651e-17);
  // log10(2) in two parts, the first short enough for an exact product with n.
  const V high = constant<V>(is_float ? 0.301025390625 : 0.30102999566315702);
  const V low = constant<V>(is_float ? 4.6050389811952137e-6 : 8.2417125860235717e-13);
  const V rest = fma(n, low, fma(parts.f, lost, log_rest(parts.f) * factor));
  return log_special(x, fma(n, high, fma(parts.f, factor, rest)));
}

template <class V>
ENR_INLINE V log1p(V x) {
  const V one = constant<V>(1);
  const V u = one + x;
  const V whole = u - one;
  const V lost = (one - (u - whole)) + (x - whole);  // u + lost = 1 + x exactly
  const LogParts<V> parts = split(u);
  // 2^-exponent; of numbers beyond 2^100 nothing that counts is lost.
  const UnsignedOf<V> inverse = (UnsignedOf<V>)(SignedOf<V>{} + 2 * FloatFormat<V>::kBias) - parts.biased_exponent;
  const V scaled = fma(lost, (V)(inverse << FloatFormat<V>::kMantissaBits), parts.f);
  const V f = parts.exponent < constant<V>(100) ? scaled : parts.f;
  const V rest = fma(parts.exponent, constant<V>(FloatFormat<V>::kLn2Low), log_rest(f));
  const V result = fma(parts.exponent, constant<V>(FloatFormat<V>::kLn2High), f + rest);
  const V special = log_special(u, result);
  return x < constant<V>(__builtin_inf()) ? (x == V{} ? x : special) : x;
}

template <class V>
ENR_INLINE V asinh(V x) {
  const V a = abs(x);
  const V one = constant<V>(1);
  const auto is_large = a > constant<V>(sizeof(ScalarOf<V>) == 4 ? 0x1p28 : 0x1p60);
  const V square = a * a;
  const V near = a + square / (one + sqrt(square + one));
  const V result = log1p(is_large ? a : near) + (is_large ? constant<V>(0.69314718055994530942) : V{});
  return copysign(result, x);
}

template <class V>
ENR_INLINE V acosh(V x) {
  const V one = constant<V>(1);
  const auto is_large = x > constant<V>(sizeof(ScalarOf<V>) == 4 ? 0x1p28 : 0x1p60);
  const V t = x - one;
  const V near = t + sqrt(t * (t + constant<V>(2)));
  const V result = log1p(is_large ? x : near) + (is_large ? constant<V>(0.69314718055994530942) : V{});
  return x < one ? constant<V>(__builtin_nan("")) : result;
}

template <class V>
ENR_INLINE V atanh(V x) {
  const V a = abs(x);
  return copysign(constant<V>(0.5) * log1p((a + a) / (constant<V>(1) - a)), x);
}

// |x|^y from a logarithm of twice the precision, where products and sums round once: the exponent multiplies its error.
#if defined(__FMA__) || defined(__aarch64__)
template <class V>
struct TwoParts {
  V high, low;
};

// log2(a) of a positive normal number.
template <class V>
ENR_INLINE TwoParts<V> log2_parts(V a) {
  constexpr bool is_float = sizeof(ScalarOf<V>) == 4;
  V shift;
  const LogParts<V> parts = split(normalise(a, shift));
  const V n = parts.exponent + shift;
  // log(1 + f) = 2s + 2/3 s^3 + ..., s = f / (2 + f) in two parts.
  const V two = constant<V>(2);
  const V sum = parts.f + two, sum_low = parts.f - (sum - two);
  const V inverse = constant<V>(1) / sum;
  const V s = parts.f * inverse;
  const V s_low = (fma(negate(s), sum, parts.f) - s * sum_low) * inverse;
  const V z = s * s;
  V first, rest;  // log(1 + f), the first part exact to its last digit
  if constexpr (is_float) {
    const V tail = s * z * polynomial(z, 0.666666656408, 0.400003363147, 0.285372321681, 0.235836909328);
    first = s + s;
    rest = fma(s_low, two + (z + z), tail);
  } else {
    const V z_low = fma(s, s, negate(z)) + (s + s) * s_low;
    const V cube = s * z;
    const V cube_low = fma(s, z, negate(cube)) + fma(s, z_low, s_low * z);
    const V third = constant<V>(2.0 / 3);
    const V term = cube * third;
    const V term_low =
        fma(cube, third, negate(term)) + fma(cube, constant<V>(3.70074341541718826e-17), cube_low * third);
    const V tail = cube * z *
                   polynomial(z, 0.400000000000022733, 0.285714285700909593, 0.222222225215227557, 0.181817842220269612,
                              0.153867642360775972, 0.132566521230888286, 0.131979082002784867);
    first = s + s + term;
    rest = (term - (first - (s + s))) + (fma(two, s_low, term_low) + tail);
  }
  const V high = first + rest;
  const V low = rest - (high - first);
  const V factor = constant<V>(1.4426950408889634074);
  const V factor_low = constant<V>(is_float ? 1.9259629911266175e-8 : 2.0355273740931033e-17);
  const V product = high * factor;
  const V product_low = fma(high, factor, negate(product)) + fma(high, factor_low, low * factor);
  const V whole = n + product;
  return {whole, (product - (whole - n)) + product_low};
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
  const V rest = fma(y, logarithm.high, negate(product)) + y * logarithm.low;
  const Whole<V> n = nearest_whole(limited, 1.0);
  const V r = (limited - n.value) + (product == limited ? rest : V{});
  return scale_by(fma(exp2_tail(r), r, constant<V>(1)), n);
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
