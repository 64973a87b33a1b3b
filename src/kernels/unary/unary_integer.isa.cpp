#include "kernels/simd/extremes.h"
#include "kernels/unary/loops.h"

namespace enr::kernels::ENR_ISA {
namespace {

// Out is what is written for each In; F(params)(In).
template <class Out, class In, class F>
void run(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const F f(params);
  const In* x = static_cast<const In*>(in[0]);
  Out* y = static_cast<Out*>(out);
  if (step[0] == 0) {
    const Out value = static_cast<Out>(f(*x));
    for (size_t i = 0; i < n; ++i) y[i] = value;
    return;
  }
  ENR_NO_ALIAS_LOOP
  for (size_t i = 0; i < n; ++i) y[i] = static_cast<Out>(f(x[i]));
}

#define ENR_FUNCTION(name, value)                          \
  struct name {                                            \
    LoopParams p;                                          \
    explicit name(const LoopParams& params) : p(params) {} \
    template <class T>                                     \
    ENR_INLINE auto operator()(T x) const {                \
      return value;                                        \
    }                                                      \
  };

// Integers wrap: the arithmetic is unsigned, of the type's own width where that is at least 32 bits.
template <class T>
struct Unsigned {
  using type = uint32_t;
};
template <>
struct Unsigned<int64_t> {
  using type = uint64_t;
};
template <class T>
ENR_INLINE typename Unsigned<T>::type wrap(T x) {
  return static_cast<typename Unsigned<T>::type>(x);
}
template <class T>
ENR_INLINE T clamp(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

ENR_FUNCTION(IntAbs, static_cast<T>(x < 0 ? 0 - wrap(x) : wrap(x)))
ENR_FUNCTION(IntNeg, static_cast<T>(0 - wrap(x)))
ENR_FUNCTION(IntSign, static_cast<T>((x > 0) - (x < 0)))
ENR_FUNCTION(IntSquare, static_cast<T>(wrap(x) * wrap(x)))
ENR_FUNCTION(IntRelu, x < 0 ? T{0} : x)
ENR_FUNCTION(IntClamp, clamp(x, static_cast<T>(p.i), static_cast<T>(p.j)))
ENR_FUNCTION(IntScale, static_cast<T>(wrap(x) * wrap(static_cast<T>(p.i)) + wrap(static_cast<T>(p.j))))
ENR_FUNCTION(IntNot, static_cast<T>(~x))
ENR_FUNCTION(HalfAbs, static_cast<T>(x & 0x7fff))
ENR_FUNCTION(HalfNeg, static_cast<T>(x ^ 0x8000))
ENR_FUNCTION(BoolIsFalse, x == 0)
ENR_FUNCTION(Never, x != x)
ENR_FUNCTION(Always, x == x)
ENR_FUNCTION(IsNegative, x < 0)
ENR_FUNCTION(IsNan, x != x)
#undef ENR_FUNCTION

// Comparing bits keeps these independent of how the processor treats NaN and denormals.
struct FloatBits {
  static constexpr uint32_t kInfinity = 0x7f800000u;
  static constexpr uint32_t kSign = 0x80000000u;
};
struct DoubleBits {
  static constexpr uint64_t kInfinity = 0x7ff0000000000000u;
  static constexpr uint64_t kSign = 0x8000000000000000u;
};
template <class Bits>
struct BitsIsInf {
  explicit BitsIsInf(const LoopParams&) {}
  template <class T>
  ENR_INLINE bool operator()(T bits) const {
    return (bits & ~Bits::kSign) == Bits::kInfinity;
  }
};
template <class Bits>
struct BitsIsFinite {
  explicit BitsIsFinite(const LoopParams&) {}
  template <class T>
  ENR_INLINE bool operator()(T bits) const {
    return (bits & ~Bits::kSign) < Bits::kInfinity;
  }
};
template <class Bits>
struct BitsSign {
  explicit BitsSign(const LoopParams&) {}
  template <class T>
  ENR_INLINE bool operator()(T bits) const {
    return (bits & Bits::kSign) != 0;
  }
};

// Whether bytes are 0, without a comparison, whose result would have to be masked.
template <class V>
struct BytesAreZero {
  explicit BytesAreZero(const LoopParams&) {}
  ENR_INLINE V operator()(V x) const {
    const V one = splat<uint8_t>(1);
    return smaller(x, one) ^ one;
  }
};

template <class T>
void fill(LoopFn* rows) {
  rows[static_cast<int>(Unary::kAbs)] = &run<T, T, IntAbs>;
  rows[static_cast<int>(Unary::kNeg)] = &run<T, T, IntNeg>;
  rows[static_cast<int>(Unary::kSign)] = &run<T, T, IntSign>;
  rows[static_cast<int>(Unary::kSquare)] = &run<T, T, IntSquare>;
  rows[static_cast<int>(Unary::kRelu)] = &run<T, T, IntRelu>;
  rows[static_cast<int>(Unary::kClamp)] = &run<T, T, IntClamp>;
  rows[static_cast<int>(Unary::kScale)] = &run<T, T, IntScale>;
  rows[static_cast<int>(Unary::kBitwiseNot)] = &run<T, T, IntNot>;
}

template <class T, class Word, class Bits>
void fill_floating_predicates(LoopFn* rows) {
  rows[static_cast<int>(Predicate::kIsNan)] = &run<uint8_t, T, IsNan>;
  rows[static_cast<int>(Predicate::kIsInf)] = &run<uint8_t, Word, BitsIsInf<Bits>>;
  rows[static_cast<int>(Predicate::kIsFinite)] = &run<uint8_t, Word, BitsIsFinite<Bits>>;
  rows[static_cast<int>(Predicate::kSignBit)] = &run<uint8_t, Word, BitsSign<Bits>>;
  rows[static_cast<int>(Predicate::kLogicalNot)] = &run<uint8_t, T, BoolIsFalse>;
}

template <class T>
void fill_integer_predicates(LoopFn* rows) {
  rows[static_cast<int>(Predicate::kIsNan)] = &run<uint8_t, T, Never>;
  rows[static_cast<int>(Predicate::kIsInf)] = &run<uint8_t, T, Never>;
  rows[static_cast<int>(Predicate::kIsFinite)] = &run<uint8_t, T, Always>;
  rows[static_cast<int>(Predicate::kSignBit)] = &run<uint8_t, T, IsNegative>;
  rows[static_cast<int>(Predicate::kLogicalNot)] = &run<uint8_t, T, BoolIsFalse>;
}

}  // namespace

void fill_unary_integer(UnaryTable& table) {
  fill<int64_t>(table.i64);
  fill<int32_t>(table.i32);
  fill<int16_t>(table.i16);
  fill<int8_t>(table.i8);
  fill<uint8_t>(table.u8);
  table.halves[static_cast<int>(Unary::kAbs)] = &run<uint16_t, uint16_t, HalfAbs>;
  table.halves[static_cast<int>(Unary::kNeg)] = &run<uint16_t, uint16_t, HalfNeg>;
  table.b8[static_cast<int>(Unary::kBitwiseNot)] = &run_unary<uint8_t, BytesAreZero>;
  fill_floating_predicates<float, uint32_t, FloatBits>(table.predicate_f32);
  fill_floating_predicates<double, uint64_t, DoubleBits>(table.predicate_f64);
  fill_integer_predicates<int64_t>(table.predicate_i64);
  fill_integer_predicates<uint8_t>(table.predicate_b8);
  constexpr int is_zero = static_cast<int>(Predicate::kLogicalNot);
  table.predicate_b8[is_zero] = table.predicate_i8[is_zero] = &run_unary<uint8_t, BytesAreZero>;
  table.predicate_i32[is_zero] = &run<uint8_t, int32_t, BoolIsFalse>;
  table.predicate_i16[is_zero] = &run<uint8_t, int16_t, BoolIsFalse>;
}

}  // namespace enr::kernels::ENR_ISA
