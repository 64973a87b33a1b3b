#pragma once

// Pure data movement between strided arrays, by element size. Sizes and permutations are outermost first; strides are
// in bytes and may be zero (broadcast) or negative (flip). Elements may have any size; 1, 2, 4, 8 and 16 bytes are
// fast. Source and destination must not overlap. Large copies use the thread pool. Up to kMaxCopyRank dimensions.

#include <cstddef>
#include <cstdint>
#include <span>

namespace enr::kernels {

inline constexpr size_t kMaxCopyRank = 32;

// out[i, j, ...] = in[i, j, ...] over `sizes`. The destination's strides must address every element once.
void strided_copy(void* out, std::span<const int64_t> out_strides_bytes, const void* in,
                  std::span<const int64_t> in_strides_bytes, std::span<const int64_t> sizes,
                  size_t element_size) noexcept;

// The same with a contiguous destination.
void strided_copy_to_contiguous(void* out, const void* in, std::span<const int64_t> in_strides_bytes,
                                std::span<const int64_t> sizes, size_t element_size) noexcept;

// Contiguous in, contiguous out: dimension d of out is dimension permutation[d] of in.
void permute(void* out, const void* in, std::span<const int64_t> in_sizes, std::span<const int64_t> permutation,
             size_t element_size) noexcept;

// Contiguous in, contiguous out of `out_sizes`: out[i, ...] = in[starts[0] + i * steps[0], ...]. Empty steps mean ones.
void slice_copy(void* out, const void* in, std::span<const int64_t> in_sizes, std::span<const int64_t> starts,
                std::span<const int64_t> steps, std::span<const int64_t> out_sizes, size_t element_size) noexcept;

// Contiguous in, contiguous out; `flipped[d]` says whether dimension d runs backwards.
void flip(void* out, const void* in, std::span<const int64_t> sizes, std::span<const bool> flipped,
          size_t element_size) noexcept;

}  // namespace enr::kernels
