#pragma once

// How packed weights are laid out: panels of the instruction set's width, one after another, each with its bias first
// and then a row of weights for each k. The last panel is narrow where what remains fits. Outputs past n are zero.

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/tile.h"

namespace enr::kernels {

struct Panels {
  size_t n = 0, k = 0;
  size_t width = 0, narrow_width = 0;
  size_t count = 0;

  Panels(size_t columns, size_t depth) noexcept
      : n(columns),
        k(depth),
        width(gemm_kernels().width),
        narrow_width(gemm_kernels().narrow_width),
        count((columns + gemm_kernels().width - 1) / gemm_kernels().width) {}

  size_t width_of(size_t panel) const noexcept { return n - panel * width <= narrow_width ? narrow_width : width; }
  size_t columns_of(size_t panel) const noexcept { return n - panel * width < width ? n - panel * width : width; }
  // In floats.
  size_t offset_of(size_t panel) const noexcept { return panel * width * (1 + k); }
  // Of weights of 16 bits, in bytes: the bias is float32.
  size_t half_offset_of(size_t panel) const noexcept { return panel * width * (sizeof(float) + k * sizeof(uint16_t)); }
  size_t half_bytes() const noexcept {
    if (count == 0) return 0;
    return half_offset_of(count - 1) + width_of(count - 1) * (sizeof(float) + k * sizeof(uint16_t));
  }
  size_t size() const noexcept { return count == 0 ? 0 : offset_of(count - 1) + width_of(count - 1) * (1 + k); }
};

}  // namespace enr::kernels
