#pragma once

// How far transposed convolutions are cut into phases: outputs that see the same taps of the kernel, as many phases as
// a stride has pixels. Plans and packed weights grow with their number.

#include <cstdint>

namespace enr::kernels {

inline constexpr uint64_t kMaxPhases = 1 << 16;

// stride_height, stride_width: less than 2^32.
constexpr bool has_too_many_phases(uint64_t stride_height, uint64_t stride_width) noexcept {
  return stride_height != 0 && stride_width > kMaxPhases / stride_height;
}

}  // namespace enr::kernels
