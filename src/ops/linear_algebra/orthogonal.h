#pragma once

#include "ops/linear_algebra/matrices.h"

namespace enr::ops {

// Householder's QR as LAPACK has it: R above the diagonal of a (rows x columns, row-major), the reflections I - tau v
// v^H below it, with v = 1 on the diagonal. `tau` has min(rows, columns) entries.
template <class T>
void factorise_qr(T* a, size_t rows, size_t columns, T* tau);

// The first `columns` columns (rows x columns, row-major) of the product of `count` reflections, which are the columns
// of a (its rows `stride` apart).
template <class T>
void reflect_columns(const T* a, size_t stride, const T* tau, size_t count, size_t rows, size_t columns, T* q);

}  // namespace enr::ops
