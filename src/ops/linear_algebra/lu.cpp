// LU factorisation, and what is made of it: determinants, inverses, solutions.

#include "ops/linear_algebra/lu.h"

#include <algorithm>

#include "ops/families.h"

namespace enr::ops {

namespace {

// As LAPACK measures pivots.
double magnitude(double x) { return std::abs(x); }
double magnitude(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }

template <class T>
int32_t factorise(T* a, size_t rows, size_t columns, int32_t* pivots) {
  int32_t info = 0;
  for (size_t k = 0; k < std::min(rows, columns); ++k) {
    size_t best = k;
    for (size_t r = k + 1; r < rows; ++r) {
      if (magnitude(a[r * columns + k]) > magnitude(a[best * columns + k])) best = r;
    }
    pivots[k] = static_cast<int32_t>(best + 1);
    const T pivot = a[best * columns + k];
    if (pivot == T{0}) {
      if (info == 0) info = static_cast<int32_t>(k + 1);
      continue;
    }
    if (best != k) std::swap_ranges(a + k * columns, a + (k + 1) * columns, a + best * columns);
    for (size_t r = k + 1; r < rows; ++r) {
      const T factor = a[r * columns + k] / pivot;
      a[r * columns + k] = factor;
      for (size_t c = k + 1; c < columns; ++c) a[r * columns + c] -= factor * a[k * columns + c];
    }
  }
  return info;
}

// x -= factor * y, of rows.
template <class T>
void subtract(T* x, const T* y, T factor, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] -= factor * y[i];
}
template <class T>
void divide(T* x, T divisor, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] /= divisor;
}

// For determinants eager factorises what its library finds in memory: row-major real matrices transposed.
template <class T>
Matrices<T> as_eager_factors(OpContext& context, const Tensor& a) {
  Matrices<T> matrices(context, a);
  return std::is_same_v<T, double> ? matrices.transposed() : matrices;
}

Shape pivot_shape(const Tensor& a) {
  Shape shape(batch_of(a));
  shape.push_back(std::min(a.size(a.rank - 1u), a.size(a.rank - 2u)));
  return shape;
}

void check_regular(const std::vector<int32_t>& info, bool check_errors, const char* what) {
  for (size_t i = 0; check_errors && i < info.size(); ++i) {
    if (info[i] != 0)
      fail_execution(what, ": expected regular matrices, got a zero as pivot ", info[i], " of matrix ", i);
  }
}

void lu_factor_ex_out(OpContext& context, const Tensor& a, bool pivot, bool check_errors, Tensor& out, Tensor& pivots,
                      Tensor& info) {
  require_matrices(a, "A");
  if (!pivot) fail_execution("pivot: expected true, as eager does on a CPU, got false");
  context.resize(out, a.sizes(), "LU");
  context.resize(pivots, pivot_shape(a), "pivots");
  context.resize(info, batch_of(a), "info");
  in_matrix_type(a, "A", [&]<class T>(T) {
    const Lu<T> lu(Matrices<T>(context, a));
    check_regular(lu.info, check_errors, "A");
    lu.factors.write(context, out);
    write_integers(context, lu.pivots, pivots);
    write_integers(context, lu.info, info);
  });
}

// The permutation that the swaps make: row i of P L U's left side comes from row order[i].
std::vector<size_t> order_of(const int32_t* pivots, size_t swaps, size_t rows) {
  std::vector<size_t> order(rows);
  for (size_t i = 0; i < rows; ++i) order[i] = i;
  for (size_t i = 0; i < swaps; ++i) {
    const int64_t with = pivots[i] - 1;
    if (with < 0 || with >= static_cast<int64_t>(rows)) {
      fail_execution("pivots: expected numbers from 1 to ", rows, ", got ", pivots[i]);
    }
    std::swap(order[i], order[static_cast<size_t>(with)]);
  }
  return order;
}

template <class T>
void write_unpacked(OpContext& context, const Matrices<T>& factors, const std::vector<int32_t>& pivots, bool data,
                    bool permutation, Tensor& p, Tensor& l, Tensor& u) {
  const size_t m = factors.rows(), n = factors.columns(), k = std::min(m, n);
  const auto rows = static_cast<int64_t>(m), columns = static_cast<int64_t>(n), rank = static_cast<int64_t>(k);
  const Sizes batch = factors.batch();
  Matrices<T> lower(Matrices<T>::with_matrix(batch, rows, rank)), upper(Matrices<T>::with_matrix(batch, rank, columns));
  Matrices<T> swaps(Matrices<T>::with_matrix(batch, rows, rows));
  swaps.each([&](size_t i) {
    const T* a = factors[i];
    for (size_t r = 0; r < m; ++r) {
      for (size_t c = 0; c < n; ++c) {
        if (c < r && c < k) lower[i][r * k + c] = a[r * n + c];
        if (c >= r && r < k) upper[i][r * n + c] = a[r * n + c];
      }
      if (r < k) lower[i][r * k + r] = 1;
    }
    if (!permutation) return;
    const std::vector<size_t> order = order_of(pivots.data() + i * k, k, m);
    for (size_t r = 0; r < m; ++r) swaps[i][order[r] * m + r] = 1;
  });
  const auto put = [&](bool wanted, const Matrices<T>& matrices, Tensor& out, const char* what) {
    if (!wanted) return context.resize(out, {0}, what);
    context.resize(out, matrices.sizes(), what);
    matrices.write(context, out);
  };
  put(permutation, swaps, p, "P");
  put(data, lower, l, "L");
  put(data, upper, u, "U");
}

void lu_out(OpContext& context, const Tensor& a, bool pivot, Tensor& p, Tensor& l, Tensor& u) {
  require_matrices(a, "A");
  if (!pivot) fail_execution("pivot: expected true, as eager does on a CPU, got false");
  in_matrix_type(a, "A", [&]<class T>(T) {
    const Lu<T> lu(Matrices<T>(context, a));
    write_unpacked(context, lu.factors, lu.pivots, true, true, p, l, u);
  });
}

std::vector<int32_t> read_pivots(OpContext& context, const Tensor& pivots) {
  require_dtype(pivots, DType::kInt32, "pivots");
  const auto* from = row_major_as<int32_t>(context, pivots);
  return {from, from + pivots.numel()};
}

void lu_unpack_out(OpContext& context, const Tensor& data, const Tensor& pivots, bool unpack_data, bool unpack_pivots,
                   Tensor& p, Tensor& l, Tensor& u) {
  require_matrices(data, "LU_data");
  if (unpack_pivots) require_sizes(pivots, pivot_shape(data), "LU_pivots");
  in_any_matrix_type(data, [&]<class T>(T) {
    write_unpacked(context, Matrices<T>(context, data),
                   unpack_pivots ? read_pivots(context, pivots) : std::vector<int32_t>(), unpack_data, unpack_pivots, p,
                   l, u);
  });
}

void inv_ex_out(OpContext& context, const Tensor& a, bool check_errors, Tensor& inverse, Tensor& info) {
  require_square(a, "A");
  context.resize(inverse, a.sizes(), "inverse");
  context.resize(info, batch_of(a), "info");
  in_matrix_type(a, "A", [&]<class T>(T) {
    const Lu<T> lu(Matrices<T>(context, a));
    check_regular(lu.info, check_errors, "A");
    Matrices<T> result(a.sizes());
    const size_t n = result.rows();
    result.each([&](size_t i) {
      for (size_t r = 0; r < n; ++r) result[i][r * n + r] = 1;
      solve_lu(lu.factors[i], lu.pivots.data() + i * n, n, result[i], n, Solve::kPlain);
    });
    result.write(context, inverse);
    write_integers(context, lu.info, info);
  });
}

// f(matrix, the sign that its swaps give the determinant, its factors, n) for every matrix.
template <class T, class F>
void each_determinant(const Lu<T>& lu, F f) {
  const size_t n = lu.rank();
  for (size_t i = 0; i < lu.factors.count(); ++i) {
    bool is_odd = false;
    for (size_t k = 0; k < n; ++k) is_odd ^= lu.pivots[i * n + k] != static_cast<int32_t>(k + 1);
    f(i, is_odd ? -1.0 : 1.0, lu.factors[i], n);
  }
}

void det_out(OpContext& context, const Tensor& a, Tensor& result, Tensor& factors, Tensor& pivots) {
  require_square(a, "A");
  context.resize(result, batch_of(a), "result");
  context.resize(factors, a.sizes(), "LU");
  context.resize(pivots, pivot_shape(a), "pivots");
  in_matrix_type(a, "A", [&]<class T>(T) {
    const Lu<T> lu(as_eager_factors<T>(context, a));
    RowMajorOut written(context, result, dtype_of<T>);
    each_determinant(lu, [&](size_t i, double sign, const T* u, size_t n) {
      T value = sign;
      for (size_t k = 0; k < n; ++k) value *= u[k * n + k];
      written.as<T>()[i] = value;
    });
    written.commit();
    lu.factors.write(context, factors);
    write_integers(context, lu.pivots, pivots);
  });
}

void slogdet_out(OpContext& context, const Tensor& a, Tensor& sign, Tensor& logarithm, Tensor& factors,
                 Tensor& pivots) {
  require_square(a, "A");
  context.resize(sign, batch_of(a), "sign");
  context.resize(logarithm, batch_of(a), "logabsdet");
  context.resize(factors, a.sizes(), "LU");
  context.resize(pivots, pivot_shape(a), "pivots");
  in_matrix_type(a, "A", [&]<class T>(T) {
    const Lu<T> lu(as_eager_factors<T>(context, a));
    RowMajorOut signs(context, sign, dtype_of<T>), logarithms(context, logarithm, DType::kFloat64);
    each_determinant(lu, [&](size_t i, double swaps, const T* u, size_t n) {
      T direction = swaps;
      double total = 0;
      for (size_t k = 0; k < n; ++k) {
        const T pivot = u[k * n + k];
        direction = pivot == T{0} ? T{0} : direction * (pivot / std::abs(pivot));
        total += std::log(std::abs(pivot));
      }
      signs.as<T>()[i] = direction;
      logarithms.as<double>()[i] = total;
    });
    signs.commit();
    logarithms.commit();
    lu.factors.write(context, factors);
    write_integers(context, lu.pivots, pivots);
  });
}

void solve_ex_out(OpContext& context, const Tensor& a, const Tensor& b, bool left, bool check_errors, Tensor& result,
                  Tensor& factors, Tensor& pivots, Tensor& info) {
  require_square(a, "A");
  require_dtype(b, a.dtype, "B");
  // A batch of vectors has the batch's shape and one dim more.
  const bool is_vector =
      b.rank == 1 || (b.rank + 1 == a.rank && std::ranges::equal(b.sizes(), a.sizes().first(a.rank - 1u)));
  if (is_vector && !left) fail_execution("left: expected true where B holds vectors, got false");
  Shape b_shape(b.sizes());
  if (is_vector) b_shape.push_back(1);
  if (b_shape[b_shape.rank - (left ? 2 : 1)] != a.size(a.rank - 1u)) {
    fail_execution("B: expected rows and batches as A of shape ", a.sizes(), " has, got ", b.sizes());
  }
  const Shape batch = broadcast(batch_of(a), Sizes(b_shape).first(b_shape.rank - 2), "B");
  Shape full = Matrices<double>::with_matrix(batch, b_shape[b_shape.rank - 2], b_shape[b_shape.rank - 1]);
  Shape shown = full;
  if (is_vector) shown.rank -= 1;
  context.resize(result, shown, "result");
  context.resize(factors, a.sizes(), "LU");
  context.resize(pivots, pivot_shape(a), "pivots");
  context.resize(info, batch_of(a), "info");
  in_matrix_type(a, "A", [&]<class T>(T) {
    const Matrices<T> own(context, a);
    const Lu<T> lu(own), expanded(own.expanded(batch));
    check_regular(lu.info, check_errors, "A");
    Matrices<T> given(b_shape);
    const T* from = row_major_as<T>(context, b);
    std::copy_n(from, b.numel(), given[0]);
    Matrices<T> x = given.expanded(batch);
    if (!left) x = x.transposed();
    const size_t n = own.rows();
    expanded.factors.each([&](size_t i) {
      solve_lu(expanded.factors[i], expanded.pivots.data() + i * n, n, x[i], x.columns(),
               left ? Solve::kPlain : Solve::kTransposed);
    });
    if (!left) x = x.transposed();
    x.write(context, result);
    lu.factors.write(context, factors);
    write_integers(context, lu.pivots, pivots);
    write_integers(context, lu.info, info);
  });
}

void lu_solve_out(OpContext& context, const Tensor& factors, const Tensor& pivots, const Tensor& b, bool left,
                  bool adjoint, Tensor& out) {
  require_square(factors, "LU");
  require_matrices(b, "B");
  require_dtype(b, factors.dtype, "B");
  require_sizes(pivots, pivot_shape(factors), "pivots");
  if (b.size(b.rank - (left ? 2u : 1u)) != factors.size(factors.rank - 1u)) {
    fail_execution("B: expected rows and batches as LU of shape ", factors.sizes(), " has, got ", b.sizes());
  }
  const Shape batch = broadcast(batch_of(factors), batch_of(b), "B");
  context.resize(out, Matrices<double>::with_matrix(batch, b.size(b.rank - 2u), b.size(b.rank - 1u)));
  in_matrix_type(factors, "LU", [&]<class T>(T) {
    const Matrices<T> lu = Matrices<T>(context, factors).expanded(batch);
    const size_t n = lu.rows();
    // Pivots as matrices of one row, to be expanded alike.
    Matrices<double> rows(Matrices<double>::with_matrix(batch_of(factors), 1, static_cast<int64_t>(n)));
    const std::vector<int32_t> given = read_pivots(context, pivots);
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] < 1 || given[i] > static_cast<int32_t>(n)) {
        fail_execution("pivots: expected numbers from 1 to ", n, ", got ", given[i]);
      }
      rows[0][i] = given[i];
    }
    rows = rows.expanded(batch);
    Matrices<T> x = Matrices<T>(context, b).expanded(batch);
    // X A = B is A^T X^T = B^T, and X A^H = B is A X^H = B^H.
    if (!left) x = adjoint ? x.adjoint() : x.transposed();
    const Solve kind = left == adjoint ? (left ? Solve::kAdjoint : Solve::kTransposed) : Solve::kPlain;
    lu.each([&](size_t i) {
      std::vector<int32_t> swaps(n);
      for (size_t k = 0; k < n; ++k) swaps[k] = static_cast<int32_t>(rows[i][k]);
      solve_lu(lu[i], swaps.data(), n, x[i], x.columns(), kind);
    });
    if (!left) x = adjoint ? x.adjoint() : x.transposed();
    x.write(context, out);
  });
}

}  // namespace

template <class T>
Lu<T>::Lu(Matrices<T> matrices)
    : factors(std::move(matrices)), pivots(factors.count() * rank()), info(factors.count()) {
  factors.each([&](size_t i) {
    info[i] = factorise(factors[i], factors.rows(), factors.columns(), pivots.data() + i * rank());
  });
}

template <class T>
void solve_lu(const T* a, const int32_t* pivots, size_t n, T* b, size_t columns, Solve kind) {
  const auto row = [&](size_t i) { return b + i * columns; };
  const auto swap = [&](size_t i) {
    const auto with = static_cast<size_t>(pivots[i] - 1);
    if (with != i) std::swap_ranges(row(i), row(i) + columns, row(with));
  };
  if (kind == Solve::kPlain) {
    for (size_t i = 0; i < n; ++i) swap(i);
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < i; ++k) subtract(row(i), row(k), a[i * n + k], columns);
    }
    for (size_t i = n; i-- > 0;) {
      for (size_t k = i + 1; k < n; ++k) subtract(row(i), row(k), a[i * n + k], columns);
      divide(row(i), a[i * n + i], columns);
    }
    return;
  }
  const auto turned = [&](T value) { return kind == Solve::kAdjoint ? conjugate(value) : value; };
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) subtract(row(i), row(k), turned(a[k * n + i]), columns);
    divide(row(i), turned(a[i * n + i]), columns);
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) subtract(row(i), row(k), turned(a[k * n + i]), columns);
  }
  for (size_t i = n; i-- > 0;) swap(i);
}

template struct Lu<double>;
template struct Lu<Complex>;
template void solve_lu(const double*, const int32_t*, size_t, double*, size_t, Solve);
template void solve_lu(const Complex*, const int32_t*, size_t, Complex*, size_t, Solve);

void register_lu(OperatorTable& table) {
  table.add<lu_factor_ex_out>("aten::linalg_lu_factor_ex.out", "A, pivot, check_errors, LU, pivots, info");
  table.add<lu_out>("aten::linalg_lu.out", "A, pivot, P, L, U");
  table.add<lu_unpack_out>("aten::lu_unpack.out", "LU_data, LU_pivots, unpack_data, unpack_pivots, P, L, U");
  table.add<lu_solve_out>("aten::linalg_lu_solve.out", "LU, pivots, B, left, adjoint, out");
  table.add<inv_ex_out>("aten::linalg_inv_ex.inverse", "A, check_errors, inverse, info");
  table.add<det_out>("aten::_linalg_det.result", "A, result, LU, pivots");
  table.add<slogdet_out>("aten::_linalg_slogdet.sign", "A, sign, logabsdet, LU, pivots");
  table.add<solve_ex_out>("aten::_linalg_solve_ex.result", "A, B, left, check_errors, result, LU, pivots, info");
}

}  // namespace enr::ops
