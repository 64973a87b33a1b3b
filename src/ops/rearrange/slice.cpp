// Parts of a tensor, by position: slice, select, narrow, split, unbind, unfold, diagonal, as_strided; and the scatters
// that write such a part into a copy.

#include <algorithm>
#include <optional>

#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

void require_dims(const Tensor& self) {
  if (self.rank == 0) fail_execution("self: expected a rank of at least 1, got rank 0");
}

// Writes the view, whose sizes out takes.
void copy_part(OpContext& context, const StridedView& part, Tensor& out, const char* what = "out") {
  require_dtype(out, part.dtype, what);
  context.resize(out, part.sizes(), what);
  copy_view(context, StridedView(out), part);
}

// The part's lines one by one where they are few, more with all that lies between them.
void announce(OpContext& context, const StridedView& part, Tensor& out) {
  constexpr int64_t kFewLines = 256;
  size_t looped = part.rank;
  int64_t line = 1;
  while (looped > 0 && (part.size(looped - 1) == 1 || part.stride(looped - 1) == line)) line *= part.size(--looped);
  const int64_t lines = product(part.sizes(), 0, looped);
  if (lines > kFewLines) return context.overwriting(out.data, out.size_bytes());
  const auto element = static_cast<int64_t>(dtype_size(part.dtype));
  for (int64_t i = 0; i < lines; ++i) {
    int64_t offset = 0, rest = i;
    for (size_t d = looped; d-- > 0; rest /= part.size(d)) offset += rest % part.size(d) * part.stride(d);
    context.overwriting(part.data + offset * element, static_cast<size_t>(line * element));
  }
}

// Copies self to out and then src over out's part, which take_part(view of out) cuts out.
template <class TakePart>
void scatter_part(OpContext& context, const Tensor& self, const Tensor& src, Tensor& out, const TakePart& take_part) {
  require_dtype(out, self.dtype, "out");
  require_convertible(src.dtype, out.dtype, "src");
  StridedView probe(self);
  take_part(probe);
  require_sizes(src, probe.sizes(), "src");
  context.resize(out, self.sizes());
  StridedView in(src);
  if (overlaps(out, src)) {
    const StridedView saved(context.scratch(src.size_bytes()), src.dtype, src.sizes());
    copy_view(context, saved, in);
    in = saved;
  }
  copy_tensor(context, out, self);
  StridedView target(out);
  take_part(target);
  if (context.keeps_what_is_overwritten()) announce(context, target, out);
  copy_view(context, target, in);
}

struct Range {
  size_t dim;
  int64_t start, count, step;
};

Range resolve_slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step) {
  require_dims(self);
  const size_t d = normalize_dim(dim, self.rank);
  if (step <= 0) fail_execution("step: expected at least 1, got ", step);
  const int64_t size = self.size(d);
  const auto clamp_index = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t first = clamp_index(start.value_or(0));
  const int64_t last = std::max(first, end ? clamp_index(*end) : size);
  const int64_t length = last - first;
  return {d, first, length == 0 ? 0 : (length - 1) / step + 1, step};
}

void slice_copy_out(OpContext& context, const Tensor& self, int64_t dim, std::optional<int64_t> start,
                    std::optional<int64_t> end, int64_t step, Tensor& out) {
  const Range range = resolve_slice(self, dim, start, end, step);
  StridedView part(self);
  part.slice(range.dim, range.start, range.count, range.step);
  copy_part(context, part, out);
}

void slice_scatter_out(OpContext& context, const Tensor& self, const Tensor& src, int64_t dim,
                       std::optional<int64_t> start, std::optional<int64_t> end, int64_t step, Tensor& out) {
  const Range range = resolve_slice(self, dim, start, end, step);
  scatter_part(context, self, src, out,
               [&](StridedView& view) { view.slice(range.dim, range.start, range.count, range.step); });
}

struct Position {
  size_t dim;
  int64_t index;
};

Position resolve_select(const Tensor& self, int64_t dim, int64_t index) {
  require_dims(self);
  const size_t d = normalize_dim(dim, self.rank);
  const int64_t size = self.size(d);
  if (index < -size || index >= size) {
    fail_execution("index: expected ", -size, " to ", size - 1, " for dim ", d, " of shape ", self.sizes(), ", got ",
                   index);
  }
  return {d, index < 0 ? index + size : index};
}

void select_copy_out(OpContext& context, const Tensor& self, int64_t dim, int64_t index, Tensor& out) {
  const Position at = resolve_select(self, dim, index);
  StridedView part(self);
  part.select(at.dim, at.index);
  copy_part(context, part, out);
}

void select_scatter_out(OpContext& context, const Tensor& self, const Tensor& src, int64_t dim, int64_t index,
                        Tensor& out) {
  const Position at = resolve_select(self, dim, index);
  scatter_part(context, self, src, out, [&](StridedView& view) { view.select(at.dim, at.index); });
}

void narrow_copy_out(OpContext& context, const Tensor& self, int64_t dim, int64_t start, int64_t length, Tensor& out) {
  require_dims(self);
  const size_t d = normalize_dim(dim, self.rank);
  const int64_t size = self.size(d);
  if (start < -size || start > size) fail_execution("start: expected ", -size, " to ", size, ", got ", start);
  const int64_t first = start < 0 ? start + size : start;
  if (length < 0 || length > size - first) {
    fail_execution("length: expected 0 to ", size - first, " from start ", first, ", got ", length);
  }
  StridedView part(self);
  part.slice(d, first, length);
  copy_part(context, part, out);
}

// Cuts self along `dim` into parts of these sizes, which sum to the dim's.
void split(OpContext& context, const Tensor& self, size_t dim, Sizes counts, std::span<Tensor* const> out) {
  if (out.size() != counts.size()) fail_execution("out: expected ", counts.size(), " tensors, got ", out.size());
  for (const Tensor* item : out) require_dtype(*item, self.dtype, "out");
  int64_t start = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    StridedView part(self);
    part.slice(dim, start, counts[i]);
    copy_part(context, part, *out[i]);
    start += counts[i];
  }
}

void split_copy_out(OpContext& context, const Tensor& self, int64_t split_size, int64_t dim,
                    std::span<Tensor* const> out) {
  require_dims(self);
  const size_t d = normalize_dim(dim, self.rank);
  const int64_t size = self.size(d);
  if (split_size < 0 || (split_size == 0 && size != 0)) {
    fail_execution("split_size: expected at least ", size == 0 ? 0 : 1, ", got ", split_size);
  }
  const int64_t count = size == 0 ? 1 : (size - 1) / split_size + 1;
  if (out.size() != static_cast<size_t>(count)) {
    fail_execution("out: expected ", count, " tensors, got ", out.size());
  }
  std::vector<int64_t> counts(out.size(), split_size);
  counts.back() = size - split_size * (count - 1);
  split(context, self, d, counts, out);
}

void split_with_sizes_copy_out(OpContext& context, const Tensor& self, Sizes split_sizes, int64_t dim,
                               std::span<Tensor* const> out) {
  require_dims(self);
  const size_t d = normalize_dim(dim, self.rank);
  int64_t left = self.size(d);
  for (const int64_t count : split_sizes) {
    if (count < 0 || count > left) {
      fail_execution("split_sizes: expected sizes that sum to ", self.size(d), ", got ", split_sizes);
    }
    left -= count;
  }
  if (left != 0) fail_execution("split_sizes: expected sizes that sum to ", self.size(d), ", got ", split_sizes);
  split(context, self, d, split_sizes, out);
}

void unbind_copy_out(OpContext& context, const Tensor& self, int64_t dim, std::span<Tensor* const> out) {
  require_dims(self);
  const size_t d = normalize_dim(dim, self.rank);
  if (out.size() != static_cast<size_t>(self.size(d))) {
    fail_execution("out: expected ", self.size(d), " tensors, got ", out.size());
  }
  for (const Tensor* item : out) require_dtype(*item, self.dtype, "out");
  for (size_t i = 0; i < out.size(); ++i) {
    StridedView part(self);
    part.select(d, static_cast<int64_t>(i));
    copy_part(context, part, *out[i]);
  }
}

void unfold_copy_out(OpContext& context, const Tensor& self, int64_t dim, int64_t size, int64_t step, Tensor& out) {
  const size_t d = normalize_dim(dim, self.rank, "dimension");
  const int64_t available = self.rank == 0 ? 1 : self.size(d);
  if (size < 0 || size > available) fail_execution("size: expected 0 to ", available, ", got ", size);
  if (step <= 0) fail_execution("step: expected at least 1, got ", step);
  StridedView windows(self);
  if (self.rank != 0) {
    const int64_t stride = windows.stride(d);
    windows.slice(d, 0, (available - size) / step + 1, step);
    windows.push_back(size, stride);
  } else {
    windows.push_back(size, 1);
  }
  if (windows.rank > kMaxRank) fail_execution("self: expected a lower rank to unfold, got ", int{self.rank});
  copy_part(context, windows, out);
}

// The view's diagonal as a last dim in place of two.
void take_diagonal(StridedView& view, int64_t offset, size_t dim1, size_t dim2) {
  const int64_t row = offset < 0 ? -offset : 0, column = offset > 0 ? offset : 0;
  const int64_t count = std::max<int64_t>(0, std::min(view.size(dim1) - row, view.size(dim2) - column));
  const int64_t stride = view.stride(dim1) + view.stride(dim2);
  if (count > 0) view.advance(row * view.stride(dim1) + column * view.stride(dim2));
  view.erase(std::max(dim1, dim2));
  view.erase(std::min(dim1, dim2));
  view.push_back(count, stride);
}

std::pair<size_t, size_t> resolve_diagonal(const Tensor& self, int64_t& offset, int64_t dim1, int64_t dim2) {
  const size_t a = normalize_dim(dim1, self.rank, "dim1");
  const size_t b = normalize_dim(dim2, self.rank, "dim2");
  if (self.rank < 2) fail_execution("self: expected a rank of at least 2, got shape ", self.sizes());
  if (a == b) fail_execution("dim2: expected another dim than dim1, got ", dim1, " and ", dim2);
  offset = std::clamp(offset, -self.size(a), self.size(b));
  return {a, b};
}

void diagonal_copy_out(OpContext& context, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2,
                       Tensor& out) {
  const auto [a, b] = resolve_diagonal(self, offset, dim1, dim2);
  StridedView part(self);
  take_diagonal(part, offset, a, b);
  copy_part(context, part, out);
}

void diagonal_scatter_out(OpContext& context, const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1,
                          int64_t dim2, Tensor& out) {
  const auto [a, b] = resolve_diagonal(self, offset, dim1, dim2);
  scatter_part(context, self, src, out, [&, a = a, b = b](StridedView& view) { take_diagonal(view, offset, a, b); });
}

// Checks that the strided window stays within `numel` elements and returns it over `memory`.
StridedView strided_window(std::byte* memory, DType dtype, int64_t numel, Sizes size, Sizes stride,
                           std::optional<int64_t> storage_offset) {
  if (size.size() != stride.size()) fail_execution("stride: expected ", size.size(), " strides, got ", stride);
  const Shape checked(size);
  const int64_t offset = storage_offset.value_or(0);
  if (offset < 0) fail_execution("storage_offset: expected at least 0, got ", offset);
  StridedView window;
  window.data = memory;
  window.dtype = dtype;
  __int128 last = offset;
  bool is_empty = false;
  for (size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 0) fail_execution("size: expected sizes of at least 0, got ", size);
    if (stride[d] < 0) fail_execution("stride: expected strides of at least 0, got ", stride);
    is_empty |= size[d] == 0;
    last += static_cast<__int128>(std::max<int64_t>(size[d] - 1, 0)) * stride[d];
    window.push_back(size[d], stride[d]);
  }
  if (!is_empty && last >= numel) {
    fail_execution("size: expected a window within the storage of ", numel, " elements, got sizes ", size, ", strides ",
                   stride, " and offset ", offset);
  }
  if (!is_empty) window.advance(offset);
  return window;
}

// Reads the storage as it lies in memory, as eager does.
void as_strided_copy_out(OpContext& context, const Tensor& self, Sizes size, Sizes stride,
                         std::optional<int64_t> storage_offset, Tensor& out) {
  copy_part(context, strided_window(self.data, self.dtype, self.numel(), size, stride, storage_offset), out);
}

// A view of the elements in row-major order.
void reshape_alias_copy_out(OpContext& context, const Tensor& self, Sizes size, Sizes stride, Tensor& out) {
  copy_part(context, strided_window(row_major(context, self), self.dtype, self.numel(), size, stride, 0), out);
}

void as_strided_scatter_out(OpContext& context, const Tensor& self, const Tensor& src, Sizes size, Sizes stride,
                            std::optional<int64_t> storage_offset, Tensor& out) {
  for (size_t d = 0; d < std::min(size.size(), stride.size()); ++d) {
    if (size[d] > 1 && stride[d] == 0) fail_execution("stride: expected strides of at least 1, got ", stride);
  }
  scatter_part(context, self, src, out, [&](StridedView& view) {
    view = strided_window(view.data, view.dtype, self.numel(), size, stride, storage_offset);
  });
}

}  // namespace

void register_slice(OperatorTable& table) {
  table.add<slice_copy_out>("aten::slice_copy.Tensor_out", "self, dim, start, end, step, out");
  table.add<slice_scatter_out>("aten::slice_scatter.out", "self, src, dim, start, end, step, out");
  table.add<select_copy_out>("aten::select_copy.int_out", "self, dim, index, out");
  table.add<select_scatter_out>("aten::select_scatter.out", "self, src, dim, index, out");
  table.add<narrow_copy_out>("aten::narrow_copy.out", "self, dim, start, length, out");
  table.add<split_copy_out>("aten::split_copy.Tensor_out", "self, split_size, dim, out");
  table.add<split_copy_out>("aten::unsafe_split.Tensor_out", "self, split_size, dim, out");
  table.add<split_with_sizes_copy_out>("aten::split_with_sizes_copy.out", "self, split_sizes, dim, out");
  table.add<split_with_sizes_copy_out>("aten::unsafe_split_with_sizes.out", "self, split_sizes, dim, out");
  table.add<unbind_copy_out>("aten::unbind_copy.int_out", "self, dim, out");
  table.add<unfold_copy_out>("aten::unfold_copy.out", "self, dimension, size, step, out");
  table.add<diagonal_copy_out>("aten::diagonal_copy.out", "self, offset, dim1, dim2, out");
  table.add<diagonal_scatter_out>("aten::diagonal_scatter.out", "self, src, offset, dim1, dim2, out");
  table.add<as_strided_copy_out>("aten::as_strided_copy.out", "self, size, stride, storage_offset, out");
  table.add<reshape_alias_copy_out>("aten::_reshape_alias_copy.out", "self, size, stride, out");
  table.add<as_strided_scatter_out>("aten::as_strided_scatter.out", "self, src, size, stride, storage_offset, out");
}

}  // namespace enr::ops
