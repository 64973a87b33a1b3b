#pragma once

// What an instruction set offers for functions of one element; unary.h is the family's public face.

#include "kernels/unary/unary.h"

namespace enr::kernels {

#define ENR_COUNT(name, cost) +1
inline constexpr int kUnaryOps = 0 ENR_UNARY_OPS(ENR_COUNT);
inline constexpr int kPredicates = 0 ENR_PREDICATES(ENR_COUNT);
#undef ENR_COUNT

// Null where there is no loop.
struct UnaryTable {
  LoopFn f32[kUnaryOps];
  LoopFn f64[kUnaryOps];
  LoopFn i64[kUnaryOps];
  LoopFn i32[kUnaryOps];
  LoopFn i16[kUnaryOps];
  LoopFn i8[kUnaryOps];
  LoopFn u8[kUnaryOps];
  LoopFn halves[kUnaryOps];  // of both half types: what only concerns the sign
  LoopFn b8[kUnaryOps];
  ActivationFn activations[kUnaryOps];
  LoopFn predicate_f32[kPredicates];
  LoopFn predicate_f64[kPredicates];
  LoopFn predicate_i64[kPredicates];
  LoopFn predicate_i32[kPredicates];  // of these, only whether elements are 0
  LoopFn predicate_i16[kPredicates];
  LoopFn predicate_i8[kPredicates];
  LoopFn predicate_b8[kPredicates];
};
const UnaryTable& unary_table();

}  // namespace enr::kernels
