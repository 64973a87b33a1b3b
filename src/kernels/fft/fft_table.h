#pragma once

// What fft.cpp and its instruction-set files agree on. C headers only.

#include <stddef.h>

namespace enr::kernels {

// One stage of a transform of length radix * span * stride: element i of the input and output is a real and an
// imaginary vector of as many numbers as there are lines side by side.
template <class T>
struct FftStage {
  size_t radix, span, stride;
  const T* roots;       // (re, im) of w^(p * u) for p < span, 0 < u < radix
  const T* unit_roots;  // (re, im) of the radix-th roots of 1, for odd radices above 5
  bool is_inverse;
};

inline constexpr size_t kMaxRadix = 31;

template <class T>
struct FftKernels {
  size_t lanes;  // lines side by side for the functions below
  void (*stage)(const FftStage<T>& stage, const T* in, T* out);
  void (*stage_one)(const FftStage<T>& stage, const T* in, T* out);  // a single line
  // data[i] *= factors[i], complex, for n elements; `conjugate` conjugates the results.
  void (*multiply)(T* data, const T* factors, size_t n, bool conjugate);
  void (*multiply_one)(T* data, const T* factors, size_t n, bool conjugate);
  // See Fft::separate.
  void (*separate)(const T* z, size_t half, const T* roots, double factor, size_t begin, size_t end, T* low, T* high);
  // See Fft::join.
  void (*join)(const T* low, const T* high, size_t half, const T* roots, double factor, size_t begin, size_t end, T* z);
};

struct FftTable {
  FftKernels<float> f32;
  FftKernels<double> f64;
};

const FftTable& fft_table();

}  // namespace enr::kernels
