// quantized_decomposed: scales and zero points found at run time, from the extremes of a tensor or of its rows.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/quantize/quantize.h"
#include "ops/families.h"
#include "ops/quantized/storage_type.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// The only element of an output, which has to have one.
void write_one(OpContext& context, Tensor& out, double value, const char* what) {
  context.resize(out, Shape(out.sizes()), what);
  if (out.numel() != 1) fail_execution(what, ": expected one element, got ", describe(out));
  RowMajorOut result(context, out, DType::kFloat64);
  *result.as<double>() = value;
  result.commit();
}

void choose_qparams_out(OpContext& context, const Tensor& input, int64_t quant_min, int64_t quant_max, double eps,
                        DType, Tensor& scale_out, Tensor& zero_point_out) {
  require_floating(input.dtype, "input");
  if (quant_min >= quant_max)
    fail_execution("quant_min: expected less than quant_max ", quant_max, ", got ", quant_min);
  if (input.numel() == 0) fail_execution("input: expected at least one element, got shape ", input.sizes());
  if (scale_out.numel() != 1) fail_execution("scale_out: expected one element, got ", describe(scale_out));
  float min = 0, max = 0;
  kernels::extremes_with_zero(row_major_as<float>(context, input), static_cast<size_t>(input.numel()), min, max);
  const auto [scale, zero_point] = kernels::choose_parameters(min, max, quant_min, quant_max, static_cast<float>(eps));
  write_one(context, zero_point_out, zero_point, "zero_point_out");
  write_one(context, scale_out, static_cast<double>(scale), "scale_out");
}

void choose_qparams_per_token_asymmetric_out(OpContext& context, const Tensor& input, DType, Tensor& scale_out,
                                             Tensor& zero_point_out) {
  require_floating(input.dtype, "input");
  if (input.rank == 0 || input.size(input.rank - 1u) == 0) {
    fail_execution("input: expected rows of at least one element, got shape ", input.sizes());
  }
  Shape shape(input.sizes());
  shape[shape.rank - 1] = 1;
  context.resize(scale_out, shape, "scale_out");
  context.resize(zero_point_out, shape, "zero_point_out");
  const auto* in = row_major_as<float>(context, input);
  RowMajorOut scales(context, scale_out, DType::kFloat64), zeros(context, zero_point_out, DType::kFloat64);
  const auto columns = static_cast<size_t>(input.size(input.rank - 1u));
  const size_t rows = static_cast<size_t>(input.numel()) / columns;
  parallel_ranges(rows, (1 << 14) / columns + 1, [&](size_t begin, size_t end) {
    constexpr float kMin = -128, kMax = 127;
    for (size_t r = begin; r < end; ++r) {
      float min = 0, max = 0;
      kernels::extremes_with_zero(in + r * columns, columns, min, max);
      const float scale = std::max((max - min) / (kMax - kMin), std::numeric_limits<float>::epsilon());
      const float low_quanta = min / scale;
      const float high_quanta = max / scale;
      const float zero = (kMin + low_quanta) + (kMax + high_quanta) > 0 ? kMin - low_quanta : kMax - high_quanta;
      scales.as<double>()[r] = static_cast<double>(scale);
      zeros.as<double>()[r] = static_cast<double>(std::nearbyint(std::clamp(zero, kMin, kMax)));
    }
  });
  scales.commit();
  zeros.commit();
}

}  // namespace

void register_choose_parameters(OperatorTable& table) {
  table.add<choose_qparams_out>("quantized_decomposed::choose_qparams.Tensor_out",
                                "input, quant_min, quant_max, eps, dtype, scale_out, zero_point_out");
  table.add<choose_qparams_per_token_asymmetric_out>("quantized_decomposed::choose_qparams_per_token_asymmetric.out",
                                                     "input, dtype, scale_out, zero_point_out");
}

}  // namespace enr::ops
