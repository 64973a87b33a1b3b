#pragma once

// Half-open ranges of indices, and nearly equal parts of them.

#include <cstddef>

namespace enr {

struct Range {
  size_t begin, end;

  size_t size() const noexcept { return end - begin; }
};

// The i-th of `parts` nearly equal parts. The larger ones are spread out, so that runs of parts are nearly equal too.
inline Range part_of(Range whole, size_t parts, size_t i) noexcept {
  return {whole.begin + whole.size() * i / parts, whole.begin + whole.size() * (i + 1) / parts};
}
inline Range part_of(size_t count, size_t parts, size_t i) noexcept { return part_of(Range{0, count}, parts, i); }

}  // namespace enr
