#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/random/random.h"

namespace enr::kernels {
namespace {

TEST_CASE("random arrays hold the stream's numbers in order") {
  for (const size_t n : {0u, 1u, 15u, 16u, 17u, 33u, 100'000u}) {
    RandomStream arrays, single;
    arrays.seed(7, 3);
    single.seed(7, 3);
    std::vector<double> numbers(n);
    random_uniform(arrays, numbers.data(), n, -1.0, 4.0);
    size_t wrong = 0;
    for (const double number : numbers) {
      wrong += number != -1.0 + 4.0 * (static_cast<double>(single() >> 12) * 0x1p-52);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("random arrays do not depend on the number of threads") {
  const auto draw = [](size_t threads) {
    set_num_threads(threads);
    RandomStream stream;
    stream.seed(1, 0);
    std::vector<float> normal(70'001), uniform(70'001);
    random_normal(stream, normal.data(), normal.size(), 0.0f, 1.0f);
    random_uniform(stream, uniform.data(), uniform.size(), 0.0f, 1.0f, 24);
    normal.insert(normal.end(), uniform.begin(), uniform.end());
    return normal;
  };
  const auto alone = draw(1), together = draw(4);
  set_num_threads(0);
  CHECK(alone == together);
}

TEST_CASE("normal and exponential numbers have their distributions") {
  constexpr size_t kCount = 200'000;
  RandomStream stream;
  stream.seed(5, 0);
  std::vector<double> doubles(kCount);
  std::vector<float> floats(kCount);
  random_normal(stream, doubles.data(), kCount, 1.0, 2.0);
  random_normal(stream, floats.data(), kCount, 1.0f, 2.0f);
  for (const double limit : {-2.0, -1.0, 0.0, 1.0, 2.5}) {
    const double expected = 0.5 * std::erfc(-(limit - 1) / 2 / std::sqrt(2.0));
    size_t below = 0, floats_below = 0;
    for (size_t i = 0; i < kCount; ++i) {
      below += doubles[i] < limit;
      floats_below += static_cast<double>(floats[i]) < limit;
    }
    CHECK(std::abs(static_cast<double>(below) / kCount - expected) < 0.005);
    CHECK(std::abs(static_cast<double>(floats_below) / kCount - expected) < 0.005);
  }
  // The two numbers made of one pair are unrelated.
  double product = 0;
  for (size_t i = 0; i + 16 < kCount; i += 16) {
    for (size_t k = 0; k < 8; ++k) product += (doubles[i + k] - 1) * (doubles[i + 8 + k] - 1);
  }
  CHECK(std::abs(product / kCount) < 0.05);
  random_exponential(stream, doubles.data(), kCount, 3.0);
  size_t beyond = 0;
  for (const double number : doubles) beyond += number > 3.0;
  CHECK(std::abs(static_cast<double>(beyond) / kCount - std::exp(-1.0)) < 0.005);
}

}  // namespace
}  // namespace enr::kernels
