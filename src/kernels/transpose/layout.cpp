#include "kernels/transpose/layout.h"

#include <array>
#include <cstdint>

#include "kernels/transpose/strided_copy.h"

namespace enr::kernels {

void transpose_2d(void* out, size_t out_row_stride_bytes, size_t out_batch_stride_bytes, const void* in,
                  size_t in_row_stride_bytes, size_t in_batch_stride_bytes, size_t batch, size_t rows, size_t columns,
                  size_t element_size) noexcept {
  const auto element = static_cast<int64_t>(element_size);
  const std::array<int64_t, 3> sizes = {static_cast<int64_t>(batch), static_cast<int64_t>(columns),
                                        static_cast<int64_t>(rows)};
  const std::array<int64_t, 3> out_strides = {static_cast<int64_t>(out_batch_stride_bytes),
                                              static_cast<int64_t>(out_row_stride_bytes), element};
  const std::array<int64_t, 3> in_strides = {static_cast<int64_t>(in_batch_stride_bytes), element,
                                             static_cast<int64_t>(in_row_stride_bytes)};
  strided_copy(out, out_strides, in, in_strides, sizes, element_size);
}

void nchw_to_nhwc(void* out, const void* in, size_t batch, size_t channels, size_t pixels,
                  size_t element_size) noexcept {
  transpose_2d(out, channels * element_size, channels * pixels * element_size, in, pixels * element_size,
               channels * pixels * element_size, batch, channels, pixels, element_size);
}

void nhwc_to_nchw(void* out, const void* in, size_t batch, size_t channels, size_t pixels,
                  size_t element_size) noexcept {
  transpose_2d(out, pixels * element_size, channels * pixels * element_size, in, channels * element_size,
               channels * pixels * element_size, batch, pixels, channels, element_size);
}

}  // namespace enr::kernels
