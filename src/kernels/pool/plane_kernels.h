#pragma once

// The per-ISA loops of float32 pooling on planes (NCHW): one output row, of which only columns whose windows lie inside
// of the plane.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

struct PlaneRow {
  size_t rows;      // input rows in the window
  size_t row_step;  // floats from one to the next
  size_t kernel_width, stride_width, dilation_width;
  size_t count;  // output columns
};

struct PlaneKernels {
  // input points to the first output column's first tap, which is element `position` of the plane. index may be null.
  void (*max)(const PlaneRow& row, const float* input, float* output, int64_t* index, int32_t position) noexcept;
  void (*average)(const PlaneRow& row, float divisor, const float* input, float* output) noexcept;
  // The sum of rows x columns elements.
  float (*sum)(size_t rows, size_t row_step, size_t columns, const float* input) noexcept;
};

const PlaneKernels& plane_kernels();

}  // namespace enr::kernels
