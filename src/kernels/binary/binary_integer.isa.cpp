#include "kernels/binary/divider.h"
#include "kernels/binary/loops.h"

namespace enr::kernels::ENR_ISA {
namespace {

// Integers wrap: arithmetic goes through an unsigned type of at least 32 bits.
template <class T>
struct Wrapping {
  using type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using type = uint64_t;
};
template <>
struct Wrapping<uint64_t> {
  using type = uint64_t;
};
template <class T>
ENR_INLINE auto wrap(T x) {
  return static_cast<typename Wrapping<T>::type>(x);
}
template <class T>
inline constexpr bool kIsSigned = static_cast<T>(-1) < T{0};

// Up to 16 bits are divided in float, which has vectors for it: no quotient rounds up to the next whole number, as it
// is farther from that than 1 / y.
template <class T>
ENR_INLINE T divide_truncating(T x, T y) {
  if constexpr (sizeof(T) <= 2) {
    const int quotient = static_cast<int>(static_cast<float>(x) / static_cast<float>(y == 0 ? T{1} : y));
    return static_cast<T>(y == 0 ? 0 : quotient);
  }
  if (y == 0) return 0;
  if constexpr (kIsSigned<T>) {
    if (y == -1) return static_cast<T>(0 - wrap(x));
  }
  return static_cast<T>(x / y);
}
template <class T>
ENR_INLINE T remainder_truncating(T x, T y) {
  if constexpr (sizeof(T) <= 2) return static_cast<T>(y == 0 ? 0 : x - divide_truncating(x, y) * y);
  if (y == 0) return 0;
  if constexpr (kIsSigned<T>) {
    if (y == -1) return 0;
  }
  return static_cast<T>(x % y);
}
template <class T>
ENR_INLINE T divide_floor(T x, T y) {
  const T quotient = divide_truncating(x, y);
  if constexpr (kIsSigned<T>) {
    const bool is_above = (remainder_truncating(x, y) != 0) & ((x < 0) != (y < 0));
    return is_above ? static_cast<T>(quotient - 1) : quotient;
  }
  return quotient;
}
template <class T>
ENR_INLINE T remainder_floor(T x, T y) {
  const T rest = remainder_truncating(x, y);
  if constexpr (kIsSigned<T>) {
    const bool is_other = (rest != 0) & ((rest < 0) != (y < 0));
    return is_other ? static_cast<T>(rest + y) : rest;
  }
  return rest;
}
template <class T>
ENR_INLINE T power(T x, T y) {
  if constexpr (kIsSigned<T>) {
    if (y < 0) return x == 1 ? T{1} : x == -1 ? (y % 2 == 0 ? T{1} : static_cast<T>(-1)) : T{0};
  }
  auto base = wrap(x);
  auto result = wrap(T{1});
  for (auto exponent = wrap(y); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}
template <class T>
ENR_INLINE bool is_shift(T count) {
  return count >= 0 && wrap(count) < 8 * sizeof(T);
}
template <class T>
ENR_INLINE T shift_left(T x, T count) {
  return is_shift(count) ? static_cast<T>(wrap(x) << wrap(count)) : T{0};
}
template <class T>
ENR_INLINE T shift_right(T x, T count) {
  if (is_shift(count)) return static_cast<T>(x >> count);
  return x < 0 ? static_cast<T>(-1) : T{0};
}

#define ENR_FUNCTION(name, value)                      \
  struct name {                                        \
    int64_t alpha;                                     \
    explicit name(const LoopParams& p) : alpha(p.i) {} \
    template <class T>                                 \
    ENR_INLINE T operator()(T x, T y) const {          \
      return static_cast<T>(value);                    \
    }                                                  \
  };

ENR_FUNCTION(Add, wrap(x) + wrap(static_cast<T>(alpha)) * wrap(y))
ENR_FUNCTION(Sub, wrap(x) - wrap(static_cast<T>(alpha)) * wrap(y))
ENR_FUNCTION(PlainAdd, wrap(x) + wrap(y))
ENR_FUNCTION(PlainSub, wrap(x) - wrap(y))
ENR_FUNCTION(Mul, wrap(x) * wrap(y))
ENR_FUNCTION(DivFloor, divide_floor(x, y))
ENR_FUNCTION(DivTrunc, divide_truncating(x, y))
ENR_FUNCTION(Fmod, remainder_truncating(x, y))
ENR_FUNCTION(Remainder, remainder_floor(x, y))
ENR_FUNCTION(Pow, power(x, y))
ENR_FUNCTION(Maximum, x > y ? x : y)
ENR_FUNCTION(Minimum, x < y ? x : y)
ENR_FUNCTION(SquaredDifference, (wrap(x) - wrap(y)) * (wrap(x) - wrap(y)))
ENR_FUNCTION(And, x& y)
ENR_FUNCTION(Or, x | y)
ENR_FUNCTION(Xor, x ^ y)
ENR_FUNCTION(ShiftLeft, shift_left(x, y))
ENR_FUNCTION(ShiftRight, shift_right(x, y))
#undef ENR_FUNCTION

// A multiplication by alpha costs where 64-bit products do not exist, so the usual alpha of 1 has its own loop.
template <class T, class General, class Plain>
void run_scaled(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  if (params.i == 1) return run_scalars<T, T, Plain>(out, in, step, n, params);
  run_scalars<T, T, General>(out, in, step, n, params);
}

// Divisions by one number, which is prepared: of numbers, or of vectors of them.
struct DividedFloor {
  template <class T, class By>
  ENR_INLINE T operator()(T x, const By& by) const {
    return by.floor(x);
  }
};
struct DividedTrunc {
  template <class T, class By>
  ENR_INLINE T operator()(T x, const By& by) const {
    const T quotient = by.floor(x);
    return static_cast<T>(quotient - by.is_below(x, by.rest(x, quotient)));
  }
};
struct RestFloor {
  template <class T, class By>
  ENR_INLINE T operator()(T x, const By& by) const {
    return by.rest(x, by.floor(x));
  }
};
struct RestTrunc {
  template <class T, class By>
  ENR_INLINE T operator()(T x, const By& by) const {
    const T rest = by.rest(x, by.floor(x));
    return static_cast<T>(rest - (by.is_below(x, rest) & by.divisor()));
  }
};

template <class T, class F, class Prepared>
void run_division(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  constexpr size_t kPays = 16;
  const bool is_one = n >= kPays && step[0] != 0 && step[1] == 0;
  const T divisor = is_one ? *static_cast<const T*>(in[1]) : T{0};
  if (divisor <= (sizeof(T) == 1 ? 1 : 0)) return run_scalars<T, T, F>(out, in, step, n, params);
  const Divider<T> by(divisor);
  const T* x = static_cast<const T*>(in[0]);
  T* z = static_cast<T*>(out);
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 8) {
    const VectorDivider vector_by(by);
    return map_vectors(x, z, n, [&](I64 v) __attribute__((always_inline)) { return Prepared()(v, vector_by); });
  }
#endif
  ENR_NO_ALIAS_LOOP
  for (size_t i = 0; i < n; ++i) z[i] = Prepared()(x[i], by);
}

// Squares and cubes, the powers that models use, are products.
template <class T>
void run_power(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const T* x = static_cast<const T*>(in[0]);
  T* z = static_cast<T*>(out);
  const bool is_one = n != 0 && step[0] != 0 && step[1] == 0;
  const T exponent = is_one ? *static_cast<const T*>(in[1]) : T{0};
  if (exponent != 2 && exponent != 3) return run_scalars<T, T, Pow>(out, in, step, n, params);
  if (exponent == 2) {
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n; ++i) z[i] = static_cast<T>(wrap(x[i]) * wrap(x[i]));
  } else {
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n; ++i) z[i] = static_cast<T>(wrap(x[i]) * wrap(x[i]) * wrap(x[i]));
  }
}

LoopFn& row(LoopFn* rows, Binary op) { return rows[static_cast<int>(op)]; }

// Products of bytes, two to a 16-bit lane: vectors of bytes cannot be multiplied.
template <class T>
void multiply_bytes(void* out, const void* const* in, const uint8_t* step, size_t n,
                    const LoopParams& params) noexcept {
  typedef uint16_t Pair __attribute__((may_alias, aligned(1)));
  size_t done = 0;
  if (step[0] != 0 && step[1] != 0) {
    const Pair* x = static_cast<const Pair*>(in[0]);
    const Pair* y = static_cast<const Pair*>(in[1]);
    Pair* z = static_cast<Pair*>(out);
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n / 2; ++i) {
      const uint16_t low = static_cast<uint16_t>(uint32_t{x[i]} * y[i]);
      const uint16_t high = static_cast<uint16_t>((x[i] >> 8) * (y[i] & 0xff00));
      z[i] = static_cast<uint16_t>((low & 0xff) | high);
    }
    done = n / 2 * 2;
  }
  const void* rest[] = {static_cast<const T*>(in[0]) + done, static_cast<const T*>(in[1]) + done};
  run_scalars<T, T, Mul>(static_cast<T*>(out) + done, rest, step, n - done, params);
}

// Bytes are shifted two to a 16-bit lane, as vectors of bytes cannot be: bits that came from the neighbour are cleared.
// Of signed ones the sign is shifted along, and spreads where it is taken away once more.
template <class T, bool kLeft>
ENR_INLINE Vec<uint8_t> shift_bytes(Vec<uint8_t> v, int by) {
  const Vec<uint16_t> pairs = reinterpret_cast<Vec<uint16_t>>(v);
  const Vec<uint8_t> moved = reinterpret_cast<Vec<uint8_t>>(kLeft ? pairs << by : pairs >> by) &
                             splat<uint8_t>(static_cast<uint8_t>(kLeft ? 0xff << by : 0xff >> by));
  if constexpr (kLeft || !kIsSigned<T>) return moved;
  const Vec<uint8_t> sign = splat<uint8_t>(static_cast<uint8_t>(0x80 >> by));
  return (moved ^ sign) - sign;
}

// By one number for all, or one each.
template <class T, bool kLeft, class Scalar>
void run_shift(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const bool is_one = n != 0 && step[0] != 0 && step[1] == 0;
  const T count = is_one ? *static_cast<const T*>(in[1]) : T{0};
  if (!is_one || !is_shift(count)) return run_scalars<T, T, Scalar>(out, in, step, n, params);
  const int by = static_cast<int>(count);
  if constexpr (sizeof(T) == 1) {
    map_vectors(static_cast<const uint8_t*>(in[0]), static_cast<uint8_t*>(out), n,
                [&](Vec<uint8_t> v) __attribute__((always_inline)) { return shift_bytes<T, kLeft>(v, by); });
  } else {
    map_vectors(static_cast<const T*>(in[0]), static_cast<T*>(out), n,
                [&](Vec<T> v) __attribute__((always_inline)) { return kLeft ? v << by : v >> by; });
  }
}

template <class T>
void fill_divisions(LoopFn* rows) {
  row(rows, Binary::kDivFloor) = &run_scalars<T, T, DivFloor>;
  row(rows, Binary::kDivTrunc) = &run_scalars<T, T, DivTrunc>;
  row(rows, Binary::kFmod) = &run_scalars<T, T, Fmod>;
  row(rows, Binary::kRemainder) = &run_scalars<T, T, Remainder>;
}

template <class T>
void fill_prepared_divisions(LoopFn* rows) {
  row(rows, Binary::kDivFloor) = &run_division<T, DivFloor, DividedFloor>;
  row(rows, Binary::kDivTrunc) = &run_division<T, DivTrunc, DividedTrunc>;
  row(rows, Binary::kFmod) = &run_division<T, Fmod, RestTrunc>;
  row(rows, Binary::kRemainder) = &run_division<T, Remainder, RestFloor>;
}

template <class T>
void fill_all(LoopFn* rows) {
  row(rows, Binary::kAdd) = &run_scaled<T, Add, PlainAdd>;
  row(rows, Binary::kSub) = &run_scaled<T, Sub, PlainSub>;
  row(rows, Binary::kMul) = &run_scalars<T, T, Mul>;
  row(rows, Binary::kMaximum) = row(rows, Binary::kFmax) = &run_scalars<T, T, Maximum>;
  row(rows, Binary::kMinimum) = row(rows, Binary::kFmin) = &run_scalars<T, T, Minimum>;
  row(rows, Binary::kAnd) = &run_scalars<T, T, And>;
  row(rows, Binary::kOr) = &run_scalars<T, T, Or>;
  row(rows, Binary::kXor) = &run_scalars<T, T, Xor>;
  row(rows, Binary::kPow) = &run_power<T>;
  row(rows, Binary::kSquaredDifference) = &run_scalars<T, T, SquaredDifference>;
  row(rows, Binary::kShiftLeft) = &run_shift<T, true, ShiftLeft>;
  row(rows, Binary::kShiftRight) = &run_shift<T, false, ShiftRight>;
}

void fill_bool(LoopFn* rows) {
  const LoopFn both = &run_vectors<uint8_t, BytesAnd>;
  const LoopFn either = &run_vectors<uint8_t, BytesOr>;
  row(rows, Binary::kAnd) = row(rows, Binary::kMul) = row(rows, Binary::kMinimum) = row(rows, Binary::kFmin) = both;
  row(rows, Binary::kOr) = row(rows, Binary::kAdd) = row(rows, Binary::kMaximum) = row(rows, Binary::kFmax) = either;
  row(rows, Binary::kXor) = &run_vectors<uint8_t, BytesXor>;
}

}  // namespace

void fill_binary_integer(BinaryTable& table) {
  fill_all<int64_t>(table.binary[kBinI64]);
  fill_all<int32_t>(table.binary[kBinI32]);
  fill_all<int16_t>(table.binary[kBinI16]);
  fill_all<int8_t>(table.binary[kBinI8]);
  fill_all<uint8_t>(table.binary[kBinU8]);
  fill_all<uint64_t>(table.binary[kBinU64]);
  fill_prepared_divisions<int64_t>(table.binary[kBinI64]);
  fill_prepared_divisions<int32_t>(table.binary[kBinI32]);
  fill_prepared_divisions<int16_t>(table.binary[kBinI16]);
  fill_prepared_divisions<int8_t>(table.binary[kBinI8]);
  fill_prepared_divisions<uint8_t>(table.binary[kBinU8]);
  fill_divisions<uint64_t>(table.binary[kBinU64]);
  row(table.binary[kBinI8], Binary::kMul) = &multiply_bytes<int8_t>;
  row(table.binary[kBinU8], Binary::kMul) = &multiply_bytes<uint8_t>;
  fill_bool(table.binary[kBinBool]);
}

}  // namespace enr::kernels::ENR_ISA
