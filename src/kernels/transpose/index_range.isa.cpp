#include "kernels/transpose/index_range.h"

#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

namespace {

// Differences are negative outside, which takes no comparison to find out.
template <class Index>
bool any_outside(const Index* indices, size_t count, int64_t low, int64_t high) noexcept {
  const uint64_t first = (uint64_t)low, last = (uint64_t)high - 1;
  uint64_t outside = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t index = (uint64_t)(int64_t)indices[i];
    outside |= (index - first) | (last - index);
  }
  return outside >> 63 != 0;
}

template <bool adds>
bool put_offsets(const int64_t* indices, size_t count, int64_t size, int64_t stride, int64_t* offsets) noexcept {
  const uint64_t first = (uint64_t)-size, last = (uint64_t)size - 1;
  uint64_t outside = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t index = (uint64_t)indices[i];
    outside |= (index - first) | (last - index);
    const uint64_t from_start = index + ((int64_t)index < 0 ? (uint64_t)size : 0);
    offsets[i] = (int64_t)((adds ? (uint64_t)offsets[i] : 0) + from_start * (uint64_t)stride);
  }
  return outside >> 63 == 0;
}

}  // namespace

const IndexRangeKernels& index_range_kernels() {
  static const IndexRangeKernels table = {any_outside<int32_t>, any_outside<int64_t>, put_offsets<false>,
                                          put_offsets<true>};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
