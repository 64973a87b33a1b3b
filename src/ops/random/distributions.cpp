// Random numbers of rarer distributions, from the program's generator.

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <random>

#include "kernels/random/random.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/random/fill.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// In (0, 1).
double open_uniform(RandomStream& generator) {
  return (static_cast<double>(generator() >> 12) + 0.5) * std::ldexp(1.0, -52);
}

// Writes next() to every element.
template <class Next>
void fill(OpContext& context, const Tensor& like, Tensor& out, const Next& next) {
  context.resize(out, like.sizes());
  require_convertible(DType::kFloat64, out.dtype, "out");
  RowMajorOut to(context, out, DType::kFloat64);
  for (int64_t i = 0; i < out.numel(); ++i) to.as<double>()[i] = next();
  to.commit();
}

void cauchy_out(OpContext& context, const Tensor& self, double median, double sigma, Ignored, Tensor& out) {
  if (!(sigma > 0)) fail_execution("sigma: expected more than 0, got ", sigma);
  require_floating(self.dtype, "self");
  fill(context, self, out,
       [&] { return median + sigma * std::tan(std::numbers::pi * (open_uniform(context.random()) - 0.5)); });
}

void log_normal_out(OpContext& context, const Tensor& self, double mean, double std, Ignored, Tensor& out) {
  if (!(std > 0)) fail_execution("std: expected more than 0, got ", std);
  require_floating(out.dtype, "out");
  context.resize(out, self.sizes());
  RowMajorOut to(context, out, DType::kFloat64);
  const auto count = static_cast<size_t>(out.numel());
  kernels::random_normal(context.random(), to.as<double>(), count, mean, std);
  for (size_t i = 0; i < count; ++i) to.as<double>()[i] = std::exp(to.as<double>()[i]);
  to.commit();
}

void geometric_out(OpContext& context, const Tensor& self, double p, Ignored, Tensor& out) {
  if (!(p > 0 && p < 1)) fail_execution("p: expected a number between 0 and 1, got ", p);
  require_real(out.dtype, "out");
  fill(context, self, out, [&] { return std::ceil(std::log(open_uniform(context.random())) / std::log1p(-p)); });
}

// Whole numbers in [from, to), or those the dtype holds exactly.
void random_between(OpContext& context, const Tensor& self, int64_t from, std::optional<int64_t> to, Tensor& out) {
  require_real(out.dtype, "out");
  context.resize(out, self.sizes());
  const auto most = [&]() -> int64_t {
    switch (out.dtype) {
      case DType::kBool:
        return 1;
      case DType::kFloat16:
      case DType::kBFloat16:
      case DType::kFloat32:
      case DType::kFloat64:
        return int64_t{1} << mantissa_bits(out.dtype);
      case DType::kInt64:
      case DType::kUInt64:
        return std::numeric_limits<int64_t>::max();
      default:
        return (int64_t{1} << (8 * dtype_size(out.dtype) - (is_unsigned(out.dtype) ? 0 : 1))) - 1;
    }
  };
  const int64_t last = to ? *to - 1 : most();
  if (from > last) fail_execution("from: expected less than ", to.value_or(last), ", got ", from);
  fill_integers(context, out, from, last);
}
void random_from_out(OpContext& context, const Tensor& self, int64_t from, std::optional<int64_t> to, Ignored,
                     Tensor& out) {
  random_between(context, self, from, to, out);
}
void random_to_out(OpContext& context, const Tensor& self, int64_t to, Ignored, Tensor& out) {
  random_between(context, self, 0, to, out);
}
void random_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  random_between(context, self, 0, std::nullopt, out);
}

void binomial_out(OpContext& context, const Tensor& count, const Tensor& prob, Ignored, Tensor& out) {
  require_floating(count.dtype, "count");
  require_dtype(prob, count.dtype, "prob");
  const Shape shape = broadcast(count.sizes(), prob.sizes(), "prob");
  const auto* trials = row_major_as<double>(context, count, shape);
  const auto* chances = row_major_as<double>(context, prob, shape);
  constexpr double most = 1e15;
  for (int64_t i = 0; i < product(shape); ++i) {
    if (!(trials[i] >= 0 && trials[i] <= most)) fail_execution("count: expected 0 to 1e15, got ", trials[i]);
    if (!(chances[i] >= 0 && chances[i] <= 1)) fail_execution("prob: expected 0 to 1, got ", chances[i]);
  }
  context.resize(out, shape);
  RowMajorOut to(context, out, DType::kFloat64);
  for (int64_t i = 0; i < out.numel(); ++i) {
    std::binomial_distribution<int64_t> distribution(Scalar(trials[i]).to<int64_t>(), chances[i]);
    to.as<double>()[i] = static_cast<double>(distribution(context.random()));
  }
  to.commit();
}

// Shapes of gamma distributions, checked.
const double* gamma_shapes(OpContext& context, const Tensor& self) {
  require_floating(self.dtype, "self");
  const auto* shapes = row_major_as<double>(context, self);
  for (int64_t i = 0; i < self.numel(); ++i) {
    if (!(shapes[i] > 0 && std::isfinite(shapes[i]))) fail_execution("self: expected more than 0, got ", shapes[i]);
  }
  return shapes;
}
double gamma_number(OpContext& context, double shape) {
  const double number = std::gamma_distribution<double>(shape, 1)(context.random());
  return std::max(number, std::numeric_limits<double>::min());
}

void standard_gamma_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  const double* shapes = gamma_shapes(context, self);
  fill(context, self, out, [&] { return gamma_number(context, *shapes++); });
}

void sample_dirichlet_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  if (self.rank == 0) fail_execution("self: expected at least one dim, got rank 0");
  const double* shapes = gamma_shapes(context, self);
  context.resize(out, self.sizes());
  RowMajorOut to(context, out, DType::kFloat64);
  const int64_t classes = self.size(self.rank - 1u);
  for (int64_t i = 0; i < self.numel(); i += classes) {
    double total = 0;
    double* row = to.as<double>() + i;
    for (int64_t c = 0; c < classes; ++c) total += row[c] = gamma_number(context, shapes[i + c]);
    for (int64_t c = 0; c < classes; ++c) row[c] /= total;
  }
  to.commit();
}

}  // namespace

void register_distributions(OperatorTable& table) {
  table.add<cauchy_out>("aten::cauchy.out", "self, median, sigma, generator, out");
  table.add<log_normal_out>("aten::log_normal.out", "self, mean, std, generator, out");
  table.add<geometric_out>("aten::geometric.out", "self, p, generator, out");
  table.add<random_out>("aten::random.out", "self, generator, out");
  table.add<random_to_out>("aten::random.to_out", "self, to, generator, out");
  table.add<random_from_out>("aten::random.from_out", "self, from, to, generator, out");
  table.add<binomial_out>("aten::binomial.out", "count, prob, generator, out");
  table.add<standard_gamma_out>("aten::_standard_gamma.out", "self, generator, out");
  table.add<sample_dirichlet_out>("aten::_sample_dirichlet.out", "self, generator, out");
}

}  // namespace enr::ops
