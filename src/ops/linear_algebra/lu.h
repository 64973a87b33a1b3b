#pragma once

#include "ops/linear_algebra/matrices.h"

namespace enr::ops {

// Factors of a batch of matrices: P L U, L below the diagonal with ones on it. Row i was swapped with row pivots[i]
// - 1.
template <class T>
struct Lu {
  Matrices<T> factors;
  std::vector<int32_t> pivots;  // min(rows, columns) for each matrix
  std::vector<int32_t> info;    // the first pivot that is zero, from 1 on; 0 if there is none

  explicit Lu(Matrices<T> matrices);
  size_t rank() const noexcept { return std::min(factors.rows(), factors.columns()); }
};

enum class Solve { kPlain, kTransposed, kAdjoint };

// Overwrites the `columns` columns of b (row-major, n rows) with the solution of A x = b, of factors of A.
template <class T>
void solve_lu(const T* factors, const int32_t* pivots, size_t n, T* b, size_t columns, Solve kind);

}  // namespace enr::ops
