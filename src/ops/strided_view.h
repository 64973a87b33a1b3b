#pragma once

// What the data movement families share: windows on a tensor's memory with any strides, and row-major access to tensors
// of any dim order.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/transpose/strided_copy.h"
#include "ops/context.h"
#include "ops/shapes.h"
#include "ops/tensor.h"

namespace enr::ops {

// A window on memory somebody else owns. Strides count elements and may be zero (broadcast) or negative (flip).
struct StridedView {
  std::byte* data = nullptr;
  DType dtype = DType::kFloat32;
  size_t rank = 0;
  std::array<int64_t, kernels::kMaxCopyRank> size_array{};
  std::array<int64_t, kernels::kMaxCopyRank> stride_array{};

  StridedView() = default;
  explicit StridedView(const Tensor& tensor) noexcept;
  // Row-major memory of these sizes.
  StridedView(std::byte* row_major, DType dtype, Sizes sizes) noexcept;

  Sizes sizes() const noexcept { return {size_array.data(), rank}; }
  int64_t size(size_t dim) const noexcept { return size_array[dim]; }
  int64_t stride(size_t dim) const noexcept { return stride_array[dim]; }
  int64_t numel() const noexcept;
  bool is_contiguous() const noexcept;

  void push_back(int64_t size, int64_t stride) noexcept;
  void insert(size_t dim, int64_t size, int64_t stride) noexcept;
  void erase(size_t dim) noexcept;
  void swap(size_t a, size_t b) noexcept;
  // Moves the start by `elements` (which may be negative).
  void advance(int64_t elements) noexcept;
  // Keeps `count` entries of a dim from `start`, `step` apart.
  void slice(size_t dim, int64_t start, int64_t count, int64_t step = 1) noexcept;
  // Keeps one entry of a dim and drops the dim.
  void select(size_t dim, int64_t index) noexcept;
  // Repeats dims of size 1 and adds outer ones until the view has `sizes`, which it must broadcast to.
  void expand(Sizes sizes) noexcept;
};

// The tensor repeated to `sizes`, which it must broadcast to.
StridedView expanded(const Tensor& tensor, Sizes sizes) noexcept;

// out[...] = in[...], of the same sizes, converting where the dtypes differ. The two must not overlap.
void copy_view(OpContext& context, const StridedView& out, const StridedView& in);

// out = self by logical index, of the same sizes, converting where the dtypes differ; where the two overlap, self is
// read completely before out is written.
void copy_tensor(OpContext& context, Tensor& out, const Tensor& self);

// Whether writing one may change the other.
bool overlaps(const Tensor& a, const Tensor& b) noexcept;

// The tensor's elements in row-major order: its own memory where they lie so, else a copy in scratch.
std::byte* row_major(OpContext& context, const Tensor& tensor);

// The same, converted to `dtype`.
std::byte* row_major_as(OpContext& context, const Tensor& tensor, DType dtype);
template <class T>
const T* row_major_as(OpContext& context, const Tensor& tensor) {
  return reinterpret_cast<const T*>(row_major_as(context, tensor, dtype_of<T>));
}

// The same of the tensor repeated to `sizes`, which it must broadcast to.
std::byte* row_major_as(OpContext& context, const Tensor& tensor, DType dtype, Sizes sizes);
template <class T>
const T* row_major_as(OpContext& context, const Tensor& tensor, Sizes sizes) {
  return reinterpret_cast<const T*>(row_major_as(context, tensor, dtype_of<T>, sizes));
}

// Memory to write an output of `dtype` to in row-major order: the output's own, or scratch that commit() copies (and
// converts) from.
class RowMajorOut {
 public:
  RowMajorOut(OpContext& context, Tensor& out, DType dtype);
  RowMajorOut(OpContext& context, Tensor& out) : RowMajorOut(context, out, out.dtype) {}

  std::byte* data() const noexcept { return data_; }
  template <class T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }
  void commit();

 private:
  OpContext& context_;
  Tensor& out_;
  DType dtype_;
  std::byte* data_;
};

// Product of the sizes in [begin, end), or the largest number: sizes in a program may be any.
int64_t product(Sizes sizes, size_t begin, size_t end) noexcept;
inline int64_t product(Sizes sizes) noexcept { return product(sizes, 0, sizes.size()); }

// Throw, naming the argument.
void require_dtype(const Tensor& tensor, DType expected, const char* what);
void require_rank(const Tensor& tensor, size_t expected, const char* what);
void require_sizes(const Tensor& tensor, Sizes expected, const char* what);
// "self" has `spatial` dims behind its channels and perhaps a batch in front of them, and only the batch is empty.
void require_planes(const Tensor& self, size_t spatial);
// int32 or int64
void require_index_dtype(const Tensor& tensor, const char* what);
// Whether elements of the dtype convert to and from others.
void require_convertible(DType from, DType to, const char* what);

}  // namespace enr::ops
