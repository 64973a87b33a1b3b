#include "kernels/fft/fft_table.h"
#include "kernels/isa.h"
#include "kernels/simd/vec.h"

namespace enr::kernels::ENR_ISA {

namespace {

template <class V>
ENR_INLINE V read(const double* p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}

template <class V>
struct Complex {
  V re, im;
};

template <class V>
ENR_INLINE Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
ENR_INLINE Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
ENR_INLINE Complex<V> scaled(Complex<V> a, double factor) {
  return {a.re * factor, a.im * factor};
}
// a * i * direction
template <class V>
ENR_INLINE Complex<V> turned(Complex<V> a, double direction) {
  return {a.im * -direction, a.re * direction};
}
template <class V>
ENR_INLINE Complex<V> times(Complex<V> a, double re, double im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

// The discrete Fourier transform of R values in place.
template <size_t R, class V>
ENR_INLINE void transform(Complex<V> (&x)[R], double direction) {
  if constexpr (R == 2) {
    const Complex<V> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (R == 3) {
    constexpr double kSin = 0.86602540378443864676;  // sin 60 degrees
    const Complex<V> sum = x[1] + x[2], middle = x[0] - scaled(sum, 0.5);
    const Complex<V> side = turned(scaled(x[1] - x[2], kSin), direction);
    x[0] = x[0] + sum;
    x[1] = middle + side;
    x[2] = middle - side;
  } else if constexpr (R == 4) {
    const Complex<V> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3];
    const Complex<V> d = turned(x[1] - x[3], direction);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else {
    static_assert(R == 5);
    constexpr double kCos1 = 0.30901699437494742410, kCos2 = -0.80901699437494742410;  // of 72 and 144 degrees
    constexpr double kSin1 = 0.95105651629515357212, kSin2 = 0.58778525229247312917;
    const Complex<V> a = x[1] + x[4], b = x[2] + x[3], c = x[1] - x[4], d = x[2] - x[3];
    const Complex<V> near = x[0] + scaled(a, kCos1) + scaled(b, kCos2);
    const Complex<V> far = x[0] + scaled(a, kCos2) + scaled(b, kCos1);
    const Complex<V> near_side = turned(scaled(c, kSin1) + scaled(d, kSin2), direction);
    const Complex<V> far_side = turned(scaled(c, kSin2) - scaled(d, kSin1), direction);
    x[0] = x[0] + a + b;
    x[1] = near + near_side;
    x[2] = far + far_side;
    x[3] = far - far_side;
    x[4] = near - near_side;
  }
}

template <size_t R, class V>
void run_stage(const FftStage& stage, const double* __restrict in, double* __restrict out) {
  constexpr size_t kStep = sizeof(V) / sizeof(double);
  const size_t stride = stage.stride, span = stage.span;
  for (size_t p = 0; p < span; ++p) {
    const double* roots = stage.roots + p * (R - 1) * 2;
    for (size_t q = 0; q < stride; ++q) {
      Complex<V> x[R];
#pragma GCC unroll 5
      for (size_t t = 0; t < R; ++t) {
        const double* from = in + (q + stride * (p + span * t)) * 2 * kStep;
        x[t] = {read<V>(from), read<V>(from + kStep)};
      }
      transform(x, stage.direction);
#pragma GCC unroll 5
      for (size_t u = 0; u < R; ++u) {
        if (u != 0) x[u] = times(x[u], roots[2 * u - 2], roots[2 * u - 1]);
        double* to = out + (q + stride * (R * p + u)) * 2 * kStep;
        memcpy(to, &x[u].re, sizeof(V));
        memcpy(to + kStep, &x[u].im, sizeof(V));
      }
    }
  }
}

template <class V>
void any_stage(const FftStage& stage, const double* in, double* out) {
  switch (stage.radix) {
    case 2:
      return run_stage<2, V>(stage, in, out);
    case 3:
      return run_stage<3, V>(stage, in, out);
    case 4:
      return run_stage<4, V>(stage, in, out);
    default:
      return run_stage<5, V>(stage, in, out);
  }
}

template <class V>
void multiply(double* data, const double* factors, size_t n, bool conjugate) {
  constexpr size_t kStep = sizeof(V) / sizeof(double);
  const double sign = conjugate ? -1.0 : 1.0;
  for (size_t i = 0; i < n; ++i, data += 2 * kStep, factors += 2) {
    Complex<V> x = times(Complex<V>{read<V>(data), read<V>(data + kStep)}, factors[0], factors[1]);
    x.im = x.im * sign;
    memcpy(data, &x.re, sizeof(V));
    memcpy(data + kStep, &x.im, sizeof(V));
  }
}

}  // namespace

const FftTable& fft_table() {
  static const FftTable table = {kLanes<double>, any_stage<F64>, any_stage<double>, multiply<F64>, multiply<double>};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
