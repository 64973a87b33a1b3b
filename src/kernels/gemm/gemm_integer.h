#pragma once

// Products of integer matrices, modulo 2^32 or 2^64: narrower integers are products of these cut off.

#include <cstddef>
#include <cstdint>

namespace enr::kernels {

// C = A * B, row-major without gaps: A is [m, k], B [k, n]. C is apart from both.
void matmul_integer(const uint32_t* a, const uint32_t* b, uint32_t* c, size_t m, size_t n, size_t k) noexcept;
void matmul_integer(const uint64_t* a, const uint64_t* b, uint64_t* c, size_t m, size_t n, size_t k) noexcept;

}  // namespace enr::kernels
