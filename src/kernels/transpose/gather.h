#pragma once

// Rows picked by index (embedding, index_select, index, gather), by bytes. Index is int32_t or int64_t. The kernels
// trust their indices: check them with first_index_outside and resolve negative ones first.

#include <cstddef>
#include <cstdint>

namespace enr::kernels {

// Position of the first index outside [low, high); count if there is none.
template <class Index>
size_t first_index_outside(const Index* indices, size_t count, int64_t low, int64_t high) noexcept;

// offsets[i] = (or += ) how far into a dim of `size` elements, `stride` apart, indices[i] reaches; a negative index
// counts from the end. False where one lies outside [-size, size): the offsets mean nothing then.
bool set_index_offsets(const int64_t* indices, size_t count, int64_t size, int64_t stride, int64_t* offsets) noexcept;
bool add_index_offsets(const int64_t* indices, size_t count, int64_t size, int64_t stride, int64_t* offsets) noexcept;

// out[o][i] = in[o][indices[i]] for o < outer, i < count; a row has row_bytes. Embedding has outer 1; index_select
// along dimension d has outer = product of the sizes before d, in_rows = size of d, row_bytes = everything inside. A
// negative index counts from the end.
template <class Index>
void gather_rows(void* out, const void* in, size_t outer, size_t in_rows, size_t row_bytes, const Index* indices,
                 size_t count) noexcept;

// out[indices[i]] = in[i]; where an index repeats, the last one stays. A negative index counts from the end.
template <class Index>
void scatter_rows(void* out, size_t out_rows, const void* in, size_t row_bytes, const Index* indices,
                  size_t count) noexcept;

// aten::gather on contiguous arrays: out[o][i][k] = in[o][indices[o][i][k]][k] for o < outer, i < out_rows, k < inner,
// where index and out share a shape and in has in_rows and the same inner. Element size 1, 2, 4, 8 or 16.
void gather_elements(void* out, const void* in, const int64_t* indices, size_t outer, size_t in_rows, size_t out_rows,
                     size_t inner, size_t element_size) noexcept;

}  // namespace enr::kernels
