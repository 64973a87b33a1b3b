// Activation functions.

#include <bit>
#include <cmath>

#include "ops/element.h"
#include "ops/families.h"
#include "ops/pointwise/scalar_loop.h"

namespace enr::ops {

namespace {

using kernels::Unary;

// Activations that eager has for floating tensors only; the result has self's dtype.
void run_floating(OpContext& context, const Loop& loop, const Tensor& self, const LoopParams& params, Tensor& out) {
  require_castable(self.dtype, out);
  run_loop(context, loop, params, {self}, out);
}
void run_floating(OpContext& context, Unary op, const Tensor& self, const LoopParams& params, Tensor& out) {
  require_floating(self.dtype, "self");
  run_floating(context, loop_for(op, self.dtype), self, params, out);
}

template <Unary op>
void plain(OpContext& context, const Tensor& self, Tensor& out) {
  run_floating(context, op, self, {}, out);
}

void silu_out(OpContext& context, const Tensor& self, Tensor& out) {
  if (!is_complex(self.dtype)) return plain<Unary::kSilu>(context, self, out);
  require_castable(self.dtype, out);
  run_loop(context, loop_for(Unary::kSilu, self.dtype), {}, {self}, out);
}

void relu_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_not_bool(self.dtype, "self");
  require_real(self.dtype, "self");
  require_castable(self.dtype, out);
  if (is_unsigned(self.dtype)) return copy_elements(context, self, out);
  run_loop(context, loop_for(Unary::kRelu, self.dtype), {}, {self}, out);
}

void hardtanh(OpContext& context, const Tensor& self, const Scalar& low, const Scalar& high, Tensor& out) {
  require_not_bool(self.dtype, "self");
  require_real(self.dtype, "self");
  require_castable(self.dtype, out);
  if (is_unsigned(self.dtype) && (low.to<double>() < 0 || high.to<double>() < 0)) {
    fail_execution("min_val: expected no negative limits for ", dtype_name(self.dtype), ", got ", low.to<double>(),
                   " and ", high.to<double>());
  }
  const LoopParams params{low.to<double>(), high.to<double>(), low.to<int64_t>(), high.to<int64_t>()};
  run_loop(context, loop_for(Unary::kClamp, self.dtype), params, {self}, out);
}

void relu6_out(OpContext& context, const Tensor& self, Tensor& out) {
  hardtanh(context, self, int64_t{0}, int64_t{6}, out);
}

void leaky_relu_out(OpContext& context, const Tensor& self, const Scalar& slope, Tensor& out) {
  run_floating(context, Unary::kLeakyRelu, self, {slope.to<double>()}, out);
}

// i holds the bits of the inner scale.
struct ScaledElu {
  template <class T>
  T operator()(T x, const LoopParams& params) const {
    const T inner = static_cast<T>(std::bit_cast<double>(params.i));
    return x <= 0 ? std::expm1(x * inner) * static_cast<T>(params.a) : x * static_cast<T>(params.b);
  }
};

// x > 0 ? scale x : scale alpha (exp(inner x) - 1)
void elu(OpContext& context, const Tensor& self, double alpha, double scale, double inner, Tensor& out) {
  require_floating(self.dtype, "self");
  if (inner == 1) return run_floating(context, Unary::kElu, self, {alpha, scale}, out);
  const LoopParams params{alpha * scale, scale, std::bit_cast<int64_t>(inner)};
  run_floating(context, scalar_unary_loop<ScaledElu>(self.dtype), self, params, out);
}

void elu_out(OpContext& context, const Tensor& self, const Scalar& alpha, const Scalar& scale,
             const Scalar& input_scale, Tensor& out) {
  elu(context, self, alpha.to<double>(), scale.to<double>(), input_scale.to<double>(), out);
}

void celu_out(OpContext& context, const Tensor& self, const Scalar& alpha, Tensor& out) {
  const double value = alpha.to<double>();
  if (value == 0) fail_execution("alpha: expected a number other than 0, got 0");
  elu(context, self, value, 1, 1 / value, out);
}

void selu_out(OpContext& context, const Tensor& self, Tensor& out) {
  elu(context, self, 1.6732632423543772848, 1.0507009873554804934, 1, out);
}

void gelu_out(OpContext& context, const Tensor& self, std::string_view approximate, Tensor& out) {
  if (approximate != "none" && approximate != "tanh") {
    fail_execution("approximate: expected 'none' or 'tanh', got '", approximate, "'");
  }
  run_floating(context, approximate == "tanh" ? Unary::kGeluTanh : Unary::kGelu, self, {}, out);
}

void softplus_out(OpContext& context, const Tensor& self, const Scalar& beta, const Scalar& threshold, Tensor& out) {
  run_floating(context, Unary::kSoftplus, self, {beta.to<double>(), threshold.to<double>()}, out);
}

// The buffer is for the gradient; on the CPU it holds exp(-|x|).
struct NegativeExp {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return std::exp(-std::abs(x));
  }
};
void log_sigmoid_forward_output(OpContext& context, const Tensor& self, Tensor& output, Tensor& buffer) {
  require_floating(self.dtype, "self");
  require_castable(self.dtype, buffer, "buffer");
  require_castable(self.dtype, output, "output");
  // A traced program may plan the buffer empty, as eager does on other devices.
  if (buffer.numel() == self.numel() || buffer.dynamism != Dynamism::kStatic) {
    run_loop(context, scalar_unary_loop<NegativeExp>(self.dtype), {}, {self}, buffer, "buffer");
  }
  run_loop(context, loop_for(Unary::kLogSigmoid, self.dtype), {}, {self}, output, "output");
}

struct Threshold {
  template <class T>
  T operator()(T x, const LoopParams& params) const {
    return x <= static_cast<T>(params.a) ? static_cast<T>(params.b) : x;
  }
};
struct IntegerThreshold {
  int64_t operator()(int64_t x, int64_t, const LoopParams& params) const { return x <= params.i ? params.j : x; }
};
void threshold_out(OpContext& context, const Tensor& self, const Scalar& threshold, const Scalar& value, Tensor& out) {
  if (is_integer(self.dtype)) {
    require_castable(self.dtype, out);
    element_of(threshold, self.dtype, "threshold");
    element_of(value, self.dtype, "value");
    const LoopParams params{0, 0, threshold.to<int64_t>(), value.to<int64_t>()};
    return run_loop(context, integer_binary_loop<IntegerThreshold>(), params, {self, self}, out);
  }
  require_floating(self.dtype, "self");
  run_floating(context, scalar_unary_loop<Threshold>(self.dtype), self, {threshold.to<double>(), value.to<double>()},
               out);
}

struct HardShrink {
  template <class T>
  T operator()(T x, const LoopParams& params) const {
    const T limit = static_cast<T>(params.a);
    return x >= -limit && x <= limit ? T(0) : x;
  }
};
struct SoftShrink {
  template <class T>
  T operator()(T x, const LoopParams& params) const {
    const T limit = static_cast<T>(params.a);
    return x > limit ? x - limit : x < -limit ? x + limit : x * T(0);
  }
};
template <class F>
void shrink_out(OpContext& context, const Tensor& self, const Scalar& limit, Tensor& out) {
  require_floating(self.dtype, "self");
  const double lambda = limit.to<double>();
  if (std::is_same_v<F, SoftShrink> && !(lambda >= 0 && std::isfinite(lambda))) {
    fail_execution("lambd: expected a finite number of at least 0, got ", lambda);
  }
  run_floating(context, scalar_unary_loop<F>(self.dtype), self, {lambda}, out);
}

struct GatedSigmoid {
  template <class T>
  T operator()(T x, T gate, const LoopParams&) const {
    return x / (T(1) + std::exp(-gate));
  }
};

// The first half of `dim` times the sigmoid of its second half.
void glu_out(OpContext& context, const Tensor& self, int64_t dim, Tensor& out) {
  require_floating(self.dtype, "self");
  require_castable(self.dtype, out);
  if (self.rank == 0) fail_execution("self: expected at least one dim, got rank 0");
  const size_t split = normalize_dim(dim, self.rank);
  const int64_t size = self.size(split);
  if (size % 2 != 0) fail_execution("self: expected an even size in dim ", split, ", got ", size);
  Shape half(self.sizes());
  half[split] = size / 2;
  Operand value = self;
  value.sizes = half;
  Operand gate = value;
  gate.data = self.data + static_cast<size_t>(size / 2 * self.stride(split)) * dtype_size(self.dtype);
  run_loop(context, scalar_binary_loop<GatedSigmoid>(self.dtype), {}, {value, gate}, out);
}

}  // namespace

void register_activation(OperatorTable& table) {
  table.add<relu_out>("aten::relu.out", "self, out");
  table.add<relu6_out>("aten::relu6.out", "self, out");
  table.add<hardtanh>("aten::hardtanh.out", "self, min_val, max_val, out");
  table.add<leaky_relu_out>("aten::leaky_relu.out", "self, negative_slope, out");
  table.add<elu_out>("aten::elu.out", "self, alpha, scale, input_scale, out");
  table.add<celu_out>("aten::celu.out", "self, alpha, out");
  table.add<selu_out>("aten::selu.out", "self, out");
  table.add<gelu_out>("aten::gelu.out", "self, approximate, out");
  table.add<glu_out>("aten::glu.out", "self, dim, out");
  table.add<silu_out>("aten::silu.out", "self, out");
  table.add<plain<Unary::kMish>>("aten::mish.out", "self, out");
  table.add<plain<Unary::kHardSwish>>("aten::hardswish.out", "self, out");
  table.add<plain<Unary::kHardSigmoid>>("aten::hardsigmoid.out", "self, out");
  table.add<plain<Unary::kLogSigmoid>>("aten::log_sigmoid.out", "self, out");
  table.add<log_sigmoid_forward_output>("aten::log_sigmoid_forward.output", "self, output, buffer");
  table.add<softplus_out>("aten::softplus.out", "self, beta, threshold, out");
  table.add<threshold_out>("aten::threshold.out", "self, threshold, value, out");
  table.add<shrink_out<HardShrink>>("aten::hardshrink.out", "self, lambd, out");
  table.add<shrink_out<SoftShrink>>("aten::softshrink.out", "self, lambd, out");
}

}  // namespace enr::ops
