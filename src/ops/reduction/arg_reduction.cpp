// Where extremes are along a dim, and running sums, products and extremes.

#include "kernels/reduce/reduce.h"
#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/pointwise/elementwise.h"
#include "ops/reduction/reduced_dims.h"
#include "ops/scratch_tensor.h"

namespace enr::ops {

namespace {

using kernels::ArgReduce;
using kernels::Scan;

// A tensor along one dim; rank 0 counts as one element of rank 1.
struct AlongDim {
  Shape sizes;
  int64_t strides[kMaxRank] = {1};
  size_t dim;

  AlongDim(const Tensor& self, size_t along) : sizes(self.sizes()), dim(along) {
    if (self.rank == 0) sizes.push_back(1);
    for (size_t d = 0; d < self.rank; ++d) strides[d] = self.stride(d);
  }
};

// uint64 has no loops of these kernels: with the highest bit flipped its order is int64's.
Tensor flipped(OpContext& context, const Tensor& self) {
  Tensor copy = scratch_tensor(context, DType::kUInt64, self.sizes());
  const Number highest_bit(INT64_MIN, DType::kUInt64);
  run_loop(context, loop_for(kernels::Binary::kXor, DType::kUInt64), {}, {self, highest_bit}, copy);
  copy.dtype = DType::kInt64;
  return copy;
}
Tensor in_signed_order(OpContext& context, const Tensor& self) {
  return self.dtype == DType::kUInt64 ? flipped(context, self) : self;
}
void restore_order(DType dtype, void* values, int64_t count) {
  if (dtype != DType::kUInt64) return;
  const uint64_t highest_bit = uint64_t{1} << 63;
  const void* in[] = {values, &highest_bit};
  const uint8_t step[] = {1, 0};
  kernels::binary_loop(kernels::Binary::kXor, DType::kUInt64).run(values, in, step, static_cast<size_t>(count), {});
}

// Over all elements in row-major order: the kernel sees one dim.
void arg_reduce_all(OpContext& context, ArgReduce op, const Tensor& self, int64_t* index) {
  const Tensor* source = &self;
  Tensor row_major;
  if (!self.is_contiguous()) {
    row_major = scratch_tensor(context, self.dtype, self.sizes());
    copy_elements(context, self, row_major);
    source = &row_major;
  }
  const int64_t count = self.numel();
  const int64_t stride = 1;
  kernels::arg_reduce(op, Sizes(&count, 1), {source->data, self.dtype, &stride}, 0, nullptr, index);
}

template <ArgReduce op>
void arg_out(OpContext& context, const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  require_not_bool(self.dtype, "self");
  require_real(self.dtype, "self");
  require_same_dtype(out, DType::kInt64, "out");
  const char* what = op == ArgReduce::kArgMax ? "maximum" : "minimum";
  const uint32_t mask = reduced_mask(dim ? std::optional(Sizes(&*dim, 1)) : std::nullopt, self.rank);
  require_elements(self, mask, what);
  context.resize(out, reduced_shape(self, mask, keepdim));
  if (out.numel() == 0) return;
  DenseResult result(context, out, DType::kInt64);
  auto* indices = static_cast<int64_t*>(result.data());
  const Tensor in = in_signed_order(context, self);
  if (!dim) {
    arg_reduce_all(context, op, in, indices);
  } else {
    const AlongDim view(in, normalize_dim(*dim, in.rank));
    kernels::arg_reduce(op, view.sizes, {in.data, in.dtype, view.strides}, view.dim, nullptr, indices);
  }
  result.finish();
}

// The extreme and its place.
template <ArgReduce op>
void extreme_dim_out(OpContext& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& values,
                     Tensor& indices) {
  require_real(self.dtype, "self");
  require_same_dtype(values, self.dtype, "values");
  require_same_dtype(indices, DType::kInt64, "indices");
  const uint32_t mask = reduced_mask(Sizes(&dim, 1), self.rank);
  require_elements(self, mask, op == ArgReduce::kArgMax ? "maximum" : "minimum");
  const Shape shape = reduced_shape(self, mask, keepdim);
  context.resize(values, shape, "values");
  context.resize(indices, shape, "indices");
  if (values.numel() == 0) return;
  DenseResult value_result(context, values, self.dtype);
  DenseResult index_result(context, indices, DType::kInt64);
  const Tensor in = in_signed_order(context, self);
  const AlongDim view(in, normalize_dim(dim, in.rank));
  kernels::arg_reduce(op, view.sizes, {in.data, in.dtype, view.strides}, view.dim, value_result.data(),
                      static_cast<int64_t*>(index_result.data()));
  restore_order(self.dtype, value_result.data(), values.numel());
  value_result.finish();
  index_result.finish();
}

void run_scan(OpContext& context, Scan op, const Tensor& self, int64_t dim, Tensor& out) {
  require_real(self.dtype, "self");
  const AlongDim view(self, normalize_dim(dim, self.rank));
  context.resize(out, self.sizes());
  if (out.numel() == 0) return;
  DenseResult result(context, out, out.dtype);
  kernels::scan(op, view.sizes, {self.data, self.dtype, view.strides}, view.dim, out.dtype, result.data(), nullptr);
  result.finish();
}

template <Scan op>
void cumulative_out(OpContext& context, const Tensor& self, int64_t dim, std::optional<DType> dtype, Tensor& out) {
  const DType result = dtype ? *dtype : is_integral_or_bool(self.dtype) ? DType::kInt64 : self.dtype;
  require_castable(result, out);
  if (is_complex(result)) {
    return scan_complex(context, self, normalize_dim(dim, self.rank), out,
                        [](Complex last, Complex next) { return op == Scan::kCumSum ? last + next : last * next; });
  }
  if (!is_floating(self.dtype) || is_floating(result)) return run_scan(context, op, self, dim, out);
  // Floating numbers become integers first, not their sums.
  require_convertible(result, "dtype");
  Tensor integers = scratch_tensor(context, result, self.sizes());
  copy_elements(context, self, integers);
  run_scan(context, op, integers, dim, out);
}
void logcumsumexp_out(OpContext& context, const Tensor& self, int64_t dim, Tensor& out) {
  require_castable(self.dtype, out);
  if (is_complex(self.dtype))
    return scan_complex(context, self, normalize_dim(dim, self.rank), out,
                        [](Complex last, Complex next) { return log_add_exp(last, next); });
  require_floating(self.dtype, "self");
  run_scan(context, Scan::kLogCumSumExp, self, dim, out);
}

template <Scan op>
void running_extreme_out(OpContext& context, const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  require_real(self.dtype, "self");
  require_same_dtype(values, self.dtype, "values");
  require_same_dtype(indices, DType::kInt64, "indices");
  const size_t along = normalize_dim(dim, self.rank);
  context.resize(values, self.sizes(), "values");
  context.resize(indices, self.sizes(), "indices");
  if (values.numel() == 0) return;
  DenseResult value_result(context, values, self.dtype);
  DenseResult index_result(context, indices, DType::kInt64);
  const Tensor in = in_signed_order(context, self);
  const AlongDim view(in, along);
  kernels::scan(op, view.sizes, {in.data, in.dtype, view.strides}, view.dim, in.dtype, value_result.data(),
                static_cast<int64_t*>(index_result.data()));
  restore_order(self.dtype, value_result.data(), values.numel());
  value_result.finish();
  index_result.finish();
}

}  // namespace

void register_arg_reduction(OperatorTable& table) {
  table.add<arg_out<ArgReduce::kArgMax>>("aten::argmax.out", "self, dim, keepdim, out");
  table.add<arg_out<ArgReduce::kArgMin>>("aten::argmin.out", "self, dim, keepdim, out");
  table.add<extreme_dim_out<ArgReduce::kArgMax>>("aten::max.dim_max", "self, dim, keepdim, max, max_values");
  table.add<extreme_dim_out<ArgReduce::kArgMin>>("aten::min.dim_min", "self, dim, keepdim, min, min_indices");
  table.add<cumulative_out<Scan::kCumSum>>("aten::cumsum.out", "self, dim, dtype, out");
  table.add<cumulative_out<Scan::kCumProd>>("aten::cumprod.out", "self, dim, dtype, out");
  table.add<logcumsumexp_out>("aten::logcumsumexp.out", "self, dim, out");
  table.add<running_extreme_out<Scan::kCumMax>>("aten::cummax.out", "self, dim, values, indices");
  table.add<running_extreme_out<Scan::kCumMin>>("aten::cummin.out", "self, dim, values, indices");
}

}  // namespace enr::ops
