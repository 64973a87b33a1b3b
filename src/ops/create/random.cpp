// Random numbers from the program's generator: dropout, uniform, normal, integers, permutations.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "kernels/transpose/copy_threads.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/pointwise/complex_numbers.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

using Generator = std::mt19937_64;

// Uniform in [0, 1) with as many bits as the dtype holds, so that rounding never gives 1.
double uniform(Generator& generator, int bits) {
  return static_cast<double>(generator() >> (64 - bits)) * std::ldexp(1.0, -bits);
}

int mantissa_bits(DType dtype) noexcept {
  switch (dtype) {
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat32:
      return 24;
    default:
      return 53;
  }
}

void require_floating(const Tensor& tensor, const char* what) {
  if (is_floating(tensor.dtype)) return;
  fail_execution(what, ": expected a floating dtype, got ", dtype_name(tensor.dtype));
}

// Writes next() to every element, computed as T and converted to out's dtype.
template <class T, class Next>
void fill_random(OpContext& context, Tensor& out, const Next& next) {
  require_convertible(dtype_of<T>, out.dtype, "out");
  RowMajorOut to(context, out, dtype_of<T>);
  const int64_t count = out.numel();
  for (int64_t i = 0; i < count; ++i) to.as<T>()[i] = next();
  to.commit();
}

// The same with next() for each part of complex numbers.
template <class Next>
void fill_parts(OpContext& context, Tensor& out, const Next& next) {
  if (is_complex(out.dtype))
    return fill_random<Complex>(context, out, [&] {
      const double real = next();
      return Complex(real, next());
    });
  require_floating(out, "out");
  fill_random<double>(context, out, next);
}

void fill_uniform(OpContext& context, Tensor& out, double low, double high) {
  Generator& generator = context.random();
  const int bits = mantissa_bits(real_dtype(out.dtype));
  fill_parts(context, out, [&] { return low + (high - low) * uniform(generator, bits); });
}

// Normal numbers in pairs (Box and Muller).
class Normal {
 public:
  explicit Normal(Generator& generator) : generator_(generator) {}

  double operator()() {
    if (spare_) return *std::exchange(spare_, std::nullopt);
    const double radius = std::sqrt(-2 * std::log(1 - uniform(generator_, 53)));
    const double angle = 2 * std::numbers::pi * uniform(generator_, 53);
    spare_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  Generator& generator_;
  std::optional<double> spare_;
};

// The parts of complex numbers have half of the variance each.
double part_deviation(double deviation, DType dtype) {
  return is_complex(dtype) ? deviation / std::numbers::sqrt2 : deviation;
}

void fill_normal(OpContext& context, Tensor& out, double mean, double deviation) {
  if (!(deviation >= 0)) fail_execution("std: expected at least 0, got ", deviation);
  Normal normal(context.random());
  const double spread = part_deviation(deviation, out.dtype);
  fill_parts(context, out, [&] { return mean + spread * normal(); });
}

void rand_out(OpContext& context, Sizes size, Tensor& out) {
  context.resize(out, size);
  fill_uniform(context, out, 0, 1);
}
void rand_generator_out(OpContext& context, Sizes size, Ignored, Tensor& out) { rand_out(context, size, out); }
void rand_like_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  rand_out(context, self.sizes(), out);
}
void randn_out(OpContext& context, Sizes size, Tensor& out) {
  context.resize(out, size);
  fill_normal(context, out, 0, 1);
}
void randn_generator_out(OpContext& context, Sizes size, Ignored, Tensor& out) { randn_out(context, size, out); }
void randn_like_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  randn_out(context, self.sizes(), out);
}

void uniform_out(OpContext& context, const Tensor& self, double from, double to, Ignored, Tensor& out) {
  if (!(from <= to)) fail_execution("from: expected at most ", to, ", got ", from);
  context.resize(out, self.sizes());
  fill_uniform(context, out, from, to);
}

void normal_out(OpContext& context, const Tensor& self, double mean, double std, Ignored, Tensor& out) {
  context.resize(out, self.sizes());
  fill_normal(context, out, mean, std);
}

void normal_float_float_out(OpContext& context, double mean, double std, Sizes size, Ignored, Tensor& out) {
  context.resize(out, size);
  fill_normal(context, out, mean, std);
}

// Unbiased in [0, span): values from the incomplete last run of spans are drawn again.
uint64_t below(Generator& generator, uint64_t span) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % span;
  uint64_t value;
  do {
    value = generator();
  } while (value >= limit);
  return value % span;
}

void randint_low_out(OpContext& context, int64_t low, int64_t high, Sizes size, Tensor& out) {
  if (low >= high) fail_execution("high: expected more than ", low, ", got ", high);
  context.resize(out, size);
  Generator& generator = context.random();
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  fill_random<int64_t>(context, out, [&] { return static_cast<int64_t>(uint64_t(low) + below(generator, span)); });
}
void randint_out(OpContext& context, int64_t high, Sizes size, Tensor& out) {
  randint_low_out(context, 0, high, size, out);
}

void randint_generator_out(OpContext& context, int64_t high, Sizes size, Ignored, Tensor& out) {
  randint_low_out(context, 0, high, size, out);
}
void randint_low_generator_out(OpContext& context, int64_t low, int64_t high, Sizes size, Ignored, Tensor& out) {
  randint_low_out(context, low, high, size, out);
}
void randint_like_out(OpContext& context, const Tensor& self, int64_t high, Ignored, Tensor& out) {
  randint_low_out(context, 0, high, self.sizes(), out);
}
void randint_like_low_out(OpContext& context, const Tensor& self, int64_t low, int64_t high, Ignored, Tensor& out) {
  randint_low_out(context, low, high, self.sizes(), out);
}

void randperm_out(OpContext& context, int64_t n, Tensor& out) {
  if (n < 0) fail_execution("n: expected at least 0, got ", n);
  context.resize(out, {n});
  require_convertible(DType::kInt64, out.dtype, "out");
  RowMajorOut to(context, out, DType::kInt64);
  auto* numbers = to.as<int64_t>();
  std::iota(numbers, numbers + n, int64_t{0});
  for (int64_t i = n; i > 1; --i) {
    std::swap(numbers[i - 1], numbers[below(context.random(), static_cast<uint64_t>(i))]);
  }
  to.commit();
}

void randperm_generator_out(OpContext& context, int64_t n, Ignored, Tensor& out) { randperm_out(context, n, out); }

void bernoulli_float_out(OpContext& context, const Tensor& self, double p, Ignored, Tensor& out) {
  if (!(p >= 0 && p <= 1)) fail_execution("p: expected 0 to 1, got ", p);
  context.resize(out, self.sizes());
  Generator& generator = context.random();
  fill_random<bool>(context, out, [&] { return uniform(generator, 53) < p; });
}

// Each element is the probability of its own draw.
void bernoulli_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  require_floating(self, "self");
  const auto* p = row_major_as<double>(context, self);
  for (int64_t i = 0; i < self.numel(); ++i) {
    if (!(p[i] >= 0 && p[i] <= 1)) fail_execution("self: expected probabilities of 0 to 1, got ", p[i]);
  }
  context.resize(out, self.sizes());
  Generator& generator = context.random();
  fill_random<bool>(context, out, [&] { return uniform(generator, 53) < *p++; });
}

void bernoulli_tensor_out(OpContext& context, const Tensor& self, const Tensor& p, Ignored, Tensor& out) {
  require_floating(p, "p");
  StridedView view(p);
  const Shape shape = broadcast(self.sizes(), p.sizes(), "p");
  if (!std::equal(shape.begin(), shape.end(), self.sizes().begin(), self.sizes().end())) {
    fail_execution("p: shape ", p.sizes(), " does not broadcast to ", self.sizes());
  }
  view.expand(self.sizes());
  const auto count = static_cast<size_t>(self.numel());
  auto* chances = context.scratch_of<double>(count);
  copy_view(context, StridedView(reinterpret_cast<std::byte*>(chances), DType::kFloat64, self.sizes()), view);
  for (size_t i = 0; i < count; ++i) {
    if (!(chances[i] >= 0 && chances[i] <= 1)) fail_execution("p: expected 0 to 1, got ", chances[i]);
  }
  context.resize(out, self.sizes());
  Generator& generator = context.random();
  fill_random<bool>(context, out, [&] { return uniform(generator, 53) < *chances++; });
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
    StridedView view(*tensor);
    view.expand(shape);
    std::byte* data = context.scratch(static_cast<size_t>(product(shape)) * sizeof(double));
    copy_view(context, StridedView(data, DType::kFloat64, shape), view);
    return reinterpret_cast<const double*>(data);
  };
  const double *centre = numbers(means, "mean"), *spread = numbers(deviations, "std");
  for (int64_t i = 0; spread != nullptr && i < product(shape); ++i) {
    if (!(spread[i] >= 0)) fail_execution("std: expected at least 0, got ", spread[i]);
  }
  if (!(deviation >= 0)) fail_execution("std: expected at least 0, got ", deviation);
  require_floating(out, "out");
  context.resize(out, shape);
  Normal normal(context.random());
  fill_random<double>(context, out, [&] {
    const double by = spread == nullptr ? deviation : *spread++;
    return (centre == nullptr ? mean : *centre++) + by * normal();
  });
}
void normal_tensor_tensor_out(OpContext& context, const Tensor& mean, const Tensor& std, Ignored, Tensor& out) {
  require_dtype(out, mean.dtype, "out");
  normal_elements(context, &mean, 0, &std, 1, out);
}
void normal_tensor_float_out(OpContext& context, const Tensor& mean, double std, Ignored, Tensor& out) {
  if (is_complex(mean.dtype)) {
    require_dtype(out, mean.dtype, "out");
    if (!(std >= 0)) fail_execution("std: expected at least 0, got ", std);
    Normal normal(context.random());
    const double spread = part_deviation(std, mean.dtype);
    return map_complex(context, {&mean}, out, [&](const Complex* centre) {
      const double real = spread * normal();
      return *centre + Complex(real, spread * normal());
    });
  }
  normal_elements(context, &mean, 0, nullptr, std, out);
}
void normal_float_tensor_out(OpContext& context, double mean, const Tensor& std, Ignored, Tensor& out) {
  normal_elements(context, nullptr, mean, &std, 1, out);
}

void exponential_out(OpContext& context, const Tensor& self, double rate, Ignored, Tensor& out) {
  if (!(rate > 0)) fail_execution("lambd: expected more than 0, got ", rate);
  require_floating(out, "out");
  context.resize(out, self.sizes());
  Generator& generator = context.random();
  fill_random<double>(context, out, [&] { return -std::log1p(-uniform(generator, 53)) / rate; });
}

void poisson_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  require_floating(self, "self");
  require_dtype(out, self.dtype, "out");
  const auto* rates = row_major_as<double>(context, self);
  for (int64_t i = 0; i < self.numel(); ++i) {
    if (!(rates[i] >= 0 && std::isfinite(rates[i]))) fail_execution("self: expected at least 0, got ", rates[i]);
  }
  context.resize(out, self.sizes());
  Generator& generator = context.random();
  fill_random<double>(context, out, [&] {
    const double rate = *rates++;
    return rate == 0 ? 0 : static_cast<double>(std::poisson_distribution<int64_t>(rate)(generator));
  });
}

// Draws classes by weight from each row. Without replacement, an exponential clock runs for each class, and those that
// ring first are taken.
void multinomial_out(OpContext& context, const Tensor& self, int64_t samples, bool replacement, Ignored, Tensor& out) {
  require_floating(self, "self");
  require_dtype(out, DType::kInt64, "out");
  if (self.rank != 1 && self.rank != 2) fail_execution("self: expected rank 1 or 2, got shape ", self.sizes());
  const int64_t classes = self.size(self.rank - 1u), rows = self.rank == 1 ? 1 : self.size(0);
  if (samples < 1) fail_execution("num_samples: expected at least 1, got ", samples);
  if (!replacement && samples > classes) {
    fail_execution("num_samples: cannot draw ", samples, " of ", classes, " classes without replacement");
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
      fail_execution("self: ", possible, " classes of row ", r, " have a weight, too few for ", samples, " samples");
    }
  }
  Shape shape(self.sizes());
  shape[shape.rank - 1] = samples;
  context.resize(out, shape);
  Generator& generator = context.random();
  RowMajorOut result(context, out);
  std::vector<double> numbers(static_cast<size_t>(classes));
  std::vector<int64_t> order(static_cast<size_t>(classes));
  for (int64_t r = 0; r < rows; ++r) {
    const double* row = weights + r * classes;
    int64_t* to = result.as<int64_t>() + r * samples;
    if (replacement) {
      std::partial_sum(row, row + classes, numbers.begin());
      for (int64_t i = 0; i < samples; ++i) {
        const double at = uniform(generator, 53) * numbers.back();
        to[i] = std::upper_bound(numbers.begin(), numbers.end(), at) - numbers.begin();
      }
      continue;
    }
    for (int64_t c = 0; c < classes; ++c) {
      numbers[static_cast<size_t>(c)] = -std::log1p(-uniform(generator, 53)) / row[c];  // infinite for weight 0
    }
    std::iota(order.begin(), order.end(), int64_t{0});
    std::partial_sort(order.begin(), order.begin() + samples, order.end(), [&](int64_t a, int64_t b) {
      return numbers[static_cast<size_t>(a)] < numbers[static_cast<size_t>(b)];
    });
    std::copy_n(order.begin(), samples, to);
  }
  result.commit();
}

// Complex numbers are two parts, kept or dropped together.
template <class T>
void drop(T* out, const T* in, const bool* mask, int64_t count, double scale, int64_t parts = 1) {
  for (int64_t i = 0; i < count * parts; ++i) {
    const double kept = mask[i / parts] ? static_cast<double>(in[i]) * scale : static_cast<double>(in[i]) * 0;
    out[i] = static_cast<T>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(kept));
  }
}

// train None counts as true: the operator is only traced where dropout is wanted.
void native_dropout_out(OpContext& context, const Tensor& input, double p, std::optional<bool> train, Tensor& out,
                        Tensor& mask) {
  if (!(p >= 0 && p <= 1)) fail_execution("p: expected 0 to 1, got ", p);
  if (!is_complex(input.dtype)) require_floating(input, "input");
  require_dtype(out, input.dtype, "out0");
  require_dtype(mask, DType::kBool, "out1");
  context.resize(out, input.sizes(), "out0");
  context.resize(mask, input.sizes(), "out1");
  const int64_t count = input.numel();
  RowMajorOut kept(context, mask);
  if (!train.value_or(true)) {
    std::fill_n(kept.as<bool>(), count, true);
    kept.commit();
    return copy_tensor(context, out, input);
  }
  Generator& generator = context.random();
  for (int64_t i = 0; i < count; ++i) kept.as<bool>()[i] = uniform(generator, 53) >= p;
  const std::byte* in = row_major(context, input);
  RowMajorOut to(context, out);
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  switch (input.dtype) {
    case DType::kFloat16:
      drop(to.as<Half>(), reinterpret_cast<const Half*>(in), kept.as<bool>(), count, scale);
      break;
    case DType::kBFloat16:
      drop(to.as<BFloat16>(), reinterpret_cast<const BFloat16*>(in), kept.as<bool>(), count, scale);
      break;
    case DType::kFloat32:
      drop(to.as<float>(), reinterpret_cast<const float*>(in), kept.as<bool>(), count, scale);
      break;
    case DType::kFloat64:
      drop(to.as<double>(), reinterpret_cast<const double*>(in), kept.as<bool>(), count, scale);
      break;
    case DType::kComplex64:
      drop(to.as<float>(), reinterpret_cast<const float*>(in), kept.as<bool>(), count, scale, 2);
      break;
    case DType::kComplex128:
      drop(to.as<double>(), reinterpret_cast<const double*>(in), kept.as<bool>(), count, scale, 2);
      break;
    default:
      fail_execution("input: dtype ", dtype_name(input.dtype), " is not supported here");
  }
  to.commit();
  kept.commit();
}

}  // namespace

void register_random(OperatorTable& table) {
  table.add<rand_out>("aten::rand.out");
  table.add<rand_generator_out>("aten::rand.generator_out");
  table.add<rand_like_out>("aten::rand_like.out");
  table.add<randn_out>("aten::randn.out");
  table.add<randn_generator_out>("aten::randn.generator_out");
  table.add<randn_like_out>("aten::randn_like.out");
  table.add<uniform_out>("aten::uniform.out");
  table.add<normal_out>("aten::normal.out");
  table.add<normal_float_float_out>("aten::normal.float_float_out");
  table.add<randint_out>("aten::randint.out");
  table.add<randint_low_out>("aten::randint.low_out");
  table.add<randperm_out>("aten::randperm.out");
  table.add<bernoulli_out>("aten::bernoulli.out");
  table.add<bernoulli_float_out>("aten::bernoulli.float_out");
  table.add<bernoulli_tensor_out>("aten::bernoulli.Tensor_out");
  table.add<normal_tensor_tensor_out>("aten::normal.Tensor_Tensor_out");
  table.add<normal_tensor_float_out>("aten::normal.Tensor_float_out");
  table.add<normal_float_tensor_out>("aten::normal.float_Tensor_out");
  table.add<exponential_out>("aten::exponential.out");
  table.add<poisson_out>("aten::poisson.out");
  table.add<multinomial_out>("aten::multinomial.out");
  table.add<randint_generator_out>("aten::randint.generator_out");
  table.add<randint_low_generator_out>("aten::randint.low_generator_out");
  table.add<randint_like_out>("aten::randint_like.out");
  table.add<randint_like_low_out>("aten::randint_like.low_dtype_out");
  table.add<randperm_generator_out>("aten::randperm.generator_out");
  table.add<native_dropout_out>("aten::native_dropout.out");
}

}  // namespace enr::ops
