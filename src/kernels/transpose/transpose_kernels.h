#pragma once

// The per-ISA loops of the transpose family. All strides are in bytes and may be negative; input and output must not
// overlap.

#include <stddef.h>

namespace enr::kernels {

// output[j][i] = input[i][j] for i < rows, j < columns; rows of input lie input_row_stride apart, rows of output
// output_row_stride; neighbours in a row are contiguous.
using TransposeFunction = void (*)(char* output, ptrdiff_t output_row_stride, const char* input,
                                   ptrdiff_t input_row_stride, size_t rows, size_t columns) noexcept;

// Elements of a copy's rows: output[r][i] = input[r][i] for r < rows, i < columns. An input stride of 0 repeats.
struct StridedRows {
  ptrdiff_t output_row_stride, input_row_stride, output_stride, input_stride;
  size_t rows, columns;
};
using StridedCopyFunction = void (*)(char* output, const char* input, const StridedRows& rows) noexcept;

// `rows` rows of row_bytes bytes.
using CopyRowsFunction = void (*)(char* output, ptrdiff_t output_stride, const char* input, ptrdiff_t input_stride,
                                  size_t row_bytes, size_t rows) noexcept;

// Each of `rows` rows of row_bytes bytes `repeats` times, without gaps in the output. input_stride >= row_bytes.
using RepeatRowsFunction = void (*)(char* output, const char* input, ptrdiff_t input_stride, size_t row_bytes,
                                    size_t repeats, size_t rows) noexcept;

// Arrays are indexed by the element size's logarithm: 1, 2, 4, 8, 16 bytes.
struct TransposeKernels {
  TransposeFunction transpose[5];
  StridedCopyFunction copy_strided[5];
  CopyRowsFunction copy_rows;
  RepeatRowsFunction repeat_rows;
};

const TransposeKernels& transpose_kernels();

// Position of a power of two up to 16 in these tables.
constexpr size_t element_size_index(size_t element_size) noexcept {
  return element_size == 1 ? 0 : element_size == 2 ? 1 : element_size == 4 ? 2 : element_size == 8 ? 3 : 4;
}

}  // namespace enr::kernels
