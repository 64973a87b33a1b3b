// Symmetric (or Hermitian) indefinite matrices as L D L^T, by Bunch's and Kaufman's pivots; D has blocks of one or two
// rows. Laid out as LAPACK has it: of a block of one row, pivots[k] is the row that k was swapped with, from 1 on; of a
// block of two both are the negative of the row that its second was swapped with.

#include <algorithm>

#include "ops/families.h"
#include "ops/linear_algebra/matrices.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// As LAPACK compares pivots.
double magnitude(double x) { return std::abs(x); }
double magnitude(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }

// An n x n matrix of which the lower triangle counts.
template <class T>
struct LowerTriangle {
  T* data;
  size_t n;
  bool is_hermitian;

  T& operator()(size_t r, size_t c) const { return data[r * n + c]; }
  T mirrored(T value) const { return is_hermitian ? conjugate(value) : value; }
  // The diagonal of a Hermitian matrix is real.
  T diagonal(size_t i) const { return is_hermitian ? T{real_part((*this)(i, i))} : (*this)(i, i); }
  double size(size_t r, size_t c) const { return r == c ? magnitude(diagonal(r)) : magnitude((*this)(r, c)); }

  // Swaps rows and columns a < b of the part from `first` on, whose columns before `a` (at most one) change too.
  void swap(size_t a, size_t b, size_t first) const {
    const auto& m = *this;
    for (size_t r = b + 1; r < n; ++r) std::swap(m(r, a), m(r, b));
    for (size_t i = a + 1; i < b; ++i) {
      const T value = mirrored(m(i, a));
      m(i, a) = mirrored(m(b, i));
      m(b, i) = value;
    }
    m(b, a) = mirrored(m(b, a));
    const T value = diagonal(a);
    m(a, a) = diagonal(b);
    m(b, b) = value;
    for (size_t c = first; c < a; ++c) std::swap(m(a, c), m(b, c));
  }
};

// The number of rows of the block at k, and the row that its last one changes places with.
struct Pivot {
  size_t rows, row;
};
template <class T>
Pivot choose_pivot(const LowerTriangle<T>& a, size_t k, size_t largest_row, double largest) {
  const double alpha = (1 + std::sqrt(17.0)) / 8;  // bounds the growth of elements
  const double own = a.size(k, k);
  if (own >= alpha * largest) return {1, k};
  double in_row = 0;
  for (size_t c = k; c < largest_row; ++c) in_row = std::max(in_row, a.size(largest_row, c));
  for (size_t r = largest_row + 1; r < a.n; ++r) in_row = std::max(in_row, a.size(r, largest_row));
  if (own >= alpha * largest * (largest / in_row)) return {1, k};
  if (a.size(largest_row, largest_row) >= alpha * in_row) return {1, largest_row};
  return {2, largest_row};
}

// Takes the block's part off the rows below it, and leaves its columns of L.
template <class T>
void eliminate(const LowerTriangle<T>& a, size_t k) {
  const T pivot = a.diagonal(k);
  a(k, k) = pivot;
  for (size_t c = k + 1; c < a.n; ++c) {
    const T factor = a.mirrored(a(c, k)) / pivot;
    for (size_t r = c; r < a.n; ++r) a(r, c) -= a(r, k) * factor;
  }
  for (size_t r = k + 1; r < a.n; ++r) a(r, k) /= pivot;
}
template <class T>
void eliminate_two(const LowerTriangle<T>& a, size_t k) {
  const T x = a.diagonal(k), y = a.diagonal(k + 1), w = a(k + 1, k), v = a.mirrored(w);
  a(k, k) = x;
  a(k + 1, k + 1) = y;
  const T det = x * y - v * w;
  for (size_t c = k + 2; c < a.n; ++c) {
    // The row c of L.
    const T first = (y * a(c, k) - w * a(c, k + 1)) / det, second = (x * a(c, k + 1) - v * a(c, k)) / det;
    for (size_t r = c; r < a.n; ++r) {
      a(r, c) -= a(r, k) * a.mirrored(first) + a(r, k + 1) * a.mirrored(second);
    }
    a(c, k) = first;
    a(c, k + 1) = second;
  }
}

// The first block of one row that is zero, from 1 on, or 0.
template <class T>
int32_t factorise(const LowerTriangle<T>& a, int32_t* pivots) {
  int32_t info = 0;
  for (size_t r = 0; r < a.n; ++r) std::fill(&a(r, r) + 1, a.data + (r + 1) * a.n, T{0});
  for (size_t k = 0; k < a.n;) {
    size_t largest_row = k;
    double largest = 0;
    for (size_t r = k + 1; r < a.n; ++r) {
      if (!(a.size(r, k) > largest)) continue;
      largest = a.size(r, k);
      largest_row = r;
    }
    const double own = a.size(k, k);
    if (std::max(own, largest) == 0 || std::isnan(own)) {
      if (info == 0) info = static_cast<int32_t>(k + 1);
      a(k, k) = a.diagonal(k);
      pivots[k] = static_cast<int32_t>(k + 1);
      ++k;
      continue;
    }
    const Pivot pivot = choose_pivot(a, k, largest_row, largest);
    const size_t last = k + pivot.rows - 1;
    if (pivot.row != last) a.swap(last, pivot.row, k);
    const auto number = static_cast<int32_t>(pivot.row + 1);
    if (pivot.rows == 1) {
      eliminate(a, k);
      pivots[k] = number;
    } else {
      eliminate_two(a, k);
      pivots[k] = pivots[k + 1] = -number;
    }
    k += pivot.rows;
  }
  return info;
}

void ldl_factor_ex_out(OpContext& context, const Tensor& self, bool hermitian, bool check_errors, Tensor& ld,
                       Tensor& pivots, Tensor& info) {
  require_square(self, "self");
  context.resize(ld, self.sizes(), "LD");
  context.resize(pivots, self.sizes().first(self.rank - 1u), "pivots");
  context.resize(info, batch_of(self), "info");
  in_matrix_type(self, "self", [&]<class T>(T) {
    Matrices<T> factors(context, self);
    const size_t n = factors.rows();
    std::vector<int32_t> swaps(factors.count() * n), infos(factors.count());
    factors.each([&](size_t i) {
      infos[i] = factorise<T>({factors[i], n, hermitian}, swaps.data() + i * n);
      if (infos[i] != 0 && check_errors) {
        fail_execution("self: expected matrices with a regular D, got a zero as element ", infos[i], " of matrix ", i);
      }
    });
    factors.write(context, ld);
    write_integers(context, swaps, pivots);
    write_integers(context, infos, info);
  });
}

// Overwrites the columns of b with the solution of L D L^T x = b.
template <class T>
void solve(const LowerTriangle<T>& a, const int32_t* pivots, T* b, size_t columns) {
  const size_t n = a.n;
  const auto row = [&](size_t i) { return b + i * columns; };
  const auto swap = [&](size_t i, int32_t number) {
    const auto with = static_cast<size_t>(std::abs(number) - 1);
    if (with != i) std::swap_ranges(row(i), row(i) + columns, row(with));
  };
  const auto subtract = [&](size_t to, T factor, size_t from) {
    for (size_t c = 0; c < columns; ++c) row(to)[c] -= factor * row(from)[c];
  };
  for (size_t k = 0; k < n;) {
    const size_t rows = pivots[k] > 0 ? 1 : 2;
    swap(k + rows - 1, pivots[k]);
    for (size_t r = k + rows; r < n; ++r) {
      for (size_t i = 0; i < rows; ++i) subtract(r, a(r, k + i), k + i);
    }
    if (rows == 1) {
      for (size_t c = 0; c < columns; ++c) row(k)[c] /= a.diagonal(k);
    } else {
      const T x = a.diagonal(k), y = a.diagonal(k + 1), w = a(k + 1, k), v = a.mirrored(w), det = x * y - v * w;
      for (size_t c = 0; c < columns; ++c) {
        const T first = row(k)[c], second = row(k + 1)[c];
        row(k)[c] = (y * first - v * second) / det;
        row(k + 1)[c] = (x * second - w * first) / det;
      }
    }
    k += rows;
  }
  for (size_t end = n; end > 0;) {
    const size_t rows = pivots[end - 1] > 0 ? 1 : 2, k = end - rows;
    for (size_t r = end; r < n; ++r) {
      for (size_t i = 0; i < rows; ++i) subtract(k + i, a.mirrored(a(r, k + i)), r);
    }
    swap(end - 1, pivots[end - 1]);
    end = k;
  }
}

// Numbers from 1 to n, negative ones in neighbouring pairs.
void check_pivots(const int32_t* pivots, size_t n) {
  for (size_t k = 0; k < n; ++k) {
    const int64_t row = std::abs(int64_t{pivots[k]});
    if (row >= 1 && row <= static_cast<int64_t>(n)) continue;
    fail_execution("pivots: expected numbers from 1 to ", n, ", or their negatives, got ", pivots[k]);
  }
  for (size_t k = 0; k < n; ++k) {
    if (pivots[k] > 0) continue;
    if (k + 1 == n || pivots[k + 1] > 0)
      fail_execution("pivots: expected a negative number beside each negative one, got a single one at ", k);
    ++k;
  }
}

void ldl_solve_out(OpContext& context, const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian,
                   Tensor& out) {
  require_square(ld, "LD");
  require_matrices(b, "B");
  require_dtype(b, ld.dtype, "B");
  if (!is_integer(pivots.dtype)) fail_execution("pivots: expected a whole number dtype, got ", describe(pivots));
  require_sizes(pivots, ld.sizes().first(ld.rank - 1u), "pivots");
  if (b.size(b.rank - 2u) != ld.size(ld.rank - 1u)) {
    fail_execution("B: expected rows and batches as LD of shape ", ld.sizes(), " has, got ", b.sizes());
  }
  const Shape batch = broadcast(batch_of(ld), batch_of(b), "B");
  context.resize(out, Matrices<double>::with_matrix(batch, b.size(b.rank - 2u), b.size(b.rank - 1u)));
  const auto n = static_cast<size_t>(ld.size(ld.rank - 1u));
  Shape pivots_shape(batch);
  pivots_shape.push_back(static_cast<int64_t>(n));
  const auto* swaps = row_major_as<int32_t>(context, pivots, pivots_shape);
  in_matrix_type(ld, "LD", [&]<class T>(T) {
    Matrices<T> factors = Matrices<T>(context, ld).expanded(batch);
    Matrices<T> x = Matrices<T>(context, b).expanded(batch);
    factors.each([&](size_t i) { check_pivots(swaps + i * n, n); });
    x.each([&](size_t i) { solve<T>({factors[i], n, hermitian}, swaps + i * n, x[i], x.columns()); });
    x.write(context, out);
  });
}

}  // namespace

void register_ldl(OperatorTable& table) {
  table.add<ldl_factor_ex_out>("aten::linalg_ldl_factor_ex.out", "self, hermitian, check_errors, LD, pivots, info");
  table.add<ldl_solve_out>("aten::linalg_ldl_solve.out", "LD, pivots, B, hermitian, out");
}

}  // namespace enr::ops
