#pragma once

#include <cstdint>

namespace enr::ops {

// Whether steps of 1 / scale through `size` pixels reach one: longer ones would give no output, and tables without end.
// Scales that are not positive count for nothing.
constexpr bool leaves_pixels(double scale, int64_t size) noexcept {
  return !(scale > 0) || scale * static_cast<double>(size + 1) >= 1;
}

}  // namespace enr::ops
