#pragma once

// What an instruction set offers for functions of two elements; binary.h is the family's public face.

#include "kernels/binary/binary.h"

namespace enr::kernels {

#define ENR_COUNT(name, cost) +1
inline constexpr int kBinaryOps = 0 ENR_BINARY_OPS(ENR_COUNT);
inline constexpr int kComparisons = 0 ENR_COMPARISONS(ENR_COUNT);
#undef ENR_COUNT

// The computing dtypes, in the order of the table.
enum BinaryType : int { kBinF32, kBinF64, kBinI64, kBinI32, kBinI16, kBinI8, kBinU8, kBinU64, kBinBool, kBinaryTypes };

// Null where there is no loop.
struct BinaryTable {
  LoopFn binary[kBinaryTypes][kBinaryOps];
  LoopFn comparison[kBinaryTypes][kComparisons];
};
const BinaryTable& binary_table();

}  // namespace enr::kernels
