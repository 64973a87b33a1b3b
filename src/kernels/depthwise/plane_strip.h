#pragma once

// The per-ISA loops of depthwise convolution on planes. A strip of input rows is copied into scratch memory with its
// padding around it and its columns sorted by what they leave over when divided by the stride, so that every tap reads
// neighbours.

#include <stddef.h>

namespace enr::kernels {

struct PlaneStrip {
  size_t kernel_height, kernel_width, stride_height, stride_width;
  size_t row_pitch;             // floats from a row of the strip to the next
  size_t tap_row_pitch;         // from a kernel row's to the next one's: dilation * row_pitch
  const size_t* column_offset;  // where in a row each kernel column's input for output column 0 is
  size_t output_width;
  float min, max;
};

struct PlaneStripKernels {
  size_t lanes;
  // One row of `width` floats into a row of the strip after pad_left columns; phase_width floats for each remainder.
  // Writes zeros up to the next whole register.
  void (*copy_row)(const float* input, size_t width, size_t pad_left, size_t stride, size_t phase_width,
                   float* row) noexcept;
  // `rows` output rows from a strip whose first row is the first one's first tap.
  void (*convolve)(const PlaneStrip& strip, size_t rows, const float* scratch, const float* weights, float bias,
                   float* output) noexcept;
};

const PlaneStripKernels& plane_strip_kernels();

}  // namespace enr::kernels
