#pragma once

// Kernels that need dense arrays, on tensors of any dim order.

#include "ops/context.h"
#include "ops/pointwise/elementwise.h"
#include "ops/scratch_tensor.h"

namespace enr::ops {

// A dense tensor around one of its dims, as it lies in memory.
struct AroundDim {
  size_t outer = 1;
  size_t size = 1;
  size_t inner = 1;

  AroundDim(const Tensor& tensor, size_t dim) noexcept {
    size_t position = 0;
    while (position < tensor.rank && tensor.dim_order_array[position] != dim) ++position;
    for (size_t i = 0; i < tensor.rank; ++i) {
      const auto count = static_cast<size_t>(tensor.size(tensor.dim_order_array[i]));
      (i < position ? outer : i == position ? size : inner) *= count;
    }
  }
};

// The tensor itself where it is row-major of `dtype`, else a copy in scratch memory that is.
inline Tensor row_major(OpContext& context, const Tensor& tensor, DType dtype) {
  if (tensor.dtype == dtype && tensor.is_contiguous()) return tensor;
  Tensor copy = scratch_tensor(context, dtype, tensor.sizes());
  copy_elements(context, tensor, copy);
  return copy;
}

// A tensor of `dtype` that lies in memory like `model`: the tensor itself where it does, else a copy in scratch memory.
inline Tensor laid_out_like(OpContext& context, const Tensor& tensor, const Tensor& model, DType dtype) {
  if (tensor.dtype == dtype && same_layout(tensor, model)) return tensor;
  Tensor copy = scratch_tensor(context, dtype, tensor.sizes());
  copy.dim_order_array = model.dim_order_array;
  copy.set_sizes(tensor.sizes());
  copy_elements(context, tensor, copy);
  return copy;
}

}  // namespace enr::ops
