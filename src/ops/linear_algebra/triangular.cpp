// Triangular systems, and Cholesky's factors.

#include <algorithm>

#include "ops/families.h"
#include "ops/linear_algebra/matrices.h"

namespace enr::ops {

namespace {

// One triangle of an n x n matrix as an operator: element (r, c) as stored, or of the transposed or adjoint matrix.
template <class T>
struct Triangle {
  const T* data;
  size_t n;
  bool is_upper;  // the triangle that counts, after transposing
  bool is_transposed = false;
  bool is_conjugated = false;
  bool has_unit_diagonal = false;

  T at(size_t r, size_t c) const {
    const T value = is_transposed ? data[c * n + r] : data[r * n + c];
    return is_conjugated ? conjugate(value) : value;
  }
  Triangle adjoint() const { return {data, n, !is_upper, !is_transposed, !is_conjugated, has_unit_diagonal}; }
};

// Overwrites the columns of b with the solution of the triangle's x = b.
template <class T>
void solve_triangle(const Triangle<T>& a, T* b, size_t columns) {
  for (size_t step = 0; step < a.n; ++step) {
    const size_t i = a.is_upper ? a.n - 1 - step : step;
    T* row = b + i * columns;
    for (size_t k = a.is_upper ? i + 1 : 0; k < (a.is_upper ? a.n : i); ++k) {
      const T factor = a.at(i, k);
      const T* other = b + k * columns;
      for (size_t c = 0; c < columns; ++c) row[c] -= factor * other[c];
    }
    if (a.has_unit_diagonal) continue;
    const T divisor = a.at(i, i);
    for (size_t c = 0; c < columns; ++c) row[c] /= divisor;
  }
}

// The batch that matrices a (square) and right sides b make, checked.
Shape system_batch(const Tensor& a, const Tensor& b, bool left, const char* a_name, const char* b_name) {
  require_square(a, a_name);
  require_matrices(b, b_name);
  if (b.size(b.rank - (left ? 2u : 1u)) != a.size(a.rank - 1u)) {
    fail_execution(b_name, ": expected rows and batches as ", a_name, " of shape ", a.sizes(), " has, got ", b.sizes());
  }
  return broadcast(batch_of(a), batch_of(b), b_name);
}

Shape system_shape(const Shape& batch, const Tensor& b) {
  return Matrices<double>::with_matrix(batch, b.size(b.rank - 2u), b.size(b.rank - 1u));
}

void solve_triangular_out(OpContext& context, const Tensor& a, const Tensor& b, bool upper, bool left,
                          bool unitriangular, Tensor& out) {
  const Shape batch = system_batch(a, b, left, "self", "B");
  context.resize(out, system_shape(batch, b));
  in_matrix_type(is_complex(b.dtype) ? b : a, "self", [&]<class T>(T) {
    const Matrices<T> triangles = Matrices<T>(context, a).expanded(batch);
    Matrices<T> x = Matrices<T>(context, b).expanded(batch);
    if (!left) x = x.transposed();
    triangles.each([&](size_t i) {
      // X A = B is A^T X^T = B^T.
      solve_triangle<T>({triangles[i], triangles.rows(), upper == left, !left, false, unitriangular}, x[i],
                        x.columns());
    });
    if (!left) x = x.transposed();
    x.write(context, out);
  });
}

void triangular_solve_out(OpContext& context, const Tensor& b, const Tensor& a, bool upper, bool transpose,
                          bool unitriangular, Tensor& x_out, Tensor& m) {
  require_dtype(b, a.dtype, "self");
  const Shape batch = system_batch(a, b, true, "A", "self");
  context.resize(x_out, system_shape(batch, b), "X");
  context.resize(m, Matrices<double>::with_matrix(batch, a.size(a.rank - 2u), a.size(a.rank - 1u)), "M");
  in_matrix_type(a, "A", [&]<class T>(T) {
    const Matrices<T> triangles = Matrices<T>(context, a).expanded(batch);
    Matrices<T> x = Matrices<T>(context, b).expanded(batch);
    triangles.each([&](size_t i) {
      solve_triangle<T>({triangles[i], triangles.rows(), upper != transpose, transpose, false, unitriangular}, x[i],
                        x.columns());
    });
    x.write(context, x_out);
    triangles.write(context, m);
  });
}

// Overwrites a (Hermitian, its lower triangle is read) with L, zeros above. The order of the first leading minor that
// is not positive, or 0.
template <class T>
int32_t factorise(T* a, size_t n) {
  int32_t info = 0;
  for (size_t c = 0; c < n; ++c) {
    std::fill(a + c * n + c + 1, a + (c + 1) * n, T{0});
    if (info != 0) continue;
    double diagonal = real_part(a[c * n + c]);
    for (size_t k = 0; k < c; ++k) diagonal -= std::norm(a[c * n + k]);
    if (!(diagonal > 0)) {
      info = static_cast<int32_t>(c + 1);
      continue;
    }
    diagonal = std::sqrt(diagonal);
    a[c * n + c] = diagonal;
    for (size_t r = c + 1; r < n; ++r) {
      T sum = a[r * n + c];
      for (size_t k = 0; k < c; ++k) sum -= a[r * n + k] * conjugate(a[c * n + k]);
      a[r * n + c] = sum / diagonal;
    }
  }
  return info;
}

template <class T>
Matrices<T> cholesky(OpContext& context, const Tensor& self, bool upper, std::vector<int32_t>& info) {
  Matrices<T> l(context, self);
  if (upper) l = l.adjoint();
  info.assign(l.count(), 0);
  l.each([&](size_t i) { info[i] = factorise(l[i], l.rows()); });
  return upper ? l.adjoint() : l;
}

void check_positive(const std::vector<int32_t>& info) {
  for (size_t i = 0; i < info.size(); ++i) {
    if (info[i] == 0) continue;
    fail_execution("self: expected positive definite matrices, got another leading minor of order ", info[i],
                   " in matrix ", i);
  }
}

void cholesky_ex_out(OpContext& context, const Tensor& self, bool upper, bool check_errors, Tensor& l, Tensor& info) {
  require_square(self, "self");
  context.resize(l, self.sizes(), "L");
  context.resize(info, batch_of(self), "info");
  in_matrix_type(self, "self", [&]<class T>(T) {
    std::vector<int32_t> infos;
    const Matrices<T> factors = cholesky<T>(context, self, upper, infos);
    if (check_errors) check_positive(infos);
    factors.write(context, l);
    write_integers(context, infos, info);
  });
}

void cholesky_out(OpContext& context, const Tensor& self, bool upper, Tensor& out) {
  require_square(self, "self");
  context.resize(out, self.sizes());
  in_matrix_type(self, "self", [&]<class T>(T) {
    std::vector<int32_t> infos;
    const Matrices<T> factors = cholesky<T>(context, self, upper, infos);
    check_positive(infos);
    factors.write(context, out);
  });
}

// x of L L^H x = b, or of U^H U x = b.
template <class T>
void solve_by_factor(const T* factor, size_t n, bool upper, T* b, size_t columns) {
  const Triangle<T> triangle{factor, n, upper};
  const Triangle<T> other = triangle.adjoint();
  solve_triangle(upper ? other : triangle, b, columns);
  solve_triangle(upper ? triangle : other, b, columns);
}

void cholesky_solve_out(OpContext& context, const Tensor& b, const Tensor& factor, bool upper, Tensor& out) {
  require_dtype(b, factor.dtype, "self");
  const Shape batch = system_batch(factor, b, true, "input2", "self");
  context.resize(out, system_shape(batch, b));
  in_matrix_type(factor, "input2", [&]<class T>(T) {
    const Matrices<T> factors = Matrices<T>(context, factor).expanded(batch);
    Matrices<T> x = Matrices<T>(context, b).expanded(batch);
    factors.each([&](size_t i) { solve_by_factor(factors[i], factors.rows(), upper, x[i], x.columns()); });
    x.write(context, out);
  });
}

void cholesky_inverse_out(OpContext& context, const Tensor& self, bool upper, Tensor& out) {
  require_square(self, "self");
  context.resize(out, self.sizes());
  in_matrix_type(self, "self", [&]<class T>(T) {
    const Matrices<T> factors(context, self);
    Matrices<T> inverse(self.sizes());
    const size_t n = factors.rows();
    factors.each([&](size_t i) {
      for (size_t r = 0; r < n; ++r) inverse[i][r * n + r] = 1;
      solve_by_factor(factors[i], n, upper, inverse[i], n);
    });
    inverse.write(context, out);
  });
}

}  // namespace

void register_triangular(OperatorTable& table) {
  table.add<solve_triangular_out>("aten::linalg_solve_triangular.out", "self, B, upper, left, unitriangular, out");
  table.add<triangular_solve_out>("aten::triangular_solve.X", "self, A, upper, transpose, unitriangular, X, M");
  table.add<cholesky_ex_out>("aten::linalg_cholesky_ex.L", "self, upper, check_errors, L, info");
  table.add<cholesky_out>("aten::cholesky.out", "self, upper, out");
  table.add<cholesky_solve_out>("aten::cholesky_solve.out", "self, input2, upper, out");
  table.add<cholesky_solve_out>("aten::_cholesky_solve_helper.out", "self, A, upper, out");
  table.add<cholesky_inverse_out>("aten::cholesky_inverse.out", "self, upper, out");
}

}  // namespace enr::ops
