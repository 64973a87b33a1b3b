#pragma once

// The rows of qdepthwise_table.h, for any instruction set; included by the files that are compiled for each.

#include "kernels/qdepthwise/qdepthwise_table.h"
#include "kernels/qgemm/dot.h"

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

#if ENR_DOT4
using Bytes = U8;
ENR_INLINE Bytes load_row(const uint8_t* p, uint8_t flip, Channels channels) {
#if defined(__AVX512BW__)
  const Bytes v = (Bytes)_mm512_maskz_loadu_epi8(channels.mask, p);
#else
  (void)channels;
  const Bytes v = (Bytes)load_bytes(p);
#endif
  return v ^ (uint8_t)(flip ^ kOffset);
}
#else
using Bytes = I16;
ENR_INLINE Bytes load_row(const uint8_t* p, uint8_t flip, Channels channels) {
#if defined(__AVX512BW__)
  const __m256i bytes = _mm256_maskz_loadu_epi8((__mmask32)channels.mask, p);
  const Bytes v = (Bytes)_mm512_maskz_cvtepi8_epi16(0xffffffffu, bytes);
#else
  (void)channels;
  const Bytes v = (Bytes)widen_half(p);
#endif
  return flip == 0 ? v : (v ^ (int16_t)(int8_t)flip) << 8 >> 8;
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

// A block of finished sums, as bytes in the order of channels.
ENR_INLINE void store_block(uint8_t* p, const I32 (&sum)[kVectors], uint8_t flip, Channels channels) {
#if defined(__AVX512BW__) && ENR_DOT4
  const __m512i low = _mm512_packs_epi32((__m512i)sum[0], (__m512i)sum[1]);
  const __m512i high = _mm512_packs_epi32((__m512i)sum[2], (__m512i)sum[3]);
  const I8 bytes = (I8)_mm512_packs_epi16(low, high) ^ (int8_t)flip;
  _mm512_mask_storeu_epi8(p, channels.mask, (__m512i)bytes);
#elif defined(__AVX512BW__)
  const __m512i numbers = _mm512_packs_epi32((__m512i)sum[0], (__m512i)sum[1]);
  const __m256i bytes = _mm512_maskz_cvtepi16_epi8(0xffffffffu, numbers);
  _mm256_mask_storeu_epi8(p, (__mmask32)channels.mask, _mm256_xor_si256(bytes, _mm256_set1_epi8((char)flip)));
#elif defined(__AVX2__) && ENR_DOT4
  const __m256i low = _mm256_packs_epi32((__m256i)sum[0], (__m256i)sum[1]);
  const __m256i high = _mm256_packs_epi32((__m256i)sum[2], (__m256i)sum[3]);
  const I8 bytes = (I8)_mm256_packs_epi16(low, high) ^ (int8_t)flip;
  memcpy(p, &bytes, sizeof bytes);
#elif defined(__AVX2__)
  const __m256i numbers = _mm256_packs_epi32((__m256i)sum[0], (__m256i)sum[1]);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
  _mm_storeu_si128((__m128i*)p, _mm_xor_si128(bytes, _mm_set1_epi8((char)flip)));
#else
  for (size_t q = 0; q < kVectors; ++q) store_low_bytes(p + q * kLane, sum[q] ^ (int32_t)flip);
#endif
  (void)channels;
}

ENR_INLINE void finish(const QDepthwiseCall& call, I32 (&sum)[kVectors], uint8_t* output) {
  const float* scales = (const float*)call.packed + kVectors * kLane;
  const F32 low = splat(call.low), high = splat(call.high);
#pragma GCC unroll 4
  for (size_t q = 0; q < kVectors; ++q) {
    const F32 scaled = to_float(sum[q]) * load(scales + q * kLane);
    sum[q] = round_to_int(clamp_number(scaled, low, high)) + call.zero_point;
  }
  store_block(output, sum, call.flip, Channels(call.channels));
}

constexpr size_t kColumnBytes = kVectors * kVectorBytes;  // of weights
ENR_INLINE const char* weights_of(const QDepthwiseCall& call) { return (const char*)call.packed + 2 * kColumnBytes; }

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

// kPixels neighbouring outputs from output column x on; a column that was loaded serves every output it belongs to.
template <size_t kWidth, size_t kStride, size_t kPixels>
void pixels(const QDepthwiseCall& call, size_t x) {
  I32 sum[kPixels][kVectors];
#pragma GCC unroll 4
  for (size_t t = 0; t < kPixels; ++t) start(call, sum[t]);
  const ptrdiff_t first = (ptrdiff_t)(x * kStride) - (ptrdiff_t)call.pad_left;
  const char* weights = weights_of(call);
  const QDepthwiseRow* rows = call.rows;
  const Channels channels(call.channels);
  for (size_t g = 0; g < call.groups; ++g, rows += kGroupRows, weights += kWidth * kColumnBytes) {
#pragma GCC unroll 16
    for (size_t c = 0; c < (kPixels - 1) * kStride + kWidth; ++c) {
      const size_t column = (size_t)(first + (ptrdiff_t)c);
      const bool inside = column < call.input_width;
      Bytes bytes[kGroupRows];
#pragma GCC unroll 4
      for (size_t r = 0; r < kGroupRows; ++r) {
        bytes[r] = load_row(inside ? rows[r].pixels + column * rows[r].step : call.padding, call.flip, channels);
      }
      const Column interleaved = interleave(bytes);
#pragma GCC unroll 4
      for (size_t t = 0; t < kPixels; ++t) {
        if (c >= t * kStride && c - t * kStride < kWidth) {
          add_column(sum[t], interleaved, weights + (c - t * kStride) * kColumnBytes);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (size_t t = 0; t < kPixels; ++t) finish(call, sum[t], call.output + (x + t) * call.output_step);
}

template <size_t kWidth, size_t kStride>
void row_of(const QDepthwiseCall& call) {
  size_t x = 0;
  for (; x + 4 <= call.output_width; x += 4) pixels<kWidth, kStride, 4>(call, x);
  if (x + 2 <= call.output_width) {
    pixels<kWidth, kStride, 2>(call, x);
    x += 2;
  }
  if (x < call.output_width) pixels<kWidth, kStride, 1>(call, x);
}

// Any kernel, and blocks that have fewer channels than they should.
void any_row(const QDepthwiseCall& call) {
  for (size_t x = 0; x < call.output_width; ++x) {
    I32 sum[kVectors];
    start(call, sum);
    const char* weights = weights_of(call);
    for (size_t g = 0; g < call.groups; ++g) {
      const QDepthwiseRow* rows = call.rows + g * kGroupRows;
      for (size_t kx = 0; kx < call.kernel_width; ++kx, weights += kColumnBytes) {
        const size_t column = x * call.stride + kx * call.dilation - call.pad_left;
        Bytes bytes[kGroupRows];
        for (size_t r = 0; r < kGroupRows; ++r) {
          const uint8_t* p = column < call.input_width ? rows[r].pixels + column * rows[r].step : call.padding;
          uint8_t copy[kBlock] = {};
          if (!Channels::kAnyNumber && call.channels < kBlock) {
            __builtin_memcpy(copy, p, call.channels);
            p = copy;
          }
          bytes[r] = load_row(p, call.flip, Channels(call.channels));
        }
        add_column(sum, interleave(bytes), weights);
      }
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

void row(const QDepthwiseCall& call) noexcept {
  const bool plain = (Channels::kAnyNumber || call.channels == kBlock) && call.dilation == 1;
  if (plain && call.kernel_width == 3 && call.stride == 1) return row_of<3, 1>(call);
  if (plain && call.kernel_width == 3 && call.stride == 2) return row_of<3, 2>(call);
  if (plain && call.kernel_width == 5 && call.stride == 1) return row_of<5, 1>(call);
  if (plain && call.kernel_width == 5 && call.stride == 2) return row_of<5, 2>(call);
  any_row(call);
}

}  // namespace

const QDepthwiseTable& qdepthwise_table() {
  static constexpr QDepthwiseTable table{.block = kBlock,
                                         .group_rows = kGroupRows,
                                         .weight_bytes = ENR_DOT4 ? 1 : 2,
                                         .lanes = kLane,
                                         .vectors = kVectors,
                                         .offset = kOffset,
                                         .row = &row};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
