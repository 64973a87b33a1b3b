#pragma once

// Rounding, signs, roots and extremes of floating vectors.

#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

template <class V>
struct BitsOf;
template <>
struct BitsOf<F32> {
  using Signed = I32;
  using Unsigned = U32;
  using Scalar = float;
  static constexpr uint32_t kSign = 0x80000000u;
};
template <>
struct BitsOf<F64> {
  using Signed = I64;
  using Unsigned = Vec<uint64_t>;
  using Scalar = double;
  static constexpr uint64_t kSign = 0x8000000000000000u;
};
template <class V>
using ScalarOf = typename BitsOf<V>::Scalar;
template <class V>
using UnsignedOf = typename BitsOf<V>::Unsigned;
template <class V>
using SignedOf = typename BitsOf<V>::Signed;

// A constant in every lane of V.
template <class V>
ENR_INLINE V constant(double value) {
  return splat<ScalarOf<V>>(static_cast<ScalarOf<V>>(value));
}

template <class V>
ENR_INLINE V abs(V x) {
  return (V)((UnsignedOf<V>)x & ~BitsOf<V>::kSign);
}
template <class V>
ENR_INLINE V negate(V x) {
  return (V)((UnsignedOf<V>)x ^ BitsOf<V>::kSign);
}
template <class V>
ENR_INLINE V copysign(V magnitude, V sign) {
  return (V)(((UnsignedOf<V>)magnitude & ~BitsOf<V>::kSign) | ((UnsignedOf<V>)sign & BitsOf<V>::kSign));
}

ENR_INLINE F32 sqrt(F32 x) {
#if defined(__AVX512F__)
  return (F32)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
  return (F32)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  return (F32)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
  return (F32)vsqrtq_f32((float32x4_t)x);
#else
  for (size_t i = 0; i < kF32Lanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}
ENR_INLINE F64 sqrt(F64 x) {
#if defined(__AVX512F__)
  return (F64)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__)
  return (F64)_mm256_sqrt_pd((__m256d)x);
#elif defined(__SSE2__)
  return (F64)_mm_sqrt_pd((__m128d)x);
#elif defined(__aarch64__)
  return (F64)vsqrtq_f64((float64x2_t)x);
#else
  for (size_t i = 0; i < kLanes<double>; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

enum class Rounding { kNearestEven, kDown, kUp, kTowardsZero };

#if defined(__AVX2__)
constexpr int rounding_code(Rounding mode) {
  return mode == Rounding::kNearestEven ? _MM_FROUND_TO_NEAREST_INT
         : mode == Rounding::kDown      ? _MM_FROUND_TO_NEG_INF
         : mode == Rounding::kUp        ? _MM_FROUND_TO_POS_INF
                                        : _MM_FROUND_TO_ZERO;
}
#endif

// To a whole number; infinities, NaN and the sign of zero stay.
template <Rounding mode>
ENR_INLINE F32 round(F32 x) {
#if defined(__AVX512F__)
  return (F32)_mm512_roundscale_ps((__m512)x, rounding_code(mode) | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
  return (F32)_mm256_round_ps((__m256)x, rounding_code(mode) | _MM_FROUND_NO_EXC);
#elif defined(__aarch64__)
  const float32x4_t v = (float32x4_t)x;
  if constexpr (mode == Rounding::kNearestEven) return (F32)vrndnq_f32(v);
  if constexpr (mode == Rounding::kDown) return (F32)vrndmq_f32(v);
  if constexpr (mode == Rounding::kUp) return (F32)vrndpq_f32(v);
  return (F32)vrndq_f32(v);
#else
  // Adding 2^23 drops the fraction in the processor's own rounding, to nearest even.
  const F32 magnitude = abs(x);
  const F32 nearest = (magnitude + 0x1p23f) - 0x1p23f;
  F32 result = nearest;
  if constexpr (mode == Rounding::kTowardsZero) result = nearest > magnitude ? nearest - 1.0f : nearest;
  if constexpr (mode == Rounding::kDown || mode == Rounding::kUp) {
    const F32 whole = copysign(nearest, x);
    const F32 moved = mode == Rounding::kDown ? (whole > x ? whole - 1.0f : whole) : (whole < x ? whole + 1.0f : whole);
    return magnitude < 0x1p23f ? copysign(moved, x) : x;
  }
  return magnitude < 0x1p23f ? copysign(result, x) : x;
#endif
}
template <Rounding mode>
ENR_INLINE F64 round(F64 x) {
#if defined(__AVX512F__)
  return (F64)_mm512_roundscale_pd((__m512d)x, rounding_code(mode) | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
  return (F64)_mm256_round_pd((__m256d)x, rounding_code(mode) | _MM_FROUND_NO_EXC);
#elif defined(__aarch64__)
  const float64x2_t v = (float64x2_t)x;
  if constexpr (mode == Rounding::kNearestEven) return (F64)vrndnq_f64(v);
  if constexpr (mode == Rounding::kDown) return (F64)vrndmq_f64(v);
  if constexpr (mode == Rounding::kUp) return (F64)vrndpq_f64(v);
  return (F64)vrndq_f64(v);
#else
  const F64 magnitude = abs(x);
  const F64 nearest = (magnitude + 0x1p52) - 0x1p52;
  F64 result = nearest;
  if constexpr (mode == Rounding::kTowardsZero) result = nearest > magnitude ? nearest - 1.0 : nearest;
  if constexpr (mode == Rounding::kDown || mode == Rounding::kUp) {
    const F64 whole = copysign(nearest, x);
    const F64 moved = mode == Rounding::kDown ? (whole > x ? whole - 1.0 : whole) : (whole < x ? whole + 1.0 : whole);
    return magnitude < 0x1p52 ? copysign(moved, x) : x;
  }
  return magnitude < 0x1p52 ? copysign(result, x) : x;
#endif
}

// NaN if either operand is.
template <class V>
ENR_INLINE V max_nan(V x, V y) {
  return x > y ? x : (x != x ? x : y);
}
template <class V>
ENR_INLINE V min_nan(V x, V y) {
  return x < y ? x : (x != x ? x : y);
}
#if defined(__AVX2__)
// In fewer instructions than the compiler finds: the processor's extremes give their second operand where one is NaN.
#if defined(__AVX512F__)
#define ENR_EXTREME(name, op, V, raw, suffix)                                                   \
  template <>                                                                                   \
  ENR_INLINE V name<V>(V x, V y) {                                                              \
    const auto is_nan = _mm512_cmp_##suffix##_mask((raw)x, (raw)x, _CMP_UNORD_Q);               \
    return (V)_mm512_mask_mov_##suffix(_mm512_##op##_##suffix((raw)x, (raw)y), is_nan, (raw)x); \
  }
#else
#define ENR_EXTREME(name, op, V, raw, suffix)                                                        \
  template <>                                                                                        \
  ENR_INLINE V name<V>(V x, V y) {                                                                   \
    return (V)_mm256_blendv_##suffix(_mm256_##op##_##suffix((raw)x, (raw)y), (raw)x, (raw)(x != x)); \
  }
#endif
ENR_EXTREME(max_nan, max, F32, RawF32, ps)
ENR_EXTREME(min_nan, min, F32, RawF32, ps)
ENR_EXTREME(max_nan, max, F64, RawF64, pd)
ENR_EXTREME(min_nan, min, F64, RawF64, pd)
#undef ENR_EXTREME
#endif

// Whether any lane of a comparison's result is true.
template <class M>
ENR_INLINE bool any(M mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_epi8((__m256i)mask) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_epi8((__m128i)mask) != 0;
#else
  uint64_t words[sizeof(M) / 8];
  memcpy(words, &mask, sizeof mask);
  uint64_t all = 0;
  for (uint64_t word : words) all |= word;
  return all != 0;
#endif
}

// Whether low < x < high in every lane; a NaN is not.
ENR_INLINE bool all_between(F32 x, double low, double high) {
  const F32 from = constant<F32>(low), to = constant<F32>(high);
#if defined(__AVX512F__)
  const __mmask16 above = _mm512_cmp_ps_mask((__m512)from, (__m512)x, _CMP_LT_OQ);
  return _mm512_mask_cmp_ps_mask(above, (__m512)x, (__m512)to, _CMP_LT_OQ) == 0xffff;
#elif defined(__AVX2__)
  return _mm256_movemask_ps((__m256)((from < x) & (x < to))) == 0xff;
#else
  return !any(~((from < x) & (x < to)));
#endif
}
ENR_INLINE bool all_between(F64 x, double low, double high) {
  const F64 from = constant<F64>(low), to = constant<F64>(high);
#if defined(__AVX512F__)
  const __mmask8 above = _mm512_cmp_pd_mask((__m512d)from, (__m512d)x, _CMP_LT_OQ);
  return _mm512_mask_cmp_pd_mask(above, (__m512d)x, (__m512d)to, _CMP_LT_OQ) == 0xff;
#elif defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)((from < x) & (x < to))) == 0xf;
#else
  return !any(~((from < x) & (x < to)));
#endif
}

// The lower and the upper half of the lanes as doubles, and back.
ENR_INLINE F64 low_doubles(F32 v) {
#if defined(__AVX512F__)
  return (F64)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
#elif defined(__AVX2__)
  return (F64)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
#elif defined(__SSE2__)
  return (F64)_mm_cvtps_pd((__m128)v);
#else
  return F64{static_cast<double>(v[0]), static_cast<double>(v[1])};
#endif
}
ENR_INLINE F64 high_doubles(F32 v) {
#if defined(__AVX512F__)
  return (F64)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1));
#elif defined(__AVX2__)
  return (F64)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
#elif defined(__SSE2__)
  return (F64)_mm_cvtps_pd(_mm_movehl_ps((__m128)v, (__m128)v));
#else
  return F64{static_cast<double>(v[2]), static_cast<double>(v[3])};
#endif
}
ENR_INLINE F32 to_floats(F64 low, F64 high) {
#if defined(__AVX512F__)
  const __m512 lower = _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low));
  return (F32)_mm512_insertf32x8(lower, _mm512_cvtpd_ps((__m512d)high), 1);
#elif defined(__AVX2__)
  return (F32)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low));
#elif defined(__SSE2__)
  return (F32)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)low), _mm_cvtpd_ps((__m128d)high));
#else
  return F32{static_cast<float>(low[0]), static_cast<float>(low[1]), static_cast<float>(high[0]),
             static_cast<float>(high[1])};
#endif
}

// f of each lane by itself, for functions that have no vector form.
template <class V, class F>
ENR_INLINE V each_lane(V x, F f) {
  constexpr size_t lanes = sizeof(V) / sizeof(ScalarOf<V>);
  ScalarOf<V> values[lanes];
  memcpy(values, &x, sizeof x);
  for (size_t i = 0; i < lanes; ++i) values[i] = f(values[i]);
  memcpy(&x, values, sizeof x);
  return x;
}
template <class V, class F>
ENR_INLINE V each_lane(V x, V y, F f) {
  constexpr size_t lanes = sizeof(V) / sizeof(ScalarOf<V>);
  ScalarOf<V> xs[lanes], ys[lanes];
  memcpy(xs, &x, sizeof x);
  memcpy(ys, &y, sizeof y);
  for (size_t i = 0; i < lanes; ++i) xs[i] = f(xs[i], ys[i]);
  memcpy(&x, xs, sizeof x);
  return x;
}

}  // namespace enr::kernels::ENR_ISA
