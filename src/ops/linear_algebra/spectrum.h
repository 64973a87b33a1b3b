#pragma once

#include "ops/linear_algebra/matrices.h"

namespace enr::ops {

// A batch of Hermitian matrices as V diag(values) V^H; one of their triangles is read.
template <class T>
struct HermitianSpectrum {
  Matrices<T> vectors;
  std::vector<double> values;  // ascending, as many as rows for each matrix

  HermitianSpectrum(Matrices<T> matrices, bool upper);
};

// A batch of matrices as U diag(values) V^H, U and V square.
template <class T>
struct SingularValues {
  Matrices<T> u, v;
  size_t rank;                 // min(rows, columns)
  std::vector<double> values;  // descending, `rank` for each matrix

  explicit SingularValues(Matrices<T> matrices);
};

}  // namespace enr::ops
