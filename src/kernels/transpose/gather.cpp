#include "kernels/transpose/gather.h"

#include <cstring>

#include "kernels/isa.h"
#include "kernels/transpose/copy_threads.h"
#include "kernels/transpose/index_range.h"

namespace enr::kernels {

ENR_SELECT_ISA(IndexRangeKernels, index_range_kernels)

namespace {

template <class Index>
size_t resolve(Index index, size_t rows) noexcept {
  return index < 0 ? rows - static_cast<size_t>(-static_cast<int64_t>(index)) : static_cast<size_t>(index);
}

// Rows of a fixed size need no call.
template <size_t kBytes, class Index>
void gather_range(char* out, const char* in, size_t in_rows, size_t row_bytes, const Index* indices,
                  size_t count) noexcept {
  const size_t size_bytes = kBytes != 0 ? kBytes : row_bytes;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(out + i * size_bytes, in + resolve(indices[i], in_rows) * size_bytes, size_bytes);
  }
}

template <class Index>
void gather_range(char* out, const char* in, size_t in_rows, size_t row_bytes, const Index* indices,
                  size_t count) noexcept {
  switch (row_bytes) {
    case 1:
      return gather_range<1>(out, in, in_rows, row_bytes, indices, count);
    case 2:
      return gather_range<2>(out, in, in_rows, row_bytes, indices, count);
    case 4:
      return gather_range<4>(out, in, in_rows, row_bytes, indices, count);
    case 8:
      return gather_range<8>(out, in, in_rows, row_bytes, indices, count);
    case 16:
      return gather_range<16>(out, in, in_rows, row_bytes, indices, count);
    default:
      return gather_range<0>(out, in, in_rows, row_bytes, indices, count);
  }
}

template <size_t kBytes>
void gather_elements_range(char* out, const char* in, const int64_t* indices, size_t in_rows, size_t out_rows,
                           size_t inner, size_t begin, size_t end) noexcept {
  for (size_t row = begin; row < end; ++row) {
    const char* from = in + row / out_rows * in_rows * inner * kBytes;
    const int64_t* index = indices + row * inner;
    char* to = out + row * inner * kBytes;
    for (size_t k = 0; k < inner; ++k) {
      std::memcpy(to + k * kBytes, from + (resolve(index[k], in_rows) * inner + k) * kBytes, kBytes);
    }
  }
}

bool any_outside(const int32_t* indices, size_t count, int64_t low, int64_t high) noexcept {
  return index_range_kernels().any_outside_32(indices, count, low, high);
}
bool any_outside(const int64_t* indices, size_t count, int64_t low, int64_t high) noexcept {
  return index_range_kernels().any_outside_64(indices, count, low, high);
}

}  // namespace

// From the end on: what is read last, the first indices, is still in cache when they are used.
template <class Index>
size_t first_index_outside(const Index* indices, size_t count, int64_t low, int64_t high) noexcept {
  constexpr size_t kBlock = 4096;
  for (size_t end = count; end != 0;) {
    const size_t length = end % kBlock != 0 ? end % kBlock : kBlock;
    end -= length;
    if (!any_outside(indices + end, length, low, high)) continue;
    for (size_t i = 0;; ++i) {
      if (static_cast<int64_t>(indices[i]) < low || static_cast<int64_t>(indices[i]) >= high) return i;
    }
  }
  return count;
}

bool set_index_offsets(const int64_t* indices, size_t count, int64_t size, int64_t stride, int64_t* offsets) noexcept {
  return index_range_kernels().set_offsets(indices, count, size, stride, offsets);
}
bool add_index_offsets(const int64_t* indices, size_t count, int64_t size, int64_t stride, int64_t* offsets) noexcept {
  return index_range_kernels().add_offsets(indices, count, size, stride, offsets);
}

template <class Index>
void gather_rows(void* out, const void* in, size_t outer, size_t in_rows, size_t row_bytes, const Index* indices,
                 size_t count) noexcept {
  if (row_bytes == 0 || count == 0) return;
  parallel_copy(outer * count, row_bytes, [&](size_t begin, size_t end) {
    while (begin < end) {
      const size_t o = begin / count, i = begin % count;
      const size_t length = end - begin < count - i ? end - begin : count - i;
      gather_range(static_cast<char*>(out) + begin * row_bytes, static_cast<const char*>(in) + o * in_rows * row_bytes,
                   in_rows, row_bytes, indices + i, length);
      begin += length;
    }
  });
}

template <class Index>
void scatter_rows(void* out, size_t out_rows, const void* in, size_t row_bytes, const Index* indices,
                  size_t count) noexcept {
  if (row_bytes == 0) return;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<char*>(out) + resolve(indices[i], out_rows) * row_bytes,
                static_cast<const char*>(in) + i * row_bytes, row_bytes);
  }
}

void gather_elements(void* out, const void* in, const int64_t* indices, size_t outer, size_t in_rows, size_t out_rows,
                     size_t inner, size_t element_size) noexcept {
  if (inner == 0 || out_rows == 0) return;
  parallel_copy(outer * out_rows, inner * (element_size + 8), [&](size_t begin, size_t end) {
    char* to = static_cast<char*>(out);
    const char* from = static_cast<const char*>(in);
    switch (element_size) {
      case 1:
        return gather_elements_range<1>(to, from, indices, in_rows, out_rows, inner, begin, end);
      case 2:
        return gather_elements_range<2>(to, from, indices, in_rows, out_rows, inner, begin, end);
      case 4:
        return gather_elements_range<4>(to, from, indices, in_rows, out_rows, inner, begin, end);
      case 8:
        return gather_elements_range<8>(to, from, indices, in_rows, out_rows, inner, begin, end);
      default:
        return gather_elements_range<16>(to, from, indices, in_rows, out_rows, inner, begin, end);
    }
  });
}

template size_t first_index_outside(const int32_t*, size_t, int64_t, int64_t) noexcept;
template size_t first_index_outside(const int64_t*, size_t, int64_t, int64_t) noexcept;
template void gather_rows(void*, const void*, size_t, size_t, size_t, const int32_t*, size_t) noexcept;
template void gather_rows(void*, const void*, size_t, size_t, size_t, const int64_t*, size_t) noexcept;
template void scatter_rows(void*, size_t, const void*, size_t, const int32_t*, size_t) noexcept;
template void scatter_rows(void*, size_t, const void*, size_t, const int64_t*, size_t) noexcept;

}  // namespace enr::kernels
