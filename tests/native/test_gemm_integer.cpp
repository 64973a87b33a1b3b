#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/gemm/gemm_integer.h"

namespace {

using namespace enr::kernels;

template <class T>
void check(size_t m, size_t n, size_t k) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  std::mt19937_64 engine(m + n + k);
  std::vector<T> a(m * k), b(k * n), c(m * n, 7), expected(m * n);
  for (T& value : a) value = static_cast<T>(engine());
  for (T& value : b) value = static_cast<T>(engine());
  for (size_t i = 0; i < m; ++i) {
    for (size_t l = 0; l < k; ++l) {
      for (size_t j = 0; j < n; ++j) expected[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
  matmul_integer(a.data(), b.data(), c.data(), m, n, k);
  CHECK(c == expected);
}

}  // namespace

TEST_CASE("products of integer matrices wrap") {
  for (const size_t m : {1, 3, 4, 9}) {
    for (const size_t n : {1, 3, 8, 21, 50}) {
      for (const size_t k : {0, 1, 7}) {
        check<uint32_t>(m, n, k);
        check<uint64_t>(m, n, k);
      }
    }
  }
  check<uint32_t>(100, 70, 60);  // several tasks
}
