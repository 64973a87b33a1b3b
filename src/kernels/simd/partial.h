#pragma once

// The ends of arrays: vectors of which only the first `count` lanes are in memory.

#include "kernels/simd/vec.h"

#if defined(__clang__)
#define ENR_NO_ALIAS_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ENR_NO_ALIAS_LOOP _Pragma("GCC ivdep")
#endif

namespace enr::kernels::ENR_ISA {

#if defined(__AVX2__) && !defined(__AVX512F__)
// All ones in the first `count` 32-bit lanes.
ENR_INLINE __m256i first_lanes_32(size_t count) {
  alignas(32) static const int32_t ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return _mm256_loadu_si256((const __m256i*)(ones_then_zeros + 8 - count));
}
#endif

// The lanes past count are 0. count < lanes.
template <class T>
ENR_INLINE Vec<T> load_first(const T* p, size_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_maskz_loadu_epi32((__mmask16)((1u << count) - 1), p);
  if constexpr (sizeof(T) == 8) return (Vec<T>)_mm512_maskz_loadu_epi64((__mmask8)((1u << count) - 1), p);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) return (Vec<T>)_mm256_maskload_epi32((const int*)p, first_lanes_32(count));
  if constexpr (sizeof(T) == 8) {
    return (Vec<T>)_mm256_maskload_epi64((const long long*)p, first_lanes_32(2 * count));
  }
#endif
  Vec<T> v{};
  for (size_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}

template <class T>
ENR_INLINE void store_first(T* p, Vec<T> v, size_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return _mm512_mask_storeu_epi32(p, (__mmask16)((1u << count) - 1), (__m512i)v);
  if constexpr (sizeof(T) == 8) return _mm512_mask_storeu_epi64(p, (__mmask8)((1u << count) - 1), (__m512i)v);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) return _mm256_maskstore_epi32((int*)p, first_lanes_32(count), (__m256i)v);
  if constexpr (sizeof(T) == 8) return _mm256_maskstore_epi64((long long*)p, first_lanes_32(2 * count), (__m256i)v);
#endif
  for (size_t i = 0; i < count; ++i) p[i] = v[i];
}

// out[i] = f(in[i]) for a function of vectors.
template <class T, class F>
ENR_INLINE void map_vectors(const T* in, T* out, size_t n, F f) {
  size_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(out + i, f(load(in + i)));
  if (i < n) store_first(out + i, f(load_first(in + i, n - i)), n - i);
}

}  // namespace enr::kernels::ENR_ISA
