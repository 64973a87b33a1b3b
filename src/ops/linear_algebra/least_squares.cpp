// Least squares and pseudoinverses, by singular values.

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "ops/families.h"
#include "ops/linear_algebra/spectrum.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

double epsilon_of(const Tensor& a) {
  const bool is_single = a.dtype == DType::kFloat32 || a.dtype == DType::kComplex64;
  return is_single ? double{std::numeric_limits<float>::epsilon()} : std::numeric_limits<double>::epsilon();
}

// What counts as zero beside 1, for matrices of this dtype and shape.
double default_tolerance(const Tensor& a) {
  return epsilon_of(a) * static_cast<double>(std::max(a.size(a.rank - 1u), a.size(a.rank - 2u)));
}

// x (n x columns) of least length that brings A x nearest to b (m x columns), of A's singular values but for zeros.
template <class T>
void solve(const T* u, const double* s, const T* v, size_t m, size_t n, const T* b, size_t columns, T* x) {
  for (size_t k = 0; k < std::min(m, n); ++k) {
    if (s[k] == 0) continue;
    for (size_t c = 0; c < columns; ++c) {
      T along{0};
      for (size_t r = 0; r < m; ++r) along += conjugate(u[r * m + k]) * b[r * columns + c];
      along /= s[k];
      for (size_t r = 0; r < n; ++r) x[r * columns + c] += along * v[r * n + k];
    }
  }
}

// The squared lengths of the columns of b - A x.
template <class T>
void write_residuals(const T* a, size_t m, size_t n, const T* b, size_t columns, const T* x, double* residuals) {
  std::fill_n(residuals, columns, 0.0);
  for (size_t r = 0; r < m; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      T rest = b[r * columns + c];
      for (size_t k = 0; k < n; ++k) rest -= a[r * n + k] * x[k * columns + c];
      residuals[c] += std::norm(rest);
    }
  }
}

struct LeastSquaresOut {
  Tensor &solution, &residuals, &rank, &singular_values;
};

template <class T>
void least_squares(OpContext& context, const Tensor& a, const Tensor& b, Sizes b_sizes, const Shape& batch,
                   double tolerance, std::string_view driver, const LeastSquaresOut& out) {
  const Matrices<T> own(context, a), matrices = own.expanded(batch);
  Matrices<T> given(b_sizes);
  std::copy_n(row_major_as<T>(context, b), b.numel(), given[0]);
  const Matrices<T> right = given.expanded(batch);
  const size_t m = own.rows(), n = own.columns(), columns = right.columns(), count = right.count();

  const bool assumes_full_rank = driver == "gels", gives_values = driver == "gelsd" || driver == "gelss";
  const SingularValues<T> svd(own);
  std::vector<int64_t> ranks(own.count());
  // As LAPACK has it.
  if (driver == "gelsd" && (tolerance <= 0 || tolerance >= 1)) tolerance = epsilon_of(a) / 2;
  if (driver == "gelss" && tolerance < 0) tolerance = epsilon_of(a) / 2;
  // The singular values that count, zeros instead of the others.
  Matrices<double> kept(Matrices<double>::with_matrix(batch_of(a), 1, static_cast<int64_t>(svd.rank)));
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (product(right.sizes()) == 0) break;  // eager finds no rank where nothing is to be solved
    const double* s = svd.values.data() + i * svd.rank;
    for (size_t k = 0; k < svd.rank; ++k) {
      if (s[k] <= (assumes_full_rank ? 0 : tolerance * s[0])) continue;
      kept[i][k] = s[k];
      ++ranks[i];
    }
  }
  kept = kept.expanded(batch);
  const Matrices<T> u = svd.u.expanded(batch), v = svd.v.expanded(batch);
  Matrices<T> x(Matrices<T>::with_matrix(batch, a.size(a.rank - 1u), b_sizes.back()));
  x.each([&](size_t i) { solve(u[i], kept[i], v[i], m, n, right[i], columns, x[i]); });

  const bool is_full = assumes_full_rank || std::ranges::all_of(ranks, [&](int64_t r) { return r == int64_t(n); });
  const bool gives_residuals = m > n && driver != "gelsy" && is_full;
  Shape values_shape(batch_of(a)), residuals_shape(batch);
  values_shape.push_back(static_cast<int64_t>(svd.rank));
  residuals_shape.push_back(b_sizes.back());
  const Shape none(std::array<int64_t, 1>{0});
  context.resize(out.residuals, gives_residuals ? residuals_shape : none, "residuals");
  context.resize(out.rank, assumes_full_rank ? Sizes(none) : batch_of(a), "rank");
  context.resize(out.singular_values, gives_values ? values_shape : none, "singular_values");

  x.write(context, out.solution);
  if (gives_residuals) {
    RowMajorOut residuals(context, out.residuals, DType::kFloat64);
    const bool computes = n > 0 || driver != "gels";  // eager's have zeros otherwise
    for (size_t i = 0; computes && columns > 0 && i < count; ++i) {
      write_residuals(matrices[i], m, n, right[i], columns, x[i], residuals.as<double>() + i * columns);
    }
    if (!computes) std::fill_n(residuals.as<double>(), count * columns, 0.0);
    residuals.commit();
  }
  if (!assumes_full_rank) {
    RowMajorOut rank(context, out.rank, DType::kInt64);
    std::ranges::copy(ranks, rank.as<int64_t>());
    rank.commit();
  }
  if (gives_values) {
    RowMajorOut values(context, out.singular_values, DType::kFloat64);
    std::copy_n(svd.values.data(), svd.values.size(), values.as<double>());
    values.commit();
  }
}

void lstsq_out(OpContext& context, const Tensor& a, const Tensor& b, std::optional<double> rcond,
               std::optional<std::string_view> driver, Tensor& solution, Tensor& residuals, Tensor& rank,
               Tensor& singular_values) {
  require_matrices(a, "self");
  require_dtype(b, a.dtype, "b");
  const std::string_view method = driver.value_or("gelsy");
  if (method != "gels" && method != "gelsy" && method != "gelsd" && method != "gelss") {
    fail_execution("driver: expected gels, gelsy, gelsd or gelss, got ", method);
  }
  // Of exactly a column for each matrix, b holds vectors.
  const bool is_vector = std::ranges::equal(b.sizes(), a.sizes().first(a.rank - 1u));
  Shape b_shape(b.sizes());
  if (is_vector) b_shape.push_back(1);
  if (b_shape.rank < 2 || (b_shape.rank != a.rank && b_shape.rank + 1 != a.rank) ||
      b_shape[b_shape.rank - 2] != a.size(a.rank - 2u)) {
    fail_execution("b: expected rows and batches as self of shape ", a.sizes(), " has, got ", b.sizes());
  }
  // Eager takes as many of b's first dims as self has batch dims, also where b has one dim less and this is its rows.
  const Shape batch = broadcast(batch_of(a), Sizes(b_shape).first(a.rank - 2u), "b");
  const Shape needed = broadcast(batch, Sizes(b_shape).first(b_shape.rank - 2), "b");
  if (!std::ranges::equal(needed, batch)) {
    fail_execution("b: expected a batch that broadcasts to ", Sizes(batch), ", got ", b.sizes());
  }
  Shape shape(batch);
  shape.push_back(a.size(a.rank - 1u));
  if (!is_vector) shape.push_back(b_shape[b_shape.rank - 1]);
  context.resize(solution, shape, "solution");
  const double tolerance = rcond.value_or(default_tolerance(a));
  in_matrix_type(a, "self", [&]<class T>(T) {
    least_squares<T>(context, a, b, b_shape, batch, tolerance, method, {solution, residuals, rank, singular_values});
  });
}

// result (n x m) += v diag(1 / s) u^H, of the values whose size is above `tolerance`; u is m x m, v n x n.
template <class T>
void add_inverse(const T* u, size_t m, const double* s, const T* v, size_t n, size_t rank, double tolerance,
                 T* result) {
  for (size_t k = 0; k < rank; ++k) {
    if (!(std::abs(s[k]) > tolerance)) continue;
    for (size_t r = 0; r < n; ++r) {
      const T factor = v[r * n + k] / s[k];
      for (size_t c = 0; c < m; ++c) result[r * m + c] += factor * conjugate(u[c * m + k]);
    }
  }
}

void pinv_out(OpContext& context, const Tensor& a, const Tensor* atol, const Tensor* rtol, bool hermitian,
              Tensor& out) {
  require_matrices(a, "self");
  require_floating_or_complex(a.dtype, "self");
  Shape batch(batch_of(a));
  if (a.numel() == 0) {
    return context.resize(out, Matrices<double>::with_matrix(batch, a.size(a.rank - 1u), a.size(a.rank - 2u)));
  }
  if (hermitian) require_square(a, "self");
  for (const auto& [tolerance, what] : {std::pair(atol, "atol"), std::pair(rtol, "rtol")}) {
    if (tolerance == nullptr) continue;
    if (is_complex(tolerance->dtype)) fail_execution(what, ": expected a real dtype, got ", describe(*tolerance));
    batch = broadcast(batch, tolerance->sizes(), what);
  }
  context.resize(out, Matrices<double>::with_matrix(batch, a.size(a.rank - 1u), a.size(a.rank - 2u)));
  const double* absolute = atol == nullptr ? nullptr : row_major_as<double>(context, *atol, batch);
  const double* relative = rtol == nullptr ? nullptr : row_major_as<double>(context, *rtol, batch);
  const auto tolerance_of = [&](size_t i, double largest) {
    const double floor = absolute == nullptr ? 0 : absolute[i];
    const double share = relative != nullptr ? relative[i] : floor > 0 ? 0 : default_tolerance(a);
    return std::max(floor, share * largest);
  };
  in_matrix_type(a, "self", [&]<class T>(T) {
    const Matrices<T> matrices = Matrices<T>(context, a).expanded(batch);
    const size_t m = matrices.rows(), n = matrices.columns();
    Matrices<T> result(out.sizes());
    const auto invert = [&](const Matrices<T>& u, const std::vector<double>& values, const Matrices<T>& v) {
      const size_t rank = std::min(m, n);
      result.each([&](size_t i) {
        const double* s = values.data() + i * rank;
        double largest = 0;
        for (size_t k = 0; k < rank; ++k) largest = std::max(largest, std::abs(s[k]));
        add_inverse(u[i], m, s, v[i], n, rank, tolerance_of(i, largest), result[i]);
      });
    };
    if (hermitian) {
      const HermitianSpectrum<T> found(matrices, false);
      invert(found.vectors, found.values, found.vectors);
    } else {
      const SingularValues<T> found(matrices);
      invert(found.u, found.values, found.v);
    }
    result.write(context, out);
  });
}

}  // namespace

void register_least_squares(OperatorTable& table) {
  table.add<lstsq_out>("aten::linalg_lstsq.out", "self, b, rcond, driver, solution, residuals, rank, singular_values");
  table.add<pinv_out>("aten::linalg_pinv.atol_rtol_tensor_out", "self, atol, rtol, hermitian, out");
}

}  // namespace enr::ops
