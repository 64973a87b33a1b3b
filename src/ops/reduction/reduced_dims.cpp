#include "ops/reduction/reduced_dims.h"

#include "ops/pointwise/elementwise.h"
#include "ops/scratch_tensor.h"

namespace enr::ops {

uint32_t reduced_mask(const std::optional<Sizes>& dims, size_t rank) {
  const uint32_t all = (1u << rank) - 1;
  if (!dims || dims->empty()) return all;
  uint32_t mask = 0;
  for (const int64_t dim : *dims) {
    const uint32_t bit = 1u << normalize_dim(dim, rank);
    if ((mask & bit) != 0) fail_execution("dim: expected each dim once, got ", *dims);
    mask |= bit;
  }
  return mask & all;  // the only dim of a rank-0 tensor reduces nothing
}

Shape reduced_shape(const Tensor& self, uint32_t mask, bool keepdim) {
  Shape shape;
  for (size_t d = 0; d < self.rank; ++d) {
    const bool is_reduced = (mask >> d & 1) != 0;
    if (!is_reduced) {
      shape.push_back(self.size(d));
    } else if (keepdim) {
      shape.push_back(1);
    }
  }
  return shape;
}

int64_t reduced_count(const Tensor& self, uint32_t mask) noexcept {
  int64_t count = 1;
  for (size_t d = 0; d < self.rank; ++d) {
    if ((mask >> d & 1) != 0) count *= self.size(d);
  }
  return count;
}

void require_elements(const Tensor& self, uint32_t mask, const char* what) {
  for (size_t d = 0; d < self.rank; ++d) {
    if ((mask >> d & 1) == 0 || self.size(d) != 0) continue;
    // No results need no elements.
    int64_t results = 1;
    for (size_t k = 0; k < self.rank; ++k) results *= (mask >> k & 1) != 0 ? 1 : self.size(k);
    if (results != 0)
      fail_execution("self: expected elements in dim ", d, " to take the ", what, " of, got shape ", self.sizes());
  }
}

DenseResult::DenseResult(OpContext& context, Tensor& out, DType dtype) : context_(context), out_(out) {
  require_convertible(dtype, "out");
  if (out.dtype == dtype && out.is_contiguous()) {
    staging_.data = out.data;
  } else {
    staging_ = scratch_tensor(context, dtype, out.sizes());
  }
}

void DenseResult::finish() {
  if (staging_.data != out_.data) copy_elements(context_, staging_, out_);
}

}  // namespace enr::ops
