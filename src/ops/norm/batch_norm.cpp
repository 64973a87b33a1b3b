// Batch normalisation, with running statistics or those of the batch.

#include <cmath>

#include "kernels/norm/norm.h"
#include "ops/families.h"
#include "ops/memory_order.h"

namespace enr::ops {

namespace {

// One number for each channel, in the dtype that computes.
Tensor channel_values(OpContext& context, const Tensor& tensor, int64_t channels, DType dtype, const char* what) {
  if (tensor.rank != 1 || tensor.size(0) != channels) {
    fail_execution(what, ": expected shape [", channels, "], got ", tensor.sizes());
  }
  require_floating(tensor.dtype, what);
  return row_major(context, tensor, dtype);
}

struct BatchNorm {
  OpContext& context;
  const Tensor& input;
  DType dtype;
  int64_t channels;
  Tensor gamma, beta;  // no data where there are none

  BatchNorm(OpContext& the_context, const Tensor& the_input, const Tensor* weight, const Tensor* bias)
      : context(the_context), input(the_input), dtype(computing_dtype(the_input.dtype)) {
    require_floating(input.dtype, "input");
    if (input.rank < 2) fail_execution("input: expected at least rank 2, got shape ", input.sizes());
    channels = input.size(1);
    if (weight != nullptr) require_parameter_dtype(*weight, input, "weight");
    if (bias != nullptr) require_parameter_dtype(*bias, input, "bias");
    if (weight != nullptr) gamma = channel_values(context, *weight, channels, dtype, "weight");
    if (bias != nullptr) beta = channel_values(context, *bias, channels, dtype, "bias");
  }

  // out = (in - mean) / sqrt(var + eps) * gamma + beta
  void apply(const Tensor& in, const Tensor& mean, const Tensor& var, double eps, Tensor& out) {
    Tensor scale = scratch_tensor(context, dtype, mean.sizes());
    Tensor shift = scratch_tensor(context, dtype, mean.sizes());
    kernels::batch_norm_fold(dtype, gamma.data, beta.data, mean.data, var.data, eps, scale.data, shift.data,
                             static_cast<size_t>(channels));
    const AroundDim view(in, 1);
    const bool is_direct = out.dtype == dtype && same_layout(in, out);
    Tensor staging = is_direct ? out : in;
    if (!is_direct) staging.data = context.scratch(in.size_bytes());
    kernels::channel_affine(dtype, in.data, scale.data, shift.data, staging.data, view.outer, view.size, view.inner);
    if (!is_direct) copy_elements(context, staging, out);
  }
};

void with_running_statistics(OpContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias,
                             const Tensor& running_mean, const Tensor& running_var, double eps, Tensor& out,
                             Tensor& save_mean, Tensor& save_invstd) {
  BatchNorm norm(context, input, weight, bias);
  require_castable(input.dtype, out);
  require_parameter_dtype(running_mean, input, "running_mean");
  require_parameter_dtype(running_var, input, "running_var");
  const Tensor mean = channel_values(context, running_mean, norm.channels, norm.dtype, "running_mean");
  const Tensor var = channel_values(context, running_var, norm.channels, norm.dtype, "running_var");
  context.resize(out, input.sizes());
  context.resize(save_mean, {0}, "save_mean");
  context.resize(save_invstd, {0}, "save_invstd");
  norm.apply(laid_out_like(context, input, out, norm.dtype), mean, var, eps, out);
}

// running = (1 - momentum) running + momentum batch
void update_running(OpContext& context, Tensor& running, const Tensor& batch, double momentum, double factor,
                    DType dtype) {
  Tensor scaled = scratch_tensor(context, dtype, running.sizes());
  run_loop(context, loop_for(kernels::Unary::kScale, dtype), {1 - momentum}, {running}, scaled);
  run_loop(context, loop_for(kernels::Binary::kAdd, dtype), {momentum * factor}, {scaled, batch}, running);
}

void with_batch_statistics(OpContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias,
                           Tensor* running_mean, Tensor* running_var, double momentum, double eps, Tensor& out,
                           Tensor& save_mean, Tensor& save_invstd) {
  BatchNorm norm(context, input, weight, bias);
  require_castable(input.dtype, out);
  if (input.numel() == 0) fail_execution("input: expected elements to take statistics of, got shape ", input.sizes());
  for (Tensor* running : {running_mean, running_var}) {
    if (running != nullptr) require_parameter_dtype(*running, input, "running statistics");
    if (running != nullptr) channel_values(context, *running, norm.channels, running->dtype, "running statistics");
  }
  const Shape channel_shape(Sizes(&norm.channels, 1));
  context.resize(out, input.sizes());
  context.resize(save_mean, channel_shape, "save_mean");
  context.resize(save_invstd, channel_shape, "save_invstd");
  const Tensor in = laid_out_like(context, input, out, norm.dtype);
  const AroundDim view(in, 1);
  Tensor mean = scratch_tensor(context, norm.dtype, channel_shape);
  Tensor var = scratch_tensor(context, norm.dtype, channel_shape);
  kernels::channel_mean_var(norm.dtype, in.data, mean.data, var.data, view.outer, view.size, view.inner);
  norm.apply(in, mean, var, eps, out);
  copy_elements(context, mean, save_mean);
  Tensor shifted = scratch_tensor(context, norm.dtype, channel_shape);
  run_loop(context, loop_for(kernels::Unary::kScale, norm.dtype), {1, eps}, {var}, shifted);
  run_loop(context, loop_for(kernels::Unary::kRsqrt, norm.dtype), {}, {shifted}, save_invstd);
  const auto count = static_cast<double>(view.outer * view.inner);
  if (running_mean != nullptr) update_running(context, *running_mean, mean, momentum, 1, norm.dtype);
  if (running_var != nullptr) update_running(context, *running_var, var, momentum, count / (count - 1), norm.dtype);
}

void batch_norm_out(OpContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias,
                    Tensor* running_mean, Tensor* running_var, bool training, double momentum, double eps, Tensor& out,
                    Tensor& save_mean, Tensor& save_invstd) {
  if (training) {
    return with_batch_statistics(context, input, weight, bias, running_mean, running_var, momentum, eps, out, save_mean,
                                 save_invstd);
  }
  if (running_mean == nullptr || running_var == nullptr) {
    fail_execution("running_mean: expected running statistics outside training, got None");
  }
  with_running_statistics(context, input, weight, bias, *running_mean, *running_var, eps, out, save_mean, save_invstd);
}
void no_stats_out(OpContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias, bool training,
                  double momentum, double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  batch_norm_out(context, input, weight, bias, nullptr, nullptr, training, momentum, eps, out, save_mean, save_invstd);
}
void no_training_out(OpContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias,
                     const Tensor& running_mean, const Tensor& running_var, double, double eps, Tensor& out,
                     Tensor& save_mean, Tensor& save_invstd) {
  with_running_statistics(context, input, weight, bias, running_mean, running_var, eps, out, save_mean, save_invstd);
}

// `reserve` is memory for the gradient of other devices: empty here.
void with_update_out(OpContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias,
                     Tensor& running_mean, Tensor& running_var, double momentum, double eps, Tensor& out,
                     Tensor& save_mean, Tensor& save_invstd, Tensor& reserve) {
  context.resize(reserve, {0}, "reserve");
  with_batch_statistics(context, input, weight, bias, &running_mean, &running_var, momentum, eps, out, save_mean,
                        save_invstd);
}
void no_update_out(OpContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias,
                   const Tensor* running_mean, const Tensor* running_var, double, double eps, Tensor& out,
                   Tensor& save_mean, Tensor& save_invstd, Tensor& reserve) {
  if (running_mean == nullptr || running_var == nullptr) {
    fail_execution("running_mean: expected running statistics, got None");
  }
  context.resize(reserve, {0}, "out3");
  with_running_statistics(context, input, weight, bias, *running_mean, *running_var, eps, out, save_mean, save_invstd);
}

}  // namespace

void register_batch_norm(OperatorTable& table) {
  table.add<batch_norm_out>(
      "aten::native_batch_norm.out",
      "input, weight, bias, running_mean, running_var, training, momentum, eps, out, save_mean, save_invstd");
  table.add<batch_norm_out>(
      "aten::_native_batch_norm_legit.out",
      "input, weight, bias, running_mean, running_var, training, momentum, eps, out, save_mean, save_invstd");
  table.add<no_stats_out>("aten::_native_batch_norm_legit.no_stats_out",
                          "input, weight, bias, training, momentum, eps, out, save_mean, save_invstd");
  table.add<with_update_out>(
      "aten::_batch_norm_with_update.out",
      "input, weight, bias, running_mean, running_var, momentum, eps, out, save_mean, save_invstd, reserve");
  table.add<no_update_out>("aten::_batch_norm_no_update.out",
                           "input, weight, bias, running_mean, running_var, momentum, eps, out0, out1, out2, out3");
  table.add<no_training_out>("aten::_native_batch_norm_legit_no_training.out",
                             "input, weight, bias, running_mean, running_var, momentum, eps, out0, out1, out2");
}

}  // namespace enr::ops
