// Losses. Elementwise ones are computed in float64 or float32 and then reduced; targets of nll_loss are classes.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/scratch_tensor.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

enum class Reduction : int64_t { kNone, kMean, kSum };

Reduction reduction_of(int64_t code) {
  if (code < 0 || code > 2) fail_execution("reduction: expected 0 (none), 1 (mean) or 2 (sum), got ", code);
  return static_cast<Reduction>(code);
}

template <class T, class Loss>
void run(OpContext& context, const Tensor& self, const Tensor& target, const Tensor* weight, Reduction reduction,
         Sizes sizes, Tensor& out, const Loss& loss) {
  const T* x = row_major_as<T>(context, self, sizes);
  const T* y = row_major_as<T>(context, target, sizes);
  const T* w = weight == nullptr ? nullptr : row_major_as<T>(context, *weight, sizes);
  const int64_t count = product(sizes);
  RowMajorOut result(context, out, dtype_of<T>);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(loss(x[i], y[i])) * (w == nullptr ? T{1} : w[i]);
    if (reduction == Reduction::kNone) {
      result.template as<T>()[i] = value;
    } else {
      sum += static_cast<double>(value);
    }
  }
  if (reduction != Reduction::kNone) {
    *result.template as<T>() = static_cast<T>(reduction == Reduction::kMean ? sum / static_cast<double>(count) : sum);
  }
  result.commit();
}

// loss(x, y) takes and gives the type of result_type(self, target). The dtype of the result is another where eager's
// definition writes over one of the two.
template <class Loss>
void elementwise_as(DType result, OpContext& context, const Tensor& self, const Tensor& target, const Tensor* weight,
                    int64_t code, Tensor& out, const Loss& loss) {
  const Reduction reduction = reduction_of(code);
  require_floating(result, "self");
  require_same_dtype(out, result, "out");
  const Shape sizes = broadcast(self.sizes(), target.sizes(), "target");
  if (weight != nullptr) {
    require_real(weight->dtype, "weight");
    require_broadcasts(*weight, sizes, "weight");
  }
  context.resize(out, reduction == Reduction::kNone ? sizes : Shape());
  if (result_type(self, target) == DType::kFloat64) {
    return run<double>(context, self, target, weight, reduction, sizes, out, loss);
  }
  run<float>(context, self, target, weight, reduction, sizes, out, loss);
}
template <class Loss>
void elementwise(OpContext& context, const Tensor& self, const Tensor& target, const Tensor* weight, int64_t code,
                 Tensor& out, const Loss& loss) {
  elementwise_as(result_type(self, target), context, self, target, weight, code, out, loss);
}

void mse_loss_out(OpContext& context, const Tensor& self, const Tensor& target, int64_t reduction, Tensor& out) {
  elementwise(context, self, target, nullptr, reduction, out, [](auto x, auto y) { return (x - y) * (x - y); });
}

void smooth_l1_loss_out(OpContext& context, const Tensor& self, const Tensor& target, int64_t reduction, double beta,
                        Tensor& out) {
  if (!(beta >= 0)) fail_execution("beta: expected at least 0, got ", beta);
  elementwise(context, self, target, nullptr, reduction, out, [beta](auto x, auto y) {
    using T = decltype(x);
    const T distance = std::abs(x - y), limit = static_cast<T>(beta);
    return distance < limit ? distance * distance / limit / 2 : distance - limit / 2;
  });
}

void huber_loss_out(OpContext& context, const Tensor& self, const Tensor& target, int64_t reduction, double delta,
                    Tensor& out) {
  if (!(delta > 0)) fail_execution("delta: expected more than 0, got ", delta);
  if (!is_complex(self.dtype)) require_real(target.dtype, "target");
  elementwise_as(self.dtype, context, self, target, nullptr, reduction, out, [delta](auto x, auto y) {
    using T = decltype(x);
    const T distance = std::abs(x - y), limit = static_cast<T>(delta);
    return distance <= limit ? distance * distance / 2 : limit * (distance - limit / 2);
  });
}

// loss(numbers of `in`, which broadcast to `sizes`) of complex numbers, reduced.
template <class Loss>
void complex_loss(OpContext& context, std::initializer_list<const Tensor*> in, Sizes sizes, Reduction reduction,
                  DType dtype, Tensor& out, const Loss& loss) {
  require_same_dtype(out, dtype, "out");
  if (reduction == Reduction::kNone) return map_complex(context, in, out, loss);
  Tensor each = scratch_tensor(context, DType::kComplex128, sizes);
  map_complex(context, in, each, loss);
  reduce_complex(context, each, (1u << each.rank) - 1, false, out, [&](std::span<const Complex> numbers) {
    const Complex sum = std::accumulate(numbers.begin(), numbers.end(), Complex());
    return reduction == Reduction::kMean ? sum / static_cast<double>(numbers.size()) : sum;
  });
}

void soft_margin_loss_out(OpContext& context, const Tensor& self, const Tensor& target, int64_t reduction,
                          Tensor& out) {
  if (!is_complex(self.dtype)) require_real(target.dtype, "target");
  require_broadcasts(target, self.sizes(), "target");  // eager computes in place
  if (is_complex(self.dtype)) {
    return complex_loss(context, {&self, &target}, self.sizes(), reduction_of(reduction), self.dtype, out,
                        [](const Complex* x) { return std::log(1.0 + std::exp(-x[0] * x[1])); });
  }
  elementwise_as(self.dtype, context, self, target, nullptr, reduction, out,
                 [](auto x, auto y) { return std::log1p(std::exp(-x * y)); });
}

Shape without_ones(Sizes sizes) {
  Shape shape;
  for (const int64_t size : sizes) {
    if (size != 1) shape.push_back(size);
  }
  return shape;
}

// The first elements of the tensor without its dims of size 1, repeated to `full`.
Tensor first_of(OpContext& context, const Tensor& tensor, Sizes full, Sizes sizes) {
  const Tensor squeezed = row_major_tensor(row_major(context, tensor), tensor.dtype, without_ones(tensor.sizes()));
  return row_major_tensor(row_major_as(context, squeezed, tensor.dtype, full), tensor.dtype, sizes);
}

void binary_cross_entropy_out(OpContext& context, const Tensor& self, const Tensor& target, const Tensor* weight,
                              int64_t reduction, Tensor& out) {
  require_floating(self.dtype, "self");
  require_same_dtype(target, self.dtype, "target");
  const auto* probabilities = row_major_as<double>(context, self);
  for (int64_t i = 0; i < self.numel(); ++i) {
    if (!(probabilities[i] >= 0 && probabilities[i] <= 1)) {
      fail_execution("self: expected numbers from 0 to 1, got ", probabilities[i]);
    }
  }
  const auto loss = [](auto x, auto y) {
    using T = decltype(x);
    const T floor = -100;  // eager limits the logarithms
    return (y - 1) * std::max(std::log1p(-x), floor) - y * std::max(std::log(x), floor);
  };
  if (std::ranges::equal(self.sizes(), target.sizes())) {
    return elementwise(context, self, target, weight, reduction, out, loss);
  }
  // Eager broadcasts without the dims of size 1, and of the losses keeps as many as self has elements: the first.
  const Shape sizes = broadcast(without_ones(self.sizes()), without_ones(target.sizes()), "target");
  if (product(sizes) < self.numel()) require_sizes(target, self.sizes(), "target");
  elementwise(context, first_of(context, self, sizes, self.sizes()), first_of(context, target, sizes, self.sizes()),
              weight, reduction, out, loss);
}

// max(-x, 0) + log(exp(-max) + exp(-x - max)) is log(1 + exp(-x)) without overflow.
template <class T>
T log_one_plus_exp_minus(T x) {
  return std::max(-x, T{0}) + std::log1p(std::exp(-std::abs(x)));
}

void binary_cross_entropy_with_logits_out(OpContext& context, const Tensor& self, const Tensor& target,
                                          const Tensor* weight, const Tensor* pos_weight, int64_t reduction,
                                          Tensor& out) {
  require_floating(self.dtype, "self");
  require_broadcasts(self, target.sizes(), "self");
  if (pos_weight == nullptr && is_complex(target.dtype)) {
    if (weight != nullptr) require_broadcasts(*weight, target.sizes(), "weight");
    const auto loss = [](const Complex* x) { return (1.0 - x[1]) * x[0] + log_one_plus_exp_minus(x[0].real()); };
    if (weight == nullptr) {
      return complex_loss(context, {&self, &target}, target.sizes(), reduction_of(reduction), target.dtype, out, loss);
    }
    return complex_loss(context, {&self, &target, weight}, target.sizes(), reduction_of(reduction), target.dtype, out,
                        [&](const Complex* x) { return loss(x) * x[2]; });
  }
  require_floating(target.dtype, "target");
  if (pos_weight == nullptr) {
    return elementwise_as(target.dtype, context, self, target, weight, reduction, out,
                          [](auto x, auto y) { return (1 - y) * x + log_one_plus_exp_minus(x); });
  }
  // One more factor of the positive part: loss = (1 - y) x + (1 + (p - 1) y) log(1 + exp(-x)).
  require_sizes(target, self.sizes(), "target");
  require_not_bool(pos_weight->dtype, "pos_weight");
  require_real(pos_weight->dtype, "pos_weight");
  require_broadcasts(*pos_weight, self.sizes(), "pos_weight");
  const auto* factors = row_major_as<double>(context, *pos_weight, self.sizes());
  int64_t i = 0;
  elementwise_as(target.dtype, context, self, target, weight, reduction, out, [&](auto x, auto y) {
    using T = decltype(x);
    const T factor = 1 + (static_cast<T>(factors[i++]) - 1) * y;
    return (1 - y) * x + factor * log_one_plus_exp_minus(x);
  });
}

// Of [classes], [batch, classes] or [batch, classes, ...positions]: minus the target class's entry.
void nll_loss_forward(OpContext& context, const Tensor& self, const Tensor& target, const Tensor* weight, int64_t code,
                      int64_t ignore_index, Tensor& out, Tensor* total_weight) {
  const Reduction reduction = reduction_of(code);
  require_floating(self.dtype, "self");
  require_same_dtype(out, self.dtype, "output");
  if (target.dtype != DType::kInt64 && target.dtype != DType::kUInt8) {
    fail_execution("target: expected int64 or uint8 classes, got ", dtype_name(target.dtype));
  }
  if (self.rank == 0) fail_execution("self: expected at least rank 1, got a tensor of rank 0");
  const size_t class_dim = self.rank == 1 ? 0 : 1;
  const int64_t classes = self.size(class_dim);
  Shape expected;
  for (size_t d = 0; d < self.rank; ++d) {
    if (d != class_dim) expected.push_back(self.size(d));
  }
  require_sizes(target, expected, "target");
  if (weight != nullptr) {
    require_sizes(*weight, Sizes(&classes, 1), "weight");
    require_same_dtype(*weight, self.dtype, "weight");
  }
  const auto* wanted = row_major_as<int64_t>(context, target);
  const int64_t count = target.numel();
  for (int64_t i = 0; i < count; ++i) {
    if (wanted[i] == ignore_index || (wanted[i] >= 0 && wanted[i] < classes)) continue;
    fail_execution("target: expected classes of 0 to ", classes - 1, ", got ", wanted[i], " at ", i);
  }
  context.resize(out, reduction == Reduction::kNone ? expected : Shape(), "output");
  if (total_weight != nullptr) {
    require_same_dtype(*total_weight, self.dtype, "total_weight");
    context.resize(*total_weight, {}, "total_weight");
  }
  const auto* in = row_major_as<double>(context, self);
  const auto* weights = weight == nullptr ? nullptr : row_major_as<double>(context, *weight);
  RowMajorOut result(context, out, DType::kFloat64);
  const int64_t inner = product(self.sizes(), class_dim + 1, self.rank);
  double sum = 0, total = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = 0;
    if (wanted[i] != ignore_index) {
      const double factor = weights == nullptr ? 1 : weights[wanted[i]];
      value = -factor * in[(i / inner * classes + wanted[i]) * inner + i % inner];
      total += factor;
    }
    sum += value;
    if (reduction == Reduction::kNone) result.as<double>()[i] = value;
  }
  if (reduction != Reduction::kNone) *result.as<double>() = reduction == Reduction::kMean ? sum / total : sum;
  result.commit();
  if (total_weight == nullptr) return;
  RowMajorOut weight_out(context, *total_weight, DType::kFloat64);
  *weight_out.as<double>() = reduction == Reduction::kNone ? 0 : total;
  weight_out.commit();
}

void nll_loss_forward_output(OpContext& context, const Tensor& self, const Tensor& target, const Tensor* weight,
                             int64_t reduction, int64_t ignore_index, Tensor& out, Tensor& total_weight) {
  if (self.rank > 2) fail_execution("self: expected rank 1 or 2, got shape ", self.sizes());
  nll_loss_forward(context, self, target, weight, reduction, ignore_index, out, &total_weight);
}
void nll_loss2d_forward_output(OpContext& context, const Tensor& self, const Tensor& target, const Tensor* weight,
                               int64_t reduction, int64_t ignore_index, Tensor& out, Tensor& total_weight) {
  require_rank(self, 4, "self");
  nll_loss_forward(context, self, target, weight, reduction, ignore_index, out, &total_weight);
}
void nll_loss_out(OpContext& context, const Tensor& self, const Tensor& target, const Tensor* weight, int64_t reduction,
                  int64_t ignore_index, Tensor& out) {
  nll_loss_forward(context, self, target, weight, reduction, ignore_index, out, nullptr);
}

}  // namespace

void register_losses(OperatorTable& table) {
  table.add<mse_loss_out>("aten::mse_loss.out", "self, target, reduction, out");
  table.add<smooth_l1_loss_out>("aten::smooth_l1_loss.out", "self, target, reduction, beta, out");
  table.add<huber_loss_out>("aten::huber_loss.out", "self, target, reduction, delta, out");
  table.add<soft_margin_loss_out>("aten::soft_margin_loss.out", "self, target, reduction, out");
  table.add<binary_cross_entropy_out>("aten::binary_cross_entropy.out", "self, target, weight, reduction, out");
  table.add<binary_cross_entropy_with_logits_out>("aten::binary_cross_entropy_with_logits.out",
                                                  "self, target, weight, pos_weight, reduction, out");
  table.add<nll_loss_forward_output>("aten::nll_loss_forward.output",
                                     "self, target, weight, reduction, ignore_index, output, total_weight");
  table.add<nll_loss2d_forward_output>("aten::nll_loss2d_forward.output",
                                       "self, target, weight, reduction, ignore_index, output, total_weight");
  table.add<nll_loss_out>("aten::nll_loss.out", "self, target, weight, reduction, ignore_index, out");
  table.add<nll_loss_out>("aten::nll_loss2d.out", "self, target, weight, reduction, ignore_index, out");
}

}  // namespace enr::ops
