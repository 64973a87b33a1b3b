#pragma once

// Loads of floats that lie apart.

#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

// Every second float of a (from 0 on) and of b (from 1 on): with b loaded lanes - 1 floats after a, every second float
// of memory, and nothing past the last one is read.
ENR_INLINE F32 every_second(F32 a, F32 b) {
#if defined(__AVX512F__)
  const __m512i index = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  return (F32)_mm512_permutex2var_ps((__m512)a, index, (__m512)b);
#elif defined(__AVX2__)
  const __m256i index_a = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6),
                index_b = _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7);
  return (F32)_mm256_blend_ps(_mm256_permutevar8x32_ps((__m256)a, index_a),
                              _mm256_permutevar8x32_ps((__m256)b, index_b), 0xf0);
#else
  return __builtin_shufflevector(a, b, 0, 2, 5, 7);
#endif
}

// `count` floats from p on, kStride (where that is 0: `stride`) apart; the other lanes are 0. 0 < count <= lanes.
template <size_t kStride>
ENR_INLINE F32 load_strided(const float* p, size_t stride, size_t count) {
  if constexpr (kStride == 1) {
    return count == kF32Lanes ? load(p) : load_first(p, count);
  } else if constexpr (kStride == 2) {
    if (count == kF32Lanes) return every_second(load(p), load(p + kF32Lanes - 1));
    const size_t span = 2 * count - 1;
    if (span < kF32Lanes) return every_second(load_first(p, span), F32{});
    return every_second(load(p), load_first(p + kF32Lanes - 1, span - (kF32Lanes - 1)));
  } else {
    F32 v{};
    for (size_t i = 0; i < count; ++i) v[i] = p[i * stride];
    return v;
  }
}

}  // namespace enr::kernels::ENR_ISA
