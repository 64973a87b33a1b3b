#pragma once

// Windows of images that are resized on the way into a convolution.

#include <cstddef>

#include "base/ranges.h"
#include "kernels/conv/conv.h"

namespace enr::kernels {

// Of the window whose first pixel is at (y, x) of the part's image resized to height x width, the given rows and
// columns, which lie in it. The window's first pixel is at `out`, its pixels lie part.channels apart. The numbers are
// those of resize_bilinear_nhwc and resize_nearest_nhwc.
void resize_window(const ConvPart& part, size_t height, size_t width, const float* image, ptrdiff_t y, ptrdiff_t x,
                   const Range& rows, const Range& columns, float* out, size_t row_stride) noexcept;

}  // namespace enr::kernels
