#include "kernels/transpose/strided_copy.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "kernels/transpose/copy_threads.h"
#include "kernels/transpose/transpose_kernels.h"

namespace enr::kernels {

namespace {

struct Dim {
  int64_t size, out_stride, in_stride;
};

// A copy whose dimensions are sorted by the output's strides, outermost first, and merged where both sides allow.
struct Box {
  char* out;
  const char* in;
  size_t element_size;
  size_t rank = 0;
  std::array<Dim, kMaxCopyRank> dims;

  void erase(size_t d) noexcept {
    std::copy(dims.begin() + d + 1, dims.begin() + rank, dims.begin() + d);
    --rank;
  }
  size_t size_bytes() const noexcept {
    size_t count = element_size;
    for (size_t d = 0; d < rank; ++d) count *= static_cast<size_t>(dims[d].size);
    return count;
  }
};

// The copy of one innermost part; the other dimensions are looped over.
struct Inner {
  enum Kind { kRun, kTranspose, kStrided, kRepeat } kind;
  TransposeFunction transpose = nullptr;
  StridedCopyFunction copy_strided = nullptr;
  // row: contiguous in the output; column: in the input (kTranspose), or of the rows to repeat, `row` times (kRepeat)
  Dim row{1, 0, 0}, column{1, 0, 0};
  size_t run_bytes = 0;
};

void simplify(Box& box) noexcept {
  for (size_t d = box.rank; d-- > 0;) {
    Dim& dim = box.dims[d];
    if (dim.size == 1) {
      box.erase(d);
    } else if (dim.out_stride < 0) {
      box.out += dim.out_stride * (dim.size - 1);
      box.in += dim.in_stride * (dim.size - 1);
      dim.out_stride = -dim.out_stride;
      dim.in_stride = -dim.in_stride;
    }
  }
  for (size_t i = 1; i < box.rank; ++i) {  // a handful of dimensions: no sort that may allocate
    for (size_t d = i; d != 0 && box.dims[d].out_stride > box.dims[d - 1].out_stride; --d) {
      std::swap(box.dims[d], box.dims[d - 1]);
    }
  }
  for (size_t d = box.rank; d-- > 1;) {
    Dim& outer = box.dims[d - 1];
    const Dim& inner = box.dims[d];
    if (outer.out_stride == inner.out_stride * inner.size && outer.in_stride == inner.in_stride * inner.size) {
      outer = {outer.size * inner.size, inner.out_stride, inner.in_stride};
      box.erase(d);
    }
  }
}

bool is_power_up_to_16(size_t size) noexcept { return size <= 16 && size != 0 && (size & (size - 1)) == 0; }

// Whether the two innermost dimensions are rows that are repeated, each so shortly that the loop over them matters.
bool repeats_short_rows(const Box& box) noexcept {
  if (box.rank < 2) return false;
  constexpr int64_t long_row = 1024, long_line = 256;
  const auto element = static_cast<int64_t>(box.element_size);
  const Dim &repeat = box.dims[box.rank - 1], &rows = box.dims[box.rank - 2];
  return element < long_row && repeat.in_stride == 0 && repeat.out_stride == element && rows.in_stride >= element &&
         rows.out_stride == element * repeat.size &&
         (rows.out_stride < long_line || !is_power_up_to_16(box.element_size));
}

// Takes the inner part's dimensions out of the box.
Inner take_inner(Box& box) noexcept {
  const auto element = static_cast<int64_t>(box.element_size);
  if (box.rank != 0 && box.dims[box.rank - 1].out_stride == element && box.dims[box.rank - 1].in_stride == element) {
    // A short run moves as one larger element.
    box.element_size *= static_cast<size_t>(box.dims[box.rank - 1].size);
    box.erase(box.rank - 1);
  }
  Inner inner{Inner::kRun};
  inner.run_bytes = box.element_size;
  if (repeats_short_rows(box)) {
    inner.kind = Inner::kRepeat;
    inner.row = box.dims[box.rank - 1];
    inner.column = box.dims[box.rank - 2];
    box.rank -= 2;
    return inner;
  }
  if (box.rank == 0 || !is_power_up_to_16(box.element_size)) return inner;
  inner.kind = Inner::kStrided;
  inner.copy_strided = transpose_kernels().copy_strided[element_size_index(box.element_size)];
  inner.row = box.dims[box.rank - 1];
  box.erase(box.rank - 1);
  if (inner.row.out_stride != static_cast<int64_t>(box.element_size) || inner.row.in_stride == 0) return inner;
  for (size_t d = box.rank; d-- > 0;) {
    if (box.dims[d].in_stride != static_cast<int64_t>(box.element_size)) continue;
    inner.kind = Inner::kTranspose;
    inner.transpose = transpose_kernels().transpose[element_size_index(box.element_size)];
    inner.column = box.dims[d];
    box.erase(d);
    break;
  }
  return inner;
}

// Rows shorter than a cache line fill it only together with those of the next dimension: of long columns only a few are
// taken at a time, so that the lines they begin are still near when the next ones come.
void shorten_columns(Box& box, Inner& inner) noexcept {
  constexpr int64_t kLine = 64, kColumns = 16;
  const auto row_bytes = inner.row.size * static_cast<int64_t>(box.element_size);
  if (inner.kind != Inner::kTranspose || row_bytes >= kLine || box.rank == 0 || box.rank == kMaxCopyRank) return;
  Dim& last = box.dims[box.rank - 1];
  if (last.out_stride != row_bytes || inner.column.out_stride < last.out_stride * last.size) return;
  Dim& column = inner.column;
  for (int64_t size = kColumns; size <= column.size / 2; ++size) {
    if (column.size % size != 0) continue;
    box.dims[box.rank++] = last;
    last = {column.size / size, column.out_stride * size, column.in_stride * size};
    column.size = size;
    return;
  }
}

// The inner part at each of the indices of `last`, a dimension of the box.
void copy_inner(const Inner& inner, const Dim& last, char* out, const char* in) noexcept {
  const TransposeKernels& kernels = transpose_kernels();
  const auto rows = static_cast<size_t>(inner.row.size), columns = static_cast<size_t>(inner.column.size);
  switch (inner.kind) {
    case Inner::kRun:
      return kernels.copy_rows(out, last.out_stride, in, last.in_stride, inner.run_bytes,
                               static_cast<size_t>(last.size));
    case Inner::kTranspose:
      for (int64_t i = 0; i < last.size; ++i) {
        inner.transpose(out + i * last.out_stride, inner.column.out_stride, in + i * last.in_stride,
                        inner.row.in_stride, rows, columns);
      }
      return;
    case Inner::kStrided:
      return inner.copy_strided(out, in,
                                {last.out_stride, last.in_stride, inner.row.out_stride, inner.row.in_stride,
                                 static_cast<size_t>(last.size), rows});
    case Inner::kRepeat:
      for (int64_t i = 0; i < last.size; ++i) {
        kernels.repeat_rows(out + i * last.out_stride, in + i * last.in_stride, inner.column.in_stride, inner.run_bytes,
                            rows, columns);
      }
      return;
  }
}

void copy_box(const Box& box, const Inner& inner) noexcept {
  if (box.rank == 0) return copy_inner(inner, {1, 0, 0}, box.out, box.in);
  std::array<int64_t, kMaxCopyRank> index{};
  char* out = box.out;
  const char* in = box.in;
  const Dim last = box.dims[box.rank - 1];
  for (;;) {
    copy_inner(inner, last, out, in);
    size_t d = box.rank - 1;
    for (;;) {
      if (d-- == 0) return;
      const Dim& dim = box.dims[d];
      out += dim.out_stride;
      in += dim.in_stride;
      if (++index[d] < dim.size) break;
      out -= dim.out_stride * dim.size;
      in -= dim.in_stride * dim.size;
      index[d] = 0;
    }
  }
}

// A dimension to cut, with the multiple its pieces should have.
struct Cut {
  Dim* dim;
  int64_t multiple;
};

// The outermost dimension with enough pieces for all threads, else the longest.
Cut choose_cut(Box& box, Inner& inner, size_t threads) noexcept {
  Cut best{nullptr, 1};
  const auto enough = static_cast<int64_t>(4 * threads);
  const auto offer = [&](Dim& dim, int64_t multiple) {
    if (best.dim != nullptr && best.dim->size / best.multiple >= enough) return;
    if (best.dim == nullptr || dim.size / multiple > best.dim->size / best.multiple) best = {&dim, multiple};
  };
  for (size_t d = 0; d < box.rank; ++d) offer(box.dims[d], 1);
  if (inner.kind == Inner::kTranspose) offer(inner.column, 64);
  if (inner.kind == Inner::kRepeat) {
    offer(inner.column, 1);
  } else if (inner.kind != Inner::kRun) {
    offer(inner.row, 64);
  }
  return best;
}

void copy_parallel(Box& box, Inner& inner) noexcept {
  const size_t size_bytes = box.size_bytes() * static_cast<size_t>(inner.row.size * inner.column.size);
  const size_t pieces_wanted = std::min(size_bytes / kCopyGrainBytes, 4 * num_threads());
  if (pieces_wanted < 2 || num_threads() == 1) return copy_box(box, inner);
  const Cut cut = choose_cut(box, inner, num_threads());
  if (cut.dim == nullptr) {  // one run
    return copy_bytes(box.out, box.in, inner.run_bytes);
  }
  const Dim whole = *cut.dim;
  int64_t step = (whole.size + static_cast<int64_t>(pieces_wanted) - 1) / static_cast<int64_t>(pieces_wanted);
  step = (step + cut.multiple - 1) / cut.multiple * cut.multiple;
  parallel_for(static_cast<size_t>((whole.size + step - 1) / step), [&](size_t piece) {
    Box part = box;
    Inner part_inner = inner;
    Dim* dim = cut.dim == &inner.row      ? &part_inner.row
               : cut.dim == &inner.column ? &part_inner.column
                                          : &part.dims[static_cast<size_t>(cut.dim - box.dims.data())];
    const int64_t begin = static_cast<int64_t>(piece) * step;
    dim->size = std::min(step, whole.size - begin);
    part.out += begin * whole.out_stride;
    part.in += begin * whole.in_stride;
    copy_box(part, part_inner);
  });
}

void copy(Box& box) noexcept {
  for (size_t d = 0; d < box.rank; ++d) {
    if (box.dims[d].size <= 0) return;
  }
  if (box.element_size == 0) return;
  simplify(box);
  Inner inner = take_inner(box);
  shorten_columns(box, inner);
  copy_parallel(box, inner);
}

// Fills strides of a contiguous array.
void contiguous_strides(std::span<const int64_t> sizes, size_t element_size, int64_t* strides) noexcept {
  auto stride = static_cast<int64_t>(element_size);
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= sizes[d];
  }
}

using Strides = std::array<int64_t, kMaxCopyRank>;

}  // namespace

void strided_copy(void* out, std::span<const int64_t> out_strides_bytes, const void* in,
                  std::span<const int64_t> in_strides_bytes, std::span<const int64_t> sizes,
                  size_t element_size) noexcept {
  assert(sizes.size() <= kMaxCopyRank);
  Box box{static_cast<char*>(out), static_cast<const char*>(in), element_size, sizes.size(), {}};
  for (size_t d = 0; d < sizes.size(); ++d) box.dims[d] = {sizes[d], out_strides_bytes[d], in_strides_bytes[d]};
  copy(box);
}

void strided_copy_to_contiguous(void* out, const void* in, std::span<const int64_t> in_strides_bytes,
                                std::span<const int64_t> sizes, size_t element_size) noexcept {
  Strides out_strides;
  contiguous_strides(sizes, element_size, out_strides.data());
  strided_copy(out, {out_strides.data(), sizes.size()}, in, in_strides_bytes, sizes, element_size);
}

void permute(void* out, const void* in, std::span<const int64_t> in_sizes, std::span<const int64_t> permutation,
             size_t element_size) noexcept {
  Strides in_strides, strides, sizes;
  contiguous_strides(in_sizes, element_size, in_strides.data());
  for (size_t d = 0; d < in_sizes.size(); ++d) {
    sizes[d] = in_sizes[static_cast<size_t>(permutation[d])];
    strides[d] = in_strides[static_cast<size_t>(permutation[d])];
  }
  strided_copy_to_contiguous(out, in, {strides.data(), in_sizes.size()}, {sizes.data(), in_sizes.size()}, element_size);
}

void slice_copy(void* out, const void* in, std::span<const int64_t> in_sizes, std::span<const int64_t> starts,
                std::span<const int64_t> steps, std::span<const int64_t> out_sizes, size_t element_size) noexcept {
  Strides strides;
  contiguous_strides(in_sizes, element_size, strides.data());
  const char* from = static_cast<const char*>(in);
  for (size_t d = 0; d < in_sizes.size(); ++d) {
    if (out_sizes[d] <= 0) return;
    from += starts[d] * strides[d];
    if (!steps.empty()) strides[d] *= steps[d];
  }
  strided_copy_to_contiguous(out, from, {strides.data(), in_sizes.size()}, out_sizes, element_size);
}

void flip(void* out, const void* in, std::span<const int64_t> sizes, std::span<const bool> flipped,
          size_t element_size) noexcept {
  Strides strides;
  contiguous_strides(sizes, element_size, strides.data());
  const char* from = static_cast<const char*>(in);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] <= 0) return;
    if (!flipped[d]) continue;
    from += (sizes[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  strided_copy_to_contiguous(out, from, {strides.data(), sizes.size()}, sizes, element_size);
}

}  // namespace enr::kernels
