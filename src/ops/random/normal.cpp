// Normal random numbers.

#include <numbers>

#include "kernels/random/random.h"
#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/random/fill.h"

namespace enr::ops {

namespace {

// The parts of complex numbers have half of the variance each.
double part_deviation(double deviation, DType dtype) {
  return is_complex(dtype) ? deviation / std::numbers::sqrt2 : deviation;
}

void fill_normal(OpContext& context, Tensor& out, double mean, double deviation) {
  if (!(deviation >= 0)) fail_execution("std: expected at least 0, got ", deviation);
  const double spread = part_deviation(deviation, out.dtype);
  fill_parts(context, out, [&]<class T>(T* to, size_t count) {
    kernels::random_normal(context.random(), to, count, static_cast<T>(mean), static_cast<T>(spread));
  });
}

void randn_out(OpContext& context, Sizes size, Tensor& out) {
  context.resize(out, size);
  fill_normal(context, out, 0, 1);
}
void randn_generator_out(OpContext& context, Sizes size, Ignored, Tensor& out) { randn_out(context, size, out); }
void randn_like_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  randn_out(context, self.sizes(), out);
}

void normal_out(OpContext& context, const Tensor& self, double mean, double std, Ignored, Tensor& out) {
  context.resize(out, self.sizes());
  fill_normal(context, out, mean, std);
}

void normal_float_float_out(OpContext& context, double mean, double std, Sizes size, Ignored, Tensor& out) {
  context.resize(out, size);
  fill_normal(context, out, mean, std);
}

// Means and deviations of each element; either may be one number for all.
void normal_elements(OpContext& context, const Tensor* means, double mean, const Tensor* deviations, double deviation,
                     Tensor& out) {
  Shape shape;
  if (means != nullptr) shape = Shape(means->sizes());
  if (deviations != nullptr) shape = broadcast(shape, deviations->sizes(), "std");
  const auto numbers = [&](const Tensor* tensor, const char* what) -> const double* {
    if (tensor == nullptr) return nullptr;
    if (is_complex(tensor->dtype)) fail_execution(what, ": expected a real dtype, got ", dtype_name(tensor->dtype));
    return row_major_as<double>(context, *tensor, shape);
  };
  const double *centre = numbers(means, "mean"), *spread = numbers(deviations, "std");
  for (int64_t i = 0; spread != nullptr && i < product(shape); ++i) {
    if (!(spread[i] >= 0)) fail_execution("std: expected at least 0, got ", spread[i]);
  }
  if (!(deviation >= 0)) fail_execution("std: expected at least 0, got ", deviation);
  require_floating(out.dtype, "out");
  context.resize(out, shape);
  RowMajorOut result(context, out, DType::kFloat64);
  auto* to = result.as<double>();
  const auto count = static_cast<size_t>(out.numel());
  kernels::random_normal(context.random(), to, count, 0.0, 1.0);
  for (size_t i = 0; i < count; ++i) {
    to[i] = to[i] * (spread == nullptr ? deviation : spread[i]) + (centre == nullptr ? mean : centre[i]);
  }
  result.commit();
}
void normal_tensor_tensor_out(OpContext& context, const Tensor& mean, const Tensor& std, Ignored, Tensor& out) {
  require_dtype(out, mean.dtype, "out");
  normal_elements(context, &mean, 0, &std, 1, out);
}
void normal_tensor_float_out(OpContext& context, const Tensor& mean, double std, Ignored, Tensor& out) {
  if (is_complex(mean.dtype)) {
    require_dtype(out, mean.dtype, "out");
    if (!(std >= 0)) fail_execution("std: expected at least 0, got ", std);
    auto* parts = context.scratch_of<Complex>(static_cast<size_t>(mean.numel()));
    kernels::random_normal(context.random(), reinterpret_cast<double*>(parts), 2 * static_cast<size_t>(mean.numel()),
                           0.0, part_deviation(std, mean.dtype));
    return map_complex(context, {&mean}, out, [&](const Complex* centre) { return *centre + *parts++; });
  }
  normal_elements(context, &mean, 0, nullptr, std, out);
}
void normal_float_tensor_out(OpContext& context, double mean, const Tensor& std, Ignored, Tensor& out) {
  normal_elements(context, nullptr, mean, &std, 1, out);
}

}  // namespace

void register_normal(OperatorTable& table) {
  table.add<randn_out>("aten::randn.out", "size, out");
  table.add<randn_generator_out>("aten::randn.generator_out", "size, generator, out");
  table.add<randn_like_out>("aten::randn_like.out", "self, memory_format, out");
  table.add<normal_out>("aten::normal.out", "self, mean, std, generator, out");
  table.add<normal_float_float_out>("aten::normal.float_float_out", "mean, std, size, generator, out");
  table.add<normal_tensor_tensor_out>("aten::normal.Tensor_Tensor_out", "mean, std, generator, out");
  table.add<normal_tensor_float_out>("aten::normal.Tensor_float_out", "mean, std, generator, out");
  table.add<normal_float_tensor_out>("aten::normal.float_Tensor_out", "mean, std, generator, out");
}

}  // namespace enr::ops
