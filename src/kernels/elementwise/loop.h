#pragma once

// The one shape every elementwise kernel has: a loop over contiguous or repeated operands of fixed dtypes. unary/,
// binary/ and ternary/ offer such loops; driver.h runs one over strided tensors of any dtypes.

#include <stddef.h>
#include <stdint.h>

namespace enr {
enum class DType : int8_t;
}

namespace enr::kernels {

// Numbers an operation takes besides its tensors. Floating loops read a and b, integer loops i and j; each operation's
// enumerator says what they mean. The defaults are those of a plain addition: alpha is 1.
struct LoopParams {
  double a = 1;
  double b = 0;
  int64_t i = 1;
  int64_t j = 0;
};

// out[k] = f(in[0][k * step[0]], in[1][k * step[1]], ...) for k < n; a step is 0 or 1. Any alignment. out may be one of
// the inputs itself (same address, step 1, same element size) and must not overlap them otherwise.
using LoopFn = void (*)(void* out, const void* const* in, const uint8_t* step, size_t n,
                        const LoopParams& params) noexcept;

inline constexpr int kMaxLoopInputs = 3;

struct Loop {
  LoopFn run = nullptr;  // null where there is no such loop
  DType out{};           // what run writes
  DType in[kMaxLoopInputs]{};
  uint8_t inputs = 0;
  uint8_t cost = 1;  // of one element, in additions; decides how much work pays for a thread

  explicit operator bool() const noexcept { return run != nullptr; }
};

}  // namespace enr::kernels
