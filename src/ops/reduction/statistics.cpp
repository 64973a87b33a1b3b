// Variances, norms and log-sum-exp over dims.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/reduce/reduce.h"
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

void run(OpContext& context, Reduce op, const ReduceParams& params, const Tensor& self, uint32_t mask, bool keepdim,
         Tensor& out) {
  require_convertible(self.dtype, "self");
  require_convertible(out.dtype, "out");
  context.resize(out, reduced_shape(self, mask, keepdim));
  DenseResult result(context, out, out.dtype);
  kernels::reduce(op, params, self.sizes(), {self.data, self.dtype, self.strides().data()}, mask, out.dtype,
                  result.data());
  result.finish();
}

Complex mean_of(std::span<const Complex> numbers) {
  const Complex sum = std::accumulate(numbers.begin(), numbers.end(), Complex());
  return sum / static_cast<double>(numbers.size());
}

// The variances of the parts together.
void complex_variance(OpContext& context, bool root, double correction, const Tensor& self, uint32_t mask, bool keepdim,
                      Tensor& out, const char* what) {
  reduce_complex(
      context, self, mask, keepdim, out,
      [&](std::span<const Complex> numbers) {
        const Complex mean = mean_of(numbers);
        double sum = 0;
        for (const Complex x : numbers) sum += std::norm(x - mean);
        const double variance = sum / std::max(static_cast<double>(numbers.size()) - correction, 0.0);
        return root ? std::sqrt(variance) : variance;
      },
      what);
}

template <Reduce op>
void variance(OpContext& context, const Tensor& self, const OptionalDims& dims, double correction, bool keepdim,
              Tensor& out) {
  require_castable(real_dtype(self.dtype), out);
  if (is_complex(self.dtype)) {
    const uint32_t mask = reduced_mask(dims, self.rank);
    return complex_variance(context, op == Reduce::kStd, correction, self, mask, keepdim, out, "out");
  }
  require_floating(self.dtype, "self");
  ReduceParams params;
  params.correction = correction;
  run(context, op, params, self, reduced_mask(dims, self.rank), keepdim, out);
}
template <Reduce op>
void variance_out(OpContext& context, const Tensor& self, const OptionalDims& dims, bool unbiased, bool keepdim,
                  Tensor& out) {
  variance<op>(context, self, dims, unbiased ? 1 : 0, keepdim, out);
}
template <Reduce op>
void variance_correction_out(OpContext& context, const Tensor& self, const OptionalDims& dims,
                             const std::optional<Scalar>& correction, bool keepdim, Tensor& out) {
  variance<op>(context, self, dims, correction ? correction->to<double>() : 1, keepdim, out);
}

template <bool kRoot>
void variance_mean_out(OpContext& context, const Tensor& self, const OptionalDims& dims,
                       const std::optional<Scalar>& correction, bool keepdim, Tensor& out0, Tensor& out1) {
  require_same_dtype(out0, real_dtype(self.dtype), "out0");
  require_same_dtype(out1, self.dtype, "out1");
  const uint32_t mask = reduced_mask(dims, self.rank);
  if (is_complex(self.dtype)) {
    complex_variance(context, kRoot, correction ? correction->to<double>() : 1, self, mask, keepdim, out0, "out0");
    return reduce_complex(
        context, self, mask, keepdim, out1, [](std::span<const Complex> x) { return mean_of(x); }, "out1");
  }
  require_floating(self.dtype, "self");
  const Shape shape = reduced_shape(self, mask, keepdim);
  context.resize(out0, shape, "out0");
  context.resize(out1, shape, "out1");
  DenseResult var(context, out0, self.dtype);
  DenseResult mean(context, out1, self.dtype);
  kernels::reduce_var_mean(kRoot, correction ? correction->to<double>() : 1, self.sizes(),
                           {self.data, self.dtype, self.strides().data()}, mask, self.dtype, var.data(), mean.data());
  var.finish();
  mean.finish();
}

Complex log_sum_exp(std::span<const Complex> numbers) {
  double largest = -INFINITY;
  for (const Complex x : numbers) largest = std::max(largest, x.real());
  if (std::isinf(largest)) largest = 0;
  Complex sum;
  for (const Complex x : numbers) sum += std::exp(x - largest);
  return std::log(sum) + largest;
}

void logsumexp_out(OpContext& context, const Tensor& self, Sizes dims, bool keepdim, Tensor& out) {
  require_castable(floating_for(self.dtype), out);
  const uint32_t mask = reduced_mask(dims, self.rank);
  if (is_complex(self.dtype))
    return reduce_complex(context, self, mask, keepdim, out, [](std::span<const Complex> x) { return log_sum_exp(x); });
  run(context, Reduce::kLogSumExp, {}, self, mask, keepdim, out);
}

Reduce norm_kind(double p) noexcept {
  if (p == 0) return Reduce::kNorm0;
  if (p == 1) return Reduce::kNorm1;
  if (p == 2) return Reduce::kNorm2;
  if (p == INFINITY) return Reduce::kNormInf;
  if (p == -INFINITY) return Reduce::kNormNegInf;
  return Reduce::kNormP;
}

// The lengths of complex numbers, which their norms go by.
Tensor lengths(OpContext& context, const Tensor& self) {
  if (!is_complex(self.dtype)) return self;
  Tensor result = scratch_tensor(context, DType::kFloat64, self.sizes());
  map_complex(context, {&self}, result, [](const Complex* x) { return std::abs(*x); });
  return result;
}

void vector_norm(OpContext& context, const Tensor& given, double p, const OptionalDims& dims, bool keepdim,
                 Tensor& out) {
  require_castable(real_dtype(given.dtype), out);
  const Tensor self = lengths(context, given);
  require_floating(self.dtype, "self");
  const uint32_t mask = reduced_mask(dims, self.rank);
  if (p < 0 || p == INFINITY) require_elements(self, mask, "norm");
  ReduceParams params;
  params.p = p;
  run(context, norm_kind(p), params, self, mask, keepdim, out);
}

double order(const std::optional<Scalar>& p) noexcept { return p ? p->to<double>() : 2; }

void norm_out(OpContext& context, const Tensor& self, const std::optional<Scalar>& p, Sizes dims, bool keepdim,
              Tensor& out) {
  vector_norm(context, self, order(p), dims, keepdim, out);
}

// Numbers are converted to `dtype` before they are added up, which may not lose any.
void require_norm_dtype(const Tensor& self, DType dtype) {
  if (is_complex(self.dtype) != is_complex(dtype)) {
    fail_execution("dtype: expected a ", is_complex(self.dtype) ? "complex" : "real", " dtype for self of ",
                   dtype_name(self.dtype), ", got ", dtype_name(dtype));
  }
  if (promote(self.dtype, dtype) != dtype) {
    fail_execution("dtype: expected one that holds ", dtype_name(self.dtype), ", got ", dtype_name(dtype));
  }
}

void norm_dtype_out(OpContext& context, const Tensor& self, const std::optional<Scalar>& p, Sizes dims, bool keepdim,
                    DType dtype, Tensor& out) {
  require_norm_dtype(self, dtype);
  require_same_dtype(out, real_dtype(dtype), "out");
  vector_norm(context, self, order(p), dims, keepdim, out);
}
void norm_scalar_out(OpContext& context, const Tensor& self, const Scalar& p, Tensor& out) {
  vector_norm(context, self, p.to<double>(), std::nullopt, false, out);
}
void norm_scalar_dtype_out(OpContext& context, const Tensor& self, const std::optional<Scalar>& p, DType dtype,
                           Tensor& out) {
  require_norm_dtype(self, dtype);
  require_same_dtype(out, real_dtype(dtype), "out");
  vector_norm(context, self, order(p), std::nullopt, false, out);
}
void linalg_vector_norm_out(OpContext& context, const Tensor& self, const Scalar& ord, const OptionalDims& dims,
                            bool keepdim, std::optional<DType> dtype, Tensor& out) {
  if (dtype) require_norm_dtype(self, *dtype);
  require_same_dtype(out, real_dtype(dtype.value_or(self.dtype)), "out");
  vector_norm(context, self, ord.to<double>(), dims, keepdim, out);
}

// Slices along a dim are scaled down to a norm of at most `maxnorm`.
void renorm_out(OpContext& context, const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm,
                Tensor& out) {
  require_floating_or_complex(self.dtype, "self");
  require_same_dtype(out, self.dtype, "out");
  if (self.rank < 2) fail_execution("self: expected at least rank 2, got shape ", self.sizes());
  if (!(p.to<double>() > 0)) fail_execution("p: expected more than 0, got ", p.to<double>());
  const double limit = maxnorm.to<double>();
  if (!(limit >= 0)) fail_execution("maxnorm: expected at least 0, got ", limit);
  const size_t kept = normalize_dim(dim, self.rank);
  const uint32_t mask = ((1u << self.rank) - 1) & ~(1u << kept);
  Tensor norms = scratch_tensor(context, DType::kFloat64, reduced_shape(self, mask, true));
  ReduceParams params;
  params.p = p.to<double>();
  run(context, norm_kind(params.p), params, lengths(context, self), mask, true, norms);
  for (int64_t i = 0; i < norms.numel(); ++i) {
    double& norm = norms.as<double>()[i];
    norm = norm > limit ? limit / (norm + 1e-7) : 1;
  }
  const DType common = computing_dtype(self.dtype);
  Tensor factors = scratch_tensor(context, common, norms.sizes());
  copy_elements(context, norms, factors);
  run_loop(context, loop_for(kernels::Binary::kMul, common), {}, {self, factors}, out);
}

// The norm of a difference.
void dist_out(OpContext& context, const Tensor& self, const Tensor& other, const Scalar& p, Tensor& out) {
  const DType common = result_type(self, other);
  if (!is_complex(common)) require_floating(common, "self");
  Tensor difference = scratch_tensor(context, common, broadcast(self.sizes(), other.sizes()));
  run_loop(context, loop_for(kernels::Binary::kSub, common), {1}, {self, other}, difference);
  vector_norm(context, difference, p.to<double>(), std::nullopt, false, out);
}

}  // namespace

void register_statistics(OperatorTable& table) {
  table.add<variance_out<Reduce::kVar>>("aten::var.out", "self, dim, unbiased, keepdim, out");
  table.add<variance_correction_out<Reduce::kVar>>("aten::var.correction_out", "self, dim, correction, keepdim, out");
  table.add<variance_out<Reduce::kStd>>("aten::std.out", "self, dim, unbiased, keepdim, out");
  table.add<variance_correction_out<Reduce::kStd>>("aten::std.correction_out", "self, dim, correction, keepdim, out");
  table.add<variance_mean_out<false>>("aten::var_mean.correction_out", "self, dim, correction, keepdim, out0, out1");
  table.add<variance_mean_out<true>>("aten::std_mean.correction_out", "self, dim, correction, keepdim, out0, out1");
  table.add<logsumexp_out>("aten::logsumexp.out", "self, dim, keepdim, out");
  table.add<norm_out>("aten::norm.out", "self, p, dim, keepdim, out");
  table.add<norm_dtype_out>("aten::norm.dtype_out", "self, p, dim, keepdim, dtype, out");
  table.add<norm_scalar_out>("aten::norm.Scalar_out", "self, p, out");
  table.add<norm_scalar_dtype_out>("aten::norm.ScalarOpt_dtype_out", "self, p, dtype, out");
  table.add<linalg_vector_norm_out>("aten::linalg_vector_norm.out", "self, ord, dim, keepdim, dtype, out");
  table.add<dist_out>("aten::dist.out", "self, other, p, out");
  table.add<renorm_out>("aten::renorm.out", "self, p, dim, maxnorm, out");
}

}  // namespace enr::ops
