// Layer, root-mean-square and group normalisation.

#include "kernels/norm/norm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/reduce/reduce.h"
#include "ops/families.h"
#include "ops/memory_order.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/reduction/reduced_dims.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// What computes: float32 where parameters have another dtype than the half-kind input, as eager does.
DType common_dtype(const Tensor& input, const Tensor* weight, const Tensor* bias) {
  require_floating(input.dtype, "input");
  const bool is_mixed =
      (weight != nullptr && weight->dtype != input.dtype) || (bias != nullptr && bias->dtype != input.dtype);
  return is_mixed ? computing_dtype(input.dtype) : input.dtype;
}

// The same of parameters that have to fit the input.
DType parameter_dtype(const Tensor& input, const Tensor* weight, const Tensor* bias) {
  const DType dtype = common_dtype(input, weight, bias);
  if (weight != nullptr) require_parameter_dtype(*weight, input, "weight");
  if (bias != nullptr) require_parameter_dtype(*bias, input, "bias");
  return dtype;
}

// A row-major parameter of `dtype`, or null.
struct Parameter {
  Tensor tensor;
  const void* data = nullptr;

  Parameter(OpContext& context, const Tensor* given, Sizes expected, DType dtype, const char* what) {
    if (given == nullptr) return;
    if (!std::equal(given->sizes().begin(), given->sizes().end(), expected.begin(), expected.end())) {
      fail_execution(what, ": expected shape ", expected, ", got ", given->sizes());
    }
    require_real(given->dtype, what);
    tensor = row_major(context, *given, dtype);
    data = tensor.data;
  }
};

// Rows and columns of an input whose last dims are normalised.
struct Rows {
  size_t rows = 1;
  size_t cols = 1;
  Shape statistics;  // of the mean and deviation: 1 in the normalised dims

  Rows(const Tensor& input, Sizes normalized_shape) : statistics(input.sizes()) {
    const size_t last = normalized_shape.size();
    if (last == 0) fail_execution("normalized_shape: expected at least one dim, got []");
    const bool fits = last <= input.rank && std::equal(normalized_shape.begin(), normalized_shape.end(),
                                                       input.sizes().end() - static_cast<std::ptrdiff_t>(last));
    if (!fits) {
      fail_execution("normalized_shape: expected the last dims of ", input.sizes(), ", got ", normalized_shape);
    }
    for (size_t d = 0; d < input.rank; ++d) {
      const bool is_normalized = d + last >= input.rank;
      (is_normalized ? cols : rows) *= static_cast<size_t>(input.size(d));
      if (is_normalized) statistics[d] = 1;
    }
  }
};

void native_layer_norm_out(OpContext& context, const Tensor& input, Sizes normalized_shape, const Tensor* weight,
                           const Tensor* bias, double eps, Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  const DType dtype = parameter_dtype(input, weight, bias);
  require_castable(dtype, out, "out0");
  const Rows view(input, normalized_shape);
  const Parameter gamma(context, weight, normalized_shape, dtype, "weight");
  const Parameter beta(context, bias, normalized_shape, dtype, "bias");
  context.resize(out, input.sizes(), "out0");
  context.resize(mean_out, view.statistics, "out1");
  context.resize(rstd_out, view.statistics, "out2");
  const Tensor in = row_major(context, input, dtype);
  DenseResult result(context, out, dtype);
  DenseResult mean(context, mean_out, dtype);
  DenseResult rstd(context, rstd_out, dtype);
  kernels::layer_norm(dtype, in.data, gamma.data, beta.data, result.data(), mean.data(), rstd.data(), view.rows,
                      view.cols, eps);
  result.finish();
  mean.finish();
  rstd.finish();
}

double default_epsilon(DType dtype) noexcept {
  // The distance of 1 to the next number of the dtype that computes.
  return dtype == DType::kFloat64 ? 0x1p-52 : 0x1p-23;
}

// The mean of the squares is a complex number, too, as eager's definition has it.
void complex_rms_norm(OpContext& context, const Tensor& input, Sizes normalized_shape, const Tensor* weight,
                      std::optional<double> eps, Tensor& out, Tensor* rstd_out) {
  const Rows view(input, normalized_shape);
  const auto shift = eps.value_or(default_epsilon(real_dtype(input.dtype)));
  Tensor factors = scratch_tensor(context, DType::kComplex128, view.statistics);
  uint32_t mask = 0;
  for (size_t d = input.rank - normalized_shape.size(); d < input.rank; ++d) mask |= 1u << d;
  reduce_complex(context, input, mask, true, factors, [&](std::span<const Complex> numbers) {
    Complex sum;
    for (const Complex x : numbers) sum += x * x;
    return 1.0 / std::sqrt(sum / static_cast<double>(numbers.size()) + shift);
  });
  if (rstd_out != nullptr) copy_elements(context, factors, *rstd_out, "out1");
  if (weight == nullptr) {
    return map_complex(context, {&input, &factors}, out, [](const Complex* x) { return x[0] * x[1]; });
  }
  require_sizes(*weight, normalized_shape, "weight");
  map_complex(context, {&input, &factors, weight}, out, [](const Complex* x) { return x[0] * x[1] * x[2]; });
}

void rms_norm_out(OpContext& context, const Tensor& input, Sizes normalized_shape, const Tensor* weight,
                  std::optional<double> eps, Tensor& out) {
  if (is_complex(input.dtype)) {
    require_castable(input.dtype, out);
    return complex_rms_norm(context, input, normalized_shape, weight, eps, out, nullptr);
  }
  const DType dtype = common_dtype(input, weight, nullptr);
  require_castable(dtype, out);
  const Rows view(input, normalized_shape);
  const Parameter gamma(context, weight, normalized_shape, dtype, "weight");
  context.resize(out, input.sizes());
  const Tensor in = row_major(context, input, dtype);
  DenseResult result(context, out, dtype);
  kernels::rms_norm(dtype, in.data, gamma.data, result.data(), view.rows, view.cols,
                    eps.value_or(default_epsilon(input.dtype)));
  result.finish();
}

// With the reciprocal of the root, which training keeps.
void fused_rms_norm_out(OpContext& context, const Tensor& input, Sizes normalized_shape, const Tensor* weight,
                        std::optional<double> eps, Tensor& out, Tensor& rstd_out) {
  if (is_complex(input.dtype)) {
    require_castable(input.dtype, out, "out0");
    require_castable(input.dtype, rstd_out, "out1");
    return complex_rms_norm(context, input, normalized_shape, weight, eps, out, &rstd_out);
  }
  const DType dtype = computing_dtype(input.dtype);
  require_floating(input.dtype, "input");
  const Rows view(input, normalized_shape);
  Tensor square = scratch_tensor(context, dtype, input.sizes());
  run_loop(context, loop_for(kernels::Unary::kSquare, dtype), {}, {input}, square);
  context.resize(rstd_out, view.statistics, "out1");
  Tensor mean = scratch_tensor(context, dtype, view.statistics);
  const Shape rows(Sizes(std::array<int64_t, 2>{static_cast<int64_t>(view.rows), static_cast<int64_t>(view.cols)}));
  const int64_t strides[] = {rows[1], 1};
  kernels::reduce(kernels::Reduce::kMean, {}, rows, {square.data, dtype, strides}, 2, dtype, mean.data);
  rms_norm_out(context, input, normalized_shape, weight, eps, out);
  const LoopParams shift{1, eps.value_or(default_epsilon(input.dtype))};
  run_loop(context, loop_for(kernels::Unary::kScale, dtype), shift, {mean}, mean);
  run_loop(context, loop_for(kernels::Unary::kRsqrt, dtype), {}, {mean}, rstd_out, "out1");
}

void native_group_norm_out(OpContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias,
                           int64_t batch, int64_t channels, int64_t spatial, int64_t groups, double eps, Tensor& out,
                           Tensor& mean_out, Tensor& rstd_out) {
  const DType dtype = parameter_dtype(input, weight, bias);
  require_castable(dtype, out, "out0");
  if (groups <= 0 || channels < 0 || channels % groups != 0) {
    fail_execution("group: expected a divisor of ", channels, " channels, got ", groups);
  }
  int64_t expected = 0;
  const bool overflows = batch < 0 || spatial < 0 || __builtin_mul_overflow(batch, channels, &expected) ||
                         __builtin_mul_overflow(expected, spatial, &expected);
  if (overflows || expected != input.numel()) {
    fail_execution("input: expected N * C * HxW = ", batch, " * ", channels, " * ", spatial, " elements, got shape ",
                   input.sizes());
  }
  const Parameter gamma(context, weight, Sizes(&channels, 1), dtype, "weight");
  const Parameter beta(context, bias, Sizes(&channels, 1), dtype, "bias");
  context.resize(out, input.sizes(), "out0");
  context.resize(mean_out, {batch, groups}, "out1");
  context.resize(rstd_out, {batch, groups}, "out2");
  const Tensor in = row_major(context, input, dtype);
  DenseResult result(context, out, dtype);
  DenseResult mean(context, mean_out, dtype);
  DenseResult rstd(context, rstd_out, dtype);
  kernels::group_norm(dtype, in.data, gamma.data, beta.data, result.data(), mean.data(), rstd.data(),
                      static_cast<size_t>(batch), static_cast<size_t>(channels), static_cast<size_t>(spatial),
                      static_cast<size_t>(groups), eps);
  result.finish();
  mean.finish();
  rstd.finish();
}

// w = v g / |v|, with a norm for each entry of the first or the last dim.
void weight_norm_out(OpContext& context, const Tensor& v, const Tensor& g, int64_t dim, Tensor& w, Tensor& norms) {
  require_floating(v.dtype, "v");
  require_dtype(g, v.dtype, "g");
  require_dtype(w, v.dtype, "out0");
  if (v.rank == 0 || (dim != 0 && dim != v.rank - 1)) {
    fail_execution("dim: expected the first or the last of shape ", v.sizes(), ", got ", dim);
  }
  const auto d = static_cast<size_t>(dim);
  Shape kept(v.sizes());
  for (size_t i = 0; i < kept.rank; ++i) kept[i] = i == d ? v.size(d) : 1;
  if (g.numel() != v.size(d)) fail_execution("g: expected shape ", kept, ", got ", g.sizes());
  context.resize(w, v.sizes(), "out0");
  context.resize(norms, kept, "out1");
  const auto* from = row_major_as<double>(context, v);
  const auto* scales = row_major_as<double>(context, g);
  const int64_t size = v.size(d), outer = product(v.sizes(), 0, d), inner = product(v.sizes(), d + 1, v.rank);
  RowMajorOut lengths(context, norms, DType::kFloat64), scaled(context, w, DType::kFloat64);
  const auto each = [&](int64_t i, const auto& visit) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t k = 0; k < inner; ++k) visit((o * size + i) * inner + k);
    }
  };
  for (int64_t i = 0; i < size; ++i) {
    double sum = 0;
    each(i, [&](int64_t at) { sum += from[at] * from[at]; });
    const double length = std::sqrt(sum);
    lengths.as<double>()[i] = length;
    each(i, [&](int64_t at) { scaled.as<double>()[at] = from[at] * (scales[i] / length); });
  }
  lengths.commit();
  scaled.commit();
}

}  // namespace

void register_norm(OperatorTable& table) {
  table.add<weight_norm_out>("aten::_weight_norm_interface.out", "v, g, dim, out0, out1");
  table.add<native_layer_norm_out>("aten::native_layer_norm.out",
                                   "input, normalized_shape, weight, bias, eps, out0, out1, out2");
  table.add<native_group_norm_out>("aten::native_group_norm.out",
                                   "input, weight, bias, N, C, HxW, group, eps, out0, out1, out2");
  table.add<rms_norm_out>("aten::rms_norm.out", "input, normalized_shape, weight, eps, out");
  table.add<fused_rms_norm_out>("aten::_fused_rms_norm.out", "input, normalized_shape, weight, eps, out, rstd_out");
}

}  // namespace enr::ops
