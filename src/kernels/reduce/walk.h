#pragma once

// Brings the elements of a strided tensor to reduction kernels: picks the loop order, converts in tiles, uses threads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/convert/convert.h"
#include "kernels/elementwise/strided.h"
#include "kernels/reduce/reduce_table.h"

namespace enr::kernels {

// Dimensions of one tensor, outermost first, those that lie behind each other merged. Always has at least one.
struct DimList {
  size_t rank = 0;
  int64_t sizes[kMaxLoopRank];
  int64_t strides[kMaxLoopRank];

  void add(int64_t size, int64_t stride) noexcept {
    if (size == 1) return;
    if (rank > 0 && strides[rank - 1] == stride * size) {
      sizes[rank - 1] *= size;
      strides[rank - 1] = stride;
      return;
    }
    sizes[rank] = size;
    strides[rank++] = stride;
  }

  // Where no order is prescribed: the largest stride outermost, then merged again.
  void sort_by_stride() noexcept {
    DimList sorted;
    bool used[kMaxLoopRank] = {};
    for (size_t i = 0; i < rank; ++i) {
      size_t best = rank;
      for (size_t d = 0; d < rank; ++d) {
        if (!used[d] && (best == rank || std::abs(strides[d]) > std::abs(strides[best]))) best = d;
      }
      used[best] = true;
      sorted.add(sizes[best], strides[best]);
    }
    *this = sorted;
  }

  void finish() noexcept {
    if (rank != 0) return;
    rank = 1;
    sizes[0] = 1;
    strides[0] = 1;
  }

  size_t count(size_t dims) const noexcept {
    size_t total = 1;
    for (size_t d = 0; d < dims; ++d) total *= static_cast<size_t>(sizes[d]);
    return total;
  }
  size_t count() const noexcept { return count(rank); }
  int64_t inner_size() const noexcept { return sizes[rank - 1]; }
  int64_t inner_stride() const noexcept { return strides[rank - 1]; }

  // The offset of element `index` of the first `dims` dimensions.
  int64_t offset(size_t index, size_t dims) const noexcept {
    int64_t total = 0;
    for (size_t d = dims; d-- > 1;) {
      total += static_cast<int64_t>(index % static_cast<size_t>(sizes[d])) * strides[d];
      index /= static_cast<size_t>(sizes[d]);
    }
    return dims == 0 ? total : total + static_cast<int64_t>(index) * strides[0];
  }
};

// The conversion to the computing dtype, perhaps in two steps (something -> bool -> integer, to count).
struct InputConversion {
  ConvertFn first = nullptr;
  ConvertFn second = nullptr;
};

struct Walk {
  const std::byte* data;
  size_t size;  // bytes of an element
  InputConversion conversion;
  DimList kept;
  DimList reduced;
  bool by_columns;     // the kept dimension is innermost in memory
  size_t block_width;  // outputs in a block, at most kReduceColumns
  size_t row_blocks;   // blocks in one run of the innermost kept dimension
  size_t outputs;

  Walk(std::span<const int64_t> sizes, const void* base, DType dtype, const int64_t* strides, uint32_t reduced_mask,
       InputConversion convert) noexcept
      : data(static_cast<const std::byte*>(base)), size(dtype_size(dtype)), conversion(convert) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      ((reduced_mask >> d & 1) != 0 ? reduced : kept).add(sizes[d], strides[d]);
    }
    reduced.sort_by_stride();
    kept.finish();
    reduced.finish();
    outputs = kept.count();
    constexpr int64_t short_run = 16;
    const int64_t width = kept.inner_size();
    const int64_t run = reduced.inner_size();
    by_columns =
        width > 1 &&
        ((kept.inner_stride() == 1 && reduced.inner_stride() != 1) || (run < short_run && width >= short_run) ||
         (reduced.inner_stride() != 1 && std::abs(kept.inner_stride()) < std::abs(reduced.inner_stride())));
    block_width =
        by_columns ? std::min<size_t>(static_cast<size_t>(width), kReduceColumns) : std::min<size_t>(outputs, 64);
    row_blocks = by_columns ? (static_cast<size_t>(width) + block_width - 1) / block_width : 1;
  }

  // Blocks of outputs: each is a range of consecutive outputs.
  size_t blocks() const noexcept {
    if (outputs == 0) return 0;
    return by_columns ? outputs / static_cast<size_t>(kept.inner_size()) * row_blocks
                      : (outputs + block_width - 1) / block_width;
  }
  struct Block {
    size_t begin;
    size_t count;
  };
  Block block(size_t index) const noexcept {
    if (!by_columns) return {index * block_width, std::min(block_width, outputs - index * block_width)};
    const size_t width = static_cast<size_t>(kept.inner_size());
    const size_t column = index % row_blocks * block_width;
    return {index / row_blocks * width + column, std::min(block_width, width - column)};
  }
};

inline constexpr size_t kReduceTile = 1024;

// Adds to acc the elements of outputs `block` whose outermost reduced index is in [from, to).
template <class T, class A>
class BlockReducer {
 public:
  BlockReducer(const Walk& walk, const ReduceKernel<T, A>& kernel) noexcept : walk_(walk), kernel_(kernel) {}

  void run(Walk::Block block, size_t from, size_t to, const A* c, A* acc) noexcept {
    // A single reduced dimension is cut itself; of several the outermost is.
    const DimList& reduced = walk_.reduced;
    const bool single = reduced.rank == 1;
    const size_t run_begin = single ? from : 0;
    const size_t run_end = single ? to : static_cast<size_t>(reduced.inner_size());
    const size_t inner_runs = single ? 1 : reduced.count(reduced.rank - 1) / static_cast<size_t>(reduced.sizes[0]);
    const size_t first = single ? 0 : from * inner_runs;
    const size_t last = single ? 1 : to * inner_runs;
    if (walk_.by_columns) {
      const int64_t base = walk_.kept.offset(block.begin, walk_.kept.rank);
      for (size_t r = first; r < last; ++r) {
        add_rows(base + reduced.offset(r, reduced.rank - 1), run_begin, run_end, block.count, c, acc);
      }
    } else {
      if (are_short_rows(run_begin, run_end)) return add_short_rows(block, c, acc);
      for (size_t k = 0; k < block.count; ++k) {
        const int64_t base = walk_.kept.offset(block.begin + k, walk_.kept.rank);
        for (size_t r = first; r < last; ++r) {
          acc[k] = add_run(base + reduced.offset(r, reduced.rank - 1), run_begin, run_end,
                           c != nullptr ? c + k : nullptr, acc[k]);
        }
      }
    }
  }

 private:
  const std::byte* at(int64_t offset) const noexcept { return walk_.data + offset * static_cast<int64_t>(walk_.size); }

  bool converts() const noexcept { return walk_.conversion.first != nullptr; }

  // Brings n elements into tile_ as T.
  void fetch(const std::byte* from, int64_t stride, T* to, size_t n) noexcept {
    alignas(64) std::byte raw[kReduceTile * 16];
    if (stride != 1) {
      gather(from, stride, walk_.size, raw, n);
      from = raw;
    }
    if (!converts()) {
      std::memcpy(to, from, n * sizeof(T));
    } else if (walk_.conversion.second == nullptr) {
      walk_.conversion.first(from, to, n);
    } else {
      std::byte middle[kReduceTile];
      walk_.conversion.first(from, middle, n);
      walk_.conversion.second(middle, to, n);
    }
  }

  // Whether outputs come from rows that lie behind each other and are converted several at a time.
  bool are_short_rows(size_t begin, size_t end) const noexcept {
    const DimList &reduced = walk_.reduced, &kept = walk_.kept;
    const int64_t run = reduced.inner_size();
    return converts() && reduced.rank == 1 && reduced.inner_stride() == 1 && kept.rank == 1 &&
           kept.inner_stride() == run && begin == 0 && end == static_cast<size_t>(run) && 2 * end <= kReduceTile;
  }

  void add_short_rows(Walk::Block block, const A* c, A* acc) noexcept {
    const size_t run = static_cast<size_t>(walk_.reduced.inner_size()), rows_per_tile = kReduceTile / run;
    for (size_t first = 0; first < block.count; first += rows_per_tile) {
      const size_t rows = std::min(rows_per_tile, block.count - first);
      fetch(at(static_cast<int64_t>((block.begin + first) * run)), 1, tile_, rows * run);
      for (size_t k = first; k < first + rows; ++k) {
        acc[k] = kernel_.row(tile_ + (k - first) * run, run, c != nullptr ? c + k : nullptr, acc[k]);
      }
    }
  }

  A add_run(int64_t offset, size_t begin, size_t end, const A* c, A acc) noexcept {
    const int64_t stride = walk_.reduced.inner_stride();
    if (stride == 1 && !converts()) {
      return kernel_.row(reinterpret_cast<const T*>(at(offset)) + begin, end - begin, c, acc);
    }
    for (size_t i = begin; i < end; i += kReduceTile) {
      const size_t n = std::min(kReduceTile, end - i);
      fetch(at(offset + static_cast<int64_t>(i) * stride), stride, tile_, n);
      acc = kernel_.row(tile_, n, c, acc);
    }
    return acc;
  }

  void add_rows(int64_t offset, size_t begin, size_t end, size_t width, const A* c, A* acc) noexcept {
    const int64_t stride = walk_.reduced.inner_stride();
    const int64_t column_stride = walk_.kept.inner_stride();
    if (column_stride == 1 && !converts()) {
      const T* rows = reinterpret_cast<const T*>(at(offset + static_cast<int64_t>(begin) * stride));
      return add_direct(rows, stride, end - begin, width, c, acc);
    }
    const size_t rows_per_tile = std::max<size_t>(kReduceTile / width, 1);
    for (size_t r = begin; r < end; r += rows_per_tile) {
      const size_t rows = std::min(rows_per_tile, end - r);
      if (column_stride == 1 && stride == static_cast<int64_t>(width)) {
        fetch(at(offset + static_cast<int64_t>(r) * stride), 1, tile_, rows * width);
      } else {
        for (size_t k = 0; k < rows; ++k) {
          fetch(at(offset + static_cast<int64_t>(r + k) * stride), column_stride, tile_ + k * width, width);
        }
      }
      add_direct(tile_, static_cast<int64_t>(width), rows, width, c, acc);
    }
  }

  // Narrow rows without gaps are taken several at a time, as one wider row.
  void add_direct(const T* rows, int64_t stride, size_t count, size_t width, const A* c, A* acc) noexcept {
    constexpr size_t narrow = 64;
    constexpr size_t wide = 256;
    if (kernel_.is_ordered || width >= narrow || stride != static_cast<int64_t>(width) || count < 2 * (wide / width)) {
      return kernel_.columns(rows, stride, count, width, c, acc);
    }
    const size_t folded = wide / width;
    const size_t wide_width = folded * width;
    A sums[wide], centres[wide] = {};
    for (size_t i = 0; i < wide_width; ++i) {
      sums[i] = kernel_.start;
      if (c != nullptr) centres[i] = c[i % width];
    }
    const size_t wide_rows = count / folded;
    kernel_.columns(rows, static_cast<ptrdiff_t>(wide_width), wide_rows, wide_width, c != nullptr ? centres : nullptr,
                    sums);
    for (size_t i = 0; i < wide_width; ++i) acc[i % width] = kernel_.combine(acc[i % width], sums[i]);
    const size_t rest = count - wide_rows * folded;
    if (rest != 0) kernel_.columns(rows + wide_rows * wide_width, stride, rest, width, c, acc);
  }

  const Walk& walk_;
  const ReduceKernel<T, A>& kernel_;
  alignas(64) T tile_[kReduceTile];
};

// Fills acc (one for each output of the block) with everything; `threads` lets it cut the reduced dimensions.
template <class T, class A>
void reduce_block(const Walk& walk, const ReduceKernel<T, A>& kernel, Walk::Block block, bool threads, const A* c,
                  A* acc) noexcept {
  for (size_t k = 0; k < block.count; ++k) acc[k] = kernel.start;
  if (walk.reduced.count() == 0) return;
  const size_t extent = static_cast<size_t>(walk.reduced.sizes[0]);
  constexpr size_t max_parts = 8;
  const size_t parts = threads ? std::min({max_parts, extent, 2 * num_threads()}) : 1;
  if (parts <= 1) {
    BlockReducer<T, A>(walk, kernel).run(block, 0, extent, c, acc);
    return;
  }
  A partial[max_parts][kReduceColumns];
  parallel_for(parts, [&](size_t part) {
    for (size_t k = 0; k < block.count; ++k) partial[part][k] = kernel.start;
    BlockReducer<T, A>(walk, kernel).run(block, extent * part / parts, extent * (part + 1) / parts, c, partial[part]);
  });
  for (size_t part = 0; part < parts; ++part) {
    for (size_t k = 0; k < block.count; ++k) acc[k] = kernel.combine(acc[k], partial[part][k]);
  }
}

// Calls body(block, threads) for every block, in parallel where there are enough of them, otherwise one after another
// with `threads` set where cutting the reduced dimensions pays.
template <class Body>
void for_each_block(const Walk& walk, Body body) noexcept {
  constexpr size_t grain_elements = 32768;
  const size_t blocks = walk.blocks();
  if (blocks == 0) return;
  const size_t each = walk.block_width * walk.reduced.count();
  if (num_threads() > 1 && blocks < 2 * num_threads() && each >= 2 * grain_elements) {
    for (size_t i = 0; i < blocks; ++i) body(walk.block(i), true);
    return;
  }
  parallel_ranges(blocks, std::max<size_t>(grain_elements / std::max<size_t>(each, 1), 1),
                  [&](size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i) body(walk.block(i), false);
                  });
}

}  // namespace enr::kernels
