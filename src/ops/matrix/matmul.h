#pragma once

// The product behind every operator that multiplies matrices or vectors.

#include "ops/context.h"
#include "ops/scalar.h"
#include "ops/tensor.h"

namespace enr::ops {

// C[b] = alpha * A[b] * B[b] + beta * addend, row-major throughout; B is [k, n], or [n, k] where transposed. The
// operands' shapes may differ from these as long as their elements lie so.
struct Product {
  size_t batch = 1, m = 0, n = 0, k = 0;
  const Tensor* a = nullptr;
  const Tensor* b = nullptr;
  bool b_transposed = false;
  Scalar alpha = Scalar(int64_t{1});
  const Tensor* addend = nullptr;  // broadcasts to out's shape
  Scalar beta = Scalar(int64_t{1});
};

// `out` has its final sizes. Computes in out's dtype: float32 for the half kinds, int64 for integers.
void multiply(OpContext& context, Product product, Tensor& out);

}  // namespace enr::ops
