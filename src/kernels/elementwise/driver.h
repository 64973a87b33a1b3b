#pragma once

// Runs elementwise loops over strided tensors: broadcasting, any strides, any dtypes, threads.

#include <span>

#include "base/dtype.h"
#include "kernels/elementwise/loop.h"

namespace enr::kernels {

// Dimensions a driver can iterate over; the layers above refuse tensors of higher rank.
inline constexpr size_t kMaxLoopRank = 16;

// A tensor as drivers see it. Strides count elements; a broadcast dimension has stride 0. `strides` holds as many
// entries as the iteration has dimensions.
struct ConstStrided {
  const void* data;
  DType dtype;
  const int64_t* strides;
};
struct Strided {
  void* data;
  DType dtype;
  const int64_t* strides;
};

// out[index] = loop(in[0][index], ...) for every index of `sizes`. Operands whose dtype is not the loop's are converted
// on the way in tiles; `out` may be exactly one of the inputs (same data, dtype and strides) and must not overlap them
// otherwise; no two indices of `out` may share an element. Uses threads where the work pays for them.
void run_elementwise(const Loop& loop, const LoopParams& params, std::span<const int64_t> sizes, const Strided& out,
                     std::span<const ConstStrided> in) noexcept;

// The strides of an operand of shape `operand_sizes` broadcast to `sizes`: aligned at the right, 0 where it repeats.
// `operand_strides` is null for a contiguous operand. The shapes must be broadcastable.
void broadcast_strides(std::span<const int64_t> sizes, std::span<const int64_t> operand_sizes,
                       const int64_t* operand_strides, int64_t* strides) noexcept;

}  // namespace enr::kernels
