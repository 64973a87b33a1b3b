#pragma once

// What goes across the lanes of a vector.

#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

// The bytes turned by kBytes, a power of two; by less than a word only inside of each word of 8.
template <size_t kBytes>
ENR_INLINE Vec<uint64_t> turned(Vec<uint64_t> v) {
  constexpr size_t words = kVectorBytes / 8;
  if constexpr (kBytes < 8) {
    return (v >> (8 * kBytes)) | (v << (64 - 8 * kBytes));
  } else {
#if defined(__clang__)
    Vec<uint64_t> result;
#pragma GCC unroll 8
    for (size_t i = 0; i < words; ++i) result[i] = v[(i + kBytes / 8) % words];
    return result;
#else
    Vec<uint64_t> index;
#pragma GCC unroll 8
    for (size_t i = 0; i < words; ++i) index[i] = (i + kBytes / 8) % words;
    return __builtin_shuffle(v, index);
#endif
  }
}

// f over all lanes, for an f of vectors that minds neither order nor repetition: an extreme.
template <class T, size_t kBytes = kVectorBytes / 2, class F>
ENR_INLINE T fold_lanes(Vec<T> v, F f) {
  v = f(v, (Vec<T>)turned<kBytes>((Vec<uint64_t>)v));
  if constexpr (kBytes > sizeof(T)) {
    return fold_lanes<T, kBytes / 2>(v, f);
  } else {
    return v[0];
  }
}

// The first `count` lanes, the others 0.
template <class T>
ENR_INLINE Vec<T> keep_first(Vec<T> v, size_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_maskz_mov_epi32((__mmask16)((1u << count) - 1), (__m512i)v);
  if constexpr (sizeof(T) == 8) return (Vec<T>)_mm512_maskz_mov_epi64((__mmask8)((1u << count) - 1), (__m512i)v);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) >= 4) return (Vec<T>)_mm256_and_si256((__m256i)v, first_lanes_32(count * (sizeof(T) / 4)));
#endif
  for (size_t i = count; i < kLanes<T>; ++i) v[i] = 0;
  return v;
}

// The first lanes from p, the others repeat them, in any order. 0 < count < lanes.
template <class T>
ENR_INLINE Vec<T> load_repeated(const T* p, size_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return (Vec<T>)_mm512_mask_loadu_epi32((__m512i)splat<T>(*p), (__mmask16)((1u << count) - 1), p);
  }
  if constexpr (sizeof(T) == 8) {
    return (Vec<T>)_mm512_mask_loadu_epi64((__m512i)splat<T>(*p), (__mmask8)((1u << count) - 1), p);
  }
#endif
  if (const size_t size = count * sizeof(T); size >= 8) {
    Vec<uint64_t> words;
#pragma GCC unroll 8
    for (size_t i = 0; i < kVectorBytes / 8; ++i) {
      uint64_t word;
      memcpy(&word, (const char*)p + (8 * i + 8 <= size ? 8 * i : size - 8), 8);
      words[i] = word;
    }
    return (Vec<T>)words;
  }
  Vec<T> v = splat<T>(*p);
  for (size_t i = 1; i < count; ++i) v[i] = p[i];
  return v;
}

// A bit for each lane of a comparison's result of lanes of kSize bytes, 1 where it is true.
template <size_t kSize, class M>
ENR_INLINE uint32_t true_bits(M mask) {
  static_assert(kSize >= 4);
#if defined(__AVX512F__)
  if constexpr (kSize == 4) return _mm512_movepi32_mask((__m512i)mask);
  if constexpr (kSize == 8) return _mm512_movepi64_mask((__m512i)mask);
#elif defined(__AVX2__)
  if constexpr (kSize == 4) return (uint32_t)_mm256_movemask_ps((__m256)mask);
  if constexpr (kSize == 8) return (uint32_t)_mm256_movemask_pd((__m256d)mask);
#elif defined(__SSE2__)
  if constexpr (kSize == 4) return (uint32_t)_mm_movemask_ps((__m128)mask);
  if constexpr (kSize == 8) return (uint32_t)_mm_movemask_pd((__m128d)mask);
#endif
  uint32_t bits = 0;
  for (size_t i = 0; i < kVectorBytes / kSize; ++i) bits |= (uint32_t)(mask[i] & 1) << i;
  return bits;
}

// The first byte at which a comparison's result is true; it is somewhere.
template <class M>
ENR_INLINE size_t first_true_byte(M mask) {
#if defined(__AVX512BW__)
  return (size_t)__builtin_ctzll(_mm512_movepi8_mask((__m512i)mask));
#elif defined(__AVX2__) && !defined(__AVX512F__)
  return (size_t)__builtin_ctz((uint32_t)_mm256_movemask_epi8((__m256i)mask));
#elif defined(__SSE2__) && !defined(__AVX512F__)
  return (size_t)__builtin_ctz((uint32_t)_mm_movemask_epi8((__m128i)mask));
#else
  size_t i = 0;
  while (((Vec<uint8_t>)mask)[i] == 0) ++i;
  return i;
#endif
}

}  // namespace enr::kernels::ENR_ISA
