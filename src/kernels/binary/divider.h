#pragma once

// Division of many integers by one: a multiplication and a shift (Granlund and Montgomery, "Division by Invariant
// Integers using Multiplication").

#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

template <class T>
struct DivisionTypes;
template <>
struct DivisionTypes<int32_t> {
  using Unsigned = uint32_t;
  using Wide = uint64_t;
};
template <>
struct DivisionTypes<int64_t> {
  using Unsigned = uint64_t;
  __extension__ typedef unsigned __int128 Wide;
};

template <>
struct DivisionTypes<int16_t> {
  using Unsigned = uint16_t;
  using Wide = uint32_t;
};

// T: int16_t, int32_t or int64_t. The divisor is positive.
template <class T>
class Divider {
  using Unsigned = typename DivisionTypes<T>::Unsigned;
  using Wide = typename DivisionTypes<T>::Wide;
  static constexpr int kBits = 8 * sizeof(T);

 public:
  // 2^(kBits - 1 + shift) / divisor, rounded up, is off by less than what the quotient of a number below
  // 2^(kBits - 1) could show, and fits.
  explicit Divider(T divisor) : divisor_(divisor) {
    while (shift_ < kBits - 1 && (Unsigned{1} << shift_) < static_cast<Unsigned>(divisor)) ++shift_;
    multiplier_ = static_cast<Unsigned>((Wide{1} << (kBits - 1 + shift_)) / static_cast<Unsigned>(divisor) + 1);
  }

  // Rounded down: of a negative number as of its complement, x / d = ~(~x / d).
  ENR_INLINE T floor(T x) const {
    const T sign = sign_of(x);
    const Unsigned doubled = static_cast<Unsigned>(static_cast<Unsigned>(x ^ sign) << 1);
    const Unsigned high = static_cast<Unsigned>(static_cast<Wide>(doubled) * multiplier_ >> kBits);
    return static_cast<T>(static_cast<T>(high >> shift_) ^ sign);
  }
  // x - floor(x) * divisor, which is not negative.
  ENR_INLINE T rest(T x, T quotient) const {
    const Unsigned whole =
        static_cast<Unsigned>(static_cast<Wide>(static_cast<Unsigned>(quotient)) * static_cast<Unsigned>(divisor_));
    return static_cast<T>(static_cast<Unsigned>(x) - whole);
  }
  // All ones where rounding towards 0 gives one more: x is negative, and something is left.
  ENR_INLINE T is_below(T x, T rest) const { return static_cast<T>(sign_of(x) & sign_of(static_cast<T>(-rest))); }
  ENR_INLINE T divisor() const { return divisor_; }
  Unsigned multiplier() const { return multiplier_; }
  int shift() const { return shift_; }

 private:
  static ENR_INLINE T sign_of(T x) { return static_cast<T>(x >> (kBits - 1)); }

  T divisor_;
  Unsigned multiplier_;
  int shift_ = 0;
};

#if defined(__AVX2__)
// Of vectors of int64, whose products are put together from those of their halves.
class VectorDivider {
  using U64 = Vec<uint64_t>;

 public:
  explicit VectorDivider(const Divider<int64_t>& by)
      : divisor_(splat<int64_t>(by.divisor())),
        divisor_high_((I64)((U64)divisor_ >> 32)),
        multiplier_((I64)splat<uint64_t>(by.multiplier())),
        multiplier_high_((I64)((U64)multiplier_ >> 32)),
        shift_(by.shift()) {}

  ENR_INLINE I64 floor(I64 x) const {
    const I64 sign = x >> 63;
    return (I64)(high_of_product((I64)((U64)(x ^ sign) << 1)) >> shift_) ^ sign;
  }
  ENR_INLINE I64 rest(I64 x, I64 quotient) const {
    const U64 cross = multiply(quotient, divisor_high_) + multiply((I64)((U64)quotient >> 32), divisor_);
    return (I64)((U64)x - multiply(quotient, divisor_) - (cross << 32));
  }
  ENR_INLINE I64 is_below(I64 x, I64 rest) const { return (x & -rest) >> 63; }
  ENR_INLINE I64 divisor() const { return divisor_; }

 private:
  // Of the lower halves.
  static ENR_INLINE U64 multiply(I64 x, I64 y) {
#if defined(__AVX512F__)
    return (U64)_mm512_mul_epu32((__m512i)x, (__m512i)y);
#else
    return (U64)_mm256_mul_epu32((__m256i)x, (__m256i)y);
#endif
  }
  ENR_INLINE U64 high_of_product(I64 x) const {
    const I64 x_high = (I64)((U64)x >> 32);
    const U64 upper = multiply(x_high, multiplier_) + (multiply(x, multiplier_) >> 32);
    const U64 lower = multiply(x, multiplier_high_) + (upper & 0xFFFFFFFFu);
    return multiply(x_high, multiplier_high_) + (upper >> 32) + (lower >> 32);
  }

  I64 divisor_, divisor_high_, multiplier_, multiplier_high_;
  int shift_;
};
#endif

// Of bytes: no quotient of one needs a shift. The divisor is at least 2.
template <class T>
  requires(sizeof(T) == 1)
class Divider<T> {
 public:
  explicit Divider(T divisor) : divisor_(divisor), multiplier_(static_cast<uint16_t>(65536 / divisor + 1)) {}

  ENR_INLINE T floor(T x) const {
    const T sign = sign_of(x);
    const uint8_t magnitude = static_cast<uint8_t>(x ^ sign);
    return static_cast<T>(static_cast<T>((uint32_t{magnitude} * multiplier_) >> 16) ^ sign);
  }
  ENR_INLINE T rest(T x, T quotient) const { return static_cast<T>(x - quotient * divisor_); }
  ENR_INLINE T is_below(T x, T rest) const { return rest != 0 ? sign_of(x) : T{0}; }
  ENR_INLINE T divisor() const { return divisor_; }

 private:
  static ENR_INLINE T sign_of(T x) { return static_cast<T>(x < 0 ? -1 : 0); }

  T divisor_;
  uint16_t multiplier_;
};

}  // namespace enr::kernels::ENR_ISA
