// Eigenvalues and eigenvectors of square matrices: Hessenberg's form, then Schur's by shifted QR steps. Real matrices
// stay real until their blocks of conjugate pairs are left, so that pairs are exact.

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "ops/families.h"
#include "ops/linear_algebra/matrices.h"

namespace enr::ops {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kSteps = 60;  // for one eigenvalue; two to four are usual

// I - factor v v^H, which brings the given vector to a multiple of the first unit vector.
template <class T>
class Reflection {
 public:
  explicit Reflection(std::span<T> vector) : v_(vector) {
    double largest = 0, square = 0;
    for (const T& value : v_) largest = std::max(largest, std::abs(value));
    if (largest == 0) return;
    for (T& value : v_) square += std::norm(value /= largest);
    const double length = std::sqrt(square), first = std::abs(v_[0]);
    const T phase = first == 0 ? T{1} : v_[0] / first;
    v_[0] += phase * length;
    factor_ = 1 / (length * (length + first));
  }

  // Rows from `row` on of the columns [begin, end).
  void from_left(T* a, size_t stride, size_t row, size_t begin, size_t end) const {
    for (size_t c = begin; c < end; ++c) {
      T sum{0};
      for (size_t k = 0; k < v_.size(); ++k) sum += conjugate(v_[k]) * a[(row + k) * stride + c];
      sum *= factor_;
      for (size_t k = 0; k < v_.size(); ++k) a[(row + k) * stride + c] -= v_[k] * sum;
    }
  }
  // Columns from `column` on of the rows [0, end).
  void from_right(T* a, size_t stride, size_t column, size_t end) const {
    for (size_t r = 0; r < end; ++r) {
      T sum{0};
      T* row = a + r * stride + column;
      for (size_t k = 0; k < v_.size(); ++k) sum += row[k] * v_[k];
      sum *= factor_;
      for (size_t k = 0; k < v_.size(); ++k) row[k] -= sum * conjugate(v_[k]);
    }
  }

 private:
  std::span<T> v_;
  double factor_ = 0;
};

// a = Q^H a Q with zeros below the first subdiagonal; q becomes q Q.
template <class T>
void reduce_to_hessenberg(T* a, size_t n, T* q) {
  std::vector<T> column(n);
  for (size_t k = 0; k + 2 < n; ++k) {
    for (size_t r = k + 1; r < n; ++r) column[r] = a[r * n + k];
    const Reflection<T> reflection(std::span<T>(column).subspan(k + 1));
    reflection.from_left(a, n, k + 1, k, n);
    reflection.from_right(a, n, k + 1, n);
    reflection.from_right(q, n, k + 1, n);
    for (size_t r = k + 2; r < n; ++r) a[r * n + k] = 0;
  }
}

// One QR step on the block [begin, end) of h, begun by the first column `start` of the shifted matrix.
template <class T, size_t kWidth>
void step(T* h, size_t n, size_t begin, size_t end, std::array<T, kWidth> start, T* q) {
  for (size_t k = begin; k + 1 < end; ++k) {
    const size_t width = std::min(kWidth, end - k);
    for (size_t i = 0; k > begin && i < width; ++i) start[i] = h[(k + i) * n + k - 1];
    const Reflection<T> reflection(std::span<T>(start).first(width));
    reflection.from_left(h, n, k, k > begin ? k - 1 : begin, n);
    reflection.from_right(h, n, k, std::min(k + width + 1, end));
    reflection.from_right(q, n, k, n);
    for (size_t i = 1; k > begin && i < width; ++i) h[(k + i) * n + k - 1] = 0;
  }
}

void step(double* h, size_t n, size_t begin, size_t end, bool is_exceptional, double* q) {
  const auto at = [&](size_t r, size_t c) { return h[r * n + c]; };
  const size_t m = end - 1;
  double trace = at(m - 1, m - 1) + at(m, m), det = at(m - 1, m - 1) * at(m, m) - at(m - 1, m) * at(m, m - 1);
  if (is_exceptional) {
    const double size = std::abs(at(m, m - 1)) + std::abs(at(m - 1, m - 2));
    trace = 1.5 * size;
    det = size * size;
  }
  const double a = at(begin, begin), b = at(begin, begin + 1), c = at(begin + 1, begin), d = at(begin + 1, begin + 1);
  step<double, 3>(h, n, begin, end,
                  {a * a + b * c - trace * a + det, c * (a + d - trace), c * at(begin + 2, begin + 1)}, q);
}

void step(Complex* h, size_t n, size_t begin, size_t end, bool is_exceptional, Complex* q) {
  const size_t m = end - 1;
  const Complex a = h[(m - 1) * n + m - 1], b = h[(m - 1) * n + m], c = h[m * n + m - 1], d = h[m * n + m];
  const Complex half = (a - d) / 2.0, root = std::sqrt(half * half + b * c);
  // Of the last two rows' eigenvalues the one nearer to the last element.
  Complex shift = d - b * c / (real_part(half * std::conj(root)) < 0 ? half - root : half + root);
  if (is_exceptional || !std::isfinite(std::abs(shift))) shift = d + std::abs(c);
  step<Complex, 2>(h, n, begin, end, {h[begin * n + begin] - shift, h[(begin + 1) * n + begin]}, q);
}

// Makes the block of two rows from `k` on triangular if its eigenvalues are real.
void split_pair(double* h, size_t n, size_t k, double* q) {
  const double a = h[k * n + k], b = h[k * n + k + 1], c = h[(k + 1) * n + k], d = h[(k + 1) * n + k + 1];
  const double half = (a - d) / 2, square = half * half + b * c;
  if (square < 0) return;
  const double z = half + std::copysign(std::sqrt(square), half), length = std::hypot(z, c);
  const double x = z / length, y = c / length;  // the first eigenvector
  for (size_t i = k; i < n; ++i) {
    const double upper = h[k * n + i], lower = h[(k + 1) * n + i];
    h[k * n + i] = x * upper + y * lower;
    h[(k + 1) * n + i] = x * lower - y * upper;
  }
  const auto turn_columns = [&](double* m, size_t rows) {
    for (size_t r = 0; r < rows; ++r) {
      const double left = m[r * n + k], right = m[r * n + k + 1];
      m[r * n + k] = x * left + y * right;
      m[r * n + k + 1] = x * right - y * left;
    }
  };
  turn_columns(h, k + 2);
  turn_columns(q, n);
  h[(k + 1) * n + k] = 0;
}
void split_pair(Complex*, size_t, size_t, Complex*) {}

// The first row of the block that ends before `end`; the element before it, too small to count, becomes zero.
template <class T>
size_t begin_of_block(T* h, size_t n, size_t end, double norm) {
  for (size_t k = end - 1; k > 0; --k) {
    double near = std::abs(h[(k - 1) * n + k - 1]) + std::abs(h[k * n + k]);
    if (near == 0) near = norm;
    if (std::abs(h[k * n + k - 1]) > kEpsilon * near) continue;
    h[k * n + k - 1] = 0;
    return k;
  }
  return 0;
}

// h (Hessenberg) becomes triangular, but for blocks of two rows with conjugate pairs where T is real.
template <class T>
void reduce_to_schur(T* h, size_t n, T* q) {
  constexpr size_t kLargestBlock = std::is_same_v<T, double> ? 2 : 1;
  double norm = 0;
  for (size_t i = 0; i < n * n; ++i) norm = std::hypot(norm, std::abs(h[i]));
  int steps = 0;
  for (size_t end = n; end > 0;) {
    const size_t begin = begin_of_block(h, n, end, norm);
    if (end - begin <= kLargestBlock) {
      if (end - begin == 2) split_pair(h, n, begin, q);
      end = begin;
      steps = 0;
      continue;
    }
    if (++steps > kSteps)
      fail_execution("self: expected a matrix whose eigenvalues are found in ", kSteps, " steps, got another");
    step(h, n, begin, end, steps % 10 == 0, q);
  }
}

// The blocks that reduce_to_schur left become triangular; the exact pair is on the diagonal then.
void split_conjugates(Complex* t, size_t n, Complex* q) {
  for (size_t k = 0; k + 1 < n; ++k) {
    const double a = t[k * n + k].real(), b = t[k * n + k + 1].real(), c = t[(k + 1) * n + k].real();
    const double d = t[(k + 1) * n + k + 1].real();
    if (c == 0) continue;
    const double half = (a - d) / 2;
    const Complex value((a + d) / 2, std::sqrt(std::max(0.0, -(half * half + b * c))));
    const double length = std::hypot(std::abs(value - d), c);
    const Complex x = (value - d) / length, y = c / length;  // its eigenvector
    for (size_t i = 0; i < n; ++i) {
      const Complex upper = t[k * n + i], lower = t[(k + 1) * n + i];
      t[k * n + i] = std::conj(x) * upper + std::conj(y) * lower;
      t[(k + 1) * n + i] = x * lower - y * upper;
    }
    for (Complex* m : {t, q}) {
      for (size_t r = 0; r < n; ++r) {
        const Complex left = m[r * n + k], right = m[r * n + k + 1];
        m[r * n + k] = x * left + y * right;
        m[r * n + k + 1] = std::conj(x) * right - std::conj(y) * left;
      }
    }
    t[k * n + k] = value;
    t[(k + 1) * n + k + 1] = std::conj(value);
    t[(k + 1) * n + k] = 0;
  }
}

// The eigenvector of t (triangular) for its diagonal's element k, as columns of q see it, of length 1 and with a real
// largest element.
void find_vector(const Complex* t, const Complex* q, size_t n, size_t k, double norm, Complex* vector) {
  std::vector<Complex> x(k + 1);
  x[k] = 1;
  for (size_t i = k; i-- > 0;) {
    Complex sum = 0;
    for (size_t j = i + 1; j <= k; ++j) sum += t[i * n + j] * x[j];
    Complex distance = t[k * n + k] - t[i * n + i];
    const double least = std::max(kEpsilon * norm, std::numeric_limits<double>::min());
    if (std::abs(distance) < least) distance = least;
    x[i] = sum / distance;
    if (std::abs(x[i]) > 1e100) {
      for (Complex& value : x) value *= 1e-100;
    }
  }
  double length = 0;
  size_t largest = 0;
  for (size_t r = 0; r < n; ++r) {
    vector[r] = 0;
    for (size_t j = 0; j <= k; ++j) vector[r] += q[r * n + j] * x[j];
    length = std::hypot(length, std::abs(vector[r]));
    if (std::abs(vector[r]) > std::abs(vector[largest])) largest = r;
  }
  const Complex turn = std::conj(vector[largest]) / (std::abs(vector[largest]) * length);
  for (size_t r = 0; r < n; ++r) vector[r] *= turn;
  vector[largest].imag(0);
}

// The eigenvalues of a (n x n), and its eigenvectors as columns.
template <class T>
void decompose(T* a, size_t n, Complex* values, Complex* vectors) {
  std::vector<T> q(n * n);
  for (size_t i = 0; i < n; ++i) q[i * n + i] = 1;
  reduce_to_hessenberg(a, n, q.data());
  reduce_to_schur(a, n, q.data());
  std::vector<Complex> t(a, a + n * n), turns(q.begin(), q.end());
  if constexpr (std::is_same_v<T, double>) split_conjugates(t.data(), n, turns.data());
  double norm = 0;
  for (const Complex& value : t) norm = std::hypot(norm, std::abs(value));
  std::vector<Complex> vector(n);
  for (size_t k = 0; k < n; ++k) {
    values[k] = t[k * n + k];
    const bool is_second_of_pair =
        std::is_same_v<T, double> && k > 0 && values[k].imag() < 0 && values[k] == std::conj(values[k - 1]);
    if (is_second_of_pair) {
      for (Complex& value : vector) value = std::conj(value);
    } else {
      find_vector(t.data(), turns.data(), n, k, norm, vector.data());
    }
    const bool is_real = std::is_same_v<T, double> && values[k].imag() == 0;
    for (size_t r = 0; r < n; ++r) vectors[r * n + k] = is_real ? Complex(vector[r].real()) : vector[r];
  }
}

void eig_out(OpContext& context, const Tensor& self, Tensor& values, Tensor& vectors) {
  require_square(self, "self");
  context.resize(values, self.sizes().first(self.rank - 1u), "eigenvalues");
  context.resize(vectors, self.sizes(), "eigenvectors");
  in_matrix_type(self, "self", [&]<class T>(T) {
    Matrices<T> matrices(context, self);
    const size_t n = matrices.rows();
    for (int64_t i = 0; i < self.numel(); ++i) {
      if (!std::isfinite(std::abs(matrices[0][i])))
        fail_execution("self: expected finite numbers, got infinities or NaN");
    }
    Matrices<Complex> found(self.sizes());
    RowMajorOut written(context, values, DType::kComplex128);
    matrices.each([&](size_t i) { decompose(matrices[i], n, written.as<Complex>() + i * n, found[i]); });
    written.commit();
    found.write(context, vectors);
  });
}

}  // namespace

void register_eigen(OperatorTable& table) {
  table.add<eig_out>("aten::linalg_eig.out", "self, eigenvalues, eigenvectors");
}

}  // namespace enr::ops
