#include "kernels/transpose/transpose_kernels.h"

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

namespace {

// A register as 16-byte lanes; the shuffles below stay inside of a lane.
using Bytes = Vec<uint8_t>;
constexpr size_t kLaneBytes = 16;
constexpr size_t kLaneCount = kVectorBytes / kLaneBytes;

#if defined(__AVX512F__)
#define ENR_ZIP(half, bits) (Bytes) _mm512_unpack##half##_epi##bits((__m512i)a, (__m512i)b)
#elif defined(__AVX2__)
#define ENR_ZIP(half, bits) (Bytes) _mm256_unpack##half##_epi##bits((__m256i)a, (__m256i)b)
#elif defined(__SSE2__)
#define ENR_ZIP(half, bits) (Bytes) _mm_unpack##half##_epi##bits((__m128i)a, (__m128i)b)
#endif

// Elements of the lanes' low (high) halves, taken from a and b in turn.
template <size_t kSize>
ENR_INLINE Bytes zip_low(Bytes a, Bytes b) {
#if defined(ENR_ZIP)
  if constexpr (kSize == 1) return ENR_ZIP(lo, 8);
  if constexpr (kSize == 2) return ENR_ZIP(lo, 16);
  if constexpr (kSize == 4) return ENR_ZIP(lo, 32);
  if constexpr (kSize == 8) return ENR_ZIP(lo, 64);
#else
  if constexpr (kSize == 1)
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  if constexpr (kSize == 2)
    return (Bytes)__builtin_shufflevector((Vec<uint16_t>)a, (Vec<uint16_t>)b, 0, 8, 1, 9, 2, 10, 3, 11);
  if constexpr (kSize == 4) return (Bytes)__builtin_shufflevector((U32)a, (U32)b, 0, 4, 1, 5);
  if constexpr (kSize == 8) return (Bytes)__builtin_shufflevector((I64)a, (I64)b, 0, 2);
#endif
}
template <size_t kSize>
ENR_INLINE Bytes zip_high(Bytes a, Bytes b) {
#if defined(ENR_ZIP)
  if constexpr (kSize == 1) return ENR_ZIP(hi, 8);
  if constexpr (kSize == 2) return ENR_ZIP(hi, 16);
  if constexpr (kSize == 4) return ENR_ZIP(hi, 32);
  if constexpr (kSize == 8) return ENR_ZIP(hi, 64);
#else
  if constexpr (kSize == 1)
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  if constexpr (kSize == 2)
    return (Bytes)__builtin_shufflevector((Vec<uint16_t>)a, (Vec<uint16_t>)b, 4, 12, 5, 13, 6, 14, 7, 15);
  if constexpr (kSize == 4) return (Bytes)__builtin_shufflevector((U32)a, (U32)b, 2, 6, 3, 7);
  if constexpr (kSize == 8) return (Bytes)__builtin_shufflevector((I64)a, (I64)b, 1, 3);
#endif
}

// The 16 bytes at input, and those kRows rows on, and so on: one piece in each lane.
template <size_t kRows>
ENR_INLINE Bytes load_lanes(const char* input, ptrdiff_t row_stride) {
#if defined(__AVX512F__)
  const ptrdiff_t step = row_stride * static_cast<ptrdiff_t>(kRows);
  __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i*)input));
  v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i*)(input + step)), 1);
  v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i*)(input + 2 * step)), 2);
  return (Bytes)_mm512_inserti32x4(v, _mm_loadu_si128((const __m128i*)(input + 3 * step)), 3);
#elif defined(__AVX2__)
  const ptrdiff_t step = row_stride * static_cast<ptrdiff_t>(kRows);
  const __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)input));
  return (Bytes)_mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i*)(input + step)), 1);
#else
  (void)row_stride;
  return load((const uint8_t*)input);
#endif
}

// Rounds of the perfect shuffle: kRows registers, each a piece of a row, become the same elements column by column.
// Register k then holds, lane by lane, the columns from k * (16 / kSize / kRows) on.
template <size_t kSize, size_t kRows>
ENR_INLINE void interleave(Bytes (&v)[kRows]) {
#pragma GCC unroll 4
  for (size_t round = 1; round < kRows; round *= 2) {
    Bytes w[kRows];
#pragma GCC unroll 8
    for (size_t i = 0; i < kRows / 2; ++i) {
      w[2 * i] = zip_low<kSize>(v[i], v[i + kRows / 2]);
      w[2 * i + 1] = zip_high<kSize>(v[i], v[i + kRows / 2]);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < kRows; ++i) v[i] = w[i];
  }
}

// kVectorBytes / kSize rows by 16 / kSize columns, of which kColumns are stored.
template <size_t kSize, size_t kColumns = kLaneBytes / kSize>
ENR_INLINE void transpose_block(char* output, ptrdiff_t output_row_stride, const char* input,
                                ptrdiff_t input_row_stride) {
  constexpr size_t n = kLaneBytes / kSize;
  Bytes v[n];
#pragma GCC unroll 16
  for (size_t i = 0; i < n; ++i) v[i] = load_lanes<n>(input + (ptrdiff_t)i * input_row_stride, input_row_stride);
  interleave<kSize>(v);
#pragma GCC unroll 16
  for (size_t i = 0; i < kColumns; ++i) store((uint8_t*)(output + (ptrdiff_t)i * output_row_stride), v[i]);
}

template <size_t kSize>
void transpose_plain(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride,
                     size_t rows, size_t columns) {
  for (size_t j = 0; j < columns; ++j) {
    const char* from = input + j * kSize;
    char* to = output + (ptrdiff_t)j * output_row_stride;
    for (size_t i = 0; i < rows; ++i, from += input_row_stride) memcpy(to + i * kSize, from, kSize);
  }
}

constexpr size_t kLineBytes = 64;

// At least one block each way. Whole cache lines are read and written at a time, output rows in long runs: with strides
// near powers of two nothing stays in cache for long.
template <size_t kSize>
void transpose_blocks(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride,
                      size_t rows, size_t columns) {
  constexpr size_t block_rows = kVectorBytes / kSize, block_columns = kLaneBytes / kSize, line = kLineBytes / kSize;
  for (size_t line_column = 0; line_column < columns; line_column += line) {
    const size_t column_end = line_column + line < columns ? line_column + line : columns;
    for (size_t line_row = 0; line_row < rows; line_row += line) {
      const size_t row_end = line_row + line < rows ? line_row + line : rows;
      for (size_t j = line_column; j < column_end; j += block_columns) {
        // The last block overlaps the one before: writing a value twice is cheaper than a narrow loop.
        const size_t column = j + block_columns <= columns ? j : columns - block_columns;
        for (size_t i = line_row; i < row_end; i += block_rows) {
          const size_t row = i + block_rows <= rows ? i : rows - block_rows;
          transpose_block<kSize>(output + (ptrdiff_t)column * output_row_stride + row * kSize, output_row_stride,
                                 input + (ptrdiff_t)row * input_row_stride + column * kSize, input_row_stride);
        }
      }
    }
  }
}

// Few columns (an interleaved image to planes): every row is read as 16 bytes, whatever comes after its end.
template <size_t kSize, size_t kColumns>
void deinterleave(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride,
                  size_t rows) {
  constexpr size_t block_rows = kVectorBytes / kSize;
  // A row may be read whole where that ends before the last row does.
  const size_t behind = (kLaneBytes - kColumns * kSize + (size_t)input_row_stride - 1) / (size_t)input_row_stride;
  size_t row = 0;
  for (; row + block_rows + behind <= rows; row += block_rows) {
    transpose_block<kSize, kColumns>(output + row * kSize, output_row_stride, input + (ptrdiff_t)row * input_row_stride,
                                     input_row_stride);
  }
  transpose_plain<kSize>(output + row * kSize, output_row_stride, input + (ptrdiff_t)row * input_row_stride,
                         input_row_stride, rows - row, kColumns);
}

template <size_t kLane>
ENR_INLINE void store_lane(char* output, Bytes v) {
#if defined(__AVX512F__)
  _mm_storeu_si128((__m128i*)output, _mm512_extracti32x4_epi32((__m512i)v, kLane));
#elif defined(__AVX2__)
  _mm_storeu_si128((__m128i*)output, _mm256_extracti128_si256((__m256i)v, kLane));
#else
  store((uint8_t*)output, v);
#endif
}

// Lane kLane of every register, `step` bytes apart; then the lanes after it.
template <size_t kLane, size_t kRows>
ENR_INLINE void store_lanes(char* output, ptrdiff_t step, const Bytes (&v)[kRows]) {
#pragma GCC unroll 16
  for (size_t k = 0; k < kRows; ++k) store_lane<kLane>(output + (ptrdiff_t)k * step, v[k]);
  if constexpr (kLane + 1 < kLaneCount) store_lanes<kLane + 1>(output + (ptrdiff_t)kRows * step, step, v);
}

// kRows rows (a power of two, at most 16 / kSize), a register of columns at a time. With fewer than 16 / kSize rows the
// columns must lie back to back in the output. `rows` may be smaller than kRows = 16 / kSize: the surplus that is
// written past a column's end is overwritten by the next column.
template <size_t kSize, size_t kRows>
void interleave_rows(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride,
                     size_t rows, size_t columns) {
  constexpr size_t n = kLaneBytes / kSize, step = kVectorBytes / kSize;
  const size_t column_bytes = rows * kSize;
  // Columns whose store would pass the end of the output.
  const size_t behind = rows == kRows ? 0 : (kLaneBytes - 1) / column_bytes;
  size_t column = 0;
  while (column + step + behind <= columns) {
    Bytes v[kRows];
#pragma GCC unroll 16
    for (size_t i = 0; i < kRows; ++i) {
      const ptrdiff_t row = (ptrdiff_t)(i < rows ? i : rows - 1);
      v[i] = load((const uint8_t*)(input + row * input_row_stride + column * kSize));
    }
    interleave<kSize>(v);
    store_lanes<0>(output + (ptrdiff_t)column * output_row_stride, (ptrdiff_t)(n / kRows) * output_row_stride, v);
    if (column + step == columns) return;
    column += step;
    if (behind == 0 && column + step > columns) column = columns - step;  // overlaps what is done
  }
  transpose_plain<kSize>(output + (ptrdiff_t)column * output_row_stride, output_row_stride, input + column * kSize,
                         input_row_stride, rows, columns - column);
}

// Fewer rows than a block has.
template <size_t kSize>
void transpose_few_rows(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride,
                        size_t rows, size_t columns) {
  constexpr size_t n = kLaneBytes / kSize;
  const bool is_tight = output_row_stride == (ptrdiff_t)(rows * kSize);
  if (rows >= n) {
    for (size_t i = 0; i < rows; i += n) {
      const size_t row = i + n <= rows ? i : rows - n;
      interleave_rows<kSize, n>(output + row * kSize, output_row_stride, input + (ptrdiff_t)row * input_row_stride,
                                input_row_stride, n, columns);
    }
  } else if (!is_tight || rows == 1) {
    transpose_plain<kSize>(output, output_row_stride, input, input_row_stride, rows, columns);
  } else if (n > 2 && rows == 2) {
    interleave_rows<kSize, 2>(output, output_row_stride, input, input_row_stride, rows, columns);
  } else if (n > 4 && rows == 4) {
    interleave_rows<kSize, (n > 4 ? 4 : n)>(output, output_row_stride, input, input_row_stride, rows, columns);
  } else {
    interleave_rows<kSize, n>(output, output_row_stride, input, input_row_stride, rows, columns);
  }
}

template <size_t kSize, size_t kColumns>
void transpose_few_columns(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride,
                           size_t rows, size_t columns) {
  if constexpr (kColumns == 0) {
    transpose_plain<kSize>(output, output_row_stride, input, input_row_stride, rows, columns);
  } else if (columns == kColumns) {
    deinterleave<kSize, kColumns>(output, output_row_stride, input, input_row_stride, rows);
  } else {
    transpose_few_columns<kSize, kColumns - 1>(output, output_row_stride, input, input_row_stride, rows, columns);
  }
}

template <size_t kSize>
void transpose(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride, size_t rows,
               size_t columns) noexcept {
  constexpr size_t block_rows = kVectorBytes / kSize, block_columns = kLaneBytes / kSize;
  constexpr size_t few = block_columns <= 4 ? block_columns - 1 : 4;
  if (rows >= block_rows && columns >= block_columns) {
    transpose_blocks<kSize>(output, output_row_stride, input, input_row_stride, rows, columns);
  } else if (rows >= block_rows && columns > 1 && columns <= few && input_row_stride > 0) {
    transpose_few_columns<kSize, few>(output, output_row_stride, input, input_row_stride, rows, columns);
  } else if (rows < block_rows) {
    transpose_few_rows<kSize>(output, output_row_stride, input, input_row_stride, rows, columns);
  } else {
    transpose_plain<kSize>(output, output_row_stride, input, input_row_stride, rows, columns);
  }
}

// Elements as large as a lane: only the order of the copies matters.
void transpose_lanes(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride,
                     size_t rows, size_t columns) noexcept {
  constexpr size_t n = kLineBytes / kLaneBytes;
  for (size_t j = 0; j < columns; j += n) {
    const size_t width = columns - j < n ? columns - j : n;
    for (size_t i = 0; i < rows; i += n) {
      const size_t height = rows - i < n ? rows - i : n;
      transpose_plain<kLaneBytes>(output + (ptrdiff_t)j * output_row_stride + i * kLaneBytes, output_row_stride,
                                  input + (ptrdiff_t)i * input_row_stride + j * kLaneBytes, input_row_stride, height,
                                  width);
    }
  }
}

template <size_t kSize>
struct ElementOf;
template <>
struct ElementOf<1> {
  using type = uint8_t;
};
template <>
struct ElementOf<2> {
  using type = uint16_t;
};
template <>
struct ElementOf<4> {
  using type = uint32_t;
};
template <>
struct ElementOf<8> {
  using type = uint64_t;
};

// A register's elements, or those of a smaller vector, in reverse.
template <class T, class V>
ENR_INLINE V reverse(V v) {
  constexpr size_t n = sizeof(V) / sizeof(T);
  V index;
#pragma GCC unroll 64
  for (size_t i = 0; i < n; ++i) index[i] = (T)(n - 1 - i);
#if defined(__clang__)
  V result;
#pragma GCC unroll 64
  for (size_t i = 0; i < n; ++i) result[i] = v[index[i]];
  return result;
#else
  return __builtin_shuffle(v, index);
#endif
}

// Elements [i, i + n) of a row that runs backwards from `last`, n as many as V has.
template <class T, class V>
ENR_INLINE void reverse_block(char* output, const char* last, size_t i) {
  constexpr size_t n = sizeof(V) / sizeof(T);
  V v;
  memcpy(&v, last - (i + n - 1) * sizeof(T), sizeof v);
  v = reverse<T>(v);
  memcpy(output + i * sizeof(T), &v, sizeof v);
}

template <size_t kSize>
ENR_INLINE void copy_elements(char* output, ptrdiff_t output_stride, const char* input, ptrdiff_t input_stride,
                              size_t columns) {
#pragma GCC unroll 8
  for (size_t i = 0; i < columns; ++i, output += output_stride, input += input_stride) memcpy(output, input, kSize);
}

template <class T>
ENR_INLINE void reverse_row(char* output, const char* last, size_t columns) {
  typedef T Lane __attribute__((vector_size(kLaneBytes)));
  constexpr size_t lanes = kLanes<T>, few = kLaneBytes / sizeof(T);
  constexpr ptrdiff_t size = sizeof(T);
  if (columns < few) return copy_elements<sizeof(T)>(output, size, last, -size, columns);
  size_t i = 0;
  for (; i + lanes <= columns; i += lanes) reverse_block<T, Vec<T>>(output, last, i);
  // The last block overlaps what is done.
  for (; i < columns; i += few) reverse_block<T, Lane>(output, last, i + few <= columns ? i : columns - few);
}

template <class T>
ENR_INLINE void repeat_element(char* output, const char* input, size_t columns) {
  T value;
  memcpy(&value, input, sizeof value);
  const Vec<T> v = splat(value);
  size_t i = 0;
  for (; i + kLanes<T> <= columns; i += kLanes<T>) memcpy(output + i * sizeof(T), &v, sizeof v);
  for (; i < columns; ++i) memcpy(output + i * sizeof(T), &value, sizeof value);
}

template <size_t kSize>
void copy_strided(char* output, const char* input, const StridedRows& rows) noexcept {
  using T = typename ElementOf<kSize>::type;
  constexpr ptrdiff_t size = kSize;
  const StridedRows r = rows;
  for (size_t k = 0; k < r.rows; ++k, output += r.output_row_stride, input += r.input_row_stride) {
    if (r.output_stride != size) {
      copy_elements<kSize>(output, r.output_stride, input, r.input_stride, r.columns);
    } else if (r.input_stride == 0) {
      repeat_element<T>(output, input, r.columns);
    } else if (r.input_stride == -size) {
      reverse_row<T>(output, input, r.columns);
    } else {
      copy_elements<kSize>(output, size, input, r.input_stride, r.columns);
    }
  }
}

void copy_strided_lanes(char* output, const char* input, const StridedRows& rows) noexcept {
  for (size_t k = 0; k < rows.rows; ++k, output += rows.output_row_stride, input += rows.input_row_stride) {
    copy_elements<kLaneBytes>(output, rows.output_stride, input, rows.input_stride, rows.columns);
  }
}

// Rows of kBytes to 2 * kBytes bytes: two copies that overlap.
template <size_t kBytes>
void copy_rows_twice(char* output, ptrdiff_t output_stride, const char* input, ptrdiff_t input_stride, size_t row_bytes,
                     size_t rows) {
  const size_t second = row_bytes - kBytes;
  for (size_t i = 0; i < rows; ++i, output += output_stride, input += input_stride) {
    memcpy(output, input, kBytes);
    memcpy(output + second, input + second, kBytes);
  }
}

void copy_rows(char* output, ptrdiff_t output_stride, const char* input, ptrdiff_t input_stride, size_t row_bytes,
               size_t rows) noexcept {
  constexpr size_t long_row = 1024;  // where a call of memcpy no longer matters
  if (row_bytes == 0) return;
  if (row_bytes >= long_row) {
    for (size_t i = 0; i < rows; ++i, output += output_stride, input += input_stride) memcpy(output, input, row_bytes);
  } else if (row_bytes >= kVectorBytes) {
    for (size_t i = 0; i < rows; ++i, output += output_stride, input += input_stride) {
      for (size_t b = 0; b + kVectorBytes <= row_bytes; b += kVectorBytes) {
        store((uint8_t*)output + b, load((const uint8_t*)input + b));
      }
      const size_t last = row_bytes - kVectorBytes;
      store((uint8_t*)output + last, load((const uint8_t*)input + last));
    }
  } else if (row_bytes >= 32) {
    copy_rows_twice<32>(output, output_stride, input, input_stride, row_bytes, rows);
  } else if (row_bytes >= 16) {
    copy_rows_twice<16>(output, output_stride, input, input_stride, row_bytes, rows);
  } else if (row_bytes >= 8) {
    copy_rows_twice<8>(output, output_stride, input, input_stride, row_bytes, rows);
  } else if (row_bytes >= 4) {
    copy_rows_twice<4>(output, output_stride, input, input_stride, row_bytes, rows);
  } else if (row_bytes >= 2) {
    copy_rows_twice<2>(output, output_stride, input, input_stride, row_bytes, rows);
  } else {
    copy_rows_twice<1>(output, output_stride, input, input_stride, row_bytes, rows);
  }
}

// In pieces of kPiece bytes. What the last piece of a row writes past its end, the next row overwrites.
template <size_t kPiece>
void repeat_in_pieces(char* output, const char* input, ptrdiff_t input_stride, size_t row_bytes, size_t repeats,
                      size_t rows) {
  struct Piece {
    char bytes[kPiece];
  };
  const size_t pieces = (row_bytes + kPiece - 1) / kPiece, excess = pieces * kPiece - row_bytes;
  // The last rows, behind which there is less than a piece reads or writes too much.
  const size_t read_behind = (excess + (size_t)input_stride - 1) / (size_t)input_stride;
  const size_t written_behind = (excess + repeats * row_bytes - 1) / (repeats * row_bytes);
  const size_t behind = read_behind > written_behind ? read_behind : written_behind;
  size_t row = 0;
  for (; row + behind < rows; ++row, input += input_stride) {
    if (pieces == 1) {
      Piece piece;
      memcpy(&piece, input, kPiece);
      for (size_t r = 0; r < repeats; ++r, output += row_bytes) memcpy(output, &piece, kPiece);
      continue;
    }
    for (size_t r = 0; r < repeats; ++r, output += row_bytes) {
      for (size_t p = 0; p < pieces; ++p) memcpy(output + p * kPiece, input + p * kPiece, kPiece);
    }
  }
  for (; row < rows; ++row, input += input_stride) {
    for (size_t r = 0; r < repeats; ++r, output += row_bytes) memcpy(output, input, row_bytes);
  }
}

void repeat_rows(char* output, const char* input, ptrdiff_t input_stride, size_t row_bytes, size_t repeats,
                 size_t rows) noexcept {
  if (row_bytes == 0 || repeats == 0) return;
  if (row_bytes <= 16) return repeat_in_pieces<16>(output, input, input_stride, row_bytes, repeats, rows);
  if (row_bytes <= 32) return repeat_in_pieces<32>(output, input, input_stride, row_bytes, repeats, rows);
  repeat_in_pieces<kVectorBytes>(output, input, input_stride, row_bytes, repeats, rows);
}

}  // namespace

const TransposeKernels& transpose_kernels() {
  static const TransposeKernels table = {
      {transpose<1>, transpose<2>, transpose<4>, transpose<8>, transpose_lanes},
      {copy_strided<1>, copy_strided<2>, copy_strided<4>, copy_strided<8>, copy_strided_lanes},
      copy_rows,
      repeat_rows};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
