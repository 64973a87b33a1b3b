#pragma once

// What an instruction set offers for functions of three elements; ternary.h is the family's public face.

#include "kernels/ternary/ternary.h"

namespace enr::kernels {

#define ENR_COUNT(name, cost) +1
inline constexpr int kTernaryOps = 0 ENR_TERNARY_OPS(ENR_COUNT);
#undef ENR_COUNT

// Null where there is no loop. `where` is indexed by the logarithm of an element's size in bytes.
struct TernaryTable {
  LoopFn f32[kTernaryOps];
  LoopFn f64[kTernaryOps];
  LoopFn i64[kTernaryOps];
  LoopFn where[5];
};
const TernaryTable& ternary_table();

}  // namespace enr::kernels
