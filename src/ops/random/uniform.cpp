// Uniform random numbers: reals, integers, permutations.

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/random/random.h"
#include "ops/families.h"
#include "ops/random/fill.h"

namespace enr::ops {

namespace {

// The whole numbers a dtype holds; all of int64 for the others.
std::pair<int64_t, int64_t> integer_limits(DType dtype) noexcept {
  if (is_bool(dtype)) return {0, 1};
  if (!is_integer(dtype) || dtype_size(dtype) == 8) {
    return {is_unsigned(dtype) ? 0 : std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
  const size_t bits = 8 * dtype_size(dtype);
  if (is_unsigned(dtype)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

// Number `random` of 2^64 as one of `span`: the high half of their product.
uint64_t below(uint64_t random, uint64_t span) noexcept {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(random) * span) >> 64);
}

}  // namespace

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

void fill_integers(OpContext& context, Tensor& out, int64_t low, int64_t last) {
  require_convertible(DType::kInt64, out.dtype, "out");
  const auto [least, most] = integer_limits(out.dtype);
  if (low < least || last > most) {
    fail_execution("out: expected a dtype that holds ", low, " to ", last, ", got ", dtype_name(out.dtype));
  }
  RowMajorOut result(context, out, DType::kInt64);
  auto* to = result.as<int64_t>();
  const auto count = static_cast<size_t>(out.numel());
  const auto first = static_cast<uint64_t>(low), span = static_cast<uint64_t>(last) - first + 1;  // 0 for all of them
  const uint64_t start = context.random().take(count);
  constexpr size_t kGrain = 1 << 14;
  parallel_ranges(count, kGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint64_t random = random_number(start, i);
      to[i] = static_cast<int64_t>(first + (span == 0 ? random : below(random, span)));
    }
  });
  result.commit();
}

namespace {

// With as many random bits as the dtype holds, so that rounding never gives 1 for [0, 1).
void fill_uniform(OpContext& context, Tensor& out, double low, double high) {
  fill_parts(context, out, [&]<class T>(T* to, size_t count) {
    if constexpr (sizeof(T) == 4) {
      kernels::random_uniform(context.random(), to, count, static_cast<float>(low), static_cast<float>(high - low),
                              mantissa_bits(out.dtype));
    } else {
      kernels::random_uniform(context.random(), to, count, low, high - low);
    }
  });
}

void rand_out(OpContext& context, Sizes size, Tensor& out) {
  context.resize(out, size);
  fill_uniform(context, out, 0, 1);
}
void rand_generator_out(OpContext& context, Sizes size, Ignored, Tensor& out) { rand_out(context, size, out); }
void rand_like_out(OpContext& context, const Tensor& self, Ignored, Tensor& out) {
  rand_out(context, self.sizes(), out);
}
void uniform_out(OpContext& context, const Tensor& self, double from, double to, Ignored, Tensor& out) {
  if (!std::isfinite(to)) fail_execution("to: expected a finite number, got ", to);
  if (!std::isfinite(from) || from > to)
    fail_execution("from: expected a finite number of at most ", to, ", got ", from);
  context.resize(out, self.sizes());
  fill_uniform(context, out, from, to);
}

void randint_low_out(OpContext& context, int64_t low, int64_t high, Sizes size, Tensor& out) {
  if (low >= high) fail_execution("high: expected more than ", low, ", got ", high);
  context.resize(out, size);
  fill_integers(context, out, low, high - 1);
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
void randint_like_tensor_out(OpContext& context, const Tensor& self, const Tensor& high, Ignored, Tensor& out) {
  if (high.numel() != 1) fail_execution("high: expected one element, got ", describe(high));
  randint_low_out(context, 0, *row_major_as<int64_t>(context, high), self.sizes(), out);
}

void randperm_out(OpContext& context, int64_t n, Tensor& out) {
  if (n < 0) fail_execution("n: expected at least 0, got ", n);
  context.resize(out, {n});
  require_convertible(DType::kInt64, out.dtype, "out");
  RowMajorOut to(context, out, DType::kInt64);
  auto* numbers = to.as<int64_t>();
  std::iota(numbers, numbers + n, int64_t{0});
  for (int64_t i = n; i > 1; --i) {
    std::swap(numbers[i - 1], numbers[below(context.random()(), static_cast<uint64_t>(i))]);
  }
  to.commit();
}

void randperm_generator_out(OpContext& context, int64_t n, Ignored, Tensor& out) { randperm_out(context, n, out); }

}  // namespace

void register_uniform(OperatorTable& table) {
  table.add<rand_out>("aten::rand.out", "size, out");
  table.add<rand_generator_out>("aten::rand.generator_out", "size, generator, out");
  table.add<rand_like_out>("aten::rand_like.out", "self, memory_format, out");
  table.add<uniform_out>("aten::uniform.out", "self, from, to, generator, out");
  table.add<randint_out>("aten::randint.out", "high, size, out");
  table.add<randint_low_out>("aten::randint.low_out", "low, high, size, out");
  table.add<randperm_out>("aten::randperm.out", "n, out");
  table.add<randint_generator_out>("aten::randint.generator_out", "high, size, generator, out");
  table.add<randint_low_generator_out>("aten::randint.low_generator_out", "low, high, size, generator, out");
  table.add<randint_like_out>("aten::randint_like.out", "self, high, memory_format, out");
  table.add<randint_like_low_out>("aten::randint_like.low_dtype_out", "self, low, high, memory_format, out");
  table.add<randint_like_tensor_out>("aten::randint_like.Tensor_out", "self, high, memory_format, out");
  table.add<randperm_generator_out>("aten::randperm.generator_out", "n, generator, out");
}

}  // namespace enr::ops
