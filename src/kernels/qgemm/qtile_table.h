#pragma once

// The table of an instruction set, put together from qtile_kernels.h and qtile_int4.h.

#include "kernels/qgemm/qtile_int4.h"
#if defined(__AMX_INT8__)
#include "kernels/qgemm/qtile_amx_int4.h"
#endif

namespace enr::kernels::ENR_ISA {
namespace {

// All rows of a tile, R at a time; then the rest with R halved, and so on.
#define ENR_DEFINE_ROWS_FROM(name, rows_function, Tile, Head)                           \
  template <bool kWide, size_t R, size_t V>                                             \
  void name##_from(const Tile& tile, size_t row, const Head<V>& head) {                 \
    for (; row + R <= tile.rows; row += R) rows_function<kWide, R, V>(tile, row, head); \
    if constexpr (R > 1) {                                                              \
      if (row < tile.rows) name##_from<kWide, (R + 1) / 2, V>(tile, row, head);         \
    }                                                                                   \
  }
#define ENR_DEFINE_ROWS(name, rows_function, Head)       \
  ENR_DEFINE_ROWS_FROM(name, rows_function, QTile, Head) \
  template <bool kWide, size_t R, size_t V>              \
  void name##_in_rows(const QTile& tile) {               \
    name##_from<kWide, R, V>(tile, 0, Head<V>(tile, R)); \
  }

ENR_DEFINE_ROWS(static_tile, static_rows, StaticTileHead)
#if ENR_NARROWS
ENR_DEFINE_ROWS(plain_tile, static_rows, PlainTileHead)
#endif
ENR_DEFINE_ROWS(dynamic_tile, dynamic_rows, TileHead)
ENR_DEFINE_ROWS(int4_tile, int4_rows, TileHead)
ENR_DEFINE_ROWS(int4_block_tile, int4_block_rows, TileHead)
ENR_DEFINE_ROWS_FROM(static_strip, lined_rows, QLineTile, StaticTileHead)
#undef ENR_DEFINE_ROWS
#undef ENR_DEFINE_ROWS_FROM

template <bool kWide, size_t V>
void static_strips(const QLineTile& tile) {
  const StaticTileHead<V> head(tile, kMaxRows);
  QLineTile strip = tile;
  for (size_t i = 0; i < tile.strips; ++i) {
    static_strip_from<kWide, kMaxRows, V>(strip, 0, head);
    strip.a = (const char*)strip.a + tile.strip_stride;
    strip.c = (uint8_t*)strip.c + tile.c_strip_stride;
  }
}

#if ENR_DOT4
#define ENR_DEFINE_INT8_TILE(name)                                                                           \
  void name##_by_vectors(const QTile& tile) {                                                                \
    tile.vectors == 2 ? name##_in_rows<false, kMaxRows, 2>(tile) : name##_in_rows<false, kMaxRows, 1>(tile); \
  }
#else
constexpr size_t kRowsToWidenFor = 4 * kMaxRows;

void widen_panel(const QTile& tile) {
  const char* from = (const char*)tile.panel + 12 * kPanel;
  char* to = (char*)tile.wide;
  for (size_t vectors = (tile.k + 1) / 2 * 2; vectors != 0; --vectors, from += kVectorBytes / 2, to += kVectorBytes) {
    const I32 v = widen_half(from);
    memcpy(to, &v, sizeof v);
  }
}

#define ENR_DEFINE_INT8_TILE(name)                                          \
  void name##_by_vectors(const QTile& tile) {                               \
    if (tile.vectors != 2) return name##_in_rows<false, kMaxRows, 1>(tile); \
    if (tile.wide == nullptr || tile.rows < kRowsToWidenFor) {              \
      return name##_in_rows<false, kMaxRows, 2>(tile);                      \
    }                                                                       \
    widen_panel(tile);                                                      \
    name##_in_rows<true, kMaxRows, 2>(tile);                                \
  }
#endif
ENR_DEFINE_INT8_TILE(static_tile)
#if ENR_NARROWS
ENR_DEFINE_INT8_TILE(plain_tile)
#endif
ENR_DEFINE_INT8_TILE(dynamic_tile)
#undef ENR_DEFINE_INT8_TILE

void static_tile(const QTile& tile) noexcept {
  if (tile.exceeds_int32) return tile.vectors == 2 ? static_tile_of_any<2>(tile) : static_tile_of_any<1>(tile);
#if defined(__AMX_INT8__)
  if (tile.rows >= kFewTileRows) return static_tile_by_tiles(tile);
#endif
#if ENR_NARROWS
  if (is_plain(tile)) return plain_tile_by_vectors(tile);
#endif
  static_tile_by_vectors(tile);
}
void static_lines(const QLineTile& tile) noexcept {
#if !ENR_DOT4
  if (tile.vectors == 2 && tile.wide != nullptr && tile.strips * tile.rows >= kRowsToWidenFor) {
    widen_panel(tile);
    return static_strips<true, 2>(tile);
  }
#endif
  tile.vectors == 2 ? static_strips<false, 2>(tile) : static_strips<false, 1>(tile);
}
void dynamic_tile(const QTile& tile) noexcept {
#if defined(__AMX_INT8__)
  if (tile.rows >= kFewTileRows) return dynamic_tile_by_tiles(tile);
#endif
  dynamic_tile_by_vectors(tile);
}
void int4_tile(const QTile& tile) noexcept {
#if defined(__AMX_INT8__)
  if (suits_int4_tiles(tile))
    return tile.vectors == 2 ? multiply_int4_by_tiles<2>(tile) : multiply_int4_by_tiles<1>(tile);
#endif
  tile.vectors == 2 ? int4_tile_in_rows<false, kMaxInt4Rows, 2>(tile) : int4_tile_in_rows<false, kMaxInt4Rows, 1>(tile);
}
void int4_block_tile(const QTile& tile) noexcept {
#if defined(__AMX_INT8__)
  if (suits_int4_tiles(tile)) {
    return tile.vectors == 2 ? multiply_int4_blocks_by_tiles<2>(tile) : multiply_int4_blocks_by_tiles<1>(tile);
  }
#endif
  tile.vectors == 2 ? int4_block_tile_in_rows<false, kMaxBlockRows, 2>(tile)
                    : int4_block_tile_in_rows<false, kMaxBlockRows, 1>(tile);
}

// Runs are copied in pieces, the last of which overlaps the one before; short ones in two pieces of a smaller size, or
// (AVX-512) in one that writes more than there is.
template <class Word>
ENR_INLINE void copy_ends(const uint8_t* from, size_t count, uint64_t flips, uint8_t* to) {
  Word first, last;
  memcpy(&first, from, sizeof first);
  memcpy(&last, from + count - sizeof last, sizeof last);
  first ^= (Word)flips;
  last ^= (Word)flips;
  memcpy(to, &first, sizeof first);
  memcpy(to + count - sizeof last, &last, sizeof last);
}

// One run of bytes XORed with `flip`.
ENR_INLINE void copy_bytes(const uint8_t* from, size_t count, uint8_t flip, uint8_t* to) {
  if (count >= kVectorBytes) {
    const I8 mask = I8{} + (int8_t)flip;
    for (size_t i = 0;; i = i + 2 * kVectorBytes <= count ? i + kVectorBytes : count - kVectorBytes) {
      const I8 v = load_bytes(from + i) ^ mask;
      memcpy(to + i, &v, sizeof v);
      if (i + kVectorBytes == count) return;
    }
  }
#if defined(__AVX512BW__)
  // No wider than needed: wide stores often cross a line of the cache.
  if (count <= 16) {
    const __m128i v = _mm_maskz_loadu_epi8((__mmask16)_bzhi_u32(~0u, (unsigned)count), from);
    _mm_storeu_si128((__m128i*)to, _mm_xor_si128(v, _mm_set1_epi8((char)flip)));
  } else if (count <= 32) {
    const __m256i v = _mm256_maskz_loadu_epi8(_bzhi_u32(~0u, (unsigned)count), from);
    _mm256_storeu_si256((__m256i*)to, _mm256_xor_si256(v, _mm256_set1_epi8((char)flip)));
  } else {
    const I8 v = (I8)_mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, (unsigned)count), from) ^ (int8_t)flip;
    memcpy(to, &v, sizeof v);
  }
#else
  const uint64_t flips = 0x0101010101010101ull * flip;
  while (count > 16) {
    copy_ends<uint64_t>(from, 16, flips, to);
    from += 16;
    to += 16;
    count -= 16;
  }
  if (count >= 8) return copy_ends<uint64_t>(from, count, flips, to);
  if (count >= 4) return copy_ends<uint32_t>(from, count, flips, to);
  for (size_t i = 0; i < count; ++i) to[i] = from[i] ^ flip;
#endif
}

#if defined(__SSE2__) && !defined(__AVX512BW__) && !ENR_DOT4
// Eight int8 as int16, each XORed with flip as the int8 it is.
ENR_INLINE __m128i widen_eight(__m128i bytes, uint8_t flip) {
  bytes = _mm_xor_si128(bytes, _mm_set1_epi8((char)flip));
  return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
}
#endif

// One run of int8 as int16.
ENR_INLINE void copy_wide(const uint8_t* from, size_t count, uint8_t flip, int16_t* to) {
#if !ENR_DOT4
  constexpr size_t kHalf = kVectorBytes / 2;
  if (count >= kHalf) {
    // flip is 0 or 0x80: of the sign-extended number, XORing 0x80 and extending it again is what is wanted.
    const I16 mask = I16{} + (int16_t)(int8_t)flip;
    for (size_t i = 0;; i = i + 2 * kHalf <= count ? i + kHalf : count - kHalf) {
      const I16 v = ((I16)widen_half(from + i) ^ mask) << 8 >> 8;
      memcpy(to + i, &v, sizeof v);
      if (i + kHalf == count) return;
    }
  }
#if defined(__AVX512BW__)
  const __mmask32 lanes = _bzhi_u32(~0u, (unsigned)count);
  const __m256i bytes = _mm256_xor_si256(_mm256_maskz_loadu_epi8(lanes, from), _mm256_set1_epi8((char)flip));
  const __m512i v = _mm512_maskz_cvtepi8_epi16(0xffffffffu, bytes);
  memcpy(to, &v, sizeof v);
  return;
#elif defined(__SSE2__)
  if (count >= 8) {
    for (size_t i = 0;; i = i + 16 <= count ? i + 8 : count - 8) {
      _mm_storeu_si128((__m128i*)(to + i), widen_eight(_mm_loadl_epi64((const __m128i*)(from + i)), flip));
      if (i + 8 == count) return;
    }
  }
  if (count >= 4) {
    for (size_t i = 0;; i = count - 4) {
      int32_t word;
      memcpy(&word, from + i, sizeof word);
      _mm_storel_epi64((__m128i*)(to + i), widen_eight(_mm_cvtsi32_si128(word), flip));
      if (i + 4 == count) return;
    }
  }
#endif
#endif
  for (size_t i = 0; i < count; ++i) to[i] = (int8_t)(from[i] ^ flip);
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
#if defined(__AMX_INT8__)
constexpr size_t kMaxInt8Rows = kBlockRows, kTileInt4Rows = kBlockRows, kInt8Unit = kTileBytes, kLineOutputs = 0;
#else
constexpr size_t kMaxInt8Rows = kMaxRows, kTileInt4Rows = kMaxInt4Rows, kInt8Unit = kGroup;
// Copies are a smaller part of slower products, where more weights of zero weigh more.
constexpr size_t kLineOutputs = ENR_DOT4 ? SIZE_MAX : 32;
#endif
#if defined(__AVX512BW__)
constexpr size_t kSlack = kVectorBytes;
#else
constexpr size_t kSlack = 0;
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
      .int8 = {.bytes = kActivationBytes,
               .group = kGroup,
               .offset = kOffset,
               .max_rows = kMaxInt8Rows,
               .unit = kInt8Unit,
               .slack = kSlack},
      .int4 =
          {.bytes = kInt4ActivationBytes, .group = kInt4Group, .offset = 0, .max_rows = kTileInt4Rows, .slack = kSlack},
      .widens = !ENR_DOT4,
      .line_outputs = kLineOutputs,
      .static_tile = &static_tile,
      .static_lines = &static_lines,
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
