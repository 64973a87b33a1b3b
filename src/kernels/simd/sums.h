#pragma once

// Accurate sums: short runs in the vector's own type, runs together in double.

#include "kernels/simd/arith.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

ENR_INLINE double add_lanes(F64 v) {
  double total = 0;
  for (size_t i = 0; i < kLanes<double>; ++i) total += v[i];
  return total;
}
ENR_INLINE float add_lanes(F32 v) {
  float lanes[kF32Lanes];
  store(lanes, v);
  for (size_t width = kF32Lanes / 2; width > 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
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
    if (i < n) {
      T values[lanes];
      store(values, f(load_first(x + i, n - i)));
      for (size_t k = n - i; k < lanes; ++k) values[k] = 0;
      rest += load(values);
    }
    sum.add(total_of(rest));
  }
  return sum.value();
}

template <class T>
ENR_INLINE T largest_lane(Vec<T> v) {
  T result = v[0];
  for (size_t i = 1; i < kLanes<T>; ++i) result = v[i] > result || v[i] != v[i] ? v[i] : result;
  return result;
}

}  // namespace enr::kernels::ENR_ISA
