#pragma once

// Constant padding and fills, by element size.

#include <cstddef>
#include <cstdint>
#include <span>

namespace enr::kernels {

// Writes `count` copies of the element at `value`. Uses the thread pool where large.
void fill(void* out, const void* value, size_t count, size_t element_size) noexcept;

// Contiguous in, contiguous out of in_sizes[d] + before[d] + after[d]; negative amounts crop. `value` points to one
// element.
void pad_constant(void* out, const void* in, std::span<const int64_t> in_sizes, std::span<const int64_t> before,
                  std::span<const int64_t> after, const void* value, size_t element_size) noexcept;

}  // namespace enr::kernels
