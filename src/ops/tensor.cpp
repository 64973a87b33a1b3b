#include "ops/tensor.h"

#include <algorithm>

#include "base/limits.h"

namespace enr {

bool Tensor::is_contiguous() const noexcept {
  int64_t expected = 1;
  for (size_t d = rank; d-- > 0;) {
    if (size_array[d] == 0) return true;
    if (size_array[d] != 1 && stride_array[d] != expected) return false;
    expected *= size_array[d];
  }
  return true;
}

void Tensor::set_sizes(Sizes sizes) noexcept {
  std::copy(sizes.begin(), sizes.end(), size_array.begin());
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    const size_t d = dim_order_array[i];
    stride_array[d] = stride;
    stride *= std::max<int64_t>(1, size_array[d]);
  }
}

bool is_countable(DType dtype, Sizes sizes) noexcept {
  auto size_bytes = static_cast<int64_t>(dtype_size(dtype));
  return std::ranges::none_of(sizes, [&](int64_t size) {
    return __builtin_mul_overflow(size_bytes, std::max<int64_t>(1, size), &size_bytes) ||
           size_bytes > static_cast<int64_t>(kMaxBufferBytes);
  });
}

bool same_layout(const Tensor& a, const Tensor& b) noexcept {
  if (a.rank != b.rank) return false;
  for (size_t d = 0; d < a.rank; ++d) {
    if (a.size(d) != b.size(d)) return false;
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

}  // namespace enr
