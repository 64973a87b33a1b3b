#pragma once

// One pool of threads for the process.

#include <cstddef>

#include "base/function_ref.h"

namespace enr {

// Runs body(i) for each i of [0, count) on the calling thread and the pool's, and returns when all are done. Each
// thread takes the indices of its own share, which is the same from call to call, one at a time in rising order, then
// helps the others: give each index some 10 us of work or more. A caller that finds the pool busy
// (another method is computing, or body itself calls parallel_for) runs every index itself. body must not throw.
void parallel_for(size_t count, FunctionRef<void(size_t)> body) noexcept;

// Splits [0, count) into ranges of at least `grain` items and runs body(begin, end) for each, on as many threads as
// pay.
void parallel_ranges(size_t count, size_t grain, FunctionRef<void(size_t, size_t)> body) noexcept;

// The same for a body that may throw, for want of memory say: when all ranges are done, the first exception goes on.
void parallel_ranges_or_throw(size_t count, size_t grain, FunctionRef<void(size_t, size_t)> body);

// Threads a parallel_for may use, the caller included. The default fits the affinity mask and the cgroup's quota; the
// environment variable ENR_NUM_THREADS overrides it.
size_t num_threads() noexcept;

// 0 restores the default. Takes effect with the next parallel_for.
void set_num_threads(size_t count);

}  // namespace enr
