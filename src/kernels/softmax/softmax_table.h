#pragma once

// What an instruction set offers for softmax; softmax.h is the family's public face.

#include <stddef.h>

namespace enr::kernels {

template <class T>
struct SoftmaxKernels {
  // Each of `rows` contiguous rows of n.
  void (*rows)(bool logarithm, const T* in, T* out, size_t rows, size_t n) noexcept;
  // Down each of `width` columns, at most kSoftmaxColumns; strides are elements between rows.
  void (*columns)(bool logarithm, const T* in, size_t in_stride, T* out, size_t out_stride, size_t dim,
                  size_t width) noexcept;
};

inline constexpr size_t kSoftmaxColumns = 128;

struct SoftmaxTable {
  SoftmaxKernels<float> f32;
  SoftmaxKernels<double> f64;
  void (*row)(const float* in, float* out, size_t n, float scale, const float* mask) noexcept;
};
const SoftmaxTable& softmax_table();

}  // namespace enr::kernels
