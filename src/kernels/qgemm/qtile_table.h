#pragma once

// The table of an instruction set, put together from qtile_kernels.h and qtile_int4.h.

#include "kernels/qgemm/qtile_int4.h"

namespace enr::kernels::ENR_ISA {
namespace {

// All rows of a tile, R at a time; then the rest with R halved, and so on.
#define ENR_DEFINE_TILE(name, rows_function, max_rows)                     \
  template <size_t R, size_t V>                                            \
  void name##_from(const QTile& tile, size_t row) {                        \
    for (; row + R <= tile.rows; row += R) rows_function<R, V>(tile, row); \
    if constexpr (R > 1) {                                                 \
      if (row < tile.rows) name##_from<(R + 1) / 2, V>(tile, row);         \
    }                                                                      \
  }                                                                        \
  void name(const QTile& tile) noexcept {                                  \
    if (tile.vectors == 2) {                                               \
      name##_from<max_rows, 2>(tile, 0);                                   \
    } else {                                                               \
      name##_from<max_rows, 1>(tile, 0);                                   \
    }                                                                      \
  }

ENR_DEFINE_TILE(static_tile, static_rows, kMaxRows)
ENR_DEFINE_TILE(dynamic_tile, dynamic_rows, kMaxRows)
ENR_DEFINE_TILE(int4_tile, int4_rows, kMaxInt4Rows)
ENR_DEFINE_TILE(int4_block_tile, int4_block_rows, kMaxBlockRows)
#undef ENR_DEFINE_TILE

// One run of bytes XORed with `flip`. Runs of a vector or more end with a vector that overlaps the one before.
ENR_INLINE void copy_bytes(const uint8_t* from, size_t count, uint8_t flip, uint8_t* to) {
  const I8 mask = I8{} + (int8_t)flip;
  size_t i = 0;
  if (count >= kVectorBytes) {
    for (; i + kVectorBytes <= count; i += kVectorBytes) {
      const I8 v = load_bytes(from + i) ^ mask;
      memcpy(to + i, &v, sizeof v);
    }
    if (i == count) return;
    const I8 v = load_bytes(from + count - kVectorBytes) ^ mask;
    memcpy(to + count - kVectorBytes, &v, sizeof v);
    return;
  }
#if defined(__AVX512BW__)
  const __mmask64 lanes = _bzhi_u64(~0ull, (unsigned)count);
  _mm512_mask_storeu_epi8(to, lanes, (__m512i)((I8)_mm512_maskz_loadu_epi8(lanes, from) ^ mask));
#else
  const uint64_t words = 0x0101010101010101ull * flip;
  for (; i + 8 <= count; i += 8) {
    uint64_t v;
    memcpy(&v, from + i, 8);
    v ^= words;
    memcpy(to + i, &v, 8);
  }
  for (; i < count; ++i) to[i] = from[i] ^ flip;
#endif
}

// One run of int8 as int16.
ENR_INLINE void copy_wide(const uint8_t* from, size_t count, uint8_t flip, int16_t* to) {
  size_t i = 0;
#if !ENR_DOT4
  constexpr size_t kHalf = kVectorBytes / 2;
  // flip is 0 or 0x80: of the sign-extended number, XORing 0x80 and extending it again is what is wanted.
  const I16 mask = I16{} + (int16_t)(int8_t)flip;
  if (count >= kHalf) {
    for (;; i = i + 2 * kHalf <= count ? i + kHalf : count - kHalf) {
      I16 v = (I16)widen_half(from + i);
      v = (v ^ mask) << 8 >> 8;
      memcpy(to + i, &v, sizeof v);
      if (i + kHalf == count) return;
    }
  }
#endif
  for (; i < count; ++i) to[i] = (int8_t)(from[i] ^ flip);
}

template <size_t kBytes, uint8_t kOffset>
void copy_rows(const QCopy& copy) noexcept {
  const uint8_t* from = copy.from;
  char* to = (char*)copy.to;
  const uint8_t flip = kBytes == 1 ? (uint8_t)(copy.flip ^ kOffset) : copy.flip;
  for (size_t i = 0; i < copy.rows; ++i, from += copy.from_stride, to += copy.to_stride) {
    if constexpr (kBytes == 1) {
      copy_bytes(from, copy.count, flip, (uint8_t*)to);
    } else {
      copy_wide(from, copy.count, flip, (int16_t*)to);
    }
  }
}

template <class T>
ENR_INLINE int32_t sum_of(const T* p, size_t n) {
  int32_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum += p[i];
  return sum;
}

template <class T>
void sum_blocks(const void* row, size_t k, size_t block, int32_t factor, int32_t* sums) noexcept {
  for (size_t begin = 0; begin < k; begin += block) {
    const size_t count = k - begin < block ? k - begin : block;
    *sums++ = factor * sum_of((const T*)row + begin, count);
  }
}

#if ENR_DOT4 && ENR_DOT4_UNSIGNED
constexpr uint8_t kOffset = 0x80;
using Activation = uint8_t;
#elif ENR_DOT4
constexpr uint8_t kOffset = 0;
using Activation = int8_t;
#else
constexpr uint8_t kOffset = 0;
using Activation = int16_t;
#endif
template <size_t bytes>
struct Int4ActivationOf {
  using Type = int8_t;
};
template <>
struct Int4ActivationOf<2> {
  using Type = int16_t;
};

}  // namespace

const QGemmTable& qgemm_table() {
  static constexpr QGemmTable table{
      .panel = kPanel,
      .int8 = {.bytes = kActivationBytes, .group = kGroup, .offset = kOffset, .max_rows = kMaxRows},
      .int4 = {.bytes = kInt4ActivationBytes, .group = kInt4Group, .offset = 0, .max_rows = kMaxInt4Rows},
      .static_tile = &static_tile,
      .dynamic_tile = &dynamic_tile,
      .int4_tile = &int4_tile,
      .int4_block_tile = &int4_block_tile,
      .copy_int8 = &copy_rows<kActivationBytes, kOffset>,
      .copy_int4 = &copy_rows<kInt4ActivationBytes, 0>,
      .sum_int8 = &sum_blocks<Activation>,
      .sum_int4 = &sum_blocks<Int4ActivationOf<kInt4ActivationBytes>::Type>,
  };
  return table;
}

}  // namespace enr::kernels::ENR_ISA
