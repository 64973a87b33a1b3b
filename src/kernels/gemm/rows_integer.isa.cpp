#include "kernels/gemm/rows_integer.h"

#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

namespace {

// R rows by one strip of columns: kVectors vectors, or fewer columns than one.
template <size_t R, size_t kVectors, class T>
ENR_INLINE void compute_strip(const T* a, const T* b, T* c, size_t n, size_t k, size_t columns) {
  constexpr size_t lanes = kLanes<T>;
  Vec<T> sum[R][kVectors] = {};
  for (size_t l = 0; l < k; ++l, b += n) {
    Vec<T> right[kVectors];
    for (size_t v = 0; v < kVectors; ++v) right[v] = columns < lanes ? load_first(b, columns) : load(b + v * lanes);
#pragma GCC unroll 4
    for (size_t i = 0; i < R; ++i) {
      const Vec<T> left = splat<T>(a[i * k + l]);
      for (size_t v = 0; v < kVectors; ++v) sum[i][v] += left * right[v];
    }
  }
  for (size_t i = 0; i < R; ++i) {
    for (size_t v = 0; v < kVectors; ++v) {
      if (columns < lanes) {
        store_first(c + i * n, sum[i][v], columns);
      } else {
        store(c + i * n + v * lanes, sum[i][v]);
      }
    }
  }
}

template <size_t R, class T>
void compute_rows(const T* a, const T* b, T* c, size_t n, size_t k) {
  constexpr size_t lanes = kLanes<T>;
  size_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) compute_strip<R, 2>(a, b + j, c + j, n, k, lanes);
  if (j + lanes <= n) {
    compute_strip<R, 1>(a, b + j, c + j, n, k, lanes);
    j += lanes;
  }
  if (j < n) compute_strip<R, 1>(a, b + j, c + j, n, k, n - j);
}

template <class T>
void multiply(const T* a, const T* b, T* c, size_t rows, size_t n, size_t k) {
  for (; rows >= 4; rows -= 4, a += 4 * k, c += 4 * n) compute_rows<4>(a, b, c, n, k);
  for (; rows != 0; --rows, a += k, c += n) compute_rows<1>(a, b, c, n, k);
}

}  // namespace

const IntegerRows& integer_rows() {
  static const IntegerRows rows = {multiply<uint32_t>, multiply<uint64_t>};
  return rows;
}

}  // namespace enr::kernels::ENR_ISA
