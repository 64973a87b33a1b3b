// convolution_backward: the gradients of convolution by its definition, in float64.

#include <algorithm>
#include <optional>

#include "ops/families.h"
#include "ops/image/convolution_arguments.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

struct Gradients {
  double* input = nullptr;  // null where not asked for
  double* weight = nullptr;
};

// Visits every product of the forward pass: body(output position, input position, weight position).
template <class Body>
void for_each_product(const ConvolutionArguments& a, const Body& body) {
  const int64_t group_in = a.input_channels / a.groups;
  const int64_t group_out = a.output_channels / a.groups;
  const auto& walked = a.transposed ? a.input : a.output;
  const auto& bound = a.transposed ? a.output : a.input;
  const int64_t walked_size = walked[0] * walked[1] * walked[2];
  const int64_t taps = a.kernel[0] * a.kernel[1] * a.kernel[2];
  const int64_t in_size = a.input[0] * a.input[1] * a.input[2];
  const int64_t out_size = a.output[0] * a.output[1] * a.output[2];
  for (int64_t n = 0; n < a.batch; ++n) {
    for (int64_t o = 0; o < a.output_channels; ++o) {
      for (int64_t i = 0; i < group_in; ++i) {
        const int64_t channel = o / group_out * group_in + i;
        const int64_t filter = (a.transposed ? channel * group_out + o % group_out : o * group_in + i) * taps;
        for (int64_t at = 0; at < walked_size; ++at) {
          const std::array<int64_t, 3> place{at / (walked[1] * walked[2]), at / walked[2] % walked[1], at % walked[2]};
          for (int64_t t = 0; t < taps; ++t) {
            const std::array<int64_t, 3> tap{t / (a.kernel[1] * a.kernel[2]), t / a.kernel[2] % a.kernel[1],
                                             t % a.kernel[2]};
            int64_t met = 0;
            bool inside = true;
            for (size_t d = 0; d < 3; ++d) {
              const int64_t m = place[d] * a.stride[d] - a.padding[d] + tap[d] * a.dilation[d];
              inside = inside && m >= 0 && m < bound[d];
              met = met * bound[d] + m;
            }
            if (!inside) continue;
            const int64_t out_at = (n * a.output_channels + o) * out_size + (a.transposed ? met : at);
            const int64_t in_at = (n * a.input_channels + channel) * in_size + (a.transposed ? at : met);
            body(out_at, in_at, filter + t);
          }
        }
      }
    }
  }
}

void convolution_backward_out(OpContext& context, const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                              std::optional<Sizes>, Sizes stride, Sizes padding, Sizes dilation, bool transposed,
                              Sizes output_padding, int64_t groups, std::span<const uint8_t> output_mask, Tensor* out0,
                              Tensor* out1, Tensor* out2) {
  const ConvolutionArguments a =
      convolution_arguments(input, weight, nullptr, stride, padding, dilation, transposed, output_padding, groups);
  if (!transposed && std::ranges::any_of(output_padding, [](int64_t more) { return more != 0; })) {
    fail_execution("output_padding: expected 0 unless transposed, got ", output_padding);
  }
  require_dtype(grad_output, input.dtype, "grad_output");
  require_sizes(grad_output, a.output_sizes(input.rank), "grad_output");
  if (!is_floating(input.dtype)) fail_execution("input: expected a floating dtype, got ", describe(input));
  if (output_mask.size() != 3) fail_execution("output_mask: expected 3 entries, got ", output_mask.size());
  if (output_mask[0] == 0) out0 = nullptr;
  if (output_mask[1] == 0) out1 = nullptr;
  if (output_mask[2] == 0) out2 = nullptr;
  if (out0 != nullptr) context.resize(*out0, input.sizes(), "out0");
  if (out1 != nullptr) context.resize(*out1, weight.sizes(), "out1");
  if (out2 != nullptr) context.resize(*out2, {a.output_channels}, "out2");
  const auto* grad = row_major_as<double>(context, grad_output);
  const auto* in = row_major_as<double>(context, input);
  const auto* filter = row_major_as<double>(context, weight);
  const auto zeros = [&](const Tensor* out) -> double* {
    if (out == nullptr) return nullptr;
    auto* data = context.scratch_of<double>(static_cast<size_t>(out->numel()));
    std::fill(data, data + out->numel(), 0.0);
    return data;
  };
  const Gradients to{zeros(out0), zeros(out1)};
  double* bias = zeros(out2);
  for_each_product(a, [&](int64_t o, int64_t i, int64_t w) {
    if (to.input != nullptr) to.input[i] += grad[o] * filter[w];
    if (to.weight != nullptr) to.weight[w] += grad[o] * in[i];
  });
  if (bias != nullptr) {
    const int64_t plane = a.output[0] * a.output[1] * a.output[2];
    for (int64_t i = 0; i < grad_output.numel(); ++i) bias[i / plane % a.output_channels] += grad[i];
  }
  const auto write = [&](const double* data, Tensor* out) {
    if (out == nullptr) return;
    RowMajorOut result(context, *out, DType::kFloat64);
    std::copy(data, data + out->numel(), result.as<double>());
    result.commit();
  };
  write(to.input, out0);
  write(to.weight, out1);
  write(bias, out2);
}

}  // namespace

void register_convolution_backward(OperatorTable& table) {
  table.add<convolution_backward_out>("aten::convolution_backward.out",
                                      "grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, "
                                      "output_padding, groups, output_mask, out0, out1, out2");
}

}  // namespace enr::ops
