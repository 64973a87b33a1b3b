#include "kernels/sort/sort_lines.h"

#include "kernels/simd/extremes.h"

namespace enr::kernels::ENR_ISA {

namespace {

ENR_INLINE void put_in_order(int64_t* a, int64_t* b) {
  const I64 x = load(a), y = load(b);
#if defined(__AVX512F__)
  store(a, smaller(x, y));
  store(b, larger(x, y));
#else
  const auto swaps = x > y;  // compared once
  store(a, swaps ? y : x);
  store(b, swaps ? x : y);
#endif
}

// Batcher's odd-even merge sort, whose steps do not depend on the words: each vector holds a word of several lines.
void sort_lines(int64_t* words, size_t lines, size_t count) noexcept {
  static_assert(kSortedLines % kLanes<int64_t> == 0);
  for (size_t v = 0; v < lines; v += kLanes<int64_t>) {
    int64_t* w = words + v;
    for (size_t sorted = 1; sorted < count; sorted *= 2) {
      for (size_t apart = sorted; apart > 0; apart /= 2) {
        for (size_t first = apart % sorted; first + apart < count; first += 2 * apart) {
          // Words of one pair of sorted runs are merged, not those of two pairs.
          if (((first + apart) & (2 * sorted - 1)) == 0) continue;
          const size_t end = first + apart < count - apart ? first + apart : count - apart;
          for (size_t i = first; i < end; ++i) put_in_order(w + i * kSortedLines, w + (i + apart) * kSortedLines);
        }
      }
    }
  }
}

}  // namespace

const SortKernels& sort_kernels() {
  static const SortKernels kernels{&sort_lines};
  return kernels;
}

}  // namespace enr::kernels::ENR_ISA
