#pragma once

// The larger and the smaller of two vectors of any numbers; of floats NaN if either is.

#include "kernels/simd/arith.h"

namespace enr::kernels::ENR_ISA {

// Of integers in fewer instructions than the compiler finds.
#if defined(__AVX2__)
#if defined(__AVX512F__)
#define ENR_EXTREME(name, op, T, suffix) \
  ENR_INLINE Vec<T> name(Vec<T> x, Vec<T> y) { return (Vec<T>)_mm512_##op##_##suffix((__m512i)x, (__m512i)y); }
#else
#define ENR_EXTREME(name, op, T, suffix) \
  ENR_INLINE Vec<T> name(Vec<T> x, Vec<T> y) { return (Vec<T>)_mm256_##op##_##suffix((__m256i)x, (__m256i)y); }
#endif
ENR_EXTREME(larger, max, uint8_t, epu8)
ENR_EXTREME(smaller, min, uint8_t, epu8)
ENR_EXTREME(larger, max, int8_t, epi8)
ENR_EXTREME(smaller, min, int8_t, epi8)
ENR_EXTREME(larger, max, int16_t, epi16)
ENR_EXTREME(smaller, min, int16_t, epi16)
ENR_EXTREME(larger, max, int32_t, epi32)
ENR_EXTREME(smaller, min, int32_t, epi32)
#if defined(__AVX512F__)
ENR_EXTREME(larger, max, int64_t, epi64)
ENR_EXTREME(smaller, min, int64_t, epi64)
ENR_EXTREME(larger, max, uint64_t, epu64)
ENR_EXTREME(smaller, min, uint64_t, epu64)
#endif
#undef ENR_EXTREME
#endif
template <class V>
ENR_INLINE V larger(V x, V y) {
  return max_nan(x, y);
}
template <class V>
ENR_INLINE V smaller(V x, V y) {
  return min_nan(x, y);
}

}  // namespace enr::kernels::ENR_ISA
