#pragma once

// Accurate sums: short runs in the vector's own type, runs together in double.

#include "kernels/simd/arith.h"
#include "kernels/simd/lanes.h"

namespace enr::kernels::ENR_ISA {

ENR_INLINE double add_lanes(F64 v) {
#if defined(__AVX512F__)
  const __m256d quarter = _mm256_add_pd(_mm512_castpd512_pd256((__m512d)v), _mm512_extractf64x4_pd((__m512d)v, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(quarter), _mm256_extractf128_pd(quarter, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
#elif defined(__AVX2__)
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128((__m256d)v), _mm256_extractf128_pd((__m256d)v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
#else
  return v[0] + v[1];
#endif
}

ENR_INLINE float add_lanes(F32 v) {
#if defined(__AVX2__)
#if defined(__AVX512F__)
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1));
#else
  const __m256 half = (__m256)v;
#endif
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
#else
  return (v[0] + v[2]) + (v[1] + v[3]);
#endif
}

// A running sum that also keeps what each addition rounds away.
struct CompensatedSum {
  double total = 0;
  double lost = 0;

  ENR_INLINE void add(double value) {
    const double sum = total + value;
    const double change =
        __builtin_fabs(total) >= __builtin_fabs(value) ? (total - sum) + value : (value - sum) + total;
    total = sum;
    // With an infinity or NaN in the total there is nothing to compensate.
    lost += change - change == 0 ? change : 0;
  }
  ENR_INLINE double value() const { return total + lost; }
};

ENR_INLINE double total_of(F32 a) { return add_lanes(low_doubles(a) + high_doubles(a)); }
ENR_INLINE double total_of(F64 a) { return add_lanes(a); }

// The sum of f(vector) over the array. f of the zeros that fill up the last vector is not counted.
template <class T, class F>
ENR_INLINE double sum_of(const T* x, size_t n, F f) {
  using V = Vec<T>;
  constexpr size_t lanes = kLanes<T>;
  constexpr size_t block = 64 * lanes;
  CompensatedSum sum;
  size_t i = 0;
  while (n - i >= 4 * lanes) {
    const size_t end = n - i < block ? i + (n - i) / (4 * lanes) * (4 * lanes) : i + block;
    V a = f(load(x + i)), b = f(load(x + i + lanes)), c = f(load(x + i + 2 * lanes)), d = f(load(x + i + 3 * lanes));
    for (i += 4 * lanes; i < end; i += 4 * lanes) {
      a += f(load(x + i));
      b += f(load(x + i + lanes));
      c += f(load(x + i + 2 * lanes));
      d += f(load(x + i + 3 * lanes));
    }
    sum.add(total_of((a + b) + (c + d)));
  }
  if (i < n) {
    V rest{};
    for (; i + lanes <= n; i += lanes) rest += f(load(x + i));
    if (i < n) rest += keep_first<T>(f(load_first(x + i, n - i)), n - i);
    sum.add(total_of(rest));
  }
  return sum.value();
}

}  // namespace enr::kernels::ENR_ISA
