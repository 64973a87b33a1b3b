#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/binary/binary.h"
#include "kernels/convert/convert.h"
#include "kernels/elementwise/driver.h"
#include "kernels/ternary/ternary.h"
#include "kernels/unary/unary.h"
#include "numbers.h"

namespace {

using namespace enr;
using namespace enr::kernels;
using namespace enr::test;

// A tensor of small whole numbers, which every dtype holds exactly, in a layout of its own.
struct Operand {
  DType dtype;
  std::vector<int64_t> strides;  // with one for each dimension of the iteration
  std::vector<std::byte> bytes;
  std::vector<double> values;  // of every element of the buffer

  double at(int64_t offset) const { return values[static_cast<size_t>(offset)]; }
};

using Engine = std::mt19937;

int64_t extent_of(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
  return last + 1;
}

// Dense in a random order of the dimensions, some of them broadcast or with gaps.
Operand random_operand(Engine& engine, const std::vector<int64_t>& sizes, DType dtype, bool is_output) {
  Operand operand{dtype, std::vector<int64_t>(sizes.size()), {}, {}};
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (engine() % 2 == 0) std::shuffle(order.begin(), order.end(), engine);
  int64_t stride = !is_output && engine() % 4 == 0 ? 2 : 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    if (!is_output && engine() % 3 == 0) continue;
    operand.strides[d] = stride;
    stride *= sizes[d];
  }
  const size_t count = static_cast<size_t>(std::max<int64_t>(extent_of(sizes, operand.strides), 1));
  for (size_t i = 0; i < count; ++i)
    operand.values.push_back(is_output ? 77 : engine() % (dtype == DType::kBool ? 2 : 11));
  operand.bytes.resize(count * dtype_size(dtype));
  convert_fn(DType::kFloat64, dtype)(operand.values.data(), operand.bytes.data(), count);
  return operand;
}

template <class F>
void for_each_index(const std::vector<int64_t>& sizes, F f) {
  std::vector<int64_t> index(sizes.size(), 0);
  for (;;) {
    f(index);
    size_t d = sizes.size();
    while (d-- > 0) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
      if (d == 0) return;
    }
    if (sizes.empty()) return;
  }
}

int64_t dot(const std::vector<int64_t>& index, const std::vector<int64_t>& strides) {
  int64_t total = 0;
  for (size_t d = 0; d < index.size(); ++d) total += index[d] * strides[d];
  return total;
}

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt64,    DType::kInt32, DType::kUInt8,
                             DType::kInt16,   DType::kFloat16, DType::kBFloat16, DType::kBool,  DType::kUInt32};

std::vector<int64_t> random_sizes(Engine& engine) {
  static const int64_t choices[] = {1, 1, 2, 3, 4, 5, 7, 16, 33, 70};
  std::vector<int64_t> sizes(engine() % 5);
  int64_t count = 1;
  for (int64_t& size : sizes) {
    size = choices[engine() % std::size(choices)];
    if (count * size > 60000) size = 1;
    count *= size;
  }
  return sizes;
}

// x + 2 y over any layouts and dtypes.
void check_add(unsigned seed) {
  Engine engine(seed);
  const std::vector<int64_t> sizes = random_sizes(engine);
  const DType computing = seed % 3 == 0 ? DType::kInt64 : seed % 3 == 1 ? DType::kFloat32 : DType::kFloat64;
  const auto pick = [&] { return engine() % 3 == 0 ? kDTypes[engine() % std::size(kDTypes)] : computing; };
  const Operand x = random_operand(engine, sizes, pick(), false), y = random_operand(engine, sizes, pick(), false);
  Operand out = random_operand(engine, sizes, pick(), true);
  LoopParams params;
  params.a = 2;
  params.i = 2;
  const ConstStrided in[] = {{x.bytes.data(), x.dtype, x.strides.data()}, {y.bytes.data(), y.dtype, y.strides.data()}};
  run_elementwise(binary_loop(Binary::kAdd, computing), params, sizes,
                  {out.bytes.data(), out.dtype, out.strides.data()}, in);
  std::vector<double> got(out.values.size());
  convert_fn(out.dtype, DType::kFloat64)(out.bytes.data(), got.data(), got.size());
  size_t wrong = 0;
  for_each_index(sizes, [&](const std::vector<int64_t>& index) {
    double expected = x.at(dot(index, x.strides)) + 2 * y.at(dot(index, y.strides));
    if (out.dtype == DType::kBool) expected = expected != 0;
    wrong += got[static_cast<size_t>(dot(index, out.strides))] != expected;
  });
  CHECK_MESSAGE(wrong == 0, "seed ", seed);
}

TEST_CASE("elementwise over random shapes, strides, broadcasts and dtypes") {
  for (unsigned seed = 0; seed < 600; ++seed) check_add(seed);
}

TEST_CASE("elementwise with three operands picks by condition") {
  for (unsigned seed = 1000; seed < 1100; ++seed) {
    Engine engine(seed);
    const std::vector<int64_t> sizes = random_sizes(engine);
    const Operand c = random_operand(engine, sizes, DType::kBool, false);
    const Operand x = random_operand(engine, sizes, DType::kInt32, false),
                  y = random_operand(engine, sizes, DType::kFloat16, false);
    Operand out = random_operand(engine, sizes, DType::kFloat32, true);
    const ConstStrided in[] = {{c.bytes.data(), c.dtype, c.strides.data()},
                               {x.bytes.data(), x.dtype, x.strides.data()},
                               {y.bytes.data(), y.dtype, y.strides.data()}};
    run_elementwise(where_loop(DType::kFloat32), {}, sizes, {out.bytes.data(), out.dtype, out.strides.data()}, in);
    const float* got = reinterpret_cast<const float*>(out.bytes.data());
    size_t wrong = 0;
    for_each_index(sizes, [&](const std::vector<int64_t>& index) {
      const double expected =
          c.at(dot(index, c.strides)) != 0 ? x.at(dot(index, x.strides)) : y.at(dot(index, y.strides));
      wrong += static_cast<double>(got[dot(index, out.strides)]) != expected;
    });
    CHECK_MESSAGE(wrong == 0, "seed ", seed);
  }
}

TEST_CASE("elementwise in place, also with a dtype that is converted") {
  const int64_t sizes[] = {3000}, strides[] = {1};
  std::vector<uint16_t> halves(3000), expected(3000);
  std::vector<float> x = random_values<float>(3000, 20), y(3000);
  convert_fn(DType::kFloat32, DType::kFloat16)(x.data(), halves.data(), 3000);
  convert_fn(DType::kFloat16, DType::kFloat32)(halves.data(), y.data(), 3000);
  for (float& v : y) v = v * v;
  convert_fn(DType::kFloat32, DType::kFloat16)(y.data(), expected.data(), 3000);
  const ConstStrided in[] = {{halves.data(), DType::kFloat16, strides}};
  run_elementwise(unary_loop(Unary::kSquare, DType::kFloat32), {}, sizes, {halves.data(), DType::kFloat16, strides},
                  in);
  CHECK(halves == expected);
}

TEST_CASE("elementwise of nothing and of a scalar") {
  float x = 3, out = 0;
  const int64_t empty[] = {4, 0, 5}, strides[] = {0, 0, 0};
  const ConstStrided in[] = {{&x, DType::kFloat32, strides}};
  run_elementwise(unary_loop(Unary::kSquare, DType::kFloat32), {}, empty, {&out, DType::kFloat32, strides}, in);
  CHECK(out == 0);
  run_elementwise(unary_loop(Unary::kSquare, DType::kFloat32), {}, {}, {&out, DType::kFloat32, nullptr}, in);
  CHECK(out == 9);
}

TEST_CASE("elementwise results do not depend on the number of threads") {
  const size_t n = 300001;
  const int64_t sizes[] = {static_cast<int64_t>(n)}, strides[] = {1};
  const std::vector<float> x = random_values<float>(n, 21, -10, 10);
  std::vector<float> one(n), many(n);
  const ConstStrided in[] = {{x.data(), DType::kFloat32, strides}};
  const Loop loop = unary_loop(Unary::kTanh, DType::kFloat32);
  set_num_threads(1);
  run_elementwise(loop, {}, sizes, {one.data(), DType::kFloat32, strides}, in);
  set_num_threads(4);
  run_elementwise(loop, {}, sizes, {many.data(), DType::kFloat32, strides}, in);
  set_num_threads(0);
  CHECK(one == many);
}

TEST_CASE("broadcast strides align at the right") {
  int64_t strides[4];
  const int64_t sizes[] = {2, 3, 4, 5}, small[] = {3, 1, 5}, dense[] = {5, 5, 1};
  broadcast_strides(sizes, small, nullptr, strides);
  CHECK(std::vector<int64_t>(strides, strides + 4) == std::vector<int64_t>{0, 5, 0, 1});
  broadcast_strides(sizes, small, dense, strides);
  CHECK(std::vector<int64_t>(strides, strides + 4) == std::vector<int64_t>{0, 5, 0, 1});
  broadcast_strides(sizes, {}, nullptr, strides);
  CHECK(std::vector<int64_t>(strides, strides + 4) == std::vector<int64_t>{0, 0, 0, 0});
}

}  // namespace
