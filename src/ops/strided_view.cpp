#include "ops/strided_view.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/convert/convert.h"
#include "kernels/transpose/copy_threads.h"
#include "ops/scratch_tensor.h"

namespace enr::ops {

StridedView::StridedView(const Tensor& tensor) noexcept : data(tensor.data), dtype(tensor.dtype), rank(tensor.rank) {
  std::copy_n(tensor.size_array.begin(), rank, size_array.begin());
  std::copy_n(tensor.stride_array.begin(), rank, stride_array.begin());
}

StridedView::StridedView(std::byte* row_major, DType type, Sizes sizes) noexcept
    : data(row_major), dtype(type), rank(sizes.size()) {
  int64_t stride = 1;
  for (size_t d = rank; d-- > 0;) {
    size_array[d] = sizes[d];
    stride_array[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
}

int64_t StridedView::numel() const noexcept { return product(sizes()); }

bool StridedView::is_contiguous() const noexcept {
  int64_t expected = 1;
  for (size_t d = rank; d-- > 0;) {
    if (size_array[d] == 0) return true;
    if (size_array[d] != 1 && stride_array[d] != expected) return false;
    expected *= size_array[d];
  }
  return true;
}

void StridedView::push_back(int64_t size, int64_t stride) noexcept {
  size_array[rank] = size;
  stride_array[rank] = stride;
  ++rank;
}

void StridedView::insert(size_t dim, int64_t size, int64_t stride) noexcept {
  std::copy_backward(size_array.begin() + dim, size_array.begin() + rank, size_array.begin() + rank + 1);
  std::copy_backward(stride_array.begin() + dim, stride_array.begin() + rank, stride_array.begin() + rank + 1);
  size_array[dim] = size;
  stride_array[dim] = stride;
  ++rank;
}

void StridedView::erase(size_t dim) noexcept {
  std::copy(size_array.begin() + dim + 1, size_array.begin() + rank, size_array.begin() + dim);
  std::copy(stride_array.begin() + dim + 1, stride_array.begin() + rank, stride_array.begin() + dim);
  --rank;
}

void StridedView::swap(size_t a, size_t b) noexcept {
  std::swap(size_array[a], size_array[b]);
  std::swap(stride_array[a], stride_array[b]);
}

void StridedView::advance(int64_t elements) noexcept {
  if (data != nullptr) data += elements * static_cast<int64_t>(dtype_size(dtype));
}

void StridedView::slice(size_t dim, int64_t start, int64_t count, int64_t step) noexcept {
  if (count > 0) advance(start * stride_array[dim]);
  size_array[dim] = count;
  stride_array[dim] *= step;
}

void StridedView::select(size_t dim, int64_t index) noexcept {
  advance(index * stride_array[dim]);
  erase(dim);
}

void StridedView::expand(Sizes sizes) noexcept {
  while (rank < sizes.size()) insert(0, 1, 0);
  for (size_t d = 0; d < rank; ++d) {
    if (size_array[d] == sizes[d]) continue;
    size_array[d] = sizes[d];
    stride_array[d] = 0;
  }
}

namespace {

void copy_same_dtype(const StridedView& out, const StridedView& in) noexcept {
  const size_t element = dtype_size(out.dtype);
  std::array<int64_t, kernels::kMaxCopyRank> out_strides, in_strides;
  for (size_t d = 0; d < out.rank; ++d) {
    out_strides[d] = out.stride(d) * static_cast<int64_t>(element);
    in_strides[d] = in.stride(d) * static_cast<int64_t>(element);
  }
  kernels::strided_copy(out.data, {out_strides.data(), out.rank}, in.data, {in_strides.data(), in.rank}, out.sizes(),
                        element);
}

// Whether both address one dense block of memory in the same order.
bool same_dense_layout(const StridedView& a, const StridedView& b) noexcept {
  std::array<size_t, kernels::kMaxCopyRank> dims;
  size_t count = 0;
  for (size_t d = 0; d < a.rank; ++d) {
    if (a.size(d) == 1) continue;
    if (a.stride(d) != b.stride(d)) return false;
    dims[count++] = d;
  }
  std::sort(dims.begin(), dims.begin() + count, [&](size_t x, size_t y) { return a.stride(x) < a.stride(y); });
  int64_t expected = 1;
  for (size_t i = 0; i < count; ++i) {
    if (a.stride(dims[i]) != expected) return false;
    expected *= a.size(dims[i]);
  }
  return true;
}

}  // namespace

StridedView expanded(const Tensor& tensor, Sizes sizes) noexcept {
  StridedView view(tensor);
  view.expand(sizes);
  return view;
}

void copy_view(OpContext& context, const StridedView& out, const StridedView& in) {
  const auto count = static_cast<size_t>(out.numel());
  if (count == 0) return;
  if (out.dtype == in.dtype) return copy_same_dtype(out, in);
  require_convertible(in.dtype, out.dtype, "out");
  if (same_dense_layout(out, in)) return kernels::convert(in.dtype, in.data, out.dtype, out.data, count);
  const std::byte* source = in.data;
  if (!in.is_contiguous()) {
    const StridedView gathered(context.scratch(count * dtype_size(in.dtype)), in.dtype, in.sizes());
    copy_same_dtype(gathered, in);
    source = gathered.data;
  }
  if (out.is_contiguous()) return kernels::convert(in.dtype, source, out.dtype, out.data, count);
  const StridedView converted(context.scratch(count * dtype_size(out.dtype)), out.dtype, out.sizes());
  kernels::convert(in.dtype, source, out.dtype, converted.data, count);
  copy_same_dtype(out, converted);
}

void copy_tensor(OpContext& context, Tensor& out, const Tensor& self) {
  if (out.data == self.data && out.dtype == self.dtype && same_layout(out, self)) return;
  StridedView in(self);
  if (overlaps(out, self)) {
    const StridedView saved(context.scratch(self.size_bytes()), self.dtype, self.sizes());
    copy_view(context, saved, in);
    in = saved;
  }
  copy_view(context, StridedView(out), in);
}

bool overlaps(const Tensor& a, const Tensor& b) noexcept {
  return a.data < b.data + b.size_bytes() && b.data < a.data + a.size_bytes();
}

std::byte* row_major(OpContext& context, const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor.data;
  const StridedView copy(context.scratch(tensor.size_bytes()), tensor.dtype, tensor.sizes());
  copy_same_dtype(copy, StridedView(tensor));
  return copy.data;
}

std::byte* row_major_as(OpContext& context, const Tensor& tensor, DType dtype) {
  if (tensor.dtype == dtype) return row_major(context, tensor);
  const StridedView copy(context.scratch(static_cast<size_t>(tensor.numel()) * dtype_size(dtype)), dtype,
                         tensor.sizes());
  copy_view(context, copy, StridedView(tensor));
  return copy.data;
}

std::byte* row_major_as(OpContext& context, const Tensor& tensor, DType dtype, Sizes sizes) {
  if (std::ranges::equal(tensor.sizes(), sizes)) return row_major_as(context, tensor, dtype);
  const StridedView copy(scratch_tensor(context, dtype, sizes));
  copy_view(context, copy, expanded(tensor, sizes));
  return copy.data;
}

RowMajorOut::RowMajorOut(OpContext& context, Tensor& out, DType dtype)
    : context_(context), out_(out), dtype_(dtype), data_(out.data) {
  if (dtype != out.dtype || !out.is_contiguous()) {
    data_ = context.scratch(static_cast<size_t>(out.numel()) * dtype_size(dtype));
  }
}

void RowMajorOut::commit() {
  if (data_ != out_.data) copy_view(context_, StridedView(out_), StridedView(data_, dtype_, out_.sizes()));
}

int64_t product(Sizes sizes, size_t begin, size_t end) noexcept {
  int64_t result = 1;
  for (size_t d = begin; d < end; ++d) {
    if (__builtin_mul_overflow(result, sizes[d], &result)) result = std::numeric_limits<int64_t>::max();
  }
  return result;
}

void require_dtype(const Tensor& tensor, DType expected, const char* what) {
  if (tensor.dtype == expected) return;
  fail_execution(what, ": expected dtype ", dtype_name(expected), ", got ", dtype_name(tensor.dtype));
}

void require_rank(const Tensor& tensor, size_t expected, const char* what) {
  if (tensor.rank == expected) return;
  fail_execution(what, ": expected rank ", expected, ", got shape ", tensor.sizes());
}

void require_planes(const Tensor& self, size_t spatial) {
  if (self.rank != spatial + 1 && self.rank != spatial + 2) {
    fail_execution("self: expected rank ", spatial + 1, " or ", spatial + 2, ", got shape ", self.sizes());
  }
  for (size_t d = self.rank - spatial - 1; d < self.rank; ++d) {
    if (self.size(d) == 0) fail_execution("self: expected only the batch to be empty, got shape ", self.sizes());
  }
}

void require_sizes(const Tensor& tensor, Sizes expected, const char* what) {
  if (std::ranges::equal(tensor.sizes(), expected)) return;
  fail_execution(what, ": expected shape ", expected, ", got ", tensor.sizes());
}

void require_index_dtype(const Tensor& tensor, const char* what) {
  if (tensor.dtype == DType::kInt64 || tensor.dtype == DType::kInt32) return;
  fail_execution(what, ": expected int64 or int32 indices, got ", dtype_name(tensor.dtype));
}

void require_convertible(DType from, DType to, const char* what) {
  if (kernels::convert_fn(from, to) != nullptr) return;
  fail_execution(what, ": expected a dtype to convert ", dtype_name(from), " to, got ", dtype_name(to));
}

}  // namespace enr::ops
