#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "kernels/gemm/gemm_f64.h"

namespace {

using namespace enr::kernels;

std::vector<double> random_doubles(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> values(-1.0, 1.0);
  std::vector<double> result(count);
  for (double& v : result) v = values(engine);
  return result;
}

void check(size_t batch, size_t m, size_t n, size_t k, bool b_transposed, bool with_addend) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const std::vector<double> a = random_doubles(batch * m * k, 1), b = random_doubles(batch * k * n, 2);
  const std::vector<double> addend = random_doubles(batch * m * n, 3);
  std::vector<double> c(batch * m * n, -1), workspace;
  const size_t slots = matmul_f64_slots(batch);
  workspace.resize(matmul_f64_workspace_bytes(slots, n, k) / sizeof(double));
  MatmulF64 call;
  call.batch = batch;
  call.m = m;
  call.n = n;
  call.k = k;
  call.a = a.data();
  call.b = b.data();
  call.b_transposed = b_transposed;
  call.c = c.data();
  call.alpha = 0.5;
  call.addend = with_addend ? addend.data() : nullptr;
  call.beta = 2;
  matmul_f64(call, slots, workspace.data());
  for (size_t i = 0; i < batch * m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      const double* right = b.data() + i / m * k * n;
      for (size_t l = 0; l < k; ++l) sum += a[i * k + l] * (b_transposed ? right[j * k + l] : right[l * n + j]);
      const double expected = 0.5 * sum + (with_addend ? 2 * addend[i * n + j] : 0);
      REQUIRE(c[i * n + j] == doctest::Approx(expected).epsilon(1e-12));
    }
  }
}

}  // namespace

TEST_CASE("matmul_f64 agrees with the plain loops") {
  for (const size_t m : {1, 3, 5, 8, 17}) {
    for (const size_t n : {1, 3, 4, 7, 8, 12, 16, 33, 300}) {
      for (const size_t k : {0, 1, 9, 40}) {
        check(2, m, n, k, (m + n + k) % 2 == 0, n % 2 == 0);
        check(1, m, n, k, (m + n + k) % 2 != 0, n % 2 != 0);
      }
    }
  }
  check(1, 150, 130, 70, true, true);                                            // several tasks
  for (const size_t k : {256, 257, 600}) check(2, 20, 35, k, k % 2 == 0, true);  // several blocks
  check(9, 12, 20, 30, false, false);                                            // batches on their own threads
}
