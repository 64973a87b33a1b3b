// QR factorisation by Householder's reflections.

#include "ops/linear_algebra/orthogonal.h"

#include <algorithm>
#include <string_view>

#include "ops/families.h"

namespace enr::ops {

namespace {

// a = (I - factor v v^H) a for `columns` columns from a on; v is 1, then the `rows` - 1 entries of a column further
// down.
template <class T>
void reflect(const T* v, size_t v_stride, T factor, T* a, size_t stride, size_t rows, size_t columns) {
  for (size_t c = 0; c < columns; ++c) {
    T sum = a[c];
    for (size_t r = 1; r < rows; ++r) sum += conjugate(v[r * v_stride]) * a[r * stride + c];
    sum *= factor;
    a[c] -= sum;
    for (size_t r = 1; r < rows; ++r) a[r * stride + c] -= v[r * v_stride] * sum;
  }
}

double imaginary_part(double) { return 0; }
double imaginary_part(Complex x) { return x.imag(); }

}  // namespace

template <class T>
void factorise_qr(T* a, size_t rows, size_t columns, T* tau) {
  for (size_t k = 0; k < std::min(rows, columns); ++k) {
    T* corner = a + k * columns + k;
    double below = 0;
    for (size_t r = 1; r < rows - k; ++r) below = std::hypot(below, std::abs(corner[r * columns]));
    const T alpha = *corner;
    tau[k] = 0;
    if (below == 0 && imaginary_part(alpha) == 0) continue;
    const double beta = -std::copysign(std::hypot(std::abs(alpha), below), real_part(alpha));
    tau[k] = (beta - alpha) / beta;
    for (size_t r = 1; r < rows - k; ++r) corner[r * columns] /= alpha - beta;
    reflect(corner, columns, conjugate(tau[k]), corner + 1, columns, rows - k, columns - k - 1);
    *corner = beta;
  }
}

template <class T>
void reflect_columns(const T* a, size_t stride, const T* tau, size_t count, size_t rows, size_t columns, T* q) {
  std::fill_n(q, rows * columns, T{0});
  for (size_t i = 0; i < std::min(rows, columns); ++i) q[i * columns + i] = 1;
  for (size_t k = count; k-- > 0;) {
    reflect(a + k * stride + k, stride, tau[k], q + k * columns, columns, rows - k, columns);
  }
}

template void factorise_qr(double*, size_t, size_t, double*);
template void factorise_qr(Complex*, size_t, size_t, Complex*);
template void reflect_columns(const double*, size_t, const double*, size_t, size_t, size_t, double*);
template void reflect_columns(const Complex*, size_t, const Complex*, size_t, size_t, size_t, Complex*);

namespace {

Shape reflections_shape(const Tensor& a) {
  Shape shape(batch_of(a));
  shape.push_back(std::min(a.size(a.rank - 1u), a.size(a.rank - 2u)));
  return shape;
}

void linalg_qr_out(OpContext& context, const Tensor& a, std::string_view mode, Tensor& q_out, Tensor& r_out) {
  require_matrices(a, "A");
  if (mode != "reduced" && mode != "complete" && mode != "r") {
    fail_execution("mode: expected reduced, complete or r, got ", mode);
  }
  const int64_t rows = a.size(a.rank - 2u), columns = a.size(a.rank - 1u);
  const int64_t width = mode == "complete" ? rows : std::min(rows, columns);
  const Shape q_shape =
      mode == "r" ? Shape(std::array<int64_t, 1>{0}) : Matrices<double>::with_matrix(batch_of(a), rows, width);
  context.resize(q_out, q_shape, "Q");
  context.resize(r_out, Matrices<double>::with_matrix(batch_of(a), width, columns), "R");
  in_matrix_type(a, "A", [&]<class T>(T) {
    Matrices<T> factors(context, a), r(r_out.sizes());
    const size_t m = factors.rows(), n = factors.columns(), k = std::min(m, n), w = static_cast<size_t>(width);
    Matrices<T> q(Matrices<T>::with_matrix(batch_of(a), rows, width));
    q.each([&](size_t i) {  // where q has no elements, r has none
      std::vector<T> tau(k);
      factorise_qr(factors[i], m, n, tau.data());
      for (size_t row = 0; row < std::min(w, n); ++row) {
        std::copy(factors[i] + row * n + row, factors[i] + (row + 1) * n, r[i] + row * n + row);
      }
      if (mode != "r") reflect_columns(factors[i], n, tau.data(), k, m, w, q[i]);
    });
    r.write(context, r_out);
    if (mode != "r") q.write(context, q_out);
  });
}

void geqrf_out(OpContext& context, const Tensor& self, Tensor& a, Tensor& tau) {
  require_matrices(self, "self");
  context.resize(a, self.sizes(), "a");
  context.resize(tau, reflections_shape(self), "tau");
  in_matrix_type(self, "self", [&]<class T>(T) {
    Matrices<T> factors(context, self);
    const size_t k = std::min(factors.rows(), factors.columns());
    RowMajorOut taus(context, tau, dtype_of<T>);
    factors.each(
        [&](size_t i) { factorise_qr(factors[i], factors.rows(), factors.columns(), taus.template as<T>() + i * k); });
    factors.write(context, a);
    taus.commit();
  });
}

void householder_product_out(OpContext& context, const Tensor& input, const Tensor& tau, Tensor& out) {
  require_matrices(input, "input");
  require_dtype(tau, input.dtype, "tau");
  const int64_t rows = input.size(input.rank - 2u), columns = input.size(input.rank - 1u);
  if (rows < columns) fail_execution("input: expected no more columns than rows, got shape ", input.sizes());
  if (tau.rank + 1 != input.rank || !std::ranges::equal(tau.sizes().first(tau.rank - 1u), batch_of(input)) ||
      tau.size(tau.rank - 1u) > columns) {
    fail_execution("tau: expected as many factors as input of shape ", input.sizes(), " has, got shape ", tau.sizes());
  }
  context.resize(out, input.sizes());
  in_matrix_type(input, "input", [&]<class T>(T) {
    const Matrices<T> vectors(context, input);
    const T* taus = row_major_as<T>(context, tau);
    const auto count = static_cast<size_t>(tau.size(tau.rank - 1u));
    Matrices<T> q(input.sizes());
    vectors.each([&](size_t i) {
      reflect_columns(vectors[i], vectors.columns(), taus + i * count, count, q.rows(), q.columns(), q[i]);
    });
    q.write(context, out);
  });
}

// out = Q other (or other Q, Q^H other, other Q^H), Q the whole product of the reflections.
void ormqr_out(OpContext& context, const Tensor& self, const Tensor& tau, const Tensor& other, bool left,
               bool transpose, Tensor& out) {
  require_matrices(self, "self");
  require_dtype(tau, self.dtype, "tau");
  require_dtype(other, self.dtype, "other");
  if (other.rank != self.rank || tau.rank + 1 != self.rank || !std::ranges::equal(batch_of(other), batch_of(self)) ||
      !std::ranges::equal(tau.sizes().first(tau.rank - 1u), batch_of(self)) ||
      other.size(other.rank - (left ? 2u : 1u)) != self.size(self.rank - 2u) ||
      tau.size(tau.rank - 1u) != std::min(self.size(self.rank - 1u), self.size(self.rank - 2u))) {
    fail_execution("other: expected sizes that fit self of shape ", self.sizes(), ", got other ", other.sizes(),
                   " and tau ", tau.sizes());
  }
  context.resize(out, other.sizes());
  in_matrix_type(self, "self", [&]<class T>(T) {
    const Matrices<T> vectors(context, self);
    const T* taus = row_major_as<T>(context, tau);
    const auto count = static_cast<size_t>(tau.size(tau.rank - 1u));
    const size_t n = vectors.rows();
    // other Q is (Q^H other^H)^H.
    Matrices<T> x(context, other);
    if (!left) x = x.adjoint();
    const bool is_adjoint = left == transpose;
    x.each([&](size_t i) {
      const auto apply = [&](size_t k) {
        const T factor = taus[i * count + k];
        reflect(vectors[i] + k * vectors.columns() + k, vectors.columns(), is_adjoint ? conjugate(factor) : factor,
                x[i] + k * x.columns(), x.columns(), n - k, x.columns());
      };
      for (size_t k = 0; k < count; ++k) apply(is_adjoint ? k : count - 1 - k);
    });
    if (!left) x = x.adjoint();
    x.write(context, out);
  });
}

}  // namespace

void register_orthogonal(OperatorTable& table) {
  table.add<linalg_qr_out>("aten::linalg_qr.out", "A, mode, Q, R");
  table.add<geqrf_out>("aten::geqrf.a", "self, a, tau");
  table.add<householder_product_out>("aten::linalg_householder_product.out", "input, tau, out");
  table.add<householder_product_out>("aten::orgqr.out", "self, input2, out");
  table.add<ormqr_out>("aten::ormqr.out", "self, input2, input3, left, transpose, out");
}

}  // namespace enr::ops
