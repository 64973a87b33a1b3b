#pragma once

// Advanced indexing as numpy and PyTorch define it: which elements a list of index tensors names.

#include <cstdint>
#include <span>

#include "ops/registry.h"
#include "ops/strided_view.h"

namespace enr::ops {

// The elements self[indices] of a tensor. Its dims are those of the broadcast indices and, around them, those of self
// that are not indexed ("rest").
struct IndexedRegion {
  Shape shape;
  size_t index_at = 0;    // the first of the indices' dims in shape
  size_t index_rank = 0;  // how many there are
  // For each position of the broadcast indices, row-major: where self's element lies, in elements from its start.
  std::span<int64_t> positions;
  StridedView rest;  // self's dims that are not indexed
};

// Checks dtypes, sizes and every index before it returns. Index tensors may be integers (negative ones count from the
// end) or masks of bool or uint8, which stand for as many dims as they have.
IndexedRegion resolve_indices(OpContext& context, const Tensor& self, OptionalTensors indices);

// Offsets by position: from a table, or one step after the other where that is null.
struct Offsets {
  const int64_t* table = nullptr;
  int64_t step = 0;

  int64_t operator[](size_t position) const noexcept {
    return table != nullptr ? table[position] : static_cast<int64_t>(position) * step;
  }
};

// The region and a view of its shape as two pairs of offset tables: element (i, r) of the region is
// region[positions[i] + rest_in_region[r] ...] and view[index_in_view[i] + rest_in_view[r] ...], `chunk` elements long
// on both sides. Offsets count elements.
struct IndexedTransfer {
  std::span<const int64_t> positions;
  Offsets index_in_view;
  std::span<const int64_t> rest_in_region, rest_in_view;
  int64_t chunk = 1;
};

IndexedTransfer plan_transfer(OpContext& context, const IndexedRegion& region, const StridedView& view);

}  // namespace enr::ops
