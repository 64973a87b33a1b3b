// Joining and repeating: cat, stack, repeat, repeat_interleave, block_diag.

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/transpose/concat.h"
#include "kernels/transpose/pad.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// A shape of [0] takes part in any concatenation.
bool is_skipped(const Tensor& tensor) noexcept { return tensor.rank == 1 && tensor.size(0) == 0; }

// Whether rows of bytes can be joined: one dtype, everything row-major.
bool all_row_major(std::span<Tensor* const> tensors, const Tensor& out) noexcept {
  return out.is_contiguous() && std::ranges::all_of(tensors, [&](const Tensor* t) {
           return is_skipped(*t) || (t->dtype == out.dtype && t->is_contiguous());
         });
}

// The shape of the result; its size along `dim` is the sum.
Shape concatenated_shape(std::span<Tensor* const> tensors, const Tensor& like, size_t dim) {
  Shape shape(like.sizes());
  shape[dim] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = *tensors[i];
    if (is_skipped(tensor)) continue;
    bool fits = tensor.rank == shape.rank;
    for (size_t d = 0; fits && d < shape.rank; ++d) fits = d == dim || tensor.size(d) == shape[d];
    if (!fits) {
      fail_execution("tensors: expected item ", i, " to have the sizes of ", like.sizes(), " outside of dim ", dim,
                     ", got ", tensor.sizes());
    }
    if (__builtin_add_overflow(shape[dim], tensor.size(dim), &shape[dim])) {
      fail_execution("tensors: expected smaller sizes along dim ", dim, ", got a sum that is too large");
    }
  }
  return shape;
}

void cat_out(OpContext& context, std::span<Tensor* const> tensors, int64_t dim, Tensor& out) {
  if (tensors.empty()) fail_execution("tensors: expected at least one tensor, got none");
  for (const Tensor* tensor : tensors) {
    if (tensor->rank == 0) fail_execution("tensors: expected ranks of at least 1, got rank 0");
    require_convertible(tensor->dtype, out.dtype, "out");
  }
  const auto first = std::ranges::find_if(tensors, [](const Tensor* t) { return !is_skipped(*t); });
  if (first == tensors.end()) return context.resize(out, {0});
  const Tensor& like = **first;
  const size_t d = normalize_dim(dim, like.rank);
  const Shape shape = concatenated_shape(tensors, like, d);
  context.resize(out, shape);
  if (all_row_major(tensors, out)) {
    std::vector<kernels::ConcatSource> sources;
    const size_t inner = static_cast<size_t>(product(shape, d + 1, shape.rank)) * dtype_size(out.dtype);
    for (const Tensor* tensor : tensors) {
      if (is_skipped(*tensor)) continue;
      sources.push_back({tensor->data, static_cast<size_t>(tensor->size(d)) * inner});
    }
    return kernels::concat(out.data, sources, static_cast<size_t>(product(shape, 0, d)));
  }
  int64_t start = 0;
  for (const Tensor* tensor : tensors) {
    if (is_skipped(*tensor)) continue;
    StridedView target(out);
    target.slice(d, start, tensor->size(d));
    copy_view(context, target, StridedView(*tensor));
    start += tensor->size(d);
  }
}

void stack_out(OpContext& context, std::span<Tensor* const> tensors, int64_t dim, Tensor& out) {
  if (tensors.empty()) fail_execution("tensors: expected at least one tensor, got none");
  const Sizes like = tensors.front()->sizes();
  const size_t d = normalize_dim(dim, like.size() + 1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    require_convertible(tensors[i]->dtype, out.dtype, "out");
    if (!std::ranges::equal(tensors[i]->sizes(), like)) {
      fail_execution("tensors: expected item ", i, " of shape ", like, ", got ", tensors[i]->sizes());
    }
  }
  Shape shape;
  for (size_t i = 0; i <= like.size(); ++i) {
    if (i == d) shape.push_back(static_cast<int64_t>(tensors.size()));
    if (i < like.size()) shape.push_back(like[i]);
  }
  context.resize(out, shape);
  if (all_row_major(tensors, out) && product(like) != 0) {
    std::vector<kernels::ConcatSource> sources;
    const size_t row_bytes = static_cast<size_t>(product(like, d, like.size())) * dtype_size(out.dtype);
    for (const Tensor* tensor : tensors) sources.push_back({tensor->data, row_bytes});
    return kernels::concat(out.data, sources, static_cast<size_t>(product(like, 0, d)));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    StridedView target(out);
    target.select(d, static_cast<int64_t>(i));
    copy_view(context, target, StridedView(*tensors[i]));
  }
}

void repeat_out(OpContext& context, const Tensor& self, Sizes repeats, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  if (repeats.size() < self.rank) {
    fail_execution("repeats: expected at least ", int{self.rank}, " numbers, got ", repeats);
  }
  Shape shape(repeats);
  const size_t added = repeats.size() - self.rank;
  for (size_t d = 0; d < shape.rank; ++d) {
    if (repeats[d] < 0) fail_execution("repeats: expected numbers of at least 0, got ", repeats);
    if (__builtin_mul_overflow(repeats[d], d < added ? 1 : self.size(d - added), &shape[d])) {
      fail_execution("repeats: expected smaller numbers, got ", repeats);
    }
  }
  context.resize(out, shape);
  // Each dim is a repeat with stride 0 around the original.
  StridedView in, target;
  in.data = self.data;
  target.data = out.data;
  in.dtype = target.dtype = self.dtype;
  for (size_t d = 0; d < shape.rank; ++d) {
    const int64_t size = d < added ? 1 : self.size(d - added);
    in.push_back(repeats[d], 0);
    in.push_back(size, d < added ? 0 : self.stride(d - added));
    target.push_back(repeats[d], out.stride(d) * size);
    target.push_back(size, out.stride(d));
  }
  copy_view(context, target, in);
}

void repeat_interleave_out(OpContext& context, const Tensor& repeats, std::optional<int64_t> output_size, Tensor& out) {
  require_rank(repeats, 1, "repeats");
  require_index_dtype(repeats, "repeats");
  require_dtype(out, repeats.dtype, "out");
  const auto* counts = row_major_as<int64_t>(context, repeats);
  int64_t total = 0;
  for (int64_t i = 0; i < repeats.size(0); ++i) {
    if (counts[i] < 0) fail_execution("repeats: expected numbers of at least 0, got ", counts[i], " at ", i);
    if (__builtin_add_overflow(total, counts[i], &total))
      fail_execution("repeats: expected a smaller sum, got ", counts[i], " at ", i);
  }
  if (output_size && *output_size != total) {
    fail_execution("output_size: expected the sum of repeats, ", total, ", got ", *output_size);
  }
  context.resize(out, {total});
  const auto write = [&]<class T>(T* to) {
    constexpr int64_t kFew = 4;  // written whatever the count: what is too much, the next ones overwrite
    const T* end = to + total;
    for (int64_t i = 0; i < repeats.size(0); ++i) {
      if (counts[i] <= kFew && end - to >= kFew) {
        std::fill_n(to, kFew, static_cast<T>(i));
        to += counts[i];
      } else {
        to = std::fill_n(to, counts[i], static_cast<T>(i));
      }
    }
  };
  if (out.dtype == DType::kInt32) {
    write(out.as<int32_t>());
  } else {
    write(out.as<int64_t>());
  }
}

void block_diag_out(OpContext& context, std::span<Tensor* const> tensors, Tensor& out) {
  int64_t rows = 0, columns = 0;
  // A vector is one row, a number one element.
  const auto rows_of = [](const Tensor& t) { return t.rank == 2 ? t.size(0) : 1; };
  const auto columns_of = [](const Tensor& t) { return t.rank == 0 ? 1 : t.size(t.rank - 1u); };
  for (const Tensor* tensor : tensors) {
    if (tensor->rank > 2) fail_execution("tensors: expected rank 2 or less, got shape ", tensor->sizes());
    require_convertible(tensor->dtype, out.dtype, "out");
    rows += rows_of(*tensor);
    columns += columns_of(*tensor);
  }
  if (tensors.empty()) rows = 1;
  context.resize(out, {rows, columns});
  const std::array<std::byte, 16> zero{};
  kernels::fill(out.data, zero.data(), static_cast<size_t>(out.numel()), dtype_size(out.dtype));
  int64_t row = 0, column = 0;
  for (const Tensor* tensor : tensors) {
    StridedView target(out);
    target.slice(0, row, rows_of(*tensor));
    target.slice(1, column, columns_of(*tensor));
    StridedView in(*tensor);
    in.expand(target.sizes());
    copy_view(context, target, in);
    row += rows_of(*tensor);
    column += columns_of(*tensor);
  }
}

}  // namespace

void register_concat(OperatorTable& table) {
  table.add<cat_out>("aten::cat.out", "tensors, dim, out");
  table.add<stack_out>("aten::stack.out", "tensors, dim, out");
  table.add<repeat_out>("aten::repeat.out", "self, repeats, out");
  table.add<repeat_interleave_out>("aten::repeat_interleave.Tensor_out", "repeats, output_size, out");
  table.add<block_diag_out>("aten::block_diag.out", "tensors, out");
}

}  // namespace enr::ops
