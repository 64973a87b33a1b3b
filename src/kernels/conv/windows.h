#pragma once

// Where the windows of a direct convolution find their input: the input itself, a band of it copied between zeros, or
// rows copied for each window.

#include <cstddef>

#include "kernels/conv/direct.h"
#include "kernels/gemm/driver.h"

namespace enr::kernels {

inline size_t group_inputs(const ConvShape& s) noexcept { return s.input_channels / s.groups; }
inline size_t group_outputs(const ConvShape& s) noexcept { return s.output_channels / s.groups; }

// How many inputs that many outputs see.
inline size_t reach(size_t outputs, size_t stride, size_t kernel, size_t dilation) noexcept {
  return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
}

// What one task computes.
struct Area {
  size_t image, group;
  size_t y, y_end, x, x_end;
  size_t panel, panel_end;
};

// Where a task finds its input: the address of a pixel of the band or of the input itself, which may not exist.
struct Source {
  const float* origin;  // of (row 0, column 0) of the input
  size_t row_stride, pixel_stride;

  const float* at(ptrdiff_t y, ptrdiff_t x) const noexcept {
    return origin + y * static_cast<ptrdiff_t>(row_stride) + x * static_cast<ptrdiff_t>(pixel_stride);
  }
};

// The rows of the kernel that meet rows of the input, for output row y.
Range kernel_rows(const ConvShape& shape, size_t y) noexcept;

Source source_of(const ConvShape& shape, const PixelGrid& from, const float* input, const Area& area) noexcept;

// Copies what the area's windows see, zeros beside the input included, unless the band is there already, and tells
// where it now lies.
Source copy_band(const ConvShape& shape, const Source& from, const Area& area, float* band, bool is_there) noexcept;

// One row for each window of the area, in the order of the weights.
void copy_windows(const ConvShape& shape, const Source& from, const Area& area, float* rows) noexcept;

}  // namespace enr::kernels
