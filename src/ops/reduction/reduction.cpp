// Sums, means, products, extremes and tests over dims.

#include "kernels/reduce/reduce.h"

#include <functional>
#include <numeric>

#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/pointwise/elementwise.h"
#include "ops/reduction/reduced_dims.h"
#include "ops/scratch_tensor.h"

namespace enr::ops {

namespace {

using kernels::Reduce;
using kernels::ReduceParams;
using OptionalDims = std::optional<Sizes>;

kernels::ConstStrided strided(const Tensor& tensor) noexcept {
  return {tensor.data, tensor.dtype, tensor.strides().data()};
}

// The kernel's result is converted to out's dtype, which is the operator's.
void run(OpContext& context, Reduce op, const ReduceParams& params, const Tensor& self, uint32_t mask, bool keepdim,
         Tensor& out) {
  require_convertible(self.dtype, "self");
  require_convertible(out.dtype, "out");
  context.resize(out, reduced_shape(self, mask, keepdim));
  DenseResult result(context, out, out.dtype);
  kernels::reduce(op, params, self.sizes(), strided(self), mask, out.dtype, result.data());
  result.finish();
}

// Sums and means of complex numbers are those of their parts: the view with one more dim, which is kept.
void run_complex(OpContext& context, Reduce op, const Tensor& given, uint32_t mask, bool keepdim, Tensor& out) {
  Tensor self = given;
  if (given.dtype != out.dtype) {
    self = scratch_tensor(context, out.dtype, given.sizes());
    copy_elements(context, given, self);
  }
  if (self.dtype == DType::kComplex32) fail_execution("self: expected a dtype with a sum, got complex32");
  if (self.rank + 1u > kMaxRank)
    fail_execution("self: expected a lower rank for complex numbers, got ", int{self.rank});
  const DType part = self.dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  Shape sizes(self.sizes());
  sizes.push_back(2);
  int64_t strides[kMaxRank];
  for (size_t d = 0; d < self.rank; ++d) strides[d] = 2 * self.stride(d);
  strides[self.rank] = 1;
  context.resize(out, reduced_shape(self, mask, keepdim));
  DenseResult result(context, out, out.dtype);
  kernels::reduce(op, {}, sizes, {self.data, part, strides}, mask, part, result.data());
  result.finish();
}

DType sum_dtype(const Tensor& self, const std::optional<DType>& dtype) noexcept {
  return dtype ? *dtype : is_integral_or_bool(self.dtype) ? DType::kInt64 : self.dtype;
}

void sum_out(OpContext& context, const Tensor& self, const OptionalDims& dims, bool keepdim, std::optional<DType> dtype,
             Tensor& out) {
  require_same_dtype(out, sum_dtype(self, dtype), "out");
  const uint32_t mask = reduced_mask(dims, self.rank);
  if (is_complex(out.dtype)) return run_complex(context, Reduce::kSum, self, mask, keepdim, out);
  run(context, Reduce::kSum, {}, self, mask, keepdim, out);
}
void sum_all_out(OpContext& context, const Tensor& self, std::optional<DType> dtype, Tensor& out) {
  sum_out(context, self, std::nullopt, false, dtype, out);
}

// NaN counts as nothing.
void nansum_out(OpContext& context, const Tensor& self, const OptionalDims& dims, bool keepdim,
                std::optional<DType> dtype, Tensor& out) {
  require_real(self.dtype, "self");
  if (is_integral_or_bool(self.dtype)) return sum_out(context, self, dims, keepdim, dtype, out);
  Tensor is_nan = scratch_tensor(context, DType::kBool, self.sizes());
  run_loop(context, loop_for(kernels::Predicate::kIsNan, self.dtype), {}, {self}, is_nan);
  Tensor kept = scratch_tensor(context, self.dtype, self.sizes());
  run_loop(context, kernels::where_loop(self.dtype), {}, {is_nan, Number(0.0, self.dtype), self}, kept);
  sum_out(context, kept, dims, keepdim, dtype, out);
}

void mean_out(OpContext& context, const Tensor& self, const OptionalDims& dims, bool keepdim,
              std::optional<DType> dtype, Tensor& out) {
  const DType result = dtype.value_or(self.dtype);
  if (is_integral_or_bool(result)) {
    fail_execution(dtype ? "dtype" : "self", ": expected a floating dtype to take the mean in, got ",
                   dtype_name(result));
  }
  require_same_dtype(out, result, "out");
  const uint32_t mask = reduced_mask(dims, self.rank);
  if (is_complex(out.dtype)) return run_complex(context, Reduce::kMean, self, mask, keepdim, out);
  run(context, Reduce::kMean, {}, self, mask, keepdim, out);
}
// The mean of what is a number.
void nanmean_out(OpContext& context, const Tensor& self, const OptionalDims& dims, bool keepdim,
                 std::optional<DType> dtype, Tensor& out) {
  require_floating(self.dtype, "self");
  require_same_dtype(out, dtype.value_or(self.dtype), "out");
  const uint32_t mask = reduced_mask(dims, self.rank);
  Tensor is_number = scratch_tensor(context, DType::kBool, self.sizes());
  run_loop(context, loop_for(kernels::Comparison::kEq, self.dtype), {}, {self, self}, is_number);
  const Shape shape = reduced_shape(self, mask, keepdim);
  const DType common = out.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  Tensor count = scratch_tensor(context, common, shape), sum = scratch_tensor(context, common, shape);
  Tensor kept = scratch_tensor(context, common, self.sizes());
  run_loop(context, kernels::where_loop(common), {}, {is_number, self, Number(0.0, common)}, kept);
  run(context, Reduce::kSum, {}, kept, mask, keepdim, sum);
  run_loop(context, kernels::where_loop(common), {}, {is_number, Number(1.0, common), Number(0.0, common)}, kept);
  run(context, Reduce::kSum, {}, kept, mask, keepdim, count);
  run_loop(context, loop_for(kernels::Binary::kDiv, common), {}, {sum, count}, out);
}

void mean_dtype_out(OpContext& context, const Tensor& self, std::optional<DType> dtype, Tensor& out) {
  mean_out(context, self, std::nullopt, false, dtype, out);
}

void product(OpContext& context, const Tensor& self, const OptionalDims& dims, bool keepdim, std::optional<DType> dtype,
             Tensor& out) {
  require_same_dtype(out, sum_dtype(self, dtype), "out");
  const uint32_t mask = reduced_mask(dims, self.rank);
  if (is_complex(out.dtype)) {
    return reduce_complex(context, self, mask, keepdim, out, [](std::span<const Complex> numbers) {
      return std::accumulate(numbers.begin(), numbers.end(), Complex(1), std::multiplies<>());
    });
  }
  require_real(self.dtype, "self");
  run(context, Reduce::kProd, {}, self, mask, keepdim, out);
}
void prod_out(OpContext& context, const Tensor& self, std::optional<DType> dtype, Tensor& out) {
  product(context, self, std::nullopt, false, dtype, out);
}
void prod_int_out(OpContext& context, const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype,
                  Tensor& out) {
  product(context, self, Sizes(&dim, 1), keepdim, dtype, out);
}

template <Reduce op>
void extreme_out(OpContext& context, const Tensor& self, const OptionalDims& dims, bool keepdim, Tensor& out) {
  require_real(self.dtype, "self");
  require_same_dtype(out, self.dtype, "out");
  const uint32_t mask = reduced_mask(dims, self.rank);
  require_elements(self, mask, op == Reduce::kMax ? "maximum" : "minimum");
  run(context, op, {}, self, mask, keepdim, out);
}
template <Reduce op>
void extreme_all_out(OpContext& context, const Tensor& self, Tensor& out) {
  extreme_out<op>(context, self, std::nullopt, false, out);
}
void aminmax_out(OpContext& context, const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& low,
                 Tensor& high) {
  const OptionalDims dims = dim ? OptionalDims(Sizes(&*dim, 1)) : std::nullopt;
  require_same_dtype(high, self.dtype, "max");
  extreme_out<Reduce::kMin>(context, self, dims, keepdim, low);
  extreme_out<Reduce::kMax>(context, self, dims, keepdim, high);
}
void aminmax_all_out(OpContext& context, const Tensor& self, Tensor& low, Tensor& high) {
  aminmax_out(context, self, std::nullopt, false, low, high);
}
void aminmax_dim_out(OpContext& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& low, Tensor& high) {
  aminmax_out(context, self, dim, keepdim, low, high);
}

// any and all: uint8 for uint8, else bool.
template <Reduce op>
void test(OpContext& context, const Tensor& self, uint32_t mask, bool keepdim, Tensor& out) {
  if (out.dtype != DType::kBool && out.dtype != DType::kUInt8) {
    fail_execution("out: expected bool, got ", dtype_name(out.dtype));
  }
  run(context, op, {}, self, mask, keepdim, out);
}
template <Reduce op>
void test_all_out(OpContext& context, const Tensor& self, Tensor& out) {
  test<op>(context, self, reduced_mask(std::nullopt, self.rank), false, out);
}
template <Reduce op>
void test_dims_out(OpContext& context, const Tensor& self, const OptionalDims& dims, bool keepdim, Tensor& out) {
  const bool is_elementwise = dims && dims->empty();  // unlike the others, these two take [] as no dims
  test<op>(context, self, is_elementwise ? 0 : reduced_mask(dims, self.rank), keepdim, out);
}
template <Reduce op>
void test_out(OpContext& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  test_dims_out<op>(context, self, Sizes(&dim, 1), keepdim, out);
}

void count_nonzero_dims_out(OpContext& context, const Tensor& self, Sizes dims, Tensor& out) {
  require_same_dtype(out, DType::kInt64, "out");
  run(context, Reduce::kCountNonZero, {}, self, reduced_mask(dims, self.rank), false, out);
}
void count_nonzero_out(OpContext& context, const Tensor& self, std::optional<int64_t> dim, Tensor& out) {
  count_nonzero_dims_out(context, self, dim ? Sizes(&*dim, 1) : Sizes(), out);
}

}  // namespace

void register_reduction(OperatorTable& table) {
  table.add<sum_out>("aten::sum.IntList_out", "self, dim, keepdim, dtype, out", kTruth<0>);
  table.add<sum_all_out>("aten::sum.out", "self, dtype, out", kTruth<0>);
  table.add<nansum_out>("aten::nansum.out", "self, dim, keepdim, dtype, out");
  table.add<mean_out>("aten::mean.out", "self, dim, keepdim, dtype, out");
  table.add<mean_dtype_out>("aten::mean.dtype_out", "self, dtype, out");
  table.add<prod_out>("aten::prod.out", "self, dtype, out");
  table.add<prod_int_out>("aten::prod.int_out", "self, dim, keepdim, dtype, out");
  table.add<extreme_out<Reduce::kMax>>("aten::amax.out", "self, dim, keepdim, out", kTruth<0>);
  table.add<extreme_out<Reduce::kMin>>("aten::amin.out", "self, dim, keepdim, out", kTruth<0>);
  table.add<extreme_all_out<Reduce::kMax>>("aten::max.unary_out", "self, out", kTruth<0>);
  table.add<extreme_all_out<Reduce::kMin>>("aten::min.unary_out", "self, out", kTruth<0>);
  table.add<aminmax_out>("aten::aminmax.out", "self, dim, keepdim, min, max");
  table.add<aminmax_all_out>("aten::_aminmax.out", "self, out0, out1");
  table.add<aminmax_dim_out>("aten::_aminmax.dim_out", "self, dim, keepdim, out0, out1");
  table.add<nanmean_out>("aten::nanmean.out", "self, dim, keepdim, dtype, out");
  table.add<test_all_out<Reduce::kAny>>("aten::any.all_out", "self, out", kTruth<0>);
  table.add<test_dims_out<Reduce::kAny>>("aten::any.dims_out", "self, dim, keepdim, out", kTruth<0>);
  table.add<test_out<Reduce::kAny>>("aten::any.out", "self, dim, keepdim, out", kTruth<0>);
  table.add<test_all_out<Reduce::kAll>>("aten::all.all_out", "self, out", kTruth<0>);
  table.add<test_dims_out<Reduce::kAll>>("aten::all.dims_out", "self, dim, keepdim, out", kTruth<0>);
  table.add<test_out<Reduce::kAll>>("aten::all.out", "self, dim, keepdim, out", kTruth<0>);
  table.add<count_nonzero_dims_out>("aten::count_nonzero.dim_IntList_out", "self, dim, out", kTruth<0>);
  table.add<count_nonzero_out>("aten::count_nonzero.out", "self, dim, out", kTruth<0>);
}

}  // namespace enr::ops
