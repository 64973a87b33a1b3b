#pragma once

// Joining and splitting along one dimension. A contiguous tensor is seen as `outer` rows; each part contributes
// (or takes) row_bytes = its size along the dimension times everything inside of it.

#include <cstddef>
#include <span>

namespace enr::kernels {

struct ConcatSource {
  const void* data;
  size_t row_bytes;
};
struct SplitTarget {
  void* data;
  size_t row_bytes;
};

// out rows are the parts' rows one after the other. Parts must not overlap out.
void concat(void* out, std::span<const ConcatSource> parts, size_t outer) noexcept;

// The inverse: each part takes its share of every row of in.
void split(std::span<const SplitTarget> parts, const void* in, size_t outer) noexcept;

}  // namespace enr::kernels
