// convolution: one to three spatial dims, grouped, dilated, transposed.

#include "kernels/conv/phases.h"
#include "ops/families.h"
#include "ops/image/convolution_arguments.h"
#include "ops/image/convolution_float.h"
#include "ops/image/convolution_plain.h"
#include "ops/memory_order.h"
#include "ops/pointwise/elementwise.h"
#include "ops/scratch_tensor.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

void convolve(OpContext& context, const Tensor& input, const Tensor& weight, const Tensor* bias, Sizes stride,
              Sizes padding, Sizes dilation, bool transposed, Sizes output_padding, int64_t groups, Tensor& out) {
  const ConvolutionArguments args =
      convolution_arguments(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  require_dtype(out, input.dtype, "out");
  context.resize(out, args.output_sizes(input.rank));
  if (out.numel() == 0) return;
  Tensor converted;  // eager takes a bias of any dtype
  if (bias != nullptr && bias->dtype != input.dtype) {
    converted = scratch_tensor(context, input.dtype, bias->sizes());
    copy_elements(context, *bias, converted);
    bias = &converted;
  }
  const bool is_single = out.dtype == DType::kFloat32 || out.dtype == DType::kFloat16 || out.dtype == DType::kBFloat16;
  const bool has_plan = !transposed || !kernels::has_too_many_phases(static_cast<uint64_t>(args.stride[1]),
                                                                     static_cast<uint64_t>(args.stride[2]));
  (is_single && has_plan ? convolve_float : convolve_plain)(context, args, input, weight, bias, out);
}

// Images without a batch are what the operators of 1, 2 and 3 dims take, not these.
void require_batch(const Tensor& input, const Tensor& weight) {
  if (weight.rank >= 3 && weight.rank <= 5) require_rank(input, weight.rank, "input");
}

void convolution_out(OpContext& context, const Tensor& input, const Tensor& weight, const Tensor* bias, Sizes stride,
                     Sizes padding, Sizes dilation, bool transposed, Sizes output_padding, int64_t groups,
                     Tensor& out) {
  require_batch(input, weight);
  convolve(context, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out);
}

void conv_out(OpContext& context, const Tensor& input, const Tensor& weight, const Tensor* bias, Sizes stride,
              Sizes padding, Sizes dilation, int64_t groups, Tensor& out) {
  const int64_t none = 0;
  convolve(context, input, weight, bias, stride, padding, dilation, false, Sizes(&none, 1), groups, out);
}

// The flags choose among libraries of other devices.
void convolution_with_flags_out(OpContext& context, const Tensor& input, const Tensor& weight, const Tensor* bias,
                                Sizes stride, Sizes padding, Sizes dilation, bool transposed, Sizes output_padding,
                                int64_t groups, bool, bool, bool, bool, Tensor& out) {
  convolution_out(context, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out);
}

// The tensor's dims in another order, over the same memory.
Tensor permuted(const Tensor& row_major, const std::array<size_t, 3>& order) {
  Tensor result = row_major;
  result.is_constant = false;  // what is packed under its address is packed for the order it has
  std::array<int64_t, 3> sizes;
  for (size_t d = 0; d < 3; ++d) {
    sizes[d] = row_major.size(order[d]);
    result.dim_order_array[order[d]] = static_cast<uint8_t>(d);
  }
  result.set_sizes(sizes);
  return result;
}

// Of [time, batch, channels] with a filter [kernel, input channels, output channels].
void conv_tbc_out(OpContext& context, const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad,
                  Tensor& out) {
  require_rank(self, 3, "self");
  require_rank(weight, 3, "weight");
  const Tensor input = permuted(row_major(context, self, self.dtype), {1, 2, 0});
  const Tensor filter = permuted(row_major(context, weight, weight.dtype), {2, 1, 0});
  const int64_t one = 1, none = 0;
  const ConvolutionArguments args = convolution_arguments(input, filter, &bias, Sizes(&one, 1), Sizes(&pad, 1),
                                                          Sizes(&one, 1), false, Sizes(&none, 1), 1);
  require_dtype(out, self.dtype, "out");
  context.resize(out, {args.output[2], args.batch, args.output_channels});
  Tensor staging = out.is_contiguous() ? out : scratch_tensor(context, out.dtype, out.sizes());
  Tensor result = permuted(staging, {1, 2, 0});
  convolve(context, input, filter, &bias, Sizes(&one, 1), Sizes(&pad, 1), Sizes(&one, 1), false, Sizes(&none, 1), 1,
           result);
  if (staging.data != out.data) copy_elements(context, staging, out);
}

}  // namespace

void register_convolution(OperatorTable& table) {
  table.add<convolution_out>("aten::convolution.out",
                             "input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out");
  table.add<convolution_with_flags_out>("aten::_convolution.out",
                                        "input, weight, bias, stride, padding, dilation, transposed, output_padding, "
                                        "groups, benchmark, deterministic, cudnn_enabled, allow_tf32, out");
  table.add<conv_tbc_out>("aten::conv_tbc.out", "self, weight, bias, pad, out");
  table.add<conv_out>("aten::conv1d.out", "input, weight, bias, stride, padding, dilation, groups, out");
  table.add<conv_out>("aten::conv2d.out", "input, weight, bias, stride, padding, dilation, groups, out");
  table.add<conv_out>("aten::conv3d.out", "input, weight, bias, stride, padding, dilation, groups, out");
}

}  // namespace enr::ops
