#pragma once

// Which inputs a window covers along one dimension.

#include <algorithm>
#include <cstddef>

namespace enr::kernels {

struct Window {
  size_t begin, end;     // valid taps of the kernel: input position is first + tap * dilation
  ptrdiff_t first;       // input position of tap 0, may be negative
  ptrdiff_t padded_end;  // one past the last position, padding included (dilation 1)
};

inline Window window_of(size_t output, size_t kernel, size_t stride, size_t dilation, size_t pad_before,
                        size_t pad_after, size_t input_size) noexcept {
  const auto size = static_cast<ptrdiff_t>(input_size), step = static_cast<ptrdiff_t>(dilation);
  Window w{};
  w.first = static_cast<ptrdiff_t>(output * stride) - static_cast<ptrdiff_t>(pad_before);
  w.begin = w.first < 0 ? static_cast<size_t>((-w.first + step - 1) / step) : 0;
  w.end = w.first >= size ? 0 : std::min(kernel, static_cast<size_t>((size - w.first + step - 1) / step));
  w.begin = std::min(w.begin, w.end);
  w.padded_end = std::min(w.first + static_cast<ptrdiff_t>(kernel), size + static_cast<ptrdiff_t>(pad_after));
  return w;
}

}  // namespace enr::kernels
