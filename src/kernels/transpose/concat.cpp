#include "kernels/transpose/concat.h"

#include <cstring>

#include "kernels/transpose/copy_threads.h"
#include "kernels/transpose/transpose_kernels.h"

namespace enr::kernels {

namespace {

// move(part, first row's bytes in the part, in the whole, row's bytes in the part, in the whole, bytes, rows) for all
// parts.
template <class Part, class Move>
void for_each_part(std::span<const Part> parts, size_t outer, const Move& move) noexcept {
  size_t row_bytes = 0;
  for (const Part& part : parts) row_bytes += part.row_bytes;
  if (outer == 1) {
    size_t offset = 0;
    for (const Part& part : parts) {
      parallel_copy(part.row_bytes, 1,
                    [&](size_t begin, size_t end) { move(part, begin, offset + begin, 0, 0, end - begin, 1); });
      offset += part.row_bytes;
    }
    return;
  }
  parallel_copy(outer, row_bytes, [&](size_t begin, size_t end) {
    size_t offset = 0;
    for (const Part& part : parts) {
      move(part, begin * part.row_bytes, begin * row_bytes + offset, part.row_bytes, row_bytes, part.row_bytes,
           end - begin);
      offset += part.row_bytes;
    }
  });
}

}  // namespace

void concat(void* out, std::span<const ConcatSource> parts, size_t outer) noexcept {
  for_each_part(parts, outer,
                [&](const ConcatSource& part, size_t part_offset, size_t offset, size_t part_stride, size_t stride,
                    size_t size_bytes, size_t rows) {
                  transpose_kernels().copy_rows(static_cast<char*>(out) + offset, static_cast<ptrdiff_t>(stride),
                                                static_cast<const char*>(part.data) + part_offset,
                                                static_cast<ptrdiff_t>(part_stride), size_bytes, rows);
                });
}

void split(std::span<const SplitTarget> parts, const void* in, size_t outer) noexcept {
  for_each_part(parts, outer,
                [&](const SplitTarget& part, size_t part_offset, size_t offset, size_t part_stride, size_t stride,
                    size_t size_bytes, size_t rows) {
                  transpose_kernels().copy_rows(
                      static_cast<char*>(part.data) + part_offset, static_cast<ptrdiff_t>(part_stride),
                      static_cast<const char*>(in) + offset, static_cast<ptrdiff_t>(stride), size_bytes, rows);
                });
}

}  // namespace enr::kernels
