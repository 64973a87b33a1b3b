#pragma once

// Half types compute in float: memory for that, shared out over the threads.

#include <algorithm>
#include <cstddef>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/convert/convert.h"

namespace enr::kernels {

// Calls body(i, scratch) for each i of [0, count); scratch holds `elements` floats that are the call's own. Throws
// std::bad_alloc before anything runs.
template <class Body>
void with_float_scratch(size_t count, size_t elements, Body body) {
  const size_t pieces = std::min(count, num_threads());
  if (pieces == 0) return;
  AlignedBuffer buffer(pieces * elements * sizeof(float));
  parallel_for(pieces, [&](size_t piece) {
    float* scratch = buffer.as<float>() + piece * elements;
    for (size_t i = count * piece / pieces; i < count * (piece + 1) / pieces; ++i) body(i, scratch);
  });
}

}  // namespace enr::kernels
