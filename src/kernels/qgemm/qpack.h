#pragma once

// Where things lie in packed weights; see qtile.h.

#include <cstddef>

#include "kernels/qgemm/driver.h"

namespace enr::kernels {

// The panels of n outputs.
struct QPanels {
  explicit QPanels(const QWeights& weights) noexcept;

  size_t count;       // of panels
  size_t full_bytes;  // of a full panel
  size_t last_bytes;
  size_t last_width;  // a panel's or half a panel's
  size_t blocks;      // of the inputs; 1 without block scales

  size_t width(size_t panel) const noexcept;
  size_t total_bytes() const noexcept { return sizeof(QPackedHeader) + (count - 1) * full_bytes + last_bytes; }
  const std::byte* at(const void* packed, size_t panel) const noexcept {
    return static_cast<const std::byte*>(packed) + sizeof(QPackedHeader) + panel * full_bytes;
  }
};

// Whether sums of k products of 8 bits and a bias, times their scales, may reach 2^31.
bool may_exceed_int32(size_t k, size_t n, const int32_t* bias, const float* scales, size_t scale_count) noexcept;

}  // namespace enr::kernels
