#pragma once

// What operators that reduce over dims share.

#include <optional>

#include "ops/context.h"
#include "ops/shapes.h"

namespace enr::ops {

// The dims given, as a bit mask; none given means all. Throws for dims out of range or given twice.
uint32_t reduced_mask(const std::optional<Sizes>& dims, size_t rank);

// The sizes without the reduced dims, or with 1 in their place.
Shape reduced_shape(const Tensor& self, uint32_t mask, bool keepdim);

// Elements that go into each result.
int64_t reduced_count(const Tensor& self, uint32_t mask) noexcept;

// Throws where a result would have to be chosen among no elements.
void require_elements(const Tensor& self, uint32_t mask, const char* what);

// Where a kernel writes a row-major result of `dtype`: straight into `out`, or into scratch memory that finish() copies
// to out where its dtype or layout differ. `out` must have its final sizes.
class DenseResult {
 public:
  DenseResult(OpContext& context, Tensor& out, DType dtype);
  void* data() const noexcept { return staging_.data; }
  void finish();

 private:
  OpContext& context_;
  Tensor& out_;
  Tensor staging_;
};

}  // namespace enr::ops
