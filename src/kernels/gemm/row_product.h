#pragma once

// A row by a matrix that is read as it lies, a few of its rows at a time.

#include "kernels/simd/math.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

// c[j] += a[i] * b[i * b_stride + j] for i < R; c[j] = that where `is_first`.
template <class T, size_t R>
ENR_INLINE void add_rows(const T* a, const T* b, size_t b_stride, size_t columns, bool is_first, T* c) {
  Vec<T> left[R];
#pragma GCC unroll 8
  for (size_t i = 0; i < R; ++i) left[i] = splat<T>(a[i]);
  const auto sum = [&](Vec<T> start, auto right) __attribute__((always_inline)) {
    Vec<T> sums[2] = {start, Vec<T>{}};
#pragma GCC unroll 8
    for (size_t i = 0; i < R; ++i) sums[i % 2] = fma(left[i], right(b + i * b_stride), sums[i % 2]);
    return sums[0] + sums[1];
  };
  size_t j = 0;
  for (; j + kLanes<T> <= columns; j += kLanes<T>) {
    store(c + j, sum(is_first ? Vec<T>{} : load(c + j),
                     [&](const T* row) __attribute__((always_inline)) { return load(row + j); }));
  }
  if (const size_t rest = columns - j; rest != 0) {
    const auto load_rest = [&](const T* row) __attribute__((always_inline)) { return load_first(row + j, rest); };
    store_first(c + j, sum(is_first ? Vec<T>{} : load_first(c + j, rest), load_rest), rest);
  }
}

// c[j] = sum of a[i] * b[i * b_stride + j] for i < k, j < columns; k > 0.
template <class T>
void multiply_row(const T* a, const T* b, size_t b_stride, size_t k, size_t columns, T* c) {
  constexpr size_t kAtOnce = 8;
  size_t i = 0;
  for (; i + kAtOnce <= k; i += kAtOnce) add_rows<T, kAtOnce>(a + i, b + i * b_stride, b_stride, columns, i == 0, c);
  for (; i < k; ++i) add_rows<T, 1>(a + i, b + i * b_stride, b_stride, columns, i == 0, c);
}

}  // namespace enr::kernels::ENR_ISA
