// Copies that keep the shape: clones, conversions of dtype and dim order, copies between devices (here: of none).

#include <algorithm>
#include <cstring>

#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// Of truth values, 0 and 1 whatever bytes they come as.
void copy_all(OpContext& context, const Tensor& self, Tensor& out) {
  context.resize(out, self.sizes());
  Tensor from = self;
  if (is_bool(self.dtype) && is_bool(out.dtype)) from.dtype = DType::kUInt8;
  copy_tensor(context, out, from);
}

void copy_same_type(OpContext& context, const Tensor& self, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  copy_all(context, self, out);
}

void alias_copy_out(OpContext& context, const Tensor& self, Tensor& out) { copy_same_type(context, self, out); }

// The memory format is already in out's dim order.
void clone_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) { copy_same_type(context, self, out); }

// The target dtype is out's.
void to_copy_out(OpContext& context, const Tensor& self, bool, Ignored, Tensor& out) {
  require_convertible(self.dtype, out.dtype, "self");
  copy_all(context, self, out);
}

// out already has the dim order asked for.
void to_dim_order_copy_out(OpContext& context, const Tensor& self, bool, Ignored, Tensor& out) {
  require_convertible(self.dtype, out.dtype, "self");
  copy_all(context, self, out);
}

void clone_dim_order_out(OpContext& context, const Tensor& self, bool, Ignored, Tensor& out) {
  copy_same_type(context, self, out);
}

// Writes src, broadcast to out's sizes, over out.
void copy_broadcast(OpContext& context, Tensor& out, const Tensor& src) {
  require_convertible(src.dtype, out.dtype, "src");
  require_broadcasts(src, out.sizes(), "src");
  if (src.rank == out.rank && std::ranges::equal(src.sizes(), out.sizes())) return copy_tensor(context, out, src);
  StridedView in(src);
  if (overlaps(out, src)) {
    const StridedView saved(context.scratch(src.size_bytes()), src.dtype, src.sizes());
    copy_view(context, saved, in);
    in = saved;
  }
  in.expand(out.sizes());
  copy_view(context, StridedView(out), in);
}

void copy_out(OpContext& context, const Tensor& self, const Tensor& src, bool, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  context.resize(out, self.sizes());
  copy_broadcast(context, out, src);
}

void copy_in_place(OpContext& context, Tensor& self, const Tensor& src, bool) { copy_broadcast(context, self, src); }

DType real_part_of(DType complex) noexcept {
  switch (complex) {
    case DType::kComplex32:
      return DType::kFloat16;
    case DType::kComplex64:
      return DType::kFloat32;
    default:
      return DType::kFloat64;
  }
}

// A complex view's elements as pairs in a last dim of size 2.
StridedView as_pairs(const Tensor& complex) {
  StridedView pairs(complex);
  pairs.dtype = real_part_of(complex.dtype);
  for (size_t d = 0; d < pairs.rank; ++d) pairs.stride_array[d] *= 2;
  pairs.push_back(2, 1);
  return pairs;
}

void view_as_real_copy_out(OpContext& context, const Tensor& self, Tensor& out) {
  if (!is_complex(self.dtype)) fail_execution("self: expected a complex dtype, got ", dtype_name(self.dtype));
  require_dtype(out, real_part_of(self.dtype), "out");
  Shape shape(self.sizes());
  shape.push_back(2);
  context.resize(out, shape);
  copy_view(context, StridedView(out), as_pairs(self));
}

void view_as_complex_copy_out(OpContext& context, const Tensor& self, Tensor& out) {
  if (!is_complex(out.dtype)) fail_execution("out: expected a complex dtype, got ", dtype_name(out.dtype));
  require_dtype(self, real_part_of(out.dtype), "self");
  if (self.rank == 0 || self.size(self.rank - 1) != 2) {
    fail_execution("self: expected a last dim of size 2, got shape ", self.sizes());
  }
  context.resize(out, self.sizes().first(self.rank - 1u));
  copy_view(context, as_pairs(out), StridedView(self));
}

}  // namespace

void register_copy(OperatorTable& table) {
  table.add<alias_copy_out>("aten::alias_copy.out", "self, out", kTruth<0>);
  table.add<alias_copy_out>("aten::detach_copy.out", "self, out", kTruth<0>);
  table.add<alias_copy_out>("aten::lift_fresh_copy.out", "self, out", kTruth<0>);
  table.add<clone_out>("aten::clone.out", "self, memory_format, out", kTruth<0>);
  table.add<to_copy_out>("aten::_to_copy.out", "self, non_blocking, memory_format, out", kTruth<0>);
  table.add<copy_out>("aten::copy.out", "self, src, non_blocking, out");
  table.add<copy_in_place>("aten::copy_", "self, src, non_blocking");
  table.add<to_dim_order_copy_out>("dim_order_ops::_to_dim_order_copy.out", "self, non_blocking, dim_order, out",
                                   kTruth<0>);
  table.add<clone_dim_order_out>("dim_order_ops::_clone_dim_order.out", "self, non_blocking, dim_order, out",
                                 kTruth<0>);
  table.add<alias_copy_out>("et_copy::_h2d_copy.out", "self, out", kTruth<0>);
  table.add<alias_copy_out>("et_copy::_d2h_copy.out", "self, out", kTruth<0>);
  table.add<alias_copy_out>("llama::fallback.out", "self, out", kTruth<0>);
  table.add<view_as_real_copy_out>("aten::view_as_real_copy.out", "self, out");
  table.add<view_as_complex_copy_out>("aten::view_as_complex_copy.out", "self, out");
}

}  // namespace enr::ops
