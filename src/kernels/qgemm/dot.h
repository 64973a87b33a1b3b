#pragma once

// Exact dot products of neighbouring 8-bit numbers, added to int32 lanes: the one thing that differs between
// instruction sets. ENR_DOT4: four bytes to a lane at once; otherwise two, of activations widened to 16 bits.

#include "kernels/simd/hide.h"
#include "kernels/simd/integer.h"

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define ENR_DOT4 1
#define ENR_DOT4_UNSIGNED 1
#elif defined(__ARM_FEATURE_DOTPROD)
#define ENR_DOT4 1
#define ENR_DOT4_UNSIGNED 0
#else
#define ENR_DOT4 0
#define ENR_DOT4_UNSIGNED 0
#endif

namespace enr::kernels::ENR_ISA {

ENR_INLINE I8 load_bytes(const void* p) {
  I8 v;
  memcpy(&v, p, sizeof v);
  return v;
}

// The four bytes at p, in every lane.
ENR_INLINE I32 broadcast_word(const void* p) {
  int32_t word;
  memcpy(&word, p, sizeof word);
#if defined(__AVX512F__)
  return (I32)_mm512_set1_epi32(word);
#elif defined(__AVX2__)
  return (I32)_mm256_set1_epi32(word);
#elif defined(__SSE2__)
  return (I32)_mm_set1_epi32(word);
#else
  return I32{word, word, word, word};
#endif
}

// Keeps the compiler from adding up products before it adds them to their sum: that takes more registers than there
// are.
template <class V>
ENR_INLINE V in_order(V sum) {
  hide_vector(sum);
  return sum;
}

ENR_INLINE I32 wrapping_sum(I32 a, I32 b) { return (I32)((U32)a + (U32)b); }

// sum += a0 w0 + a1 w1 in 16-bit numbers whose products cannot overflow int32 together; the sum may wrap around.
ENR_INLINE I32 dot_pairs(I32 sum, I32 a, I32 w) {
#if defined(__AVX512VNNI__)
  return (I32)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)w);
#elif defined(__AVXVNNI__)
  return (I32)_mm256_dpwssd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)w);
#elif defined(__AVX512BW__)
  return in_order(wrapping_sum(sum, (I32)_mm512_madd_epi16((__m512i)a, (__m512i)w)));
#elif defined(__AVX2__)
  return in_order(wrapping_sum(sum, (I32)_mm256_madd_epi16((__m256i)a, (__m256i)w)));
#elif defined(__SSE2__)
  return in_order(wrapping_sum(sum, (I32)_mm_madd_epi16((__m128i)a, (__m128i)w)));
#elif defined(__aarch64__)
  const int16x8_t x = (int16x8_t)a, y = (int16x8_t)w;
  const int32x4_t products = vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
  return in_order(wrapping_sum(sum, (I32)products));
#else
  const I32 low = (a << 16 >> 16) * (w << 16 >> 16);
  return in_order(wrapping_sum(sum, low + (a >> 16) * (w >> 16)));
#endif
}

// Half a register of int8 as int16.
ENR_INLINE I32 widen_half(const void* p) {
#if defined(__AVX512BW__)
  return (I32)_mm512_maskz_cvtepi8_epi16(0xffffffffu, _mm256_loadu_si256((const __m256i*)p));
#elif defined(__AVX2__)
  return (I32)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)p));
#elif defined(__SSE2__)
  const __m128i v = _mm_loadl_epi64((const __m128i*)p);
  return (I32)_mm_srai_epi16(_mm_unpacklo_epi8(v, v), 8);
#else
  typedef int8_t Half __attribute__((vector_size(ENR_VECTOR_BYTES / 2)));
  Half v;
  memcpy(&v, p, sizeof v);
  return (I32) __builtin_convertvector(v, I16);
#endif
}

// The same of uint8.
ENR_INLINE I32 widen_half_unsigned(const void* p) {
#if defined(__AVX512BW__)
  return (I32)_mm512_maskz_cvtepu8_epi16(0xffffffffu, _mm256_loadu_si256((const __m256i*)p));
#elif defined(__AVX2__)
  return (I32)_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)p));
#else
  return widen_half(p) & (I32)(I16{} + 0xff);
#endif
}

#if ENR_DOT4

#if ENR_DOT4_UNSIGNED
// sum += u0 s0 + u1 s1 + u2 s2 + u3 s3, u unsigned, s signed.
ENR_INLINE I32 dot4(I32 sum, I32 u, I32 s) {
#if defined(__AVX512VNNI__)
  return (I32)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)u, (__m512i)s);
#else
  return (I32)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)u, (__m256i)s);
#endif
}
// Activations were offset to be unsigned; weights are signed. For 4-bit weights (0 to 15) it is the other way round.
ENR_INLINE I32 dot(I32 sum, I32 a, I32 w) { return dot4(sum, a, w); }
ENR_INLINE I32 dot_int4(I32 sum, I32 a, I32 w) { return dot4(sum, w, a); }
#else
ENR_INLINE I32 dot(I32 sum, I32 a, I32 w) { return (I32)vdotq_s32((int32x4_t)sum, (int8x16_t)a, (int8x16_t)w); }
ENR_INLINE I32 dot_int4(I32 sum, I32 a, I32 w) { return dot(sum, a, w); }
#endif

#else
ENR_INLINE I32 dot(I32 sum, I32 a, I32 w) { return dot_pairs(sum, a, w); }
#endif

}  // namespace enr::kernels::ENR_ISA
