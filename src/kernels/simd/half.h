#pragma once

// Half and bfloat16 storage: a register of float at a time. Same results as base/half.h.

#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

typedef uint16_t HalfBits __attribute__((vector_size(ENR_VECTOR_BYTES / 2)));

ENR_INLINE HalfBits load_half_bits(const uint16_t* p) {
  HalfBits v;
  memcpy(&v, p, sizeof v);
  return v;
}
ENR_INLINE void store_half_bits(uint16_t* p, HalfBits v) { memcpy(p, &v, sizeof v); }

// By name for AVX-512: compilers convert there by halves.
ENR_INLINE HalfBits narrow(U32 v) {
#if defined(__AVX512F__)
  return (HalfBits)_mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)v);
#else
  return __builtin_convertvector(v, HalfBits);
#endif
}
ENR_INLINE U32 widen(HalfBits v) {
#if defined(__AVX512F__)
  return (U32)_mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)v);
#else
  return __builtin_convertvector(v, U32);
#endif
}

ENR_INLINE F32 from_bfloat16(HalfBits v) { return (F32)(widen(v) << 16); }

ENR_INLINE HalfBits to_bfloat16(F32 v) {
  const U32 bits = (U32)v;
  const U32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const U32 quiet = (bits >> 16) | 0x40u;
  return narrow((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

ENR_INLINE F32 from_half(HalfBits v) {
#if defined(__AVX512F__)
  return (F32)_mm512_cvtph_ps((__m256i)v);
#elif defined(__F16C__)
  return (F32)_mm256_cvtph_ps((__m128i)v);
#elif defined(__aarch64__)
  return (F32)vcvt_f32_f16((float16x4_t)v);
#else
  const U32 wide = widen(v);
  const U32 sign = (wide & 0x8000u) << 16;
  const U32 magnitude = wide & 0x7fffu;
  const U32 special = 0x7f800000u | (magnitude & 0x3ffu) << 13;
  const U32 normal = (magnitude << 13) + 0x38000000u;
  const F32 subnormal = __builtin_convertvector((I32)magnitude, F32) * 0x1p-24f;
  const U32 result = magnitude >= 0x7c00u ? special : magnitude >= 0x400u ? normal : (U32)subnormal;
  return (F32)(sign | result);
#endif
}

ENR_INLINE HalfBits to_half(F32 v) {
#if defined(__AVX512F__)
  return (HalfBits)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
  return (HalfBits)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__aarch64__)
  return (HalfBits)vcvt_f16_f32((float32x4_t)v);
#else
  const U32 bits = (U32)v;
  const U32 sign = (bits >> 16) & 0x8000u;
  const U32 magnitude = bits & 0x7fffffffu;
  const U32 nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  const U32 subnormal = (U32)((F32)magnitude + 0.5f) - 0x3f000000u;
  const U32 normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  const U32 finite = magnitude < 0x38800000u ? subnormal : normal;
  const U32 result = magnitude > 0x7f800000u ? nan : magnitude >= 0x477ff000u ? U32{} + 0x7c00u : finite;
  return narrow(sign | result);
#endif
}

}  // namespace enr::kernels::ENR_ISA
