#pragma once

// Tasks that need scratch: a lane is a strand of the pool that takes one task after another, and owns a piece of
// scratch.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "base/thread_pool.h"

namespace enr::kernels {

inline constexpr size_t kMaxLanes = 64;

// Runs body(task, lane) for each task of [0, count), at most one task of a lane at a time. A lane takes the tasks of
// its own share in rising order, then helps the others; lanes stay with their threads from call to call (parallel_for),
// and so does what a thread's cache holds.
template <class Body>
void for_each_in_lanes(size_t count, size_t lanes, const Body& body) noexcept {
  lanes = std::min({lanes, count, kMaxLanes});
  if (lanes <= 1) {
    for (size_t i = 0; i < count; ++i) body(i, size_t{0});
    return;
  }
  struct alignas(64) Share {
    std::atomic<size_t> next;
    size_t end;
  };
  std::array<Share, kMaxLanes> shares;
  for (size_t i = 0; i < lanes; ++i) {
    shares[i].next.store(count * i / lanes, std::memory_order_relaxed);
    shares[i].end = count * (i + 1) / lanes;
  }
  parallel_for(lanes, [&](size_t lane) {
    for (size_t k = 0; k < lanes; ++k) {
      Share& share = shares[(lane + k) % lanes];
      for (size_t i = share.next.fetch_add(1, std::memory_order_relaxed); i < share.end;
           i = share.next.fetch_add(1, std::memory_order_relaxed)) {
        body(i, lane);
      }
    }
  });
}

}  // namespace enr::kernels
