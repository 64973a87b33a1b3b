#include "kernels/gemm/gemm_integer.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/rows_integer.h"
#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(IntegerRows, integer_rows)

namespace {

template <class T, class Multiply>
void multiply_on_threads(Multiply multiply, const T* a, const T* b, T* c, size_t m, size_t n, size_t k) noexcept {
  // Sums of nothing: their operands may have no memory.
  if (k == 0) {
    std::fill_n(c, m * n, T{0});
    return;
  }
  constexpr size_t kTaskWork = 1u << 17;  // multiplications
  const size_t grain = std::max<size_t>(4, kTaskWork / std::max<size_t>(1, n * k));
  parallel_ranges(m, grain,
                  [&](size_t begin, size_t end) { multiply(a + begin * k, b, c + begin * n, end - begin, n, k); });
}

}  // namespace

void matmul_integer(const uint32_t* a, const uint32_t* b, uint32_t* c, size_t m, size_t n, size_t k) noexcept {
  multiply_on_threads(integer_rows().u32, a, b, c, m, n, k);
}

void matmul_integer(const uint64_t* a, const uint64_t* b, uint64_t* c, size_t m, size_t n, size_t k) noexcept {
  multiply_on_threads(integer_rows().u64, a, b, c, m, n, k);
}

}  // namespace enr::kernels
