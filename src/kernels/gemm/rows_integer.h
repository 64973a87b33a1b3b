#pragma once

// What matmul_integer's driver and its instruction-set files agree on. C headers only.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// Some rows of C = A * B.
struct IntegerRows {
  void (*u32)(const uint32_t* a, const uint32_t* b, uint32_t* c, size_t rows, size_t n, size_t k);
  void (*u64)(const uint64_t* a, const uint64_t* b, uint64_t* c, size_t rows, size_t n, size_t k);
};

const IntegerRows& integer_rows();

}  // namespace enr::kernels
