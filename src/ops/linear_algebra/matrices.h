#pragma once

// Batches of small matrices, computed in double precision whatever their dtype.

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/thread_pool.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/shapes.h"
#include "ops/strided_view.h"

namespace enr::ops {

inline double conjugate(double x) noexcept { return x; }
inline Complex conjugate(Complex x) noexcept { return std::conj(x); }
inline double real_part(double x) noexcept { return x; }
inline double real_part(Complex x) noexcept { return x.real(); }

// Row-major matrices one after the other; T is double or Complex.
template <class T>
class Matrices {
 public:
  // Of these sizes, zeros.
  explicit Matrices(Sizes sizes) : sizes_(sizes) {
    require_countable(dtype_of<T>, sizes);  // no tensor has to have these sizes
    data_.resize(static_cast<size_t>(product(sizes)));
  }
  // A copy of a tensor of rank 2 or more.
  Matrices(OpContext& context, const Tensor& tensor) : sizes_(tensor.sizes()) {
    const T* from = row_major_as<T>(context, tensor);
    data_.assign(from, from + tensor.numel());
  }

  Sizes sizes() const noexcept { return sizes_; }
  Sizes batch() const noexcept { return sizes().first(sizes_.rank - 2); }
  size_t rows() const noexcept { return static_cast<size_t>(sizes_[sizes_.rank - 2]); }
  size_t columns() const noexcept { return static_cast<size_t>(sizes_[sizes_.rank - 1]); }
  size_t count() const noexcept { return static_cast<size_t>(product(batch())); }
  T* operator[](size_t i) noexcept { return data_.data() + i * rows() * columns(); }
  const T* operator[](size_t i) const noexcept { return data_.data() + i * rows() * columns(); }

  // The matrices again for every entry of a larger batch, which this one's broadcasts to.
  Matrices expanded(Sizes batch_sizes) const {
    Matrices result(with_matrix(batch_sizes, sizes_[sizes_.rank - 2], sizes_[sizes_.rank - 1]));
    const size_t size = rows() * columns(), missing = batch_sizes.size() - batch().size();
    result.each([&](size_t i) {
      size_t index = i, from = 0, step = 1;
      for (size_t d = batch_sizes.size(); d-- > 0;) {
        const auto extent = static_cast<size_t>(batch_sizes[d]);
        if (d >= missing) {
          const auto own = static_cast<size_t>(batch()[d - missing]);
          from += (own == 1 ? 0 : index % extent) * step;
          step *= own;
        }
        index /= extent;
      }
      std::copy_n((*this)[from], size, result[i]);
    });
    return result;
  }

  Matrices transposed() const {
    Matrices result(with_matrix(batch(), sizes_[sizes_.rank - 1], sizes_[sizes_.rank - 2]));
    each([&](size_t i) {
      for (size_t r = 0; r < rows(); ++r) {
        for (size_t c = 0; c < columns(); ++c) result[i][c * rows() + r] = (*this)[i][r * columns() + c];
      }
    });
    return result;
  }
  Matrices adjoint() const {
    Matrices result = transposed();
    for (T& value : result.data_) value = conjugate(value);
    return result;
  }

  // `out` has these sizes already.
  void write(OpContext& context, Tensor& out) const {
    RowMajorOut result(context, out, dtype_of<T>);
    std::copy(data_.begin(), data_.end(), result.template as<T>());
    result.commit();
  }

  // body(i), which may throw, for every matrix, with threads where that pays. For none where they have no elements.
  template <class Body>
  void each(const Body& body) const {
    if (data_.empty()) return;
    const size_t work = rows() * columns() * std::min(rows(), columns()) + 1;
    parallel_ranges_or_throw(count(), std::max<size_t>(1, 65536 / work), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) body(i);
    });
  }

  static Shape with_matrix(Sizes batch_sizes, int64_t rows, int64_t columns) {
    Shape shape(batch_sizes);
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  }

 private:
  Shape sizes_;
  std::vector<T> data_;
};

// f(T{}), T what matrices of the dtype are computed in.
template <class F>
void in_matrix_type(const Tensor& tensor, const char* what, F f) {
  if (tensor.dtype == DType::kFloat32 || tensor.dtype == DType::kFloat64) return f(double{});
  if (is_complex(tensor.dtype)) return f(Complex{});
  fail_execution(what, ": expected float32, float64 or a complex dtype, got ", describe(tensor));
}

// The same for what only moves elements: any real dtype.
template <class F>
void in_any_matrix_type(const Tensor& tensor, F f) {
  if (is_complex(tensor.dtype)) return f(Complex{});
  f(double{});
}

inline void require_matrices(const Tensor& tensor, const char* what) {
  if (tensor.rank < 2) fail_execution(what, ": expected matrices, got shape ", tensor.sizes());
}
inline void require_square(const Tensor& tensor, const char* what) {
  require_matrices(tensor, what);
  if (tensor.size(tensor.rank - 1u) != tensor.size(tensor.rank - 2u)) {
    fail_execution(what, ": expected square matrices, got shape ", tensor.sizes());
  }
}
inline Sizes batch_of(const Tensor& tensor) { return tensor.sizes().first(tensor.rank - 2u); }

// One int32 for each matrix.
inline void write_integers(OpContext& context, const std::vector<int32_t>& values, Tensor& out) {
  RowMajorOut result(context, out, DType::kInt32);
  std::copy(values.begin(), values.end(), result.as<int32_t>());
  result.commit();
}

}  // namespace enr::ops
