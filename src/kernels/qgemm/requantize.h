#pragma once

// From sums to 8 bits, what statically quantised products end with: scaled, moved, rounded, narrowed with saturation,
// clamped.
// Values are int8; `flip` of 0x80 makes them uint8.

#include "kernels/qgemm/dot.h"
#include "kernels/simd/integer.h"

namespace enr::kernels::ENR_ISA {

// low and high: the clamp less the zero point; zero_point: as int8.
struct Requantization {
#if ENR_NARROWS
  F32 top;
  I16 zero_point;
  I8 low, high, flip;
  ENR_INLINE Requantization(float low_value, float high_value, int32_t zero, uint8_t flips)
      : top(splat(high_value)),
        zero_point(I16{} + (int16_t)zero),
        low(I8{} + (int8_t)((int32_t)low_value + zero)),
        high(I8{} + (int8_t)((int32_t)high_value + zero)),
        flip(I8{} + (int8_t)flips) {}
  // Round to nearest, ties to even. The products must stay below 2^31; far below -2^31 they are INT32_MIN.
  ENR_INLINE I32 scaled(I32 sum, F32 scale, F32 offset) const { return round_to_int(to_float(sum) * scale + offset); }
  // The same of any product.
  ENR_INLINE I32 scaled_any(I32 sum, F32 scale, F32 offset) const {
    return round_to_int(min_keep_nan(to_float(sum) * scale + offset, top));
  }
  // Four scaled vectors: a 128-bit piece holds four lanes of each.
  ENR_INLINE I8 bytes(I32 a, I32 b, I32 c, I32 d) const { return bytes(narrow(a, b), narrow(c, d)); }
  ENR_INLINE I8 bytes(I16 ab, I16 cd) const {
    const I8 levels = narrow(saturating_sum(ab, zero_point), saturating_sum(cd, zero_point));
    return smaller(larger(levels, low), high) ^ flip;
  }
#else
  F32 low, high;
  I32 zero_point;
  ENR_INLINE Requantization(float low_value, float high_value, int32_t zero, uint8_t flips)
      : low(splat(low_value)), high(splat(high_value)), zero_point(I32{} + (zero + flips)) {}
  // The low bytes are the result.
  ENR_INLINE I32 scaled(I32 sum, F32 scale, F32 offset) const {
    return round_to_int(clamp_number(to_float(sum) * scale + offset, low, high)) + zero_point;
  }
  ENR_INLINE I32 scaled_any(I32 sum, F32 scale, F32 offset) const { return scaled(sum, scale, offset); }
#endif
};

#if ENR_NARROWS
// The same without offsets and any clamp but what narrowing does, of what levels are where dots have a choice: uint8
// where they take unsigned activations, else int8.
struct PlainRequantization {
  I16 zero_point;
  ENR_INLINE PlainRequantization(float, float, int32_t zero, uint8_t flips)
      : zero_point(I16{} + (int16_t)(zero + flips)) {}
  static bool serves(float low, float high, int32_t zero, uint8_t flips, bool has_offsets) {
    return !has_offsets && flips == kFlip && (int32_t)low + zero == -128 && (int32_t)high + zero == 127;
  }
  ENR_INLINE I32 scaled(I32 sum, F32 scale, F32) const { return round_to_int(to_float(sum) * scale); }
  ENR_INLINE I8 bytes(I32 a, I32 b, I32 c, I32 d) const { return bytes(narrow(a, b), narrow(c, d)); }
  ENR_INLINE I8 bytes(I16 ab, I16 cd) const {
    const I16 first = saturating_sum(ab, zero_point), second = saturating_sum(cd, zero_point);
    return kFlip == 0 ? narrow(first, second) : narrow_unsigned(first, second);
  }
  static constexpr uint8_t kFlip = ENR_DOT4_UNSIGNED ? 0x80 : 0;
};
#else
struct PlainRequantization : Requantization {
  using Requantization::Requantization;
  static constexpr bool serves(float, float, int32_t, uint8_t, bool) { return false; }
};
#endif

}  // namespace enr::kernels::ENR_ISA
