// Random draws by probability: Bernoulli, exponential, Poisson, multinomial.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/random/random.h"
#include "ops/families.h"
#include "ops/random/fill.h"

namespace enr::ops {

namespace {

// Whether a uniform number lies below probability(i), for each element.
template <class Probability>
void draw_below(OpContext& context, Tensor& out, const Probability& probability) {
  require_convertible(DType::kBool, out.dtype, "out");
  const auto count = static_cast<size_t>(out.numel());
  auto* numbers = context.scratch_of<double>(count);
  kernels::random_uniform(context.random(), numbers, count, 0.0, 1.0);
  RowMajorOut to(context, out, DType::kBool);
  for (size_t i = 0; i < count; ++i) to.as<bool>()[i] = numbers[i] < probability(i);
  to.commit();
}

void bernoulli_float_out(OpContext& context, const Tensor& self, double p, Ignored, Tensor& out) {
  if (!(p >= 0 && p <= 1)) fail_execution("p: expected 0 to 1, got ", p);
  context.resize(out, self.sizes());
  draw_below(context, out, [&](size_t) { return p; });
}

// Each element is the probability of its own draw.
void bernoulli_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  require_floating(self.dtype, "self");
  const auto* p = row_major_as<double>(context, self);
  for (int64_t i = 0; i < self.numel(); ++i) {
    if (!(p[i] >= 0 && p[i] <= 1)) fail_execution("self: expected probabilities of 0 to 1, got ", p[i]);
  }
  context.resize(out, self.sizes());
  draw_below(context, out, [&](size_t i) { return p[i]; });
}

void bernoulli_tensor_out(OpContext& context, const Tensor& self, const Tensor& p, Ignored, Tensor& out) {
  require_floating(p.dtype, "p");
  require_broadcasts(p, self.sizes(), "p");
  const auto* chances = row_major_as<double>(context, p, self.sizes());
  const auto count = static_cast<size_t>(self.numel());
  for (size_t i = 0; i < count; ++i) {
    if (!(chances[i] >= 0 && chances[i] <= 1)) fail_execution("p: expected 0 to 1, got ", chances[i]);
  }
  context.resize(out, self.sizes());
  draw_below(context, out, [&](size_t i) { return chances[i]; });
}

void exponential_out(OpContext& context, const Tensor& self, double rate, Ignored, Tensor& out) {
  if (!(rate > 0)) fail_execution("lambd: expected more than 0, got ", rate);
  require_floating(self.dtype, "self");
  context.resize(out, self.sizes());
  RowMajorOut to(context, out, DType::kFloat64);
  kernels::random_exponential(context.random(), to.as<double>(), static_cast<size_t>(out.numel()), 1 / rate);
  to.commit();
}

void poisson_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  require_floating(self.dtype, "self");
  require_dtype(out, self.dtype, "out");
  const auto* rates = row_major_as<double>(context, self);
  for (int64_t i = 0; i < self.numel(); ++i) {
    if (!(rates[i] >= 0 && std::isfinite(rates[i]))) fail_execution("self: expected at least 0, got ", rates[i]);
  }
  context.resize(out, self.sizes());
  RowMajorOut to(context, out, DType::kFloat64);
  for (int64_t i = 0; i < out.numel(); ++i) {
    to.as<double>()[i] =
        rates[i] == 0 ? 0 : static_cast<double>(std::poisson_distribution<int64_t>(rates[i])(context.random()));
  }
  to.commit();
}

// Draws classes by weight from each row. Without replacement, an exponential clock runs for each class, and those that
// ring first are taken.
void multinomial_out(OpContext& context, const Tensor& self, int64_t samples, bool replacement, Ignored, Tensor& out) {
  require_floating(self.dtype, "self");
  require_dtype(out, DType::kInt64, "out");
  if (self.rank != 1 && self.rank != 2) fail_execution("self: expected rank 1 or 2, got shape ", self.sizes());
  const int64_t classes = self.size(self.rank - 1u), rows = self.rank == 1 ? 1 : self.size(0);
  if (samples < 1) fail_execution("num_samples: expected at least 1, got ", samples);
  if (!replacement && samples > classes) {
    fail_execution("num_samples: expected at most ", classes, " without replacement, got ", samples);
  }
  const auto* weights = row_major_as<double>(context, self);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t possible = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double weight = weights[r * classes + c];
      if (!(weight >= 0 && std::isfinite(weight))) fail_execution("self: expected finite weights, got ", weight);
      possible += weight > 0;
    }
    if (possible == 0 || (!replacement && possible < samples)) {
      fail_execution("self: expected ", samples, " classes with a weight, got ", possible, " in row ", r);
    }
  }
  Shape shape(self.sizes());
  shape[shape.rank - 1] = samples;
  context.resize(out, shape);
  RowMajorOut result(context, out);
  std::vector<double> numbers(static_cast<size_t>(classes));
  std::vector<double> places(replacement ? static_cast<size_t>(samples) : 0);
  std::vector<int64_t> order(static_cast<size_t>(classes));
  for (int64_t r = 0; r < rows; ++r) {
    const double* row = weights + r * classes;
    int64_t* to = result.as<int64_t>() + r * samples;
    if (replacement) {
      std::partial_sum(row, row + classes, numbers.begin());
      kernels::random_uniform(context.random(), places.data(), places.size(), 0.0, numbers.back());
      for (size_t i = 0; i < places.size(); ++i) {
        to[i] = std::upper_bound(numbers.begin(), numbers.end(), places[i]) - numbers.begin();
      }
      continue;
    }
    kernels::random_exponential(context.random(), numbers.data(), numbers.size(), 1.0);
    for (size_t c = 0; c < numbers.size(); ++c) {
      numbers[c] = row[c] == 0 ? std::numeric_limits<double>::infinity() : numbers[c] / row[c];
    }
    std::iota(order.begin(), order.end(), int64_t{0});
    std::partial_sort(order.begin(), order.begin() + samples, order.end(), [&](int64_t a, int64_t b) {
      return numbers[static_cast<size_t>(a)] < numbers[static_cast<size_t>(b)];
    });
    std::copy_n(order.begin(), samples, to);
  }
  result.commit();
}

}  // namespace

void register_draws(OperatorTable& table) {
  table.add<bernoulli_out>("aten::bernoulli.out", "self, generator, out");
  table.add<bernoulli_float_out>("aten::bernoulli.float_out", "self, p, generator, out");
  table.add<bernoulli_tensor_out>("aten::bernoulli.Tensor_out", "self, p, generator, out");
  table.add<exponential_out>("aten::exponential.out", "self, lambd, generator, out");
  table.add<poisson_out>("aten::poisson.out", "self, generator, out");
  table.add<multinomial_out>("aten::multinomial.out", "self, num_samples, replacement, generator, out");
}

}  // namespace enr::ops
