#pragma once

// What matmul_f64's driver and its instruction-set files agree on. C headers only.

#include <stddef.h>

namespace enr::kernels {

// A few rows of C by one panel of B.
struct TileF64 {
  const double* a;
  size_t a_stride;
  size_t k;
  const double* panel;  // [k][width], lanes past `columns` zero
  double* c;
  size_t c_stride;
  size_t columns;  // of C, at most the panel's width
  double alpha;
  const double* addend;  // null: nothing
  double beta;           // addend has C's stride
};

inline constexpr size_t kMaxTileRowsF64 = 8;

struct F64Kernels {
  size_t rows;                                         // of a full tile
  size_t width;                                        // of a panel
  void (*tile[kMaxTileRowsF64])(const TileF64& tile);  // by number of rows - 1
  // A full panel of a row-major B.
  void (*pack)(const double* b, size_t row_stride, size_t k, double* panel);
  double (*dot)(const double* a, const double* b, size_t k);
  // c[j] = sum of a[i] * b[i * b_stride + j] for i < k, j < columns; k > 0.
  void (*row)(const double* a, const double* b, size_t b_stride, size_t k, size_t columns, double* c);
};

const F64Kernels& f64_kernels();

}  // namespace enr::kernels
