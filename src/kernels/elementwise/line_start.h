#pragma once

// Stores that cross cache lines are slow: long loops do a few elements first, up to where a line begins.

#include <cstddef>
#include <cstdint>

namespace enr::kernels {

inline constexpr size_t kShortOutput = 4096;  // elements for which that does not pay

inline size_t elements_before_line(const void* out, size_t element_size, size_t count) noexcept {
  constexpr size_t line = 64;
  const size_t past = reinterpret_cast<uintptr_t>(out) % line;
  return count <= kShortOutput || past == 0 ? 0 : (line - past) / element_size;
}

}  // namespace enr::kernels
