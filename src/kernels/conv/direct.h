#pragma once

// Convolution as products of the gemm's tiles with the window's pieces where they lie. Where the window leaves the
// input, a band of input rows is copied between zeros first; where rows are too short for a tile, windows are copied
// into rows.

#include <cstddef>

#include "kernels/conv/conv.h"

namespace enr::kernels {

// Where the pixels of a batch of images are, in pixels: (image, y, x) is first + image * images + y * rows + x *
// columns.
struct PixelGrid {
  size_t first, images, rows, columns;
};

// The grids of a plain convolution: images that follow one another.
PixelGrid input_grid(const ConvShape& shape) noexcept;
PixelGrid output_grid(const ConvShape& shape) noexcept;

// shape: with its pixel strides filled in. The input grid's columns are 1.
DirectPlan plan_direct(const ConvShape& shape, const PixelGrid& from, const PixelGrid& to) noexcept;

size_t direct_packed_bytes(const ConvShape& shape) noexcept;
void pack_direct(const ConvShape& shape, const float* weights, const float* bias, void* packed) noexcept;
void run_direct(const ConvShape& shape, const DirectPlan& plan, const PixelGrid& from, const PixelGrid& to,
                const float* input, const void* packed, float* output, const GemmEpilogue& epilogue,
                float* workspace) noexcept;
// Rows [row, row_end) of an image's output on the calling thread, without groups; scratch of one lane.
void run_direct_rows(const ConvShape& shape, const DirectPlan& plan, const PixelGrid& from, const PixelGrid& to,
                     const float* input, const void* packed, float* output, size_t image, size_t row, size_t row_end,
                     const GemmEpilogue& epilogue, float* scratch) noexcept;

}  // namespace enr::kernels
