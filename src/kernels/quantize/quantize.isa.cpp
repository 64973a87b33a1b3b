#include "kernels/isa.h"
#include "kernels/quantize/quantize_table.h"
#include "kernels/simd/half.h"
#include "kernels/simd/integer.h"
#include "kernels/simd/sums.h"

namespace enr::kernels::ENR_ISA {
namespace {

constexpr size_t kLane = kF32Lanes;

template <bool kHalf>
struct RealOf {
  using Type = float;
};
template <>
struct RealOf<true> {
  using Type = uint16_t;
};

template <bool kHalf>
ENR_INLINE F32 load_real(const typename RealOf<kHalf>::Type* p) {
  if constexpr (kHalf) {
    return from_half(load_half_bits(p));
  } else {
    return load(p);
  }
}
template <bool kHalf>
ENR_INLINE void store_real(typename RealOf<kHalf>::Type* p, F32 v) {
  if constexpr (kHalf) {
    store_half_bits(p, to_half(v));
  } else {
    store(p, v);
  }
}

template <class T>
ENR_INLINE void store_narrow(T* p, I32 v) {
  if constexpr (sizeof(T) == 1) {
    store_low_bytes(p, v);
  } else {
    const LaneNumbers<T> numbers = __builtin_convertvector(v, LaneNumbers<T>);
    memcpy(p, &numbers, sizeof numbers);
  }
}

// Runs body(from, to) for whole vectors; the last ones of an array in copies.
template <class In, class Out, class Body>
ENR_INLINE void each_vector(const In* in, Out* out, size_t n, Body body) {
  size_t i = 0;
  for (; i + kLane <= n; i += kLane) body(in + i, out + i);
  if (i == n) return;
  In rest[kLane] = {};
  Out result[kLane];
  for (size_t k = 0; k < n - i; ++k) rest[k] = in[i + k];
  body(rest, result);
  for (size_t k = 0; k < n - i; ++k) out[i + k] = result[k];
}

template <bool kHalf, class T>
void quantize(const void* in, void* out, size_t n, float factor, float low, float high, int32_t zero_point) noexcept {
  const F32 factors = splat(factor), lows = splat(low), highs = splat(high);
  const I32 zero_points = I32{} + zero_point;
  const auto* from = (const typename RealOf<kHalf>::Type*)in;
  T* to = (T*)out;
  const auto quanta = [&](const typename RealOf<kHalf>::Type* p) {
    F32 v = load_real<kHalf>(p) * factors;
    v = v < highs ? v : highs;  // also where it is NaN
    v = v > lows ? v : lows;
    return round_to_int(v);
  };
#if ENR_NARROWS
  if constexpr (sizeof(T) == 1) {
    constexpr size_t kBytes = 4 * kLane;
    const U8 bias = U8{} + (uint8_t)zero_point;  // wraps to what is right
    for (; n >= kBytes; n -= kBytes, from += kBytes, to += kBytes) {
      // Of a uint8, up to 255 from the zero point, only the low byte is wanted: halves are narrowed as int8.
      const I16 first = narrow(quanta(from), quanta(from + kLane)) << 8 >> 8;
      const I16 second = narrow(quanta(from + 2 * kLane), quanta(from + 3 * kLane)) << 8 >> 8;
      const U8 bytes = (U8)in_lane_order(narrow(first, second)) + bias;
      memcpy(to, &bytes, sizeof bytes);
    }
  }
#endif
  each_vector(from, to, n, [&](const auto* p, T* q) { store_narrow(q, quanta(p) + zero_points); });
}

template <bool kHalf, class T>
void dequantize(const void* in, void* out, size_t n, float scale, float zero_point) noexcept {
  const F32 scales = splat(scale), zero_points = splat(zero_point);
  each_vector((const T*)in, (typename RealOf<kHalf>::Type*)out, n, [&](const T* from, auto* to) {
    store_real<kHalf>(to, (to_float(load_wide(from)) - zero_points) * scales);
  });
}

float dot(const float* x, const int8_t* w, size_t n, float zero_point) noexcept {
  constexpr size_t kSums = 4;
  const F32 zero_points = splat(zero_point);
  F32 sums[kSums] = {};
  const auto add = [&](const float* a, const int8_t* b, F32& sum) {
    sum = fma(load(a), to_float(load_wide(b)) - zero_points, sum);
  };
  size_t i = 0;
  for (; i + kSums * kLane <= n; i += kSums * kLane) {
#pragma GCC unroll 4
    for (size_t s = 0; s < kSums; ++s) add(x + i + s * kLane, w + i + s * kLane, sums[s]);
  }
  for (; i + kLane <= n; i += kLane) add(x + i, w + i, sums[0]);
  if (i != n) {
    float rest[kLane] = {};
    int8_t weights[kLane] = {};
    for (size_t k = 0; k < n - i; ++k) {
      rest[k] = x[i + k];
      weights[k] = w[i + k];
    }
    add(rest, weights, sums[1]);
  }
  return add_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <bool kHalf>
void extremes(const void* in, size_t n, float* min, float* max) noexcept {
  using Real = typename RealOf<kHalf>::Type;
  constexpr size_t kSets = 4;
  F32 low[kSets] = {}, high[kSets] = {};
  const Real* p = (const Real*)in;
  const auto take = [&](const Real* from, size_t set) {
    const F32 v = load_real<kHalf>(from);
    low[set] = v < low[set] ? v : low[set];
    high[set] = v > high[set] ? v : high[set];
  };
  for (; n >= kSets * kLane; n -= kSets * kLane, p += kSets * kLane) {
#pragma GCC unroll 4
    for (size_t set = 0; set < kSets; ++set) take(p + set * kLane, set);
  }
  for (; n >= kLane; n -= kLane, p += kLane) take(p, 0);
  if (n != 0) {
    Real rest[kLane] = {};
    for (size_t k = 0; k < n; ++k) rest[k] = p[k];
    take(rest, 0);
  }
  for (size_t set = 1; set < kSets; ++set) {
    low[0] = low[set] < low[0] ? low[set] : low[0];
    high[0] = high[set] > high[0] ? high[set] : high[0];
  }
  float lows[kLane], highs[kLane];
  store(lows, low[0]);
  store(highs, high[0]);
  for (size_t width = kLane / 2; width != 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) {
      lows[i] = lows[i + width] < lows[i] ? lows[i + width] : lows[i];
      highs[i] = highs[i + width] > highs[i] ? highs[i + width] : highs[i];
    }
  }
  *min = lows[0];
  *max = highs[0];
}

}  // namespace

const QuantizeTable& quantize_table() {
  static constexpr QuantizeTable table{
      .quantize = {{&quantize<false, int8_t>, &quantize<false, uint8_t>, &quantize<false, int16_t>,
                    &quantize<false, uint16_t>},
                   {&quantize<true, int8_t>, &quantize<true, uint8_t>, &quantize<true, int16_t>,
                    &quantize<true, uint16_t>}},
      .dequantize = {{&dequantize<false, int8_t>, &dequantize<false, uint8_t>, &dequantize<false, int16_t>,
                      &dequantize<false, uint16_t>},
                     {&dequantize<true, int8_t>, &dequantize<true, uint8_t>, &dequantize<true, int16_t>,
                      &dequantize<true, uint16_t>}},
      .dot = &dot,
      .extremes = {&extremes<false>, &extremes<true>},
  };
  return table;
}

}  // namespace enr::kernels::ENR_ISA
