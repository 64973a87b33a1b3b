#pragma once

// Which planned tensors share memory.

#include "program/program.h"

namespace enr::program {

inline bool is_placed(const Tensor& tensor) noexcept {
  return tensor.storage == Storage::kPlanned || tensor.storage == Storage::kMutableInitial ||
         tensor.storage == Storage::kExternalMutable;
}

// Of placed tensors.
inline bool overlap(const Tensor& a, const Tensor& b) noexcept {
  return a.placement.arena == b.placement.arena && a.placement.offset < b.placement.offset + b.size_bytes &&
         b.placement.offset < a.placement.offset + a.size_bytes;
}

}  // namespace enr::program
