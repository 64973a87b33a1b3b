#include "kernels/complex/complex_table.h"
#include "kernels/isa.h"
#include "kernels/simd/arith.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

namespace {

// Plain loops over pairs of numbers, which the compiler turns into vectors.
template <class T>
struct Pair {
  T re, im;
};

template <class T, class F>
ENR_INLINE void map_pairs(void* out, const void* const* in, size_t n, F f) {
  const T* x = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out);
  ENR_NO_ALIAS_LOOP
  for (size_t i = 0; i < n; ++i) {
    const Pair<T> result = f(Pair<T>{x[2 * i], x[2 * i + 1]});
    to[2 * i] = result.re;
    to[2 * i + 1] = result.im;
  }
}

// Of one number that repeats, too.
template <class T, class F>
ENR_INLINE void map_one(void* out, const void* const* in, const uint8_t* step, size_t n, F f) {
  const bool repeats = step[0] == 0 && n != 0;
  map_pairs<T>(out, in, repeats ? 1 : n, f);
  Pair<T>* to = static_cast<Pair<T>*>(out);
  for (size_t i = 1; repeats && i < n; ++i) to[i] = to[0];
}

template <class T, class F>
ENR_INLINE void map_two(void* out, const void* const* in, const uint8_t* step, size_t n, F f) {
  const T *x = static_cast<const T*>(in[0]), *y = static_cast<const T*>(in[1]);
  T* to = static_cast<T*>(out);
  if (step[0] == 0 && n != 0) {
    const void* others[] = {y};
    const Pair<T> a{x[0], x[1]};
    return map_one<T>(out, others, step + 1, n, [&](Pair<T> b) __attribute__((always_inline)) { return f(a, b); });
  }
  if (step[1] == 0 && n != 0) {
    const Pair<T> b{y[0], y[1]};
    return map_pairs<T>(out, in, n, [&](Pair<T> a) __attribute__((always_inline)) { return f(a, b); });
  }
  ENR_NO_ALIAS_LOOP
  for (size_t i = 0; i < n; ++i) {
    const Pair<T> result = f(Pair<T>{x[2 * i], x[2 * i + 1]}, Pair<T>{y[2 * i], y[2 * i + 1]});
    to[2 * i] = result.re;
    to[2 * i + 1] = result.im;
  }
}

template <class T>
ENR_INLINE Pair<T> product(Pair<T> a, Pair<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class T>
void add(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const T factor = static_cast<T>(params.a);
  map_two<T>(out, in, step, n, [=](Pair<T> a, Pair<T> b) __attribute__((always_inline)) {
    return Pair<T>{a.re + factor * b.re, a.im + factor * b.im};
  });
}
template <class T>
void sub(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const T factor = static_cast<T>(params.a);
  map_two<T>(out, in, step, n, [=](Pair<T> a, Pair<T> b) __attribute__((always_inline)) {
    return Pair<T>{a.re - factor * b.re, a.im - factor * b.im};
  });
}
template <class T>
void mul(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams&) noexcept {
  map_two<T>(out, in, step, n, [](Pair<T> a, Pair<T> b) __attribute__((always_inline)) { return product(a, b); });
}
template <class T>
void neg(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams&) noexcept {
  map_one<T>(out, in, step, n, [](Pair<T> a) __attribute__((always_inline)) { return Pair<T>{-a.re, -a.im}; });
}
template <class T>
void conjugate(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams&) noexcept {
  map_one<T>(out, in, step, n, [](Pair<T> a) __attribute__((always_inline)) { return Pair<T>{a.re, -a.im}; });
}
template <class T>
void square(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams&) noexcept {
  map_one<T>(out, in, step, n, [](Pair<T> a) __attribute__((always_inline)) { return product(a, a); });
}

// The root of the squares, which in double nothing of singles overflows, and of doubles nothing that is scaled first.
template <class T>
void abs_of(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams&) noexcept {
  const bool repeats = step[0] == 0 && n != 0;
  const size_t numbers = repeats ? 1 : n;
  const T* x = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out);
  constexpr size_t kRun = 64;
  const T infinity = static_cast<T>(__builtin_inf());
  for (size_t begin = 0; begin < numbers; begin += kRun) {
    const size_t count = numbers - begin < kRun ? numbers - begin : kRun;
    T re[kRun] = {}, im[kRun] = {};
    for (size_t i = 0; i < count; ++i) {
      re[i] = x[2 * (begin + i)];
      im[i] = x[2 * (begin + i) + 1];
    }
    for (size_t i = 0; i < count; i += kLanes<T>) {
      const Vec<T> a = abs(load(re + i)), b = abs(load(im + i));
      Vec<T> result;
      if constexpr (sizeof(T) == 4) {
        const auto root = [](F64 p, F64 q) __attribute__((always_inline)) { return sqrt(p * p + q * q); };
        result = to_floats(root(low_doubles(a), low_doubles(b)), root(high_doubles(a), high_doubles(b)));
      } else {
        const Vec<T> largest = a > b ? a : b;
        const auto is_large = largest > splat<T>(0x1p500), is_small = largest < splat<T>(0x1p-500);
        const Vec<T> one = splat<T>(1), up = splat<T>(0x1p600), down = splat<T>(0x1p-600);
        const Vec<T> scale = is_large ? down : is_small ? up : one;
        const Vec<T> back = is_large ? up : is_small ? down : one;
        const Vec<T> p = a * scale, q = b * scale;
        result = sqrt(p * p + q * q) * back;
      }
      result = (a == splat(infinity)) | (b == splat(infinity)) ? splat(infinity) : result;
      store(re + i, result);
    }
    memcpy(to + begin, re, count * sizeof(T));
  }
  for (size_t i = 1; repeats && i < n; ++i) to[i] = to[0];
}

template <class T>
ComplexKernels kernels() {
  return {&add<T>, &sub<T>, &mul<T>, &neg<T>, &conjugate<T>, &square<T>, &abs_of<T>};
}

}  // namespace

const ComplexTable& complex_table() {
  static const ComplexTable table{kernels<float>(), kernels<double>()};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
