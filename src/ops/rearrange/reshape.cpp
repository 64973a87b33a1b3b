// The same elements under another shape or order of dims: view, squeeze, unsqueeze, expand, permute, transpose.

#include <algorithm>
#include <optional>

#include "kernels/transpose/copy_threads.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// Writes self's elements in row-major order to out's, whatever both shapes.
void copy_reshaped(OpContext& context, const Tensor& self, Tensor& out) {
  if (out.data == self.data && self.is_contiguous() && out.is_contiguous()) return;
  std::byte* source = row_major(context, self);
  if (source == self.data && overlaps(self, out)) {
    source = context.scratch(self.size_bytes());
    kernels::copy_bytes(source, self.data, self.size_bytes());
  }
  copy_view(context, StridedView(out), StridedView(source, self.dtype, out.sizes()));
}

// `size` with its -1 replaced by what is left of `numel` elements.
Shape infer_shape(Sizes size, int64_t numel) {
  Shape shape(size);
  std::optional<size_t> inferred;
  int64_t known = 1;
  for (size_t d = 0; d < shape.rank; ++d) {
    if (shape[d] == -1) {
      if (inferred) fail_execution("size: expected at most one -1, got ", size);
      inferred = d;
    } else if (shape[d] < 0) {
      fail_execution("size: expected sizes of at least 0 or -1, got ", size);
    } else if (__builtin_mul_overflow(known, shape[d], &known)) {
      fail_execution("size: expected fewer elements, got ", size);
    }
  }
  if (inferred) {
    if (known == 0) fail_execution("size: expected no -1 beside a size of 0, got ", size);
    if (numel % known != 0) fail_execution("size: expected a shape of ", numel, " elements, got ", size);
    shape[*inferred] = numel / known;
  } else if (known != numel) {
    fail_execution("size: expected a shape of ", numel, " elements, got ", size);
  }
  return shape;
}

void view_copy_out(OpContext& context, const Tensor& self, Sizes size, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Shape shape = infer_shape(size, self.numel());
  context.resize(out, shape);
  copy_reshaped(context, self, out);
}

// Reinterprets the bytes of the last dim.
void view_dtype_copy_out(OpContext& context, const Tensor& self, DType dtype, Tensor& out) {
  require_dtype(out, dtype, "out");
  const auto from = static_cast<int64_t>(dtype_size(self.dtype));
  const auto to = static_cast<int64_t>(dtype_size(dtype));
  Shape shape(self.sizes());
  if (from != to) {
    if (shape.rank == 0) fail_execution("self: expected at least one dim to hold elements of another size, got rank 0");
    int64_t& last = shape[shape.rank - 1];
    if (last * from % to != 0) {
      fail_execution("self: expected a last dim that holds whole elements of ", dtype_name(dtype), ", got ",
                     describe(self));
    }
    last = last * from / to;
  }
  context.resize(out, shape);
  std::byte* source = row_major(context, self);
  if (source == out.data && out.is_contiguous()) return;
  copy_view(context, StridedView(out), StridedView(source, dtype, shape));
}

void unsqueeze_copy_out(OpContext& context, const Tensor& self, int64_t dim, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const size_t at = normalize_dim(dim, self.rank + 1u);
  Shape shape;
  for (size_t d = 0; d <= self.rank; ++d) {
    if (d == at) shape.push_back(1);
    if (d < self.rank) shape.push_back(self.size(d));
  }
  context.resize(out, shape);
  copy_reshaped(context, self, out);
}

// Drops the dims of size 1 among those where `chosen` holds.
template <class Chosen>
void squeeze(OpContext& context, const Tensor& self, Tensor& out, const Chosen& chosen) {
  require_dtype(out, self.dtype, "out");
  Shape shape;
  for (size_t d = 0; d < self.rank; ++d) {
    if (self.size(d) != 1 || !chosen(d)) shape.push_back(self.size(d));
  }
  context.resize(out, shape);
  copy_reshaped(context, self, out);
}

void squeeze_copy_out(OpContext& context, const Tensor& self, Tensor& out) {
  squeeze(context, self, out, [](size_t) { return true; });
}

void squeeze_copy_dim_out(OpContext& context, const Tensor& self, int64_t dim, Tensor& out) {
  const size_t only = normalize_dim(dim, self.rank);
  squeeze(context, self, out, [&](size_t d) { return d == only; });
}

void squeeze_copy_dims_out(OpContext& context, const Tensor& self, Sizes dims, Tensor& out) {
  std::array<bool, kMaxRank + 1> chosen{};
  for (const int64_t dim : dims) {
    bool& flag = chosen[normalize_dim(dim, self.rank)];
    if (flag) fail_execution("dim: expected each dim once, got ", dims);
    flag = true;
  }
  squeeze(context, self, out, [&](size_t d) { return chosen[d]; });
}

void expand_copy_out(OpContext& context, const Tensor& self, Sizes size, bool, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  Shape shape(size);
  if (shape.rank < self.rank) fail_execution("size: expected at least rank ", int{self.rank}, ", got ", size);
  const size_t added = shape.rank - self.rank;
  for (size_t d = 0; d < shape.rank; ++d) {
    const bool is_new = d < added;
    if (shape[d] == -1 && !is_new) shape[d] = self.size(d - added);
    if (shape[d] < 0 || (!is_new && self.size(d - added) != 1 && self.size(d - added) != shape[d])) {
      fail_execution("size: expected one that shape ", self.sizes(), " expands to, got ", size);
    }
  }
  context.resize(out, shape);
  StridedView in(self);
  in.expand(shape);
  copy_view(context, StridedView(out), in);
}

void copy_permuted(OpContext& context, const Tensor& self, std::span<const size_t> order, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  StridedView in;
  in.data = self.data;
  in.dtype = self.dtype;
  for (const size_t d : order) in.push_back(self.size(d), self.stride(d));
  context.resize(out, in.sizes());
  copy_view(context, StridedView(out), in);
}

void permute_copy_out(OpContext& context, const Tensor& self, Sizes dims, Tensor& out) {
  if (dims.size() != self.rank) {
    fail_execution("dims: expected an order of ", int{self.rank}, " dims, got ", dims);
  }
  std::array<size_t, kMaxRank> order;
  std::array<bool, kMaxRank> seen{};
  for (size_t i = 0; i < dims.size(); ++i) {
    order[i] = normalize_dim(dims[i], self.rank, "dims");
    if (seen[order[i]]) fail_execution("dims: expected each dim once, got ", dims);
    seen[order[i]] = true;
  }
  copy_permuted(context, self, {order.data(), dims.size()}, out);
}

void transpose_copy_out(OpContext& context, const Tensor& self, int64_t dim0, int64_t dim1, Tensor& out) {
  const size_t a = normalize_dim(dim0, self.rank, "dim0");
  const size_t b = normalize_dim(dim1, self.rank, "dim1");
  std::array<size_t, kMaxRank> order;
  for (size_t d = 0; d < self.rank; ++d) order[d] = d == a ? b : d == b ? a : d;
  copy_permuted(context, self, {order.data(), self.rank}, out);
}

void t_copy_out(OpContext& context, const Tensor& self, Tensor& out) {
  if (self.rank > 2) fail_execution("self: expected rank 2 or less, got shape ", self.sizes());
  const std::array<size_t, 2> order{1, 0};
  const std::array<size_t, 1> same{0};
  copy_permuted(context, self, self.rank == 2 ? std::span<const size_t>(order) : std::span(same).first(self.rank), out);
}

}  // namespace

void register_reshape(OperatorTable& table) {
  table.add<view_copy_out>("aten::view_copy.out", "self, size, out");
  table.add<view_copy_out>("aten::_unsafe_view.out", "self, size, out");
  table.add<view_dtype_copy_out>("aten::view_copy.dtype_out", "self, dtype, out");
  table.add<unsqueeze_copy_out>("aten::unsqueeze_copy.out", "self, dim, out");
  table.add<squeeze_copy_out>("aten::squeeze_copy.out", "self, out");
  table.add<squeeze_copy_dim_out>("aten::squeeze_copy.dim_out", "self, dim, out");
  table.add<squeeze_copy_dims_out>("aten::squeeze_copy.dims_out", "self, dim, out");
  table.add<expand_copy_out>("aten::expand_copy.out", "self, size, implicit, out");
  table.add<permute_copy_out>("aten::permute_copy.out", "self, dims, out");
  table.add<transpose_copy_out>("aten::transpose_copy.int_out", "self, dim0, dim1, out");
  table.add<t_copy_out>("aten::t_copy.out", "self, out");
}

}  // namespace enr::ops
