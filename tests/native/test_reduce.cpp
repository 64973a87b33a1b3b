#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/convert/convert.h"
#include "kernels/reduce/reduce.h"
#include "numbers.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace enr::test;
using Engine = std::mt19937;

// A dense tensor whose dimensions may lie in any order in memory.
struct Tensor {
  DType dtype;
  std::vector<int64_t> sizes, strides;
  std::vector<double> values;  // in the order of the buffer, as the dtype holds them
  std::vector<std::byte> bytes;

  ConstStrided view() const { return {bytes.data(), dtype, strides.data()}; }
};

Tensor random_tensor(Engine& engine, DType dtype, std::vector<int64_t> sizes, double low, double high) {
  Tensor t{dtype, sizes, std::vector<int64_t>(sizes.size()), {}, {}};
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (engine() % 2 == 0) std::shuffle(order.begin(), order.end(), engine);
  int64_t count = 1;
  for (size_t i = order.size(); i-- > 0;) {
    t.strides[order[i]] = count;
    count *= sizes[order[i]];
  }
  t.values.resize(static_cast<size_t>(count));
  std::uniform_real_distribution<double> values(low, high);
  for (double& v : t.values) v = is_floating(dtype) ? values(engine) : std::floor(values(engine));
  t.bytes.resize(t.values.size() * dtype_size(dtype));
  convert_fn(DType::kFloat64, dtype)(t.values.data(), t.bytes.data(), t.values.size());
  convert_fn(dtype, DType::kFloat64)(t.bytes.data(), t.values.data(), t.values.size());
  return t;
}

// The elements of each output, in row-major order of the reduced dimensions.
std::vector<std::vector<double>> groups(const Tensor& t, uint32_t reduced) {
  size_t outputs = 1;
  for (size_t d = 0; d < t.sizes.size(); ++d) {
    if ((reduced >> d & 1) == 0) outputs *= static_cast<size_t>(t.sizes[d]);
  }
  std::vector<std::vector<double>> result(outputs);
  std::vector<int64_t> index(t.sizes.size(), 0);
  for (size_t i = 0; i < t.values.size(); ++i) {
    int64_t offset = 0, output = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      offset += index[d] * t.strides[d];
      if ((reduced >> d & 1) == 0) output = output * t.sizes[d] + index[d];
    }
    result[static_cast<size_t>(output)].push_back(t.values[static_cast<size_t>(offset)]);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < t.sizes[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

using Group = std::vector<double>;

double sum_of(const Group& g) {
  long double total = 0;
  for (double v : g) total += static_cast<long double>(v);
  return static_cast<double>(total);
}
double mean_of(const Group& g) { return sum_of(g) / static_cast<double>(g.size()); }
double variance_of(const Group& g, double correction) {
  const double mean = mean_of(g);
  long double total = 0;
  for (double v : g) total += static_cast<long double>((v - mean) * (v - mean));
  return static_cast<double>(total) / std::max(static_cast<double>(g.size()) - correction, 0.0);
}
Group map(Group g, const std::function<double(double)>& f) {
  for (double& v : g) v = f(v);
  return g;
}

struct Row {
  Reduce op;
  const char* name;
  std::function<double(const Group&)> exact;
};

std::vector<Row> rows() {
  return {
      {Reduce::kSum, "sum", sum_of},
      {Reduce::kMean, "mean", mean_of},
      {Reduce::kProd, "prod",
       [](const Group& g) { return std::accumulate(g.begin(), g.end(), 1.0, std::multiplies<>()); }},
      {Reduce::kMin, "min", [](const Group& g) { return *std::min_element(g.begin(), g.end()); }},
      {Reduce::kMax, "max", [](const Group& g) { return *std::max_element(g.begin(), g.end()); }},
      {Reduce::kAny, "any",
       [](const Group& g) { return std::any_of(g.begin(), g.end(), [](double v) { return v != 0; }); }},
      {Reduce::kAll, "all",
       [](const Group& g) { return std::all_of(g.begin(), g.end(), [](double v) { return v != 0; }); }},
      {Reduce::kCountNonZero, "count",
       [](const Group& g) { return std::count_if(g.begin(), g.end(), [](double v) { return v != 0; }); }},
      {Reduce::kNorm0, "norm0",
       [](const Group& g) { return std::count_if(g.begin(), g.end(), [](double v) { return v != 0; }); }},
      {Reduce::kNorm1, "norm1", [](const Group& g) { return sum_of(map(g, [](double v) { return std::fabs(v); })); }},
      {Reduce::kNorm2, "norm2",
       [](const Group& g) { return std::sqrt(sum_of(map(g, [](double v) { return v * v; }))); }},
      {Reduce::kNormInf, "norminf",
       [](const Group& g) {
         const Group a = map(g, [](double v) { return std::fabs(v); });
         return *std::max_element(a.begin(), a.end());
       }},
      {Reduce::kNormNegInf, "norm-inf",
       [](const Group& g) {
         const Group a = map(g, [](double v) { return std::fabs(v); });
         return *std::min_element(a.begin(), a.end());
       }},
      {Reduce::kNormP, "norm3",
       [](const Group& g) { return std::cbrt(sum_of(map(g, [](double v) { return std::fabs(v * v * v); }))); }},
      {Reduce::kVar, "var", [](const Group& g) { return variance_of(g, 1); }},
      {Reduce::kStd, "std", [](const Group& g) { return std::sqrt(variance_of(g, 1)); }},
      {Reduce::kLogSumExp, "logsumexp",
       [](const Group& g) { return std::log(sum_of(map(g, [](double v) { return std::exp(v); }))); }},
  };
}

const std::vector<std::vector<int64_t>> kShapes = {{1},      {7},         {1000},        {40000},      {33, 65},
                                                   {5, 300}, {300, 5},    {3, 40, 7},    {2, 3, 4, 5}, {1, 64, 14, 14},
                                                   {600, 3}, {2, 520, 9}, {9, 17, 1, 20}};

DType result_of(Reduce op, DType in) {
  if (op == Reduce::kAny || op == Reduce::kAll) return DType::kBool;
  if (op == Reduce::kCountNonZero) return DType::kInt64;
  if (op == Reduce::kMin || op == Reduce::kMax) return in;
  if (is_floating(in)) return in;
  return op == Reduce::kSum || op == Reduce::kProd ? DType::kInt64 : DType::kFloat32;
}

double tolerance_of(DType result) {
  switch (result) {
    case DType::kFloat16:
      return 1e-3;
    case DType::kBFloat16:
      return 8e-3;
    case DType::kFloat32:
      return 1e-6;
    default:
      return 1e-12;
  }
}

void check(const Row& row, const Tensor& t, uint32_t reduced) {
  const std::vector<Group> expected = groups(t, reduced);
  const DType result = result_of(row.op, t.dtype);
  std::vector<std::byte> out(expected.size() * dtype_size(result));
  std::vector<double> got(expected.size());
  ReduceParams params;
  params.p = 3;
  reduce(row.op, params, t.sizes, t.view(), reduced, result, out.data());
  convert_fn(result, DType::kFloat64)(out.data(), got.data(), got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double exact = row.exact(expected[i]);
    if (std::isnan(exact) && std::isnan(got[i])) continue;
    if (got[i] == exact || std::fabs(got[i] - exact) <= tolerance_of(result) * (std::fabs(exact) + 0.05)) continue;
    FAIL_CHECK(std::string(row.name) << " of " << std::string(dtype_name(t.dtype)) << " rank " << t.sizes.size()
                                     << " size " << t.values.size() << " reduced " << reduced << " output " << i << ": "
                                     << got[i] << ", expected " << exact);
    return;
  }
}

TEST_CASE("reductions over every set of dimensions, any layout") {
  Engine engine(30);
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt32, DType::kInt64,
                      DType::kUInt8, DType::kBool, DType::kInt16}) {
    for (const std::vector<int64_t>& shape : kShapes) {
      const bool is_float = is_floating(dtype);
      const Tensor t = random_tensor(engine, dtype, shape, is_float ? 0.7 : 0,
                                     is_float                ? 1.3
                                     : dtype == DType::kBool ? 2
                                                             : 4);
      for (uint32_t reduced = 0; reduced < 1u << shape.size(); ++reduced) {
        for (const Row& row : rows()) check(row, t, reduced);
      }
    }
  }
}

TEST_CASE("reductions are the same with and without threads") {
  Engine engine(31);
  const Tensor t = random_tensor(engine, DType::kFloat32, {300, 1000}, 0.5, 1.5);
  for (size_t threads : {1, 3}) {
    set_num_threads(threads);
    for (uint32_t reduced : {1u, 2u, 3u}) {
      for (const Row& row : rows()) {
        if (row.op != Reduce::kProd) check(row, t, reduced);
      }
    }
  }
  set_num_threads(0);
}

TEST_CASE("long sums lose nothing that counts") {
  const size_t n = 3000000;
  std::vector<float> x = random_values<float>(n, 32, 0, 1);
  long double exact = 0;
  for (float v : x) exact += static_cast<long double>(v);
  const int64_t sizes[] = {static_cast<int64_t>(n)}, strides[] = {1};
  float sum = 0;
  reduce(Reduce::kSum, {}, sizes, {x.data(), DType::kFloat32, strides}, 1, DType::kFloat32, &sum);
  CHECK(ulps_off(sum, exact) < 0.6);
  const int64_t table[] = {static_cast<int64_t>(n / 3), 3}, table_strides[] = {3, 1};
  float columns[3];
  reduce(Reduce::kSum, {}, table, {x.data(), DType::kFloat32, table_strides}, 1, DType::kFloat32, columns);
  CHECK(ulps_off(columns[0] + columns[1] + columns[2], exact) < 3);
}

TEST_CASE("NaN goes through extremes and sums, infinities do not become NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const int64_t strides[] = {1};
  for (size_t n : {1, 5, 16, 17, 64, 100, 1000}) {
    for (size_t at : {size_t{0}, n / 2, n - 1}) {
      std::vector<float> x(n, 1.0f);
      x[at] = nan;
      const int64_t sizes[] = {static_cast<int64_t>(n)};
      const ConstStrided view{x.data(), DType::kFloat32, strides};
      for (Reduce op : {Reduce::kMin, Reduce::kMax, Reduce::kSum, Reduce::kNormInf, Reduce::kVar}) {
        float result = 0;
        reduce(op, {}, sizes, view, 1, DType::kFloat32, &result);
        CHECK(std::isnan(result));
      }
      x[at] = inf;
      float result = 0;
      reduce(Reduce::kSum, {}, sizes, view, 1, DType::kFloat32, &result);
      CHECK(result == inf);
      reduce(Reduce::kLogSumExp, {}, sizes, view, 1, DType::kFloat32, &result);
      CHECK(result == inf);
    }
  }
}

TEST_CASE("few long rows: NaN, and truth values of any bytes") {
  for (const int64_t rows : {1, 2, 3, 4, 7, 8, 9}) {
    for (const int64_t width : {64, 100, 4099, 9000}) {
      const auto count = static_cast<size_t>(rows * width), columns = static_cast<size_t>(width);
      const int64_t sizes[] = {rows, width}, strides[] = {width, 1};
      std::vector<float> x = random_values<float>(count, 34, -1, 1), largest(columns), sum(columns);
      std::vector<uint8_t> bytes(count), is_true(columns), are_true(columns);
      for (size_t i = 0; i < count; ++i) {
        if (i % 11 == 5) x[i] = std::numeric_limits<float>::quiet_NaN();
        bytes[i] = static_cast<uint8_t>(i % 3 == 0 ? 0 : i);
      }
      reduce(Reduce::kMax, {}, sizes, {x.data(), DType::kFloat32, strides}, 1, DType::kFloat32, largest.data());
      reduce(Reduce::kSum, {}, sizes, {x.data(), DType::kFloat32, strides}, 1, DType::kFloat32, sum.data());
      reduce(Reduce::kMax, {}, sizes, {bytes.data(), DType::kBool, strides}, 1, DType::kBool, is_true.data());
      reduce(Reduce::kAll, {}, sizes, {bytes.data(), DType::kBool, strides}, 1, DType::kBool, are_true.data());
      size_t wrong = 0;
      for (size_t w = 0; w < columns; ++w) {
        float best = x[w], total = x[w];
        bool any = bytes[w] != 0, all = any;
        for (size_t r = 1; r < static_cast<size_t>(rows); ++r) {
          const float value = x[r * columns + w];
          best = value != value || value > best ? value : best;
          total += value;
          any = any || bytes[r * columns + w] != 0;
          all = all && bytes[r * columns + w] != 0;
        }
        wrong += std::isnan(total) ? !std::isnan(sum[w]) : std::fabs(sum[w] - total) > 1e-6f;
        wrong += std::isnan(total) ? !std::isnan(largest[w]) : largest[w] != best;
        wrong += is_true[w] != uint8_t{any};
        wrong += are_true[w] != uint8_t{all};
      }
      CHECK_MESSAGE(wrong == 0, rows, " rows of ", width);
    }
  }
}

// Few long rows of numbers near 1 and of special ones, against the same steps one column at a time.
template <class T>
void check_few_rows(int64_t rows, int64_t width) {
  const auto count = static_cast<size_t>(rows * width), columns = static_cast<size_t>(width);
  const int64_t sizes[] = {rows, width}, strides[] = {width, 1};
  const DType dtype = dtype_of<T>;
  std::vector<T> x = random_values<T>(count, 35, static_cast<T>(-3), static_cast<T>(3));
  constexpr bool is_floating = std::is_floating_point_v<T>;
  if constexpr (is_floating) {
    for (size_t i = 0; i < count; i += 13) x[i] = i % 2 == 0 ? -T{0} : std::numeric_limits<T>::quiet_NaN();
    x[1] = std::numeric_limits<T>::infinity();
  } else {
    for (size_t i = 0; i < count; i += 5) x[i] = i % 2 == 0 ? std::numeric_limits<T>::min() : T{-1};
  }
  std::vector<T> prod(columns), mean(columns), norm(columns);
  const ConstStrided view{x.data(), dtype, strides};
  reduce(Reduce::kProd, {}, sizes, view, 1, dtype, prod.data());
  if constexpr (is_floating) {
    reduce(Reduce::kMean, {}, sizes, view, 1, dtype, mean.data());
    reduce(Reduce::kNorm2, {}, sizes, view, 1, dtype, norm.data());
  }
  const auto near = [](T got, double expected) {
    if (std::isnan(expected)) return std::isnan(got);
    if (std::isinf(expected)) return static_cast<double>(got) == expected;
    return std::fabs(static_cast<double>(got) - expected) <= 1e-5 * (1 + std::fabs(expected));
  };
  size_t wrong = 0;
  for (size_t w = 0; w < columns; ++w) {
    T product = 1;
    double total = 0, squares = 0;
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
      const T value = x[r * columns + w];
      if constexpr (is_floating) {
        product *= value;
        total += static_cast<double>(value);
        squares += static_cast<double>(value) * static_cast<double>(value);
      } else {
        product = static_cast<T>(static_cast<uint64_t>(product) * static_cast<uint64_t>(value));
      }
    }
    if constexpr (is_floating) {
      wrong += !near(prod[w], static_cast<double>(product));
      wrong += std::isfinite(product) && std::signbit(product) != std::signbit(prod[w]);
      wrong += !near(mean[w], total / static_cast<double>(rows));
      wrong += !near(norm[w], std::sqrt(squares));
    } else {
      wrong += prod[w] != product;
    }
  }
  CHECK_MESSAGE(wrong == 0, dtype_name(dtype), ", ", rows, " rows of ", width);
}

TEST_CASE("few long rows: products, means and norms") {
  for (const int64_t rows : {1, 2, 3, 4, 5, 8, 9}) {
    for (const int64_t width : {64, 101, 4099, 9000}) {
      check_few_rows<float>(rows, width);
      check_few_rows<double>(rows, width);
      check_few_rows<int64_t>(rows, width);
    }
  }
}

TEST_CASE("nothing to reduce") {
  const int64_t sizes[] = {3, 0}, strides[] = {0, 1};
  const float x = 0;
  const auto of = [&](Reduce op) {
    float out[3] = {7, 7, 7};
    reduce(op, {}, sizes, {&x, DType::kFloat32, strides}, 2, DType::kFloat32, out);
    return out[2];
  };
  CHECK(of(Reduce::kSum) == 0);
  CHECK(of(Reduce::kProd) == 1);
  CHECK(std::isnan(of(Reduce::kMean)));
  CHECK(std::isnan(of(Reduce::kVar)));
  CHECK(of(Reduce::kLogSumExp) == -std::numeric_limits<float>::infinity());
  float untouched = 5;
  reduce(Reduce::kSum, {}, sizes, {&x, DType::kFloat32, strides}, 1, DType::kFloat32, &untouched);
  CHECK(untouched == 5);
}

TEST_CASE("variance and mean together") {
  Engine engine(33);
  const Tensor t = random_tensor(engine, DType::kFloat32, {40, 50}, 99, 101);
  const std::vector<Group> expected = groups(t, 1);
  std::vector<float> var(50), mean(50);
  reduce_var_mean(false, 0, t.sizes, t.view(), 1, DType::kFloat32, var.data(), mean.data());
  for (size_t i = 0; i < 50; ++i) {
    CHECK(var[i] == doctest::Approx(variance_of(expected[i], 0)).epsilon(1e-5));
    CHECK(mean[i] == doctest::Approx(mean_of(expected[i])).epsilon(1e-6));
  }
}

void check_arg(const Tensor& t, size_t dim, bool largest) {
  const std::vector<Group> expected = groups(t, 1u << dim);
  std::vector<int64_t> indices(expected.size());
  std::vector<std::byte> bytes(expected.size() * dtype_size(t.dtype));
  std::vector<double> values(expected.size());
  arg_reduce(largest ? ArgReduce::kArgMax : ArgReduce::kArgMin, t.sizes, t.view(), dim, bytes.data(), indices.data());
  convert_fn(t.dtype, DType::kFloat64)(bytes.data(), values.data(), values.size());
  size_t wrong = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Group& g = expected[i];
    auto found = std::find_if(g.begin(), g.end(), [](double v) { return std::isnan(v); });
    if (found == g.end()) found = largest ? std::max_element(g.begin(), g.end()) : std::min_element(g.begin(), g.end());
    wrong += indices[i] != found - g.begin() || !same_value(values[i], *found);
  }
  CHECK_MESSAGE(wrong == 0, std::string(dtype_name(t.dtype)), " size ", t.values.size(), " dim ", dim);
}

TEST_CASE("arg reductions give the first extreme, or the first NaN") {
  Engine engine(34);
  for (DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64, DType::kUInt8, DType::kBFloat16}) {
    for (const std::vector<int64_t>& shape : kShapes) {
      Tensor t = random_tensor(engine, dtype, shape, -3, 3);  // few values: many are equal
      if (is_floating(dtype) && engine() % 2 == 0) {
        for (double& v : t.values) v = engine() % 50 == 0 ? std::nan("") : std::floor(v);
        convert_fn(DType::kFloat64, dtype)(t.values.data(), t.bytes.data(), t.values.size());
      }
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        check_arg(t, dim, true);
        check_arg(t, dim, false);
      }
    }
  }
}

TEST_CASE("arg reductions of long rows of narrow integers") {
  Engine engine(41);
  for (DType dtype : {DType::kInt8, DType::kUInt8, DType::kInt16}) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{256}, {3, 257}, {2, 319}, {40001}}) {
      const bool is_signed = dtype != DType::kUInt8;
      for (double reach : {2.0, 100.0}) {
        Tensor t = random_tensor(engine, dtype, shape, is_signed ? -reach : 0, reach);
        check_arg(t, shape.size() - 1, true);
        check_arg(t, shape.size() - 1, false);
        // The extremes of the dtype, once each and last: behind everything a vector or a block starts with.
        t.values[t.values.size() - 2] = is_signed ? (dtype == DType::kInt8 ? -128 : -32768) : 0;
        t.values.back() = dtype == DType::kInt8 ? 127 : dtype == DType::kUInt8 ? 255 : 32767;
        convert_fn(DType::kFloat64, dtype)(t.values.data(), t.bytes.data(), t.values.size());
        check_arg(t, shape.size() - 1, true);
        check_arg(t, shape.size() - 1, false);
      }
    }
  }
}

TEST_CASE("arg reduction of a long line, with threads") {
  Engine engine(35);
  for (DType dtype : {DType::kFloat32, DType::kInt16}) {
    const bool is_float = is_floating(dtype);
    const Tensor t = random_tensor(engine, dtype, {300000}, is_float ? 0 : -10000, is_float ? 1 : 10000);
    for (size_t threads : {1, 4}) {
      set_num_threads(threads);
      check_arg(t, 0, true);
      check_arg(t, 0, false);
    }
  }
  set_num_threads(0);
}

void check_scan(Scan op, const Tensor& t, size_t dim) {
  const std::vector<Group> lines = groups(t, 1u << dim);
  const DType result = is_floating(t.dtype) || op == Scan::kCumMax || op == Scan::kCumMin ? t.dtype : DType::kInt64;
  std::vector<std::byte> bytes(t.values.size() * dtype_size(result));
  std::vector<double> got(t.values.size());
  std::vector<int64_t> indices(t.values.size(), -1);
  const bool has_indices = op == Scan::kCumMax || op == Scan::kCumMin;
  scan(op, t.sizes, t.view(), dim, result, bytes.data(), has_indices ? indices.data() : nullptr);
  convert_fn(result, DType::kFloat64)(bytes.data(), got.data(), got.size());
  size_t inner = 1;
  for (size_t d = dim + 1; d < t.sizes.size(); ++d) inner *= static_cast<size_t>(t.sizes[d]);
  const size_t steps = static_cast<size_t>(t.sizes[dim]);
  size_t wrong = 0;
  for (size_t line = 0; line < lines.size(); ++line) {
    double running = 0;
    for (size_t s = 0; s < steps; ++s) {
      const double v = lines[line][s];
      running = s == 0                 ? v
                : op == Scan::kCumSum  ? running + v
                : op == Scan::kCumProd ? running * v
                : op == Scan::kCumMax  ? std::max(running, v)
                : op == Scan::kCumMin  ? std::min(running, v)
                                       : std::log(std::exp(running) + std::exp(v));
      const size_t at = (line / inner * steps + s) * inner + line % inner;
      wrong += !(std::fabs(got[at] - running) <= tolerance_of(result) * (std::fabs(running) + 0.1));
      if (has_indices)
        wrong += lines[line][static_cast<size_t>(indices[at])] != running || indices[at] > static_cast<int64_t>(s);
    }
  }
  CHECK_MESSAGE(wrong == 0, std::string(dtype_name(t.dtype)), " scan ", static_cast<int>(op), " size ", t.values.size(),
                " dim ", dim);
}

TEST_CASE("scans along every dimension") {
  Engine engine(36);
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kUInt8, DType::kFloat16}) {
    for (const std::vector<int64_t>& shape : kShapes) {
      const bool is_float = is_floating(dtype);
      const Tensor t = random_tensor(engine, dtype, shape, is_float ? 0.99 : 0, is_float ? 1.01 : 2);
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        for (Scan op : {Scan::kCumSum, Scan::kCumProd, Scan::kCumMax, Scan::kCumMin, Scan::kLogCumSumExp}) {
          if (op == Scan::kLogCumSumExp && !is_float) continue;
          if (op == Scan::kCumSum && dtype == DType::kFloat16 && shape[dim] > 60000) continue;
          check_scan(op, t, dim);
        }
      }
    }
  }
}

}  // namespace
