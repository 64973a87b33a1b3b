#pragma once

// Products of double precision matrices. No model of weight computes in float64: the right-hand side is packed in every
// call.

#include <cstddef>

namespace enr::kernels {

// C[b] = alpha * A[b] * B[b] + beta * addend[b], row-major without gaps; B is [k, n], or [n, k] where transposed.
struct MatmulF64 {
  size_t batch = 1, m = 0, n = 0, k = 0;
  const double* a = nullptr;
  const double* b = nullptr;
  bool b_transposed = false;
  double* c = nullptr;  // apart from all operands
  double alpha = 1;
  const double* addend = nullptr;  // null: nothing is added
  double beta = 1;
};

// How many right-hand sides are packed at the same time: one for each thread at most.
size_t matmul_f64_slots(size_t batch) noexcept;
size_t matmul_f64_workspace_bytes(size_t slots, size_t n, size_t k) noexcept;

void matmul_f64(const MatmulF64& call, size_t slots, void* workspace);

}  // namespace enr::kernels
