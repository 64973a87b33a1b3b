#pragma once

// How data movement is spread over the pool.

#include <cstddef>
#include <cstring>

#include "base/thread_pool.h"

namespace enr::kernels {

// A core moves this much in the 10 us that a piece of parallel work should last.
inline constexpr size_t kCopyGrainBytes = size_t{192} << 10;

// body(begin, end) over ranges of [0, count) items that take item_bytes each.
template <class Body>
void parallel_copy(size_t count, size_t item_bytes, const Body& body) noexcept {
  if (count == 0) return;
  const size_t grain = item_bytes >= kCopyGrainBytes ? 1 : (kCopyGrainBytes + item_bytes) / (item_bytes + 1);
  if (count <= grain) return body(size_t{0}, count);
  parallel_ranges(count, grain, body);
}

inline void copy_bytes(void* output, const void* input, size_t size_bytes) noexcept {
  if (size_bytes == 0) return;
  parallel_copy(size_bytes, 1, [&](size_t begin, size_t end) {
    std::memcpy(static_cast<char*>(output) + begin, static_cast<const char*>(input) + begin, end - begin);
  });
}

}  // namespace enr::kernels
