#pragma once

// The per-ISA search for indices that are out of range, and where those in range lead.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// Whether any of `count` indices lies outside [low, high).
struct IndexRangeKernels {
  bool (*any_outside_32)(const int32_t* indices, size_t count, int64_t low, int64_t high) noexcept;
  bool (*any_outside_64)(const int64_t* indices, size_t count, int64_t low, int64_t high) noexcept;
  // kernels/transpose/gather.h: set_index_offsets, add_index_offsets.
  bool (*set_offsets)(const int64_t* indices, size_t count, int64_t size, int64_t stride, int64_t* offsets) noexcept;
  bool (*add_offsets)(const int64_t* indices, size_t count, int64_t size, int64_t stride, int64_t* offsets) noexcept;
};

const IndexRangeKernels& index_range_kernels();

}  // namespace enr::kernels
