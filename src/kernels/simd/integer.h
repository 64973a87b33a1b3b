#pragma once

// Registers of 8- and 16-bit numbers, and the way between them and lanes of 32 bits.

#include "kernels/simd/extremes.h"

namespace enr::kernels::ENR_ISA {

typedef int8_t I8 __attribute__((vector_size(ENR_VECTOR_BYTES)));
typedef uint8_t U8 __attribute__((vector_size(ENR_VECTOR_BYTES)));
typedef int16_t I16 __attribute__((vector_size(ENR_VECTOR_BYTES)));
typedef uint16_t U16 __attribute__((vector_size(ENR_VECTOR_BYTES)));

// As many numbers of T as a register has 32-bit lanes.
template <class T>
struct LaneNumbersOf {
  typedef T type __attribute__((vector_size(ENR_VECTOR_BYTES / 4 * sizeof(T))));
};
template <class T>
using LaneNumbers = typename LaneNumbersOf<T>::type;

// Numbers of T as int32.
template <class T>
ENR_INLINE I32 load_wide(const T* p) {
#if defined(__AVX512F__)
  if constexpr (__is_same(T, int8_t))
    return (I32)_mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128((const __m128i*)p));
  if constexpr (__is_same(T, uint8_t))
    return (I32)_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128((const __m128i*)p));
#elif defined(__AVX2__)
  if constexpr (__is_same(T, int8_t)) return (I32)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p));
  if constexpr (__is_same(T, uint8_t)) return (I32)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p));
#endif
  LaneNumbers<T> v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, I32);
}

// The masks of all ones below keep gcc 12 from warning of its own headers' undefined registers; they cost nothing.
ENR_INLINE F32 to_float(I32 v) { return __builtin_convertvector(v, F32); }

// To nearest, ties to even; |v| < 2^31.
ENR_INLINE I32 round_to_int(F32 v) {
#if defined(__AVX512F__)
  return (I32)_mm512_maskz_cvtps_epi32(0xffff, (__m512)v);
#elif defined(__AVX2__)
  return (I32)_mm256_cvtps_epi32((__m256)v);
#elif defined(__SSE2__)
  return (I32)_mm_cvtps_epi32((__m128)v);
#elif defined(__aarch64__)
  return (I32)vcvtnq_s32_f32((float32x4_t)v);
#else
  I32 result;
  for (size_t i = 0; i < kF32Lanes; ++i) result[i] = (int32_t)__builtin_rintf(v[i]);
  return result;
#endif
}

// The low bytes of all lanes.
ENR_INLINE void store_low_bytes(void* p, I32 v) {
#if defined(__AVX512F__)
  _mm_storeu_si128((__m128i*)p, _mm512_maskz_cvtepi32_epi8(0xffff, (__m512i)v));
#elif defined(__AVX2__)
  const __m256i order = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                         0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i bytes = _mm256_shuffle_epi8((__m256i)v, order);
  const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
  _mm_storel_epi64((__m128i*)p, _mm_unpacklo_epi32(low, high));
#else
  const LaneNumbers<int8_t> bytes = __builtin_convertvector(v, LaneNumbers<int8_t>);
  memcpy(p, &bytes, sizeof bytes);
#endif
}

// Of the first n lanes only; n is less than all.
ENR_INLINE void store_low_bytes_first(void* p, I32 v, size_t n) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm512_maskz_cvtepi32_epi8(0xffff, (__m512i)v);
  _mm_mask_storeu_epi8(p, (__mmask16)((1u << n) - 1), bytes);
#else
  uint64_t bytes = 0;
  uint8_t* to = (uint8_t*)p;
  store_low_bytes(&bytes, v);
  if (n & 4) {
    memcpy(to, &bytes, 4);
    bytes >>= 32;
    to += 4;
  }
  if (n & 2) {
    memcpy(to, &bytes, 2);
    bytes >>= 16;
    to += 2;
  }
  if (n & 1) *to = (uint8_t)bytes;
#endif
}

// Narrowing with saturation, where the instruction set does it for whole registers.
#if defined(__AVX512BW__) || (defined(__AVX2__) && !defined(__AVX512F__))
#define ENR_NARROWS 1
// The low halves of the result's 128-bit pieces come from a, the high ones from b.
#if defined(__AVX512BW__)
ENR_INLINE I16 narrow(I32 a, I32 b) { return (I16)_mm512_packs_epi32((__m512i)a, (__m512i)b); }
ENR_INLINE I8 narrow(I16 a, I16 b) { return (I8)_mm512_packs_epi16((__m512i)a, (__m512i)b); }
ENR_INLINE I8 narrow_unsigned(I16 a, I16 b) { return (I8)_mm512_packus_epi16((__m512i)a, (__m512i)b); }
ENR_INLINE I16 saturating_sum(I16 a, I16 b) { return (I16)_mm512_adds_epi16((__m512i)a, (__m512i)b); }
// Four vectors that were narrowed to bytes, a piece of each in turn: one after the other.
ENR_INLINE I8 in_lane_order(I8 v) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return (I8)_mm512_maskz_permutexvar_epi32(0xffff, order, (__m512i)v);
}
#else
ENR_INLINE I16 narrow(I32 a, I32 b) { return (I16)_mm256_packs_epi32((__m256i)a, (__m256i)b); }
ENR_INLINE I8 narrow(I16 a, I16 b) { return (I8)_mm256_packs_epi16((__m256i)a, (__m256i)b); }
ENR_INLINE I8 narrow_unsigned(I16 a, I16 b) { return (I8)_mm256_packus_epi16((__m256i)a, (__m256i)b); }
ENR_INLINE I16 saturating_sum(I16 a, I16 b) { return (I16)_mm256_adds_epi16((__m256i)a, (__m256i)b); }
ENR_INLINE I8 in_lane_order(I8 v) {
  return (I8)_mm256_permutevar8x32_epi32((__m256i)v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
#endif
#else
#define ENR_NARROWS 0
#endif

// max(low, min(high, v)) of numbers.
ENR_INLINE F32 clamp_number(F32 v, F32 low, F32 high) { return max_keep_nan(min_keep_nan(v, high), low); }

}  // namespace enr::kernels::ENR_ISA
