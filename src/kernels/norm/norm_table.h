#pragma once

// What an instruction set offers for normalisation; norm.h is the family's public face.

#include <stddef.h>

namespace enr::kernels {

// Optional arrays may be null; out may be in.
template <class T>
struct NormKernels {
  void (*layer_norm)(const T* in, const T* gamma, const T* beta, T* out, T* mean_out, T* rstd_out, size_t rows,
                     size_t cols, double eps) noexcept;
  void (*rms_norm)(const T* in, const T* gamma, T* out, size_t rows, size_t cols, double eps) noexcept;
  // One group: channels rows of `spatial` elements share their statistics; gamma and beta are the group's.
  void (*group_norm)(const T* in, const T* gamma, const T* beta, T* out, T* mean_out, T* rstd_out, size_t channels,
                     size_t spatial, double eps) noexcept;
  // out[i] = in[i] * scale + shift with one scale and shift, and with one for each element.
  void (*affine)(const T* in, T scale, T shift, T* out, size_t n) noexcept;
  void (*affine_each)(const T* in, const T* scale, const T* shift, T* out, size_t rows, size_t cols) noexcept;
  // sum of (x - centre)^power, power 1 or 2.
  double (*moment)(const T* in, size_t n, double centre, int power) noexcept;
};

struct NormTable {
  NormKernels<float> f32;
  NormKernels<double> f64;
};
const NormTable& norm_table();

}  // namespace enr::kernels
