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

// The same for `count` blocks of `elements` floats each, as many small ones at a time as fill some memory: calls
// body(begin, blocks, scratch); scratch holds the blocks, and behind them `extra` floats for each.
template <class Body>
void with_float_blocks(size_t count, size_t elements, size_t extra, Body body) {
  constexpr size_t kFloats = 2048;
  const size_t each = std::max<size_t>(elements + extra, 1);
  const size_t together = std::clamp<size_t>(kFloats / each, 1, std::max<size_t>(count / num_threads(), 1));
  const size_t groups = (count + together - 1) / together;
  with_float_scratch(groups, together * each, [&](size_t group, float* scratch) {
    const size_t begin = group * together;
    body(begin, std::min(together, count - begin), scratch);
  });
}

}  // namespace enr::kernels
