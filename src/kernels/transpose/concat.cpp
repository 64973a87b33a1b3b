#include "kernels/transpose/concat.h"

#include <cstring>

#include "kernels/transpose/copy_threads.h"

namespace enr::kernels {

namespace {

// body(part's row, whole row's bytes of that part, size) for all rows and parts.
template <class Part, class Body>
void for_each_row(std::span<const Part> parts, size_t outer, const Body& body) noexcept {
  size_t row_bytes = 0;
  for (const Part& part : parts) row_bytes += part.row_bytes;
  if (outer == 1) {
    size_t offset = 0;
    for (const Part& part : parts) {
      parallel_copy(part.row_bytes, 1,
                    [&](size_t begin, size_t end) { body(part, begin, offset + begin, end - begin); });
      offset += part.row_bytes;
    }
    return;
  }
  parallel_copy(outer, row_bytes, [&](size_t begin, size_t end) {
    size_t offset = 0;
    for (const Part& part : parts) {
      for (size_t row = begin; row < end && part.row_bytes != 0; ++row) {
        body(part, row * part.row_bytes, row * row_bytes + offset, part.row_bytes);
      }
      offset += part.row_bytes;
    }
  });
}

}  // namespace

void concat(void* out, std::span<const ConcatSource> parts, size_t outer) noexcept {
  for_each_row(parts, outer, [&](const ConcatSource& part, size_t part_offset, size_t offset, size_t size_bytes) {
    std::memcpy(static_cast<char*>(out) + offset, static_cast<const char*>(part.data) + part_offset, size_bytes);
  });
}

void split(std::span<const SplitTarget> parts, const void* in, size_t outer) noexcept {
  for_each_row(parts, outer, [&](const SplitTarget& part, size_t part_offset, size_t offset, size_t size_bytes) {
    std::memcpy(static_cast<char*>(part.data) + part_offset, static_cast<const char*>(in) + offset, size_bytes);
  });
}

}  // namespace enr::kernels
