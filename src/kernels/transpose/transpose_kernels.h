#pragma once

// The per-ISA loops of the transpose family.

#include <stddef.h>

namespace enr::kernels {

// output[j][i] = input[i][j] for i < rows, j < columns; rows of input lie input_row_stride bytes apart, rows of output
// output_row_stride; neighbours in a row are contiguous. No overlap.
using TransposeFunction = void (*)(char* output, ptrdiff_t output_row_stride, const char* input,
                                   ptrdiff_t input_row_stride, size_t rows, size_t columns) noexcept;

struct TransposeKernels {
  TransposeFunction transpose_1, transpose_2, transpose_4, transpose_8, transpose_16;
};

const TransposeKernels& transpose_kernels();

// Null where the element size has no kernel.
inline TransposeFunction transpose_function(const TransposeKernels& kernels, size_t element_size) noexcept {
  switch (element_size) {
    case 1:
      return kernels.transpose_1;
    case 2:
      return kernels.transpose_2;
    case 4:
      return kernels.transpose_4;
    case 8:
      return kernels.transpose_8;
    case 16:
      return kernels.transpose_16;
    default:
      return nullptr;
  }
}

}  // namespace enr::kernels
