#include <limits>

#include "kernels/isa.h"
#include "kernels/qelementwise/qbinary.h"
#include "kernels/qelementwise/qelementwise_table.h"
#include "kernels/qgemm/requantize.h"
#include "kernels/simd/integer.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {
namespace {

constexpr size_t kLane = kF32Lanes;

ENR_INLINE I32 clamp_int(I32 v, I32 low, I32 high) {
  v = v > high ? high : v;
  return v < low ? low : v;
}

// A vector of T as int32; of the last ones of an array, `count` only. A step of 0 repeats one number.
template <class T>
ENR_INLINE I32 load_stepped(const T* p, size_t step, size_t count) {
  if (step == 0) return I32{} + (int32_t)*p;
  if (count >= kLane) return load_wide(p);
  T copy[kLane] = {};
  for (size_t i = 0; i < count; ++i) copy[i] = p[i];
  return load_wide(copy);
}

template <class T>
ENR_INLINE void store_bytes(T* p, I32 v, size_t count) {
  if (count >= kLane) {
    store_low_bytes(p, v);
  } else {
    store_low_bytes_first(p, v, count);
  }
}

// f: the sum or product in quanta of the result, less its zero point.
template <class T, class F>
ENR_INLINE void binary_loop(const QBinaryParams& p, size_t n, const T* a, size_t a_step, const T* b, size_t b_step,
                            T* out, F f) {
  size_t i = 0;
#if ENR_NARROWS
  constexpr uint8_t kFlip = std::numeric_limits<T>::min() == 0 ? 0x80 : 0;
  const Requantization to((float)(p.min - p.output_zero_point), (float)(p.max - p.output_zero_point),
                          p.output_zero_point - kFlip, kFlip);
  for (; i + 4 * kLane <= n; i += 4 * kLane) {
    I32 result[4];
#pragma GCC unroll 4
    for (size_t q = 0; q < 4; ++q) {
      const size_t at = i + q * kLane;
      result[q] = f(load_stepped(a + at * a_step, a_step, kLane), load_stepped(b + at * b_step, b_step, kLane));
    }
    const I8 bytes = in_lane_order(to.bytes(result[0], result[1], result[2], result[3]));
    memcpy(out + i, &bytes, sizeof bytes);
  }
#endif
  const I32 zero_point = I32{} + p.output_zero_point, low = I32{} + p.min, high = I32{} + p.max;
  for (; i < n; i += kLane) {
    const I32 result = f(load_stepped(a + i * a_step, a_step, n - i), load_stepped(b + i * b_step, b_step, n - i));
    store_bytes(out + i, clamp_int(result + zero_point, low, high), n - i);
  }
}

template <class T>
void binary(const QBinaryParams& p, size_t n, const void* a, size_t a_step, const void* b, size_t b_step,
            void* out) noexcept {
  if (p.op == QBinary::kMultiply) {
    const I32 a_zero = I32{} + p.a_zero_point, b_zero = I32{} + p.b_zero_point;
    const F32 scale = splat(p.scale);
    binary_loop(p, n, (const T*)a, a_step, (const T*)b, b_step, (T*)out,
                [&](I32 x, I32 y) { return round_to_int(to_float((x - a_zero) * (y - b_zero)) * scale); });
    return;
  }
  const I32 bias = I32{} + p.bias, a_factor = I32{} + p.a_multiplier, b_factor = I32{} + p.b_multiplier;
  const int shift = (int)p.shift;
  binary_loop(p, n, (const T*)a, a_step, (const T*)b, b_step, (T*)out,
              [&](I32 x, I32 y) { return (bias + x * a_factor + y * b_factor) >> shift; });
}

// A register of bytes through the table. pshufb looks up 16 entries and gives 0 where the index is negative: of the
// indices i, i - 16, i - 32, ... those that are not negative add up (by XOR of neighbouring entries) to the wanted one.
#if defined(__AVX512BW__)
struct Lookup {
  __m512i entries[16];
  ENR_INLINE explicit Lookup(const uint8_t* table) {
    for (size_t k = 0; k < 16; ++k) {
      __m128i part = _mm_loadu_si128((const __m128i*)(table + 16 * k));
      if (k % 8 != 0) part = _mm_xor_si128(part, _mm_loadu_si128((const __m128i*)(table + 16 * k - 16)));
      entries[k] = _mm512_maskz_broadcast_i32x4(0xffff, part);
    }
  }
  ENR_INLINE I8 operator()(I8 in) const {
    const __m512i step = _mm512_set1_epi8(16);
    __m512i index = (__m512i)in, upper = _mm512_xor_si512(index, _mm512_set1_epi8((char)0x80));
    __m512i result = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      result = _mm512_ternarylogic_epi32(result, _mm512_shuffle_epi8(entries[k], index),
                                         _mm512_shuffle_epi8(entries[8 + k], upper), 0x96);
      index = _mm512_subs_epi8(index, step);
      upper = _mm512_subs_epi8(upper, step);
    }
    return (I8)result;
  }
};
#elif defined(__AVX2__)
struct Lookup {
  __m256i entries[16];
  ENR_INLINE explicit Lookup(const uint8_t* table) {
    for (size_t k = 0; k < 16; ++k) {
      __m128i part = _mm_loadu_si128((const __m128i*)(table + 16 * k));
      if (k % 8 != 0) part = _mm_xor_si128(part, _mm_loadu_si128((const __m128i*)(table + 16 * k - 16)));
      entries[k] = _mm256_broadcastsi128_si256(part);
    }
  }
  ENR_INLINE I8 operator()(I8 in) const {
    const __m256i step = _mm256_set1_epi8(16);
    __m256i index = (__m256i)in, upper = _mm256_xor_si256(index, _mm256_set1_epi8((char)0x80));
    __m256i result = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      result = _mm256_xor_si256(result, _mm256_shuffle_epi8(entries[k], index));
      result = _mm256_xor_si256(result, _mm256_shuffle_epi8(entries[8 + k], upper));
      index = _mm256_subs_epi8(index, step);
      upper = _mm256_subs_epi8(upper, step);
    }
    return (I8)result;
  }
};
#elif defined(__aarch64__)
struct Lookup {
  uint8x16x4_t entries[4];
  ENR_INLINE explicit Lookup(const uint8_t* table) {
    for (size_t k = 0; k < 4; ++k) entries[k] = vld1q_u8_x4(table + 64 * k);
  }
  ENR_INLINE I8 operator()(I8 in) const {
    const uint8x16_t index = (uint8x16_t)in, step = vdupq_n_u8(64);
    uint8x16_t result = vqtbl4q_u8(entries[0], index), next = vsubq_u8(index, step);
    result = vqtbx4q_u8(result, entries[1], next);
    next = vsubq_u8(next, step);
    result = vqtbx4q_u8(result, entries[2], next);
    return (I8)vqtbx4q_u8(result, entries[3], vsubq_u8(next, step));
  }
};
#endif

void apply_lut(const uint8_t* table, const uint8_t* in, uint8_t* out, size_t n) noexcept {
  size_t i = 0;
#if defined(__AVX2__) || defined(__aarch64__)
  if (n >= 4 * kVectorBytes) {  // making the tables pays
    const Lookup lookup(table);
    for (; i + kVectorBytes <= n; i += kVectorBytes) {
      I8 v;
      memcpy(&v, in + i, sizeof v);
      v = lookup(v);
      memcpy(out + i, &v, sizeof v);
    }
  }
#endif
  for (; i < n; ++i) out[i] = table[in[i]];
}

template <class T>
void clamp(const void* in, void* out, size_t n, int32_t min, int32_t max) noexcept {
  const T *from = (const T*)in, low = (T)min, high = (T)max;
  T* to = (T*)out;
  ENR_NO_ALIAS_LOOP
  for (size_t i = 0; i < n; ++i) {
    const T v = from[i] > high ? high : from[i];
    to[i] = v < low ? low : v;
  }
}

template <class T>
void sum_rows(const void* in, size_t rows, size_t stride, size_t n, int32_t* sums) noexcept {
  const T* from = (const T*)in;
  if (n == 1 && stride == 1) {
    int32_t sum = 0;
    for (size_t r = 0; r < rows; ++r) sum += from[r];
    *sums = sum;
    return;
  }
  size_t i = 0;
  for (; i + 4 * kLane <= n; i += 4 * kLane) {
    I32 sum[4] = {};
    const T* p = from + i;
    for (size_t r = 0; r < rows; ++r, p += stride) {
#pragma GCC unroll 4
      for (size_t k = 0; k < 4; ++k) sum[k] += load_wide(p + k * kLane);
    }
    for (size_t k = 0; k < 4; ++k) store(sums + i + k * kLane, sum[k]);
  }
  for (; i < n; i += kLane) {
    I32 sum{};
    for (size_t r = 0; r < rows; ++r) sum += load_stepped(from + r * stride + i, 1, n - i);
    for (size_t k = 0; k < kLane && i + k < n; ++k) sums[i + k] = sum[k];
  }
}

template <class T>
void scale_sums(const int32_t* sums, size_t n, float scale, float shift, void* out) noexcept {
  const F32 scales = splat(scale), shifts = splat(shift);
  constexpr float kLow = (T)-1 < 0 ? -128.0f : 0.0f;
  const F32 low = splat(kLow), high = splat(kLow + 255.0f);
  for (size_t i = 0; i < n; i += kLane) {
    I32 sum{};
    if (i + kLane <= n) {
      sum = load(sums + i);
    } else {
      for (size_t k = 0; i + k < n; ++k) sum[k] = sums[i + k];
    }
    const F32 scaled = to_float(sum) * scales;
    store_bytes((T*)out + i, round_to_int(clamp_number(scaled + shifts, low, high)), n - i);
  }
}

// kVectors of them from channel i on; of the last ones of a pixel fewer.
template <size_t kVectors, class T>
ENR_INLINE void average_channels(const QAverage& w, size_t i, size_t channels, T* out) {
  I32 sum[kVectors];
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) sum[v] = I32{} - w.taken;
  const T* row = (const T*)w.pixels + i;
  for (size_t y = 0; y < w.rows; ++y, row += w.row_stride) {
    const T* pixel = row;
    for (size_t x = 0; x < w.columns; ++x, pixel += w.pixel_stride) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) sum[v] += load_stepped(pixel + v * kLane, 1, channels - i - v * kLane);
    }
  }
  const F32 scale = splat(w.scale), low = splat(w.low), high = splat(w.high);
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    const I32 value = round_to_int(clamp_number(to_float(sum[v]) * scale, low, high)) + w.zero_point;
    store_bytes(out + i + v * kLane, value, channels - i - v * kLane);
  }
}

template <class T>
void average(const QAverage& window, size_t channels, void* out) noexcept {
  size_t i = 0;
  for (; i + 4 * kLane <= channels; i += 4 * kLane) average_channels<4>(window, i, channels, (T*)out);
  for (; i < channels; i += kLane) average_channels<1>(window, i, channels, (T*)out);
}

template <class T>
void bilinear(const QBilinear& pixel, size_t channels, void* out) noexcept {
  const I32 right = I32{} + pixel.right, lower = I32{} + pixel.lower;
  for (size_t i = 0; i < channels; i += kLane) {
    const size_t count = channels - i;
    const I32 top_left = load_stepped((const T*)pixel.top_left + i, 1, count);
    const I32 top_right = load_stepped((const T*)pixel.top_right + i, 1, count);
    const I32 bottom_left = load_stepped((const T*)pixel.bottom_left + i, 1, count);
    const I32 bottom_right = load_stepped((const T*)pixel.bottom_right + i, 1, count);
    const I32 top = top_left * 2048 + (top_right - top_left) * right;
    const I32 bottom = bottom_left * 2048 + (bottom_right - bottom_left) * right;
    store_bytes((T*)out + i, (top * 2048 + (bottom - top) * lower + (1 << 21)) >> 22, count);
  }
}

}  // namespace

const QElementwiseTable& qelementwise_table() {
  static constexpr QElementwiseTable table{
      .binary = {&binary<int8_t>, &binary<uint8_t>},
      .apply_lut = &apply_lut,
      .clamp = {&clamp<int8_t>, &clamp<uint8_t>},
      .sum_rows = {&sum_rows<int8_t>, &sum_rows<uint8_t>},
      .scale_sums = {&scale_sums<int8_t>, &scale_sums<uint8_t>},
      .average = {&average<int8_t>, &average<uint8_t>},
      .bilinear = {&bilinear<int8_t>, &bilinear<uint8_t>},
  };
  return table;
}

}  // namespace enr::kernels::ENR_ISA
