#pragma once

// Between planar (NCHW) and pixel-interleaved (NHWC) images, both contiguous, by element size (1, 2, 4, 8 or 16 bytes).
// In and out must not overlap. Large images use the thread pool.

#include <cstddef>

namespace enr::kernels {

// out[b][p][c] = in[b][c][p]
void nchw_to_nhwc(void* out, const void* in, size_t batch, size_t channels, size_t pixels,
                  size_t element_size) noexcept;

// out[b][c][p] = in[b][p][c]
void nhwc_to_nchw(void* out, const void* in, size_t batch, size_t channels, size_t pixels,
                  size_t element_size) noexcept;

// out[b][j][i] = in[b][i][j], where rows of in lie in_row_stride_bytes apart and rows of out out_row_stride_bytes;
// matrices are in_/out_batch_stride_bytes apart.
void transpose_2d(void* out, size_t out_row_stride_bytes, size_t out_batch_stride_bytes, const void* in,
                  size_t in_row_stride_bytes, size_t in_batch_stride_bytes, size_t batch, size_t rows, size_t columns,
                  size_t element_size) noexcept;

}  // namespace enr::kernels
