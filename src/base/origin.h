#pragma once

#include <cstddef>
#include <cstdint>

namespace enr {

// Where an array would start whose element `index` is at `element`, for code that addresses a part as if the whole were
// there. Only the part may be read or written.
template <class T>
T* origin_of(T* element, size_t index) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(element) - index * sizeof(T));
}

}  // namespace enr
