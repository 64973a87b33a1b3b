#include "kernels/isa.h"
#include "kernels/random/random_table.h"
#include "kernels/simd/integer.h"
#include "kernels/simd/logarithm.h"
#include "kernels/simd/trigonometry.h"

namespace enr::kernels::ENR_ISA {
namespace {

using U64 = Vec<uint64_t>;
constexpr size_t kNumbers = kLanes<uint64_t>;

// base/random_stream.h has the same hash for single numbers.
constexpr uint64_t kIncrement = 0x9e3779b97f4a7c15;

struct Counters {
  U64 value;

  explicit ENR_INLINE Counters(uint64_t start) {
    for (size_t i = 0; i < kNumbers; ++i) value[i] = start + (i + 1) * kIncrement;
  }
  // The numbers of the stream from `at` vectors on.
  ENR_INLINE U64 numbers(size_t at) const {
    U64 x = value + (uint64_t)at * kNumbers * kIncrement;
    x = (x ^ (x >> 30)) * (uint64_t)0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * (uint64_t)0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
};

constexpr size_t kVectors = kRandomBlock / kNumbers;  // in a block

// In [0, 1), from the highest bits of each half of a number, or of all of it.
ENR_INLINE F32 fraction(U64 x, int bits, F32 unit) { return to_float((I32)((U32)x >> (32 - bits))) * unit; }
ENR_INLINE F64 fraction(U64 x) {
  constexpr uint64_t kOne = 0x3ff0000000000000;  // as the bits of a double; the fraction lies below
  return (F64)((x >> 12) | kOne) - 1.0;
}

constexpr int kFloatBits = 24;
ENR_INLINE F32 full_fraction(U64 x, F32) { return fraction(x, kFloatBits, splat(0x1p-24f)); }
ENR_INLINE F64 full_fraction(U64 x, F64) { return fraction(x); }

ENR_INLINE F32 bits_fraction(U64 x, int bits, F32 unit) { return fraction(x, bits, unit); }
ENR_INLINE F64 bits_fraction(U64 x, int, F64) { return fraction(x); }

template <class T>
void uniform(uint64_t start, size_t blocks, T low, T span, int bits, T* out) noexcept {
  using V = Vec<T>;
  const Counters counters(start);
  T unit = 1;
  for (int i = 0; i < bits; ++i) unit /= 2;
  const V lows = splat<T>(low), spans = splat<T>(span), units = splat<T>(unit);
  for (size_t v = 0; v < blocks * kVectors; ++v, out += kLanes<T>) {
    store(out, lows + bits_fraction(counters.numbers(v), bits, units) * spans);
  }
}

// Box and Muller: the first half of a block's numbers gives radii, the second angles.
template <class T>
void normal(uint64_t start, size_t blocks, T mean, T deviation, T* out) noexcept {
  using V = Vec<T>;
  constexpr size_t kHalf = kVectors / 2;
  static_assert(kHalf * 2 == kVectors);
  const Counters counters(start);
  const V means = splat<T>(mean), deviations = splat<T>(deviation);
  for (size_t b = 0; b < blocks; ++b, out += kRandomOutputs<T>) {
    for (size_t i = 0; i < kHalf; ++i) {
      const size_t at = b * kVectors + i;
      const V u = constant<V>(1) - full_fraction(counters.numbers(at), V{});  // in (0, 1]
      const V radius = sqrt(constant<V>(-2) * log(u)) * deviations;
      const V angle = full_fraction(counters.numbers(at + kHalf), V{}) * constant<V>(6.283185307179586477);
      store(out + i * kLanes<T>, means + radius * cos(angle));
      store(out + (kHalf + i) * kLanes<T>, means + radius * sin(angle));
    }
  }
}

void exponential(uint64_t start, size_t blocks, double mean, double* out) noexcept {
  const Counters counters(start);
  const F64 scale = splat<double>(-mean);
  for (size_t v = 0; v < blocks * kVectors; ++v, out += kNumbers) {
    store(out, log(constant<F64>(1) - fraction(counters.numbers(v))) * scale);
  }
}

}  // namespace

const RandomTable& random_table() {
  static constexpr RandomTable table{
      .f32 = {&uniform<float>, &normal<float>},
      .f64 = {&uniform<double>, &normal<double>},
      .exponential = &exponential,
  };
  return table;
}

}  // namespace enr::kernels::ENR_ISA
