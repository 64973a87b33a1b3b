#include "kernels/fft/fft_table.h"
#include "kernels/isa.h"
#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

namespace {

// A vector of T, or one T.
template <class V>
struct Complex {
  V re, im;
};

template <class V, class T>
ENR_INLINE Complex<V> read(const T* p) {
  Complex<V> x;
  memcpy(&x.re, p, sizeof(V));
  memcpy(&x.im, p + sizeof(V) / sizeof(T), sizeof(V));
  return x;
}
template <class V, class T>
ENR_INLINE void write(T* p, Complex<V> x) {
  memcpy(p, &x.re, sizeof(V));
  memcpy(p + sizeof(V) / sizeof(T), &x.im, sizeof(V));
}

template <class V>
ENR_INLINE Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
ENR_INLINE Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T, class V>
ENR_INLINE Complex<V> scaled(Complex<V> a, double factor) {
  return {a.re * static_cast<T>(factor), a.im * static_cast<T>(factor)};
}
// a * i, or a * -i
template <bool kInverse, class V>
ENR_INLINE Complex<V> turned(Complex<V> a) {
  if constexpr (kInverse) return {-a.im, a.re};
  return {a.im, -a.re};
}
template <class V, class T>
ENR_INLINE Complex<V> times(Complex<V> a, T re, T im) {
  if constexpr (sizeof(V) == sizeof(T)) {
    return {a.re * re - a.im * im, a.re * im + a.im * re};
  } else {
    const V r = splat<T>(re), i = splat<T>(im);
    return {fma(a.im, splat<T>(-im), a.re * r), fma(a.im, r, a.re * i)};
  }
}

// The discrete Fourier transform of R values in place.
template <size_t R, bool kInverse, class T, class V>
ENR_INLINE void transform(Complex<V> (&x)[R]) {
  if constexpr (R == 2) {
    const Complex<V> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (R == 3) {
    constexpr double kSin = 0.86602540378443864676;  // sin 60 degrees
    const Complex<V> sum = x[1] + x[2], middle = x[0] - scaled<T>(sum, 0.5);
    const Complex<V> side = turned<kInverse>(scaled<T>(x[1] - x[2], kSin));
    x[0] = x[0] + sum;
    x[1] = middle + side;
    x[2] = middle - side;
  } else if constexpr (R == 4) {
    const Complex<V> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3];
    const Complex<V> d = turned<kInverse>(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else if constexpr (R == 8) {
    constexpr double kHalfRoot = 0.70710678118654752440;  // of 1/2
    Complex<V> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    transform<4, kInverse, T>(even);
    transform<4, kInverse, T>(odd);
    odd[1] = scaled<T>(odd[1] + turned<kInverse>(odd[1]), kHalfRoot);
    odd[2] = turned<kInverse>(odd[2]);
    odd[3] = scaled<T>(turned<kInverse>(odd[3]) - odd[3], kHalfRoot);
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; ++k) {
      x[k] = even[k] + odd[k];
      x[k + 4] = even[k] - odd[k];
    }
  } else {
    static_assert(R == 5);
    constexpr double kCos1 = 0.30901699437494742410, kCos2 = -0.80901699437494742410;  // of 72 and 144 degrees
    constexpr double kSin1 = 0.95105651629515357212, kSin2 = 0.58778525229247312917;
    const Complex<V> a = x[1] + x[4], b = x[2] + x[3], c = x[1] - x[4], d = x[2] - x[3];
    const Complex<V> near = x[0] + scaled<T>(a, kCos1) + scaled<T>(b, kCos2);
    const Complex<V> far = x[0] + scaled<T>(a, kCos2) + scaled<T>(b, kCos1);
    const Complex<V> near_side = turned<kInverse>(scaled<T>(c, kSin1) + scaled<T>(d, kSin2));
    const Complex<V> far_side = turned<kInverse>(scaled<T>(c, kSin2) - scaled<T>(d, kSin1));
    x[0] = x[0] + a + b;
    x[1] = near + near_side;
    x[2] = far + far_side;
    x[3] = far - far_side;
    x[4] = near - near_side;
  }
}

// kTurns: whether results are multiplied by roots; at the end all of them are 1.
template <size_t R, bool kInverse, bool kTurns, class V, class T>
void run_stage(const FftStage<T>& stage, const T* __restrict in, T* __restrict out) {
  constexpr size_t kStep = 2 * sizeof(V) / sizeof(T);
  const size_t stride = stage.stride, span = stage.span;
  for (size_t p = 0; p < span; ++p) {
    const T* roots = stage.roots + p * (R - 1) * 2;
    for (size_t q = 0; q < stride; ++q) {
      Complex<V> x[R];
#pragma GCC unroll 8
      for (size_t t = 0; t < R; ++t) x[t] = read<V>(in + (q + stride * (p + span * t)) * kStep);
      transform<R, kInverse, T>(x);
#pragma GCC unroll 8
      for (size_t u = 0; u < R; ++u) {
        if (kTurns && u != 0) x[u] = times(x[u], roots[2 * u - 2], roots[2 * u - 1]);
        write(out + (q + stride * (R * p + u)) * kStep, x[u]);
      }
    }
  }
}

// The same for an odd radix of which there is no form of its own: with a = x[k] + x[R - k] and b = x[k] - x[R - k],
// results u and R - u are x[0] + sum(a cos(2 pi k u / R)) -+ i sum(b sin(2 pi k u / R)).
template <class V, class T>
ENR_INLINE void run_odd(const FftStage<T>& stage, size_t radix, const T* __restrict in, T* __restrict out) {
  constexpr size_t kStep = 2 * sizeof(V) / sizeof(T);
  const size_t stride = stage.stride, span = stage.span, half = radix / 2;
  const T* const unit = stage.unit_roots;  // (re, im) of the radix-th roots of 1, of the transform's direction
  for (size_t p = 0; p < span; ++p) {
    const T* roots = stage.roots + p * (radix - 1) * 2;
    for (size_t q = 0; q < stride; ++q) {
      const T* from = in + (q + stride * p) * kStep;
      T* to = out + (q + stride * radix * p) * kStep;
      const Complex<V> first = read<V>(from);
      Complex<V> sums[kMaxRadix / 2], differences[kMaxRadix / 2], total = first;
      for (size_t k = 1; k <= half; ++k) {
        const Complex<V> a = read<V>(from + stride * span * k * kStep);
        const Complex<V> b = read<V>(from + stride * span * (radix - k) * kStep);
        sums[k - 1] = a + b;
        differences[k - 1] = a - b;
        total = total + sums[k - 1];
      }
      write(to, total);
      for (size_t u = 1; u <= half; ++u) {
        Complex<V> middle = first, side = {};
        size_t at = u;  // k u modulo the radix
        for (size_t k = 0; k < half; ++k) {
          const T cosine = unit[2 * at], sine = unit[2 * at + 1];
          middle = {middle.re + sums[k].re * cosine, middle.im + sums[k].im * cosine};
          side = {side.re - differences[k].im * sine, side.im + differences[k].re * sine};
          at = at + u < radix ? at + u : at + u - radix;
        }
        Complex<V> low = middle + side, high = middle - side;
        if (span != 1) {
          low = times(low, roots[2 * u - 2], roots[2 * u - 1]);
          high = times(high, roots[2 * (radix - u) - 2], roots[2 * (radix - u) - 1]);
        }
        write(to + stride * u * kStep, low);
        write(to + stride * (radix - u) * kStep, high);
      }
    }
  }
}

template <size_t R, class V, class T>
void any_direction(const FftStage<T>& stage, const T* in, T* out) {
  if (stage.is_inverse) {
    if (stage.span == 1) return run_stage<R, true, false, V>(stage, in, out);
    return run_stage<R, true, true, V>(stage, in, out);
  }
  if (stage.span == 1) return run_stage<R, false, false, V>(stage, in, out);
  run_stage<R, false, true, V>(stage, in, out);
}

template <class V, class T>
void any_stage(const FftStage<T>& stage, const T* in, T* out) {
  switch (stage.radix) {
    case 2:
      return any_direction<2, V>(stage, in, out);
    case 3:
      return any_direction<3, V>(stage, in, out);
    case 4:
      return any_direction<4, V>(stage, in, out);
    case 8:
      return any_direction<8, V>(stage, in, out);
    case 5:
      return any_direction<5, V>(stage, in, out);
    case 7:
      return run_odd<V>(stage, 7, in, out);
    default:
      return run_odd<V>(stage, stage.radix, in, out);
  }
}

template <class V, class T>
void multiply(T* data, const T* factors, size_t n, bool conjugate) {
  const T sign = conjugate ? -1 : 1;
  for (size_t i = 0; i < n; ++i, data += 2 * sizeof(V) / sizeof(T), factors += 2) {
    Complex<V> x = times(read<V>(data), factors[0], factors[1]);
    x.im = x.im * sign;
    write(data, x);
  }
}

// With E and O the transforms of the elements of even and of odd index, coefficient k is E + w O, and the one at
// half - k the conjugate of E - w O.
template <class V, class T>
void separate(const T* z, size_t half, const T* roots, double factor, size_t begin, size_t end, T* low, T* high) {
  constexpr size_t kStep = 2 * sizeof(V) / sizeof(T);
  for (size_t k = begin; k < end; ++k) {
    const Complex<V> a = read<V>(z + k * kStep), b = read<V>(z + (k == 0 ? 0 : half - k) * kStep);
    const Complex<V> even = scaled<T>(Complex<V>{a.re + b.re, a.im - b.im}, factor);
    const Complex<V> odd = scaled<T>(Complex<V>{a.im + b.im, b.re - a.re}, factor);
    const Complex<V> turned = times(odd, roots[2 * k], roots[2 * k + 1]);
    const Complex<V> mirror = even - turned;
    write(low + (k - begin) * kStep, even + turned);
    write(high + (end - 1 - k) * kStep, Complex<V>{mirror.re, -mirror.im});
  }
}

// The way back: what `separate` would give for z, from coefficients to z[k] and z[half - k].
template <class V, class T>
void join(const T* low, const T* high, size_t half, const T* roots, double factor, size_t begin, size_t end, T* z) {
  constexpr size_t kStep = 2 * sizeof(V) / sizeof(T);
  for (size_t k = begin; k < end; ++k) {
    Complex<V> a = read<V>(low + (k - begin) * kStep), b = read<V>(high + (end - 1 - k) * kStep);
    if (k == 0) a.im = b.im = V{};
    const Complex<V> even = scaled<T>(Complex<V>{a.re + b.re, a.im - b.im}, factor);
    const Complex<V> turned = scaled<T>(Complex<V>{a.re - b.re, a.im + b.im}, factor);
    const Complex<V> odd = times(turned, roots[2 * k], -roots[2 * k + 1]);
    write(z + k * kStep, Complex<V>{even.re - odd.im, even.im + odd.re});
    if (k != 0) write(z + (half - k) * kStep, Complex<V>{even.re + odd.im, odd.re - even.im});
  }
}

template <class T>
FftKernels<T> kernels() {
  return {kLanes<T>,      any_stage<Vec<T>, T>, any_stage<T, T>, multiply<Vec<T>, T>,
          multiply<T, T>, separate<Vec<T>, T>,  join<Vec<T>, T>};
}

}  // namespace

const FftTable& fft_table() {
  static const FftTable table = {kernels<float>(), kernels<double>()};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
