#pragma once

// The rows of qdepthwise_table.h, for any instruction set; included by the files that are compiled for each.

#include "kernels/qdepthwise/qdepthwise_table.h"
#include "kernels/qgemm/dot.h"
#include "kernels/qgemm/requantize.h"

namespace enr::kernels::ENR_ISA {
namespace {

constexpr size_t kLane = kF32Lanes;
constexpr size_t kBlock = ENR_DOT4 ? kVectorBytes : kVectorBytes / 2;
constexpr size_t kVectors = kBlock / kLane;  // sums of a block
constexpr size_t kGroupRows = ENR_DOT4 ? 4 : 2;
#if ENR_DOT4
constexpr uint8_t kOffset = ENR_DOT4_UNSIGNED ? 0x80 : 0;
#else
constexpr uint8_t kOffset = 0;
#endif

// A pixel's rows of one group, interleaved: what belongs to a channel is next to each other.
struct Column {
  I32 v[kVectors];
};

// The channels of a block that there are. With AVX-512 loads and stores leave the others alone by themselves.
struct Channels {
#if defined(__AVX512BW__)
  static constexpr bool kAnyNumber = true;
  __mmask64 mask;
  ENR_INLINE explicit Channels(size_t count) : mask(_bzhi_u64(~0ull, (unsigned)count)) {}
#else
  static constexpr bool kAnyNumber = false;
  ENR_INLINE explicit Channels(size_t) {}
#endif
};

// Where activations are uint8 (kUnsigned), dots take them as int8 or, of 16 bits, as they are.
#if ENR_DOT4
using Bytes = U8;
constexpr uint8_t kUnsignedOffset = kOffset;
template <bool kUnsigned>
ENR_INLINE Bytes load_row(const uint8_t* p, Channels channels) {
#if defined(__AVX512BW__)
  const Bytes v = (Bytes)_mm512_maskz_loadu_epi8(channels.mask, p);
#else
  (void)channels;
  const Bytes v = (Bytes)load_bytes(p);
#endif
  return v ^ (uint8_t)((kUnsigned ? 0x80 : 0) ^ kOffset);
}
#if ENR_DOT4_UNSIGNED
// Half a block each.
template <bool kUnsigned>
ENR_INLINE Bytes load_pair(const uint8_t* first, const uint8_t* second) {
#if defined(__AVX512BW__)
  const __m512i low = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)first));
  const Bytes v = (Bytes)_mm512_maskz_inserti64x4(0xff, low, _mm256_loadu_si256((const __m256i*)second), 1);
#else
  const Bytes v = (Bytes)_mm256_loadu2_m128i((const __m128i*)second, (const __m128i*)first);
#endif
  return v ^ (uint8_t)((kUnsigned ? 0x80 : 0) ^ kOffset);
}
ENR_INLINE void store_pair(uint8_t* first, uint8_t* second, I8 bytes) {
#if defined(__AVX512BW__)
  _mm256_storeu_si256((__m256i*)first, _mm512_castsi512_si256((__m512i)bytes));
  _mm256_storeu_si256((__m256i*)second, _mm512_maskz_extracti64x4_epi64(0xf, (__m512i)bytes, 1));
#else
  _mm256_storeu2_m128i((__m128i*)second, (__m128i*)first, (__m256i)bytes);
#endif
}
#endif
#else
using Bytes = I16;
constexpr uint8_t kUnsignedOffset = 128;
template <bool kUnsigned>
ENR_INLINE Bytes load_row(const uint8_t* p, Channels channels) {
#if defined(__AVX512BW__)
  const __m256i bytes = _mm256_maskz_loadu_epi8((__mmask32)channels.mask, p);
  return (Bytes)(kUnsigned ? _mm512_maskz_cvtepu8_epi16(0xffffffffu, bytes)
                           : _mm512_maskz_cvtepi8_epi16(0xffffffffu, bytes));
#else
  (void)channels;
  return (Bytes)(kUnsigned ? widen_half_unsigned(p) : widen_half(p));
#endif
}
#endif

#if defined(__AVX512BW__)
ENR_INLINE U8 zip_low8(U8 a, U8 b) { return (U8)_mm512_unpacklo_epi8((__m512i)a, (__m512i)b); }
ENR_INLINE U8 zip_high8(U8 a, U8 b) { return (U8)_mm512_unpackhi_epi8((__m512i)a, (__m512i)b); }
ENR_INLINE I16 zip_low16(I16 a, I16 b) { return (I16)_mm512_unpacklo_epi16((__m512i)a, (__m512i)b); }
ENR_INLINE I16 zip_high16(I16 a, I16 b) { return (I16)_mm512_unpackhi_epi16((__m512i)a, (__m512i)b); }
#elif defined(__AVX2__)
ENR_INLINE U8 zip_low8(U8 a, U8 b) { return (U8)_mm256_unpacklo_epi8((__m256i)a, (__m256i)b); }
ENR_INLINE U8 zip_high8(U8 a, U8 b) { return (U8)_mm256_unpackhi_epi8((__m256i)a, (__m256i)b); }
ENR_INLINE I16 zip_low16(I16 a, I16 b) { return (I16)_mm256_unpacklo_epi16((__m256i)a, (__m256i)b); }
ENR_INLINE I16 zip_high16(I16 a, I16 b) { return (I16)_mm256_unpackhi_epi16((__m256i)a, (__m256i)b); }
#else
ENR_INLINE U8 zip_low8(U8 a, U8 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
ENR_INLINE U8 zip_high8(U8 a, U8 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
ENR_INLINE I16 zip_low16(I16 a, I16 b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
ENR_INLINE I16 zip_high16(I16 a, I16 b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
#endif

ENR_INLINE Column interleave(const Bytes (&rows)[kGroupRows]) {
  Column column;
#if ENR_DOT4
  const I16 low01 = (I16)zip_low8(rows[0], rows[1]), high01 = (I16)zip_high8(rows[0], rows[1]);
  const I16 low23 = (I16)zip_low8(rows[2], rows[3]), high23 = (I16)zip_high8(rows[2], rows[3]);
  column.v[0] = (I32)zip_low16(low01, low23);
  column.v[1] = (I32)zip_high16(low01, low23);
  column.v[2] = (I32)zip_low16(high01, high23);
  column.v[3] = (I32)zip_high16(high01, high23);
#else
  column.v[0] = (I32)zip_low16(rows[0], rows[1]);
  column.v[1] = (I32)zip_high16(rows[0], rows[1]);
#endif
  return column;
}

// A block of scaled sums, as bytes in the order of channels.
template <class To>
ENR_INLINE void store_block(uint8_t* p, const To& to, const I32 (&sum)[kVectors], Channels channels) {
#if ENR_NARROWS && ENR_DOT4
  const I8 bytes = to.bytes(sum[0], sum[1], sum[2], sum[3]);
#if defined(__AVX512BW__)
  _mm512_mask_storeu_epi8(p, channels.mask, (__m512i)bytes);
#else
  memcpy(p, &bytes, sizeof bytes);
#endif
#elif ENR_NARROWS
  // Narrowing leaves a piece of 64 bits twice in each of 128.
  const I16 numbers = narrow(sum[0], sum[1]);
  const I8 bytes = to.bytes(numbers, numbers);
#if defined(__AVX512BW__)
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
  const __m512i ordered = _mm512_maskz_permutexvar_epi64(0xff, order, (__m512i)bytes);
  _mm256_mask_storeu_epi8(p, (__mmask32)channels.mask, _mm512_castsi512_si256(ordered));
#else
  const __m256i ordered = _mm256_permute4x64_epi64((__m256i)bytes, 0x08);
  _mm_storeu_si128((__m128i*)p, _mm256_castsi256_si128(ordered));
#endif
#else
  (void)to;
  for (size_t q = 0; q < kVectors; ++q) store_low_bytes(p + q * kLane, sum[q]);
#endif
  (void)channels;
}

template <class To>
ENR_INLINE void scale(const QDepthwiseCall& call, const To& to, I32 (&sum)[kVectors]) {
  const float* scales = (const float*)call.packed + kVectors * kLane;
  const float* offsets = scales + kVectors * kLane;
#pragma GCC unroll 4
  for (size_t q = 0; q < kVectors; ++q) {
    sum[q] = to.scaled(sum[q], load(scales + q * kLane), load(offsets + q * kLane));
  }
}

template <class To = Requantization>
ENR_INLINE void finish(const QDepthwiseCall& call, I32 (&sum)[kVectors], uint8_t* output) {
  const To to(call.low, call.high, call.zero_point, call.flip);
  scale(call, to, sum);
  store_block(output, to, sum, Channels(call.channels));
}

// Neighbouring outputs.
template <class To, size_t kPixels>
ENR_INLINE void finish(const QDepthwiseCall& call, I32 (&sum)[kPixels][kVectors], uint8_t* output) {
#if ENR_NARROWS && !ENR_DOT4 && !defined(__AVX512BW__)
  // A register of bytes holds two of them.
  if constexpr (kPixels % 2 == 0) {
    const To to(call.low, call.high, call.zero_point, call.flip);
#pragma GCC unroll 4
    for (size_t t = 0; t < kPixels; ++t) scale(call, to, sum[t]);
#pragma GCC unroll 2
    for (size_t t = 0; t < kPixels; t += 2, output += 2 * call.output_step) {
      const I8 bytes = to.bytes(sum[t][0], sum[t][1], sum[t + 1][0], sum[t + 1][1]);
      const __m256i ordered = _mm256_permute4x64_epi64((__m256i)bytes, 0xd8);
      _mm_storeu_si128((__m128i*)output, _mm256_castsi256_si128(ordered));
      _mm_storeu_si128((__m128i*)(output + call.output_step), _mm256_extracti128_si256(ordered, 1));
    }
    return;
  }
#endif
#pragma GCC unroll 4
  for (size_t t = 0; t < kPixels; ++t) finish<To>(call, sum[t], output + t * call.output_step);
}

constexpr size_t kColumnBytes = kVectors * kVectorBytes;  // of weights
ENR_INLINE const char* weights_of(const QDepthwiseCall& call) { return (const char*)call.packed + 3 * kColumnBytes; }

ENR_INLINE void start(const QDepthwiseCall& call, I32 (&sum)[kVectors]) {
#pragma GCC unroll 4
  for (size_t q = 0; q < kVectors; ++q) sum[q] = load((const int32_t*)call.packed + q * kLane);
}

ENR_INLINE void add_column(I32 (&sum)[kVectors], const Column& column, const char* weights) {
#pragma GCC unroll 4
  for (size_t q = 0; q < kVectors; ++q) {
    sum[q] = dot(sum[q], column.v[q], (I32)load_bytes(weights + q * kVectorBytes));
  }
}

// Pixels of one row of the input, from column `first` on, one after the other; where kPairStride is not 0, each with
// the one so many columns further.
template <bool kUnsigned, bool kInside, size_t kPairStride>
struct Pixels {
  const uint8_t* at;
  size_t step;
  ptrdiff_t column;
  const QDepthwiseCall& call;

  ENR_INLINE Pixels(const QDepthwiseCall& c, const QDepthwiseRow& row, ptrdiff_t first)
      : at(row.pixels + first * (ptrdiff_t)row.step), step(row.step), column(first), call(c) {}
  ENR_INLINE const uint8_t* pixel(size_t further) const {
    const bool inside = kInside || (size_t)column + further < call.input_width;
    return inside ? at + further * step : call.padding;
  }
  ENR_INLINE Bytes next(Channels channels) {
    Bytes bytes;
#if ENR_DOT4_UNSIGNED
    if constexpr (kPairStride != 0) {
      bytes = load_pair<kUnsigned>(pixel(0), pixel(kPairStride));
    } else
#endif
    {
      bytes = load_row<kUnsigned>(pixel(0), channels);
    }
    at += step;
    if (!kInside) ++column;
    return bytes;
  }
};

#if ENR_DOT4_UNSIGNED
template <class To, size_t kPixels>
ENR_INLINE void finish_pairs(const QDepthwiseCall& call, I32 (&sum)[kPixels][kVectors], uint8_t* output) {
  const To to(call.low, call.high, call.zero_point, call.flip);
#pragma GCC unroll 4
  for (size_t t = 0; t < kPixels; ++t, output += 2 * call.output_step) {
    scale(call, to, sum[t]);
    store_pair(output, output + call.output_step, to.bytes(sum[t][0], sum[t][1], sum[t][2], sum[t][3]));
  }
}
#endif

// What a row is computed with: activations and the way from sums to results.
template <bool kUnsignedLevels, class Requantizing>
struct Levels {
  static constexpr bool kUnsigned = kUnsignedLevels;
  using To = Requantizing;
};

// kPixels neighbouring outputs, or pairs of them, from output column x on; a column that was loaded serves every output
// it belongs to.
template <class L, size_t kWidth, size_t kOutputStride, bool kPaired, size_t kPixels, bool kInside>
void pixels(const QDepthwiseCall& call, size_t x) {
  constexpr size_t kStride = kPaired ? 2 * kOutputStride : kOutputStride;
  constexpr size_t kColumns = (kPixels - 1) * kStride + kWidth;
  using Source = Pixels<L::kUnsigned, kInside, kPaired ? kOutputStride : 0>;
  I32 sum[kPixels][kVectors];
#pragma GCC unroll 4
  for (size_t t = 0; t < kPixels; ++t) start(call, sum[t]);
  const ptrdiff_t first = (ptrdiff_t)(x * kOutputStride) - (ptrdiff_t)call.pad_left;
  const char* weights = weights_of(call);
  const QDepthwiseRow* rows = call.rows;
  const Channels channels(call.channels);
  for (size_t g = 0; g < call.groups; ++g, rows += kGroupRows, weights += kWidth * kColumnBytes) {
#if ENR_DOT4
    Source from[kGroupRows] = {
        {call, rows[0], first}, {call, rows[1], first}, {call, rows[2], first}, {call, rows[3], first}};
#else
    Source from[kGroupRows] = {{call, rows[0], first}, {call, rows[1], first}};
#endif
#pragma GCC unroll 16
    for (size_t c = 0; c < kColumns; ++c) {
      Bytes bytes[kGroupRows];
#pragma GCC unroll 4
      for (size_t r = 0; r < kGroupRows; ++r) bytes[r] = from[r].next(channels);
      const Column interleaved = interleave(bytes);
#pragma GCC unroll 4
      for (size_t t = 0; t < kPixels; ++t) {
        if (c >= t * kStride && c - t * kStride < kWidth) {
          add_column(sum[t], interleaved, weights + (c - t * kStride) * kColumnBytes);
        }
      }
    }
  }
#if !ENR_DOT4
  if (call.has_last_row) {
    Source from(call, *rows, first);
    Bytes pair[2] = {from.next(channels), {}};
#pragma GCC unroll 16
    for (size_t c = 0; c < kColumns; ++c, pair[0] = pair[1]) {
      pair[1] = c + 1 < kColumns ? from.next(channels) : pair[0];
      if (kStride == 2 && c % 2 != 0) continue;
      const Column interleaved = interleave(pair);
#pragma GCC unroll 4
      for (size_t t = 0; t < kPixels; ++t) {
        const size_t kx = c - t * kStride;
        if (c >= t * kStride && kx < kWidth && kx % 2 == 0) {
          add_column(sum[t], interleaved, weights + kx / 2 * kColumnBytes);
        }
      }
    }
  }
#endif
  uint8_t* output = call.output + x * call.output_step;
#if ENR_DOT4_UNSIGNED
  if constexpr (kPaired) return finish_pairs<typename L::To, kPixels>(call, sum, output);
#endif
  finish<typename L::To, kPixels>(call, sum, output);
}

template <class L, size_t kWidth, size_t kStride, bool kPaired, size_t kPixels>
ENR_INLINE void pixels(const QDepthwiseCall& call, size_t x) {
  constexpr size_t kOutputs = kPaired ? 2 * kPixels : kPixels;
  const ptrdiff_t first = (ptrdiff_t)(x * kStride) - (ptrdiff_t)call.pad_left;
  if (first >= 0 && (size_t)first + (kOutputs - 1) * kStride + kWidth <= call.input_width) {
    pixels<L, kWidth, kStride, kPaired, kPixels, true>(call, x);
  } else {
    pixels<L, kWidth, kStride, kPaired, kPixels, false>(call, x);
  }
}

template <class L, size_t kWidth, size_t kStride>
void row_of(const QDepthwiseCall& call) {
  size_t x = 0;
  for (; x + 4 <= call.output_width; x += 4) pixels<L, kWidth, kStride, false, 4>(call, x);
  if (x + 2 <= call.output_width) {
    pixels<L, kWidth, kStride, false, 2>(call, x);
    x += 2;
  }
  if (x < call.output_width) pixels<L, kWidth, kStride, false, 1>(call, x);
}

#if ENR_DOT4_UNSIGNED
// At least two outputs; the last pair may overlap the one before.
template <class L, size_t kWidth, size_t kStride>
void pairs_of(const QDepthwiseCall& call) {
  size_t x = 0;
  for (; x + 8 <= call.output_width; x += 8) pixels<L, kWidth, kStride, true, 4>(call, x);
  for (; x + 2 <= call.output_width; x += 2) pixels<L, kWidth, kStride, true, 1>(call, x);
  if (x < call.output_width) pixels<L, kWidth, kStride, true, 1>(call, call.output_width - 2);
}
#endif

// A pixel of a row, where blocks may have fewer channels than they should.
template <bool kUnsigned>
ENR_INLINE Bytes load_any(const QDepthwiseCall& call, const QDepthwiseRow& row, size_t column) {
  const uint8_t* p = column < call.input_width ? row.pixels + column * row.step : call.padding;
  uint8_t copy[kBlock] = {};
  if (!Channels::kAnyNumber && call.channels < kBlock) {
    __builtin_memcpy(copy, p, call.channels);
    p = copy;
  }
  return load_row<kUnsigned>(p, Channels(call.channels));
}

// Any kernel, any number of channels.
template <bool kUnsigned>
void any_row(const QDepthwiseCall& call) {
  for (size_t x = 0; x < call.output_width; ++x) {
    I32 sum[kVectors];
    start(call, sum);
    const char* weights = weights_of(call);
    const QDepthwiseRow* rows = call.rows;
    const size_t first = x * call.stride - call.pad_left;
    Bytes bytes[kGroupRows];
    for (size_t g = 0; g < call.groups; ++g, rows += kGroupRows) {
      for (size_t kx = 0; kx < call.kernel_width; ++kx, weights += kColumnBytes) {
        for (size_t r = 0; r < kGroupRows; ++r)
          bytes[r] = load_any<kUnsigned>(call, rows[r], first + kx * call.dilation);
        add_column(sum, interleave(bytes), weights);
      }
    }
    for (size_t kx = 0; call.has_last_row && kx < call.kernel_width; kx += 2, weights += kColumnBytes) {
      bytes[0] = load_any<kUnsigned>(call, *rows, first + kx * call.dilation);
      bytes[1] = load_any<kUnsigned>(call, *rows, first + (kx + 1) * call.dilation);
      add_column(sum, interleave(bytes), weights);
    }
    uint8_t* output = call.output + x * call.output_step;
    if (Channels::kAnyNumber || call.channels == kBlock) {
      finish(call, sum, output);
    } else {
      uint8_t copy[kBlock];
      finish(call, sum, copy);
      __builtin_memcpy(output, copy, call.channels);
    }
  }
}

template <class L>
void row_as(const QDepthwiseCall& call) {
#if ENR_DOT4_UNSIGNED
  if (call.is_paired && call.dilation == 1 && call.output_width > 1) {
    if (call.kernel_width == 3 && call.stride == 1) return pairs_of<L, 3, 1>(call);
    if (call.kernel_width == 3 && call.stride == 2) return pairs_of<L, 3, 2>(call);
    if (call.kernel_width == 5 && call.stride == 1) return pairs_of<L, 5, 1>(call);
    if (call.kernel_width == 5 && call.stride == 2) return pairs_of<L, 5, 2>(call);
  }
#endif
  const bool plain = (Channels::kAnyNumber || call.channels == kBlock) && call.dilation == 1;
  if (plain && call.kernel_width == 3 && call.stride == 1) return row_of<L, 3, 1>(call);
  if (plain && call.kernel_width == 3 && call.stride == 2) return row_of<L, 3, 2>(call);
  if (plain && call.kernel_width == 5 && call.stride == 1) return row_of<L, 5, 1>(call);
  if (plain && call.kernel_width == 5 && call.stride == 2) return row_of<L, 5, 2>(call);
  any_row<L::kUnsigned>(call);
}

void row(const QDepthwiseCall& call) noexcept {
#if ENR_NARROWS
  if (PlainRequantization::serves(call.low, call.high, call.zero_point, call.flip, call.has_offsets)) {
    return row_as<Levels<PlainRequantization::kFlip != 0, PlainRequantization>>(call);
  }
#endif
  call.flip == 0 ? row_as<Levels<false, Requantization>>(call) : row_as<Levels<true, Requantization>>(call);
}

}  // namespace

const QDepthwiseTable& qdepthwise_table() {
  static constexpr QDepthwiseTable table{.block = kBlock,
                                         .group_rows = kGroupRows,
                                         .weight_bytes = ENR_DOT4 ? 1 : 2,
                                         .lanes = kLane,
                                         .vectors = kVectors,
                                         .offset = kOffset,
                                         .unsigned_offset = kUnsignedOffset,
                                         .pairs = ENR_DOT4_UNSIGNED,
                                         .row = &row};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
