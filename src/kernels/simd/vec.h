#pragma once

// Vectors as wide as the instruction set's registers, on the compiler's vector extensions. Everything here lives in the
// instruction set's own namespace (see kernels/isa.h).

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define ENR_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define ENR_VECTOR_BYTES 32
#else
#define ENR_VECTOR_BYTES 16
#endif

#define ENR_INLINE inline __attribute__((always_inline))

namespace enr::kernels::ENR_ISA {

inline constexpr size_t kVectorBytes = ENR_VECTOR_BYTES;

// One register of T: VecOf<float>::type is 4, 8 or 16 floats. Arithmetic, comparison and [] are the compiler's own;
// a comparison gives a vector of signed integers of T's size, all bits set where true.
template <class T>
struct VecOf {
  typedef T type __attribute__((vector_size(ENR_VECTOR_BYTES)));
};
template <class T>
using Vec = typename VecOf<T>::type;

template <class T>
inline constexpr size_t kLanes = ENR_VECTOR_BYTES / sizeof(T);

using F32 = Vec<float>;
using F64 = Vec<double>;
using I32 = Vec<int32_t>;
using U32 = Vec<uint32_t>;
using I64 = Vec<int64_t>;

inline constexpr size_t kF32Lanes = kLanes<float>;

template <class T>
ENR_INLINE Vec<T> load(const T* p) {
  Vec<T> v;
  memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
ENR_INLINE void store(T* p, Vec<T> v) {
  memcpy(p, &v, sizeof v);
}

template <class T>
ENR_INLINE Vec<T> splat(T value) {
  return value - Vec<T>{};
}
template <>
ENR_INLINE F32 splat<float>(float value) {  // subtracting a zero vector would lose the sign of -0
#if defined(__AVX512F__)
  return (F32)_mm512_set1_ps(value);
#elif defined(__AVX2__)
  return (F32)_mm256_set1_ps(value);
#elif defined(__SSE2__)
  return (F32)_mm_set1_ps(value);
#else
  return F32{value, value, value, value};
#endif
}
template <>
ENR_INLINE F64 splat<double>(double value) {
#if defined(__AVX512F__)
  return (F64)_mm512_set1_pd(value);
#elif defined(__AVX2__)
  return (F64)_mm256_set1_pd(value);
#elif defined(__SSE2__)
  return (F64)_mm_set1_pd(value);
#else
  return F64{value, value};
#endif
}

// a * b + c, fused where the instruction set has it.
ENR_INLINE F32 fma(F32 a, F32 b, F32 c) {
#if defined(__AVX512F__)
  return (F32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (F32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
  return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}
ENR_INLINE F64 fma(F64 a, F64 b, F64 c) {
#if defined(__AVX512F__)
  return (F64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (F64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
  return (F64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}

#if defined(__FMA__) || defined(__aarch64__)
// a * b - c and c - a * b, rounded once.
ENR_INLINE F32 fused_minus(F32 a, F32 b, F32 c) {
#if defined(__AVX512F__)
  return (F32)_mm512_fmsub_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (F32)_mm256_fmsub_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return (F32)vfmaq_f32((float32x4_t)-c, (float32x4_t)a, (float32x4_t)b);
#endif
}
ENR_INLINE F64 fused_minus(F64 a, F64 b, F64 c) {
#if defined(__AVX512F__)
  return (F64)_mm512_fmsub_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (F64)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return (F64)vfmaq_f64((float64x2_t)-c, (float64x2_t)a, (float64x2_t)b);
#endif
}
ENR_INLINE F32 minus_fused(F32 c, F32 a, F32 b) {
#if defined(__AVX512F__)
  return (F32)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (F32)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return (F32)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#endif
}
ENR_INLINE F64 minus_fused(F64 c, F64 a, F64 b) {
#if defined(__AVX512F__)
  return (F64)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (F64)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return (F64)vfmsq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#endif
}
#endif

// x > limit ? limit : x and its mirror: a NaN in x stays, as eager's clamp wants.
template <class V>
ENR_INLINE V min_keep_nan(V x, V limit) {
  return x > limit ? limit : x;
}
template <class V>
ENR_INLINE V max_keep_nan(V x, V limit) {
  return x < limit ? limit : x;
}
#if defined(__SSE2__)
// minps and maxps give their second operand where either is NaN.
#if defined(__AVX512F__)
#define ENR_EXTREME(op, type, suffix, x, limit) (type) _mm512_##op##_##suffix((limit), (x))
using RawF32 = __m512;
using RawF64 = __m512d;
#elif defined(__AVX2__)
#define ENR_EXTREME(op, type, suffix, x, limit) (type) _mm256_##op##_##suffix((limit), (x))
using RawF32 = __m256;
using RawF64 = __m256d;
#else
#define ENR_EXTREME(op, type, suffix, x, limit) (type) _mm_##op##_##suffix((limit), (x))
using RawF32 = __m128;
using RawF64 = __m128d;
#endif
template <>
ENR_INLINE F32 min_keep_nan<F32>(F32 x, F32 limit) {
  return ENR_EXTREME(min, F32, ps, (RawF32)x, (RawF32)limit);
}
template <>
ENR_INLINE F32 max_keep_nan<F32>(F32 x, F32 limit) {
  return ENR_EXTREME(max, F32, ps, (RawF32)x, (RawF32)limit);
}
template <>
ENR_INLINE F64 min_keep_nan<F64>(F64 x, F64 limit) {
  return ENR_EXTREME(min, F64, pd, (RawF64)x, (RawF64)limit);
}
template <>
ENR_INLINE F64 max_keep_nan<F64>(F64 x, F64 limit) {
  return ENR_EXTREME(max, F64, pd, (RawF64)x, (RawF64)limit);
}
#undef ENR_EXTREME
#endif

}  // namespace enr::kernels::ENR_ISA
