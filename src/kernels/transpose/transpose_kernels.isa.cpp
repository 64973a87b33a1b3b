#include "kernels/transpose/transpose_kernels.h"

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

namespace {

template <size_t kSize>
struct Element {
  char bytes[kSize];
};

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

// kVectorBytes / kSize rows by 16 / kSize columns: log2 rounds of the perfect shuffle transpose every lane.
template <size_t kSize>
ENR_INLINE void transpose_block(char* output, ptrdiff_t output_row_stride, const char* input,
                                ptrdiff_t input_row_stride) {
  constexpr size_t n = kLaneBytes / kSize;
  Bytes v[n];
#pragma GCC unroll 16
  for (size_t i = 0; i < n; ++i)
    v[i] = load_lanes<n>(input + static_cast<ptrdiff_t>(i) * input_row_stride, input_row_stride);
#pragma GCC unroll 4
  for (size_t round = 1; round < n; round *= 2) {
    Bytes w[n];
#pragma GCC unroll 8
    for (size_t i = 0; i < n / 2; ++i) {
      w[2 * i] = zip_low<kSize>(v[i], v[i + n / 2]);
      w[2 * i + 1] = zip_high<kSize>(v[i], v[i + n / 2]);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < n; ++i) v[i] = w[i];
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < n; ++i) store((uint8_t*)(output + static_cast<ptrdiff_t>(i) * output_row_stride), v[i]);
}

template <size_t kSize>
void transpose_plain(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride,
                     size_t rows, size_t columns) {
  using E = Element<kSize>;
  for (size_t j = 0; j < columns; ++j) {
    const char* from = input + j * kSize;
    E* to = reinterpret_cast<E*>(output + static_cast<ptrdiff_t>(j) * output_row_stride);
    for (size_t i = 0; i < rows; ++i, from += input_row_stride) memcpy(to + i, from, kSize);
  }
}

// Blocks of this many bytes in a row of input and of output are finished before the next: few pages at once.
constexpr size_t kTileBytes = 256;

template <size_t kSize>
void transpose(char* output, ptrdiff_t output_row_stride, const char* input, ptrdiff_t input_row_stride, size_t rows,
               size_t columns) noexcept {
  constexpr size_t block_rows = kVectorBytes / kSize, block_columns = kLaneBytes / kSize;
  if constexpr (kSize == 16) {
    transpose_plain<kSize>(output, output_row_stride, input, input_row_stride, rows, columns);
  } else {
    if (rows < block_rows || columns < block_columns) {
      return transpose_plain<kSize>(output, output_row_stride, input, input_row_stride, rows, columns);
    }
    constexpr size_t tile = kTileBytes / kSize;
    for (size_t tile_row = 0; tile_row < rows; tile_row += tile) {
      const size_t row_end = tile_row + tile < rows ? tile_row + tile : rows;
      for (size_t tile_column = 0; tile_column < columns; tile_column += tile) {
        const size_t column_end = tile_column + tile < columns ? tile_column + tile : columns;
        for (size_t i = tile_row; i < row_end; i += block_rows) {
          // The last block overlaps the one before: writing a value twice is cheaper than a narrow loop.
          const size_t row = i + block_rows <= rows ? i : rows - block_rows;
          for (size_t j = tile_column; j < column_end; j += block_columns) {
            const size_t column = j + block_columns <= columns ? j : columns - block_columns;
            transpose_block<kSize>(
                output + static_cast<ptrdiff_t>(column) * output_row_stride + row * kSize, output_row_stride,
                input + static_cast<ptrdiff_t>(row) * input_row_stride + column * kSize, input_row_stride);
          }
        }
      }
    }
  }
}

}  // namespace

const TransposeKernels& transpose_kernels() {
  static const TransposeKernels table = {transpose<1>, transpose<2>, transpose<4>, transpose<8>, transpose<16>};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
