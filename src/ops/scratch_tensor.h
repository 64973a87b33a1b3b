#pragma once

#include "ops/context.h"
#include "ops/shapes.h"

namespace enr::ops {

// A row-major tensor in memory that holds at least its elements. Throws where there are too many to count.
inline Tensor row_major_tensor(std::byte* data, DType dtype, Sizes sizes) {
  Tensor tensor;
  tensor.data = data;
  tensor.dtype = dtype;
  tensor.rank = static_cast<uint8_t>(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) tensor.dim_order_array[d] = static_cast<uint8_t>(d);
  require_countable(dtype, sizes);
  tensor.set_sizes(sizes);
  tensor.capacity_bytes = tensor.size_bytes();
  return tensor;
}

// The same in scratch memory, valid until the operator returns.
inline Tensor scratch_tensor(OpContext& context, DType dtype, Sizes sizes) {
  Tensor tensor = row_major_tensor(nullptr, dtype, sizes);
  tensor.data = context.scratch(tensor.capacity_bytes);
  return tensor;
}

}  // namespace enr::ops
