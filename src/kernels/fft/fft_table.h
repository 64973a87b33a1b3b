#pragma once

// What fft.cpp and its instruction-set files agree on. C headers only.

#include <stddef.h>

namespace enr::kernels {

// One stage of a transform of length radix * span * stride: element i of the input and output is a real and an
// imaginary vector of as many doubles as there are lines side by side.
struct FftStage {
  size_t radix, span, stride;
  const double* roots;  // (re, im) of w^(p * u) for p < span, 0 < u < radix
  double direction;     // -1 forward, 1 inverse
};

struct FftTable {
  size_t lanes;  // lines side by side for the functions below
  void (*stage)(const FftStage& stage, const double* in, double* out);
  void (*stage_one)(const FftStage& stage, const double* in, double* out);  // a single line
  // data[i] *= factors[i], complex, for n elements; `conjugate` conjugates the results.
  void (*multiply)(double* data, const double* factors, size_t n, bool conjugate);
  void (*multiply_one)(double* data, const double* factors, size_t n, bool conjugate);
};

const FftTable& fft_table();

}  // namespace enr::kernels
