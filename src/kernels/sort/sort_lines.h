#pragma once

// Short lines of words sorted by a network, several at once. C headers only.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// Word i of line l lies at words[i * kSortedLines + l].
inline constexpr size_t kSortedLines = 8;

struct SortKernels {
  // Sorts the first `lines` lines of `count` words each, ascending; may change words of the others.
  void (*sort_lines)(int64_t* words, size_t lines, size_t count) noexcept;
};
const SortKernels& sort_kernels();

}  // namespace enr::kernels
