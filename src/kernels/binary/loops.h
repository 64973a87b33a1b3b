#pragma once

// The loops of two operands, over scalars (left to the compiler to vectorise) and over vectors.

#include "kernels/binary/binary_table.h"
#include "kernels/simd/extremes.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

// out[i] = F(params)(x[i], y[i]).
template <class Out, class In, class F>
void run_scalars(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const F f(params);
  const In* x = static_cast<const In*>(in[0]);
  const In* y = static_cast<const In*>(in[1]);
  Out* z = static_cast<Out*>(out);
  if (step[0] != 0 && step[1] != 0) {
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n; ++i) z[i] = static_cast<Out>(f(x[i], y[i]));
  } else if (step[0] != 0) {
    const In b = *y;
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n; ++i) z[i] = static_cast<Out>(f(x[i], b));
  } else if (step[1] != 0) {
    const In a = *x;
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n; ++i) z[i] = static_cast<Out>(f(a, y[i]));
  } else {
    const Out value = static_cast<Out>(f(*x, *y));
    for (size_t i = 0; i < n; ++i) z[i] = value;
  }
}

// out[i] = F(params)(x[i], y[i]) for a function of vectors.
template <class T, template <class> class F>
void run_vectors(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const F<Vec<T>> f(params);
  const T* x = static_cast<const T*>(in[0]);
  const T* y = static_cast<const T*>(in[1]);
  T* z = static_cast<T*>(out);
  constexpr size_t lanes = kLanes<T>;
  if (step[0] != 0 && step[1] != 0) {
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) store(z + i, f(load(x + i), load(y + i)));
    if (i < n) store_first(z + i, f(load_first(x + i, n - i), load_first(y + i, n - i)), n - i);
  } else if (step[0] != 0) {
    const Vec<T> b = splat<T>(*y);
    map_vectors(x, z, n, [&](Vec<T> a) __attribute__((always_inline)) { return f(a, b); });
  } else if (step[1] != 0) {
    const Vec<T> a = splat<T>(*x);
    map_vectors(y, z, n, [&](Vec<T> b) __attribute__((always_inline)) { return f(a, b); });
  } else {
    const T value = f(splat<T>(*x), splat<T>(*y))[0];
    for (size_t i = 0; i < n; ++i) z[i] = value;
  }
}

// Truth values of bytes, of which any but 0 is true. Without comparisons, whose results would have to be masked.
#define ENR_FUNCTION(name, value)                                            \
  template <class V>                                                         \
  struct name {                                                              \
    explicit name(const LoopParams&) {}                                      \
    static ENR_INLINE V truth(V x) { return smaller(x, splat<uint8_t>(1)); } \
    ENR_INLINE V operator()(V x, V y) const { return value; }                \
  };

ENR_FUNCTION(BytesAnd, truth(smaller(x, y)))
ENR_FUNCTION(BytesOr, truth(x | y))
ENR_FUNCTION(BytesXor, truth(x) ^ truth(y))
#undef ENR_FUNCTION

// Powers with the exponents that models use are products and roots, as eager computes them.
template <class T, template <class> class Pow>
void run_pow(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  using V = Vec<T>;
  const T* x = static_cast<const T*>(in[0]);
  T* z = static_cast<T*>(out);
  if (step[0] != 0 && step[1] == 0 && n != 0) {
    const T y = *static_cast<const T*>(in[1]);
    if (y == 2) return map_vectors(x, z, n, [](V v) __attribute__((always_inline)) { return v * v; });
    if (y == 3) return map_vectors(x, z, n, [](V v) __attribute__((always_inline)) { return v * v * v; });
    if (y == static_cast<T>(0.5))
      return map_vectors(x, z, n, [](V v) __attribute__((always_inline)) { return sqrt(v); });
    if (y == -1) {
      return map_vectors(x, z, n, [](V v) __attribute__((always_inline)) { return constant<V>(1) / v; });
    }
  }
  run_vectors<T, Pow>(out, in, step, n, params);
}

void fill_binary_f64(LoopFn* rows);
void fill_binary_integer(BinaryTable& table);
void fill_comparisons(BinaryTable& table);

}  // namespace enr::kernels::ENR_ISA
