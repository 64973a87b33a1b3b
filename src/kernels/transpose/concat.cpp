#include "kernels/transpose/concat.h"

#include <algorithm>
#include <bit>
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

// Parts whose rows are all one element are columns: they are transposed, a tile at a time.
constexpr size_t kTileBytes = 16384;

struct Columns {
  size_t count = 0;  // 0: the parts are something else
  size_t size = 0;   // bytes of an element
  size_t tile_rows = 0;

  template <class Part>
  static Columns of(std::span<const Part> parts, size_t outer) noexcept {
    constexpr size_t few = 64;
    const size_t size = parts.empty() ? 0 : parts.front().row_bytes;
    if (parts.size() < 2 || parts.size() > few || outer < few || size > 16 || !std::has_single_bit(size)) return {};
    for (const Part& part : parts) {
      if (part.row_bytes != size) return {};
    }
    return {parts.size(), size, kTileBytes / (parts.size() * size)};
  }

  // move(first row, rows, tile) for all rows; a column of the tile has tile_rows elements.
  template <class Move>
  void each_tile(size_t outer, const Move& move) const noexcept {
    parallel_copy(outer, count * size, [&](size_t begin, size_t end) {
      alignas(64) char tile[kTileBytes];
      for (size_t row = begin; row < end; row += tile_rows) move(row, std::min(tile_rows, end - row), tile);
    });
  }
};

}  // namespace

void concat(void* out, std::span<const ConcatSource> parts, size_t outer) noexcept {
  if (const Columns columns = Columns::of(parts, outer); columns.count != 0) {
    const auto transpose = transpose_kernels().transpose[element_size_index(columns.size)];
    const size_t size = columns.size, row_bytes = columns.count * size, column_bytes = columns.tile_rows * size;
    return columns.each_tile(outer, [&](size_t row, size_t rows, char* tile) {
      for (size_t k = 0; k < columns.count; ++k) {
        std::memcpy(tile + k * column_bytes, static_cast<const char*>(parts[k].data) + row * size, rows * size);
      }
      transpose(static_cast<char*>(out) + row * row_bytes, static_cast<ptrdiff_t>(row_bytes), tile,
                static_cast<ptrdiff_t>(column_bytes), columns.count, rows);
    });
  }
  for_each_part(parts, outer,
                [&](const ConcatSource& part, size_t part_offset, size_t offset, size_t part_stride, size_t stride,
                    size_t size_bytes, size_t rows) {
                  transpose_kernels().copy_rows(static_cast<char*>(out) + offset, static_cast<ptrdiff_t>(stride),
                                                static_cast<const char*>(part.data) + part_offset,
                                                static_cast<ptrdiff_t>(part_stride), size_bytes, rows);
                });
}

void split(std::span<const SplitTarget> parts, const void* in, size_t outer) noexcept {
  if (const Columns columns = Columns::of(parts, outer); columns.count != 0) {
    const auto transpose = transpose_kernels().transpose[element_size_index(columns.size)];
    const size_t size = columns.size, row_bytes = columns.count * size, column_bytes = columns.tile_rows * size;
    return columns.each_tile(outer, [&](size_t row, size_t rows, char* tile) {
      transpose(tile, static_cast<ptrdiff_t>(column_bytes), static_cast<const char*>(in) + row * row_bytes,
                static_cast<ptrdiff_t>(row_bytes), rows, columns.count);
      for (size_t k = 0; k < columns.count; ++k) {
        std::memcpy(static_cast<char*>(parts[k].data) + row * size, tile + k * column_bytes, rows * size);
      }
    });
  }
  for_each_part(parts, outer,
                [&](const SplitTarget& part, size_t part_offset, size_t offset, size_t part_stride, size_t stride,
                    size_t size_bytes, size_t rows) {
                  transpose_kernels().copy_rows(
                      static_cast<char*>(part.data) + part_offset, static_cast<ptrdiff_t>(part_stride),
                      static_cast<const char*>(in) + offset, static_cast<ptrdiff_t>(stride), size_bytes, rows);
                });
}

}  // namespace enr::kernels
