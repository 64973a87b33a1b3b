// Eigenvalues of Hermitian matrices and singular values, by Jacobi's rotations; exponentials.

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "ops/families.h"
#include "ops/linear_algebra/orthogonal.h"
#include "ops/linear_algebra/spectrum.h"

namespace enr::ops {

namespace {

constexpr int kSweeps = 60;  // about ten are needed
constexpr double kTiny = 1e-16;

// The rotation that makes [[p, w], [conj(w), q]] diagonal: columns x, y become c x - s conj(phase) y, s phase x + c y.
template <class T>
struct Rotation {
  double c, s;
  T phase;
  double t;  // s / c
};
template <class T>
Rotation<T> rotation_of(double p, double q, T w) {
  const double size = std::abs(w);
  const double half = (q - p) / (2 * size);
  const double t = std::copysign(1 / (std::abs(half) + std::hypot(half, 1)), half);
  const double c = 1 / std::hypot(t, 1);
  return {c, t * c, w / size, t};
}
template <class T>
void rotate_columns(const Rotation<T>& rotation, T* a, size_t rows, size_t stride, size_t p, size_t q) {
  for (size_t r = 0; r < rows; ++r) {
    const T x = a[r * stride + p], y = a[r * stride + q];
    a[r * stride + p] = rotation.c * x - rotation.s * conjugate(rotation.phase) * y;
    a[r * stride + q] = rotation.s * rotation.phase * x + rotation.c * y;
  }
}

// Diagonalises a (Hermitian, n x n), whose eigenvectors become the columns of v.
template <class T>
void diagonalise(T* a, size_t n, T* v) {
  std::fill_n(v, n * n, T{0});
  for (size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  double norm = 0;
  for (size_t i = 0; i < n * n; ++i) norm = std::hypot(norm, std::abs(a[i]));
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool is_done = true;
    for (size_t p = 0; p + 1 < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        const T w = a[p * n + q];
        const double pp = real_part(a[p * n + p]), qq = real_part(a[q * n + q]);
        if (!(std::abs(w) > kTiny * std::max(std::sqrt(std::abs(pp)) * std::sqrt(std::abs(qq)), 1e-3 * norm))) continue;
        is_done = false;
        const Rotation<T> rotation = rotation_of(pp, qq, w);
        rotate_columns(rotation, a, n, n, p, q);
        // The rows alike, conjugated.
        for (size_t c = 0; c < n; ++c) {
          const T x = a[p * n + c], y = a[q * n + c];
          a[p * n + c] = rotation.c * x - rotation.s * rotation.phase * y;
          a[q * n + c] = rotation.s * conjugate(rotation.phase) * x + rotation.c * y;
        }
        a[p * n + p] = pp - rotation.t * std::abs(w);
        a[q * n + q] = qq + rotation.t * std::abs(w);
        a[p * n + q] = a[q * n + p] = 0;
        rotate_columns(rotation, v, n, n, p, q);
      }
    }
    if (is_done) return;
  }
}

// Positions in the order of the values.
template <class Before>
std::vector<size_t> sorted_positions(const std::vector<double>& values, Before before) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t i, size_t j) { return before(values[i], values[j]); });
  return order;
}

// The lower triangle (or the upper one) as the whole Hermitian matrix.
template <class T>
void mirror(T* m, size_t n, bool upper) {
  for (size_t r = 0; r < n; ++r) {
    m[r * n + r] = real_part(m[r * n + r]);
    for (size_t c = 0; c < r; ++c) {
      if (upper) {
        m[r * n + c] = conjugate(m[c * n + r]);
      } else {
        m[c * n + r] = conjugate(m[r * n + c]);
      }
    }
  }
}

void eigh_out(OpContext& context, const Tensor& a, std::string_view uplo, bool compute_v, Tensor& values,
              Tensor& vectors) {
  require_square(a, "A");
  if (uplo != "L" && uplo != "U" && uplo != "l" && uplo != "u") fail_execution("UPLO: expected L or U, got ", uplo);
  context.resize(values, a.sizes().first(a.rank - 1u), "eigenvalues");
  if (compute_v) {
    context.resize(vectors, a.sizes(), "eigenvectors");
  } else {
    context.resize(vectors, {0}, "eigenvectors");
  }
  in_matrix_type(a, "A", [&]<class T>(T) {
    const HermitianSpectrum<T> found(Matrices<T>(context, a), uplo == "U" || uplo == "u");
    RowMajorOut written(context, values, DType::kFloat64);
    std::ranges::copy(found.values, written.as<double>());
    written.commit();
    if (compute_v) found.vectors.write(context, vectors);
  });
}

// Completes the first `known` orthonormal columns of q (n x n, row-major) to a basis.
template <class T>
void complete_basis(T* q, size_t n, size_t known) {
  std::vector<T> start(n * known), tau(known), full(n * n);
  for (size_t r = 0; r < n; ++r) {
    for (size_t c = 0; c < known; ++c) start[r * known + c] = q[r * n + c];
  }
  factorise_qr(start.data(), n, known, tau.data());
  reflect_columns(start.data(), known, tau.data(), known, n, n, full.data());
  for (size_t r = 0; r < n; ++r)
    std::copy(full.begin() + static_cast<ptrdiff_t>(r * n + known), full.begin() + static_cast<ptrdiff_t>((r + 1) * n),
              q + r * n + known);
}

// a (m x n, m >= n) = u s v^H, with u m x m and v n x n.
template <class T>
void decompose(T* a, size_t m, size_t n, T* u, double* s, T* v) {
  std::vector<T> turns(n * n);
  for (size_t i = 0; i < n; ++i) turns[i * n + i] = 1;
  double norm = 0;
  for (size_t i = 0; i < m * n; ++i) norm = std::hypot(norm, std::abs(a[i]));
  const double nothing = 1e-17 * norm;  // the length of a column that counts as zero
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool is_done = true;
    for (size_t p = 0; p + 1 < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        double pp = 0, qq = 0;
        T w{};
        for (size_t r = 0; r < m; ++r) {
          pp += std::norm(a[r * n + p]);
          qq += std::norm(a[r * n + q]);
          w += conjugate(a[r * n + p]) * a[r * n + q];
        }
        const double x = std::max(std::sqrt(pp), nothing), y = std::max(std::sqrt(qq), nothing);
        if (!(std::abs(w) > kTiny * x * y)) continue;
        is_done = false;
        const Rotation<T> rotation = rotation_of(pp, qq, w);
        rotate_columns(rotation, a, m, n, p, q);
        rotate_columns(rotation, turns.data(), n, n, p, q);
      }
    }
    if (is_done) break;
  }
  std::vector<double> lengths(n);
  for (size_t c = 0; c < n; ++c) {
    for (size_t r = 0; r < m; ++r) lengths[c] = std::hypot(lengths[c], std::abs(a[r * n + c]));
  }
  const std::vector<size_t> order = sorted_positions(lengths, std::greater<double>());
  size_t known = 0;
  const double negligible = n == 0 ? 0 : lengths[order[0]] * 1e-15;
  for (size_t k = 0; k < n; ++k) {
    const size_t c = order[k];
    s[k] = lengths[c];
    for (size_t r = 0; r < n; ++r) v[r * n + k] = turns[r * n + c];
    if (lengths[c] <= negligible || lengths[c] == 0) continue;
    for (size_t r = 0; r < m; ++r) u[r * m + k] = a[r * n + c] / lengths[c];
    known = k + 1;
  }
  complete_basis(u, m, known);
}

// The first columns of each (square) matrix.
template <class T>
Matrices<T> first_columns(const Matrices<T>& from, size_t columns) {
  Matrices<T> result(
      Matrices<T>::with_matrix(from.batch(), static_cast<int64_t>(from.rows()), static_cast<int64_t>(columns)));
  result.each([&](size_t i) {
    for (size_t r = 0; r < from.rows(); ++r)
      std::copy_n(from[i] + r * from.columns(), columns, result[i] + r * columns);
  });
  return result;
}

void svd_out(OpContext& context, const Tensor& a, bool full_matrices, bool compute_uv, std::optional<std::string_view>,
             Tensor& u_out, Tensor& s_out, Tensor& vh_out) {
  require_matrices(a, "A");
  const int64_t rows = a.size(a.rank - 2u), columns = a.size(a.rank - 1u), rank = std::min(rows, columns);
  const Shape empty(std::array<int64_t, 1>{0});
  const auto shape = [&](int64_t r, int64_t c) {
    return compute_uv ? Matrices<double>::with_matrix(batch_of(a), r, c) : empty;
  };
  Shape s_shape(batch_of(a));
  s_shape.push_back(rank);
  context.resize(u_out, shape(rows, full_matrices ? rows : rank), "U");
  context.resize(s_out, s_shape, "S");
  context.resize(vh_out, shape(full_matrices ? columns : rank, columns), "Vh");
  in_matrix_type(a, "A", [&]<class T>(T) {
    const SingularValues<T> found(Matrices<T>(context, a));
    RowMajorOut values(context, s_out, DType::kFloat64);
    std::ranges::copy(found.values, values.as<double>());
    values.commit();
    if (!compute_uv) return;
    const auto wanted = [&](const Matrices<T>& square) {
      return full_matrices ? square : first_columns(square, static_cast<size_t>(rank));
    };
    wanted(found.u).write(context, u_out);
    wanted(found.v).adjoint().write(context, vh_out);
  });
}

// c = a b, n x n.
template <class T>
std::vector<T> product_of(const std::vector<T>& a, const std::vector<T>& b, size_t n) {
  std::vector<T> c(n * n);
  for (size_t r = 0; r < n; ++r) {
    for (size_t k = 0; k < n; ++k) {
      const T factor = a[r * n + k];
      for (size_t j = 0; j < n; ++j) c[r * n + j] += factor * b[k * n + j];
    }
  }
  return c;
}

// Taylor's series of a matrix made small, squared again.
template <class T>
void exponential(T* a, size_t n) {
  double norm = 0;
  for (size_t c = 0; c < n; ++c) {
    double sum = 0;
    for (size_t r = 0; r < n; ++r) sum += std::abs(a[r * n + c]);
    norm = std::max(norm, sum);
  }
  int halvings = 0;
  if (std::isfinite(norm)) {
    for (; norm > 0.5; norm /= 2) ++halvings;
  }
  std::vector<T> scaled(a, a + n * n), sum(n * n), term(n * n);
  for (T& value : scaled) value *= std::ldexp(1.0, -halvings);
  for (size_t i = 0; i < n; ++i) sum[i * n + i] = term[i * n + i] = 1;
  for (int k = 1; k <= 16; ++k) {
    term = product_of(term, scaled, n);
    for (size_t i = 0; i < n * n; ++i) sum[i] += term[i] /= static_cast<double>(k);
  }
  for (; halvings > 0; --halvings) sum = product_of(sum, sum, n);
  std::copy(sum.begin(), sum.end(), a);
}

void matrix_exp_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_square(self, "self");
  require_dtype(out, self.dtype, "out");
  context.resize(out, self.sizes());
  const auto run = [&]<class T>(T) {
    Matrices<T> matrices(context, self);
    matrices.each([&](size_t i) { exponential(matrices[i], matrices.rows()); });
    matrices.write(context, out);
  };
  if (is_half_kind(self.dtype)) return run(double{});
  in_matrix_type(self, "self", run);
}

template <class T>
Matrices<T> squares(Sizes batch, size_t size) {
  return Matrices<T>(Matrices<T>::with_matrix(batch, static_cast<int64_t>(size), static_cast<int64_t>(size)));
}

}  // namespace

template <class T>
HermitianSpectrum<T>::HermitianSpectrum(Matrices<T> matrices, bool upper)
    : vectors(matrices.sizes()), values(matrices.count() * matrices.rows()) {
  const size_t n = matrices.rows();
  matrices.each([&](size_t i) {
    T* m = matrices[i];
    mirror(m, n, upper);
    std::vector<T> v(n * n);
    diagonalise(m, n, v.data());
    std::vector<double> diagonal(n);
    for (size_t k = 0; k < n; ++k) diagonal[k] = real_part(m[k * n + k]);
    const std::vector<size_t> order = sorted_positions(diagonal, std::less<double>());
    for (size_t k = 0; k < n; ++k) {
      values[i * n + k] = diagonal[order[k]];
      for (size_t r = 0; r < n; ++r) vectors[i][r * n + k] = v[r * n + order[k]];
    }
  });
}

template <class T>
SingularValues<T>::SingularValues(Matrices<T> matrices)
    : u(squares<T>(matrices.batch(), matrices.rows())),
      v(squares<T>(matrices.batch(), matrices.columns())),
      rank(std::min(matrices.rows(), matrices.columns())),
      values(matrices.count() * rank) {
  const bool is_wide = matrices.rows() < matrices.columns();
  if (is_wide) matrices = matrices.adjoint();
  const size_t m = matrices.rows(), n = matrices.columns();
  Matrices<T>& tall = is_wide ? v : u;
  Matrices<T>& small = is_wide ? u : v;
  tall.each([&](size_t i) { decompose(matrices[i], m, n, tall[i], values.data() + i * n, small[i]); });
}

template struct HermitianSpectrum<double>;
template struct HermitianSpectrum<Complex>;
template struct SingularValues<double>;
template struct SingularValues<Complex>;

void register_spectrum(OperatorTable& table) {
  table.add<eigh_out>("aten::_linalg_eigh.eigenvalues", "A, UPLO, compute_v, eigenvalues, eigenvectors");
  table.add<svd_out>("aten::_linalg_svd.U", "A, full_matrices, compute_uv, driver, U, S, Vh");
  table.add<matrix_exp_out>("aten::linalg_matrix_exp.out", "self, out");
}

}  // namespace enr::ops
