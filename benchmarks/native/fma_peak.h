#pragma once

// The rate of multiply-adds in registers, the limit that benchmarks of products compare with.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/cpu_info.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace enr::bench {

inline constexpr size_t kPeakSteps = 100'000, kChains = 12;

#if defined(__x86_64__)
__attribute__((target("avx512f"))) inline float run_avx512() {
  __m512 sums[kChains];
  for (size_t j = 0; j < kChains; ++j) sums[j] = _mm512_set1_ps(static_cast<float>(j));
  const __m512 factor = _mm512_set1_ps(0.5f);
  for (size_t i = 0; i < kPeakSteps; ++i) {
#pragma GCC unroll 12
    for (size_t j = 0; j < kChains; ++j) sums[j] = _mm512_fmadd_ps(sums[j], factor, factor);
  }
  float total = 0;
  for (const __m512& sum : sums) total += _mm512_cvtss_f32(sum);
  return total;
}

__attribute__((target("avx2,fma"))) inline float run_avx2() {
  __m256 sums[kChains];
  for (size_t j = 0; j < kChains; ++j) sums[j] = _mm256_set1_ps(static_cast<float>(j));
  const __m256 factor = _mm256_set1_ps(0.5f);
  for (size_t i = 0; i < kPeakSteps; ++i) {
#pragma GCC unroll 12
    for (size_t j = 0; j < kChains; ++j) sums[j] = _mm256_fmadd_ps(sums[j], factor, factor);
  }
  float total = 0;
  for (const __m256& sum : sums) total += _mm256_cvtss_f32(sum);
  return total;
}
#endif

inline float run_baseline() {
  typedef float Vector __attribute__((vector_size(16)));
  Vector sums[kChains];
  for (size_t j = 0; j < kChains; ++j) sums[j] = Vector{} + static_cast<float>(j);
  const Vector factor = {0.5f, 0.5f, 0.5f, 0.5f};
  for (size_t i = 0; i < kPeakSteps; ++i) {
#pragma GCC unroll 12
    for (size_t j = 0; j < kChains; ++j) sums[j] = sums[j] * factor + factor;
  }
  float total = 0;
  for (const Vector& sum : sums) total += sum[0];
  return total;
}

// GFLOP/s of one core in the active instruction set; a multiply-add counts as two.
inline double fma_peak_gflops() {
  size_t lanes = 4;
  float (*run)() = run_baseline;
#if defined(__x86_64__)
  if (active_isa() >= Isa::kX86Avx512) {
    lanes = 16;
    run = run_avx512;
  } else if (active_isa() >= Isa::kX86Avx2) {
    lanes = 8;
    run = run_avx2;
  }
#endif
  double best = std::numeric_limits<double>::infinity();
  volatile float sink = 0;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    sink = run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  (void)sink;
  return 2e-9 * static_cast<double>(kPeakSteps * kChains * lanes) / best;
}

// The median time of a call in seconds, over some tenths of a second.
template <class F>
double median_seconds(F call, double budget_seconds = 0.15) {
  std::vector<double> times;
  double total = 0;
  call();
  while (times.size() < 7 || (total < budget_seconds && times.size() < 100'000)) {
    const auto start = std::chrono::steady_clock::now();
    call();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    total += times.back();
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace enr::bench
