#pragma once

// Tasks that need scratch: a lane is a strand of the pool that takes one task after another, and owns a piece of
// scratch.

#include <atomic>
#include <cstddef>

#include "base/thread_pool.h"

namespace enr::kernels {

// Runs body(task, lane) for each task of [0, count), at most one task of a lane at a time.
template <class Body>
void for_each_in_lanes(size_t count, size_t lanes, const Body& body) noexcept {
  if (lanes <= 1 || count <= 1) {
    for (size_t i = 0; i < count; ++i) body(i, size_t{0});
    return;
  }
  std::atomic<size_t> next{0};
  parallel_for(lanes < count ? lanes : count, [&](size_t lane) {
    for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      body(i, lane);
    }
  });
}

}  // namespace enr::kernels
