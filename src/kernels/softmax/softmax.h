#pragma once

// Softmax and its logarithm.

#include <cstddef>

#include "base/dtype.h"

namespace enr::kernels {

// Over the middle dimension of a contiguous [outer, dim, inner] array. in and out have the same floating dtype (float16
// and bfloat16 compute in float32) and may be the same array. Uses threads. Only half types allocate (and may throw
// bad_alloc).
void softmax(bool logarithm, DType dtype, const void* in, void* out, size_t outer, size_t dim, size_t inner);

// One row in float32, on the calling thread: out = softmax(scale * in + mask); mask may be null. For attention kernels.
void softmax_row(const float* in, float* out, size_t n, float scale, const float* mask) noexcept;

}  // namespace enr::kernels
