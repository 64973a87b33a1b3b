#include "kernels/complex/complex.h"

#include <cmath>
#include <complex>
#include <numbers>
#include <type_traits>

#include "base/dtype.h"
#include "kernels/complex/complex_table.h"
#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(ComplexTable, complex_table)

namespace {

template <class T>
using Complex = std::complex<T>;

template <class T>
const ComplexKernels& kernels_of() {
  return std::is_same_v<T, float> ? complex_table().f32 : complex_table().f64;
}

// Smith's division: scales by the divisor's larger part, so that nothing overflows early.
template <class T>
Complex<T> divide(Complex<T> x, Complex<T> y) {
  const T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  if (std::abs(c) >= std::abs(d)) {
    if (c == 0 && d == 0) return {a / std::abs(c), b / std::abs(d)};
    const T ratio = d / c;
    const T scale = T(1) / (c + d * ratio);
    return {(a + b * ratio) * scale, (b - a * ratio) * scale};
  }
  const T ratio = c / d;
  const T scale = T(1) / (c * ratio + d);
  return {(a * ratio + b) * scale, (b * ratio - a) * scale};
}

template <class T>
bool is_nonzero(Complex<T> x) {
  return x.real() != 0 || x.imag() != 0;
}

template <class Out, class In, auto function>
void run_unary(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams&) noexcept {
  const In* x = static_cast<const In*>(in[0]);
  Out* to = static_cast<Out*>(out);
  for (size_t i = 0; i < n; ++i) to[i] = function(x[i * step[0]]);
}

template <class Out, class In, auto function>
void run_binary(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const In* x = static_cast<const In*>(in[0]);
  const In* y = static_cast<const In*>(in[1]);
  Out* to = static_cast<Out*>(out);
  for (size_t i = 0; i < n; ++i) to[i] = function(x[i * step[0]], y[i * step[1]], params);
}

template <class T>
LoopFn unary_fn(Unary op) noexcept {
  using C = Complex<T>;
  switch (op) {
    case Unary::kNeg:
      return kernels_of<T>().neg;
    case Unary::kSquare:
      return kernels_of<T>().square;
    case Unary::kReciprocal:
      return run_unary<C, C, [](C x) { return divide(C(1), x); }>;
    case Unary::kRsqrt:
      return run_unary<C, C, [](C x) { return divide(C(1), std::sqrt(x)); }>;
    case Unary::kSigmoid:
      return run_unary<C, C, [](C x) { return divide(C(1), C(1) + std::exp(-x)); }>;
    case Unary::kSilu:
      return run_unary<C, C, [](C x) { return divide(x, C(1) + std::exp(-x)); }>;
    case Unary::kExp2:
      return run_unary<C, C, [](C x) { return std::exp(x * std::numbers::ln2_v<T>); }>;
    case Unary::kExpm1:
      return run_unary<C, C, [](C x) {
        const T sine = std::sin(x.imag() / 2);  // exp(a) cos(b) - 1 = expm1(a) cos(b) - 2 sin(b / 2)^2
        return C(std::expm1(x.real()) * std::cos(x.imag()) - 2 * sine * sine, std::exp(x.real()) * std::sin(x.imag()));
      }>;
    case Unary::kLog1p:
      return run_unary<C, C, [](C x) {
        const T square = x.real() * (2 + x.real()) + x.imag() * x.imag();  // |1 + x|^2 - 1
        return C(std::log1p(square) / 2, std::atan2(x.imag(), 1 + x.real()));
      }>;
    case Unary::kLog2:
      return run_unary<C, C, [](C x) { return std::log(x) * std::numbers::log2e_v<T>; }>;
    case Unary::kExp:
      return run_unary<C, C, [](C x) { return std::exp(x); }>;
    case Unary::kLog:
      return run_unary<C, C, [](C x) { return std::log(x); }>;
    case Unary::kLog10:
      return run_unary<C, C, [](C x) { return std::log10(x); }>;
    case Unary::kSqrt:
      return run_unary<C, C, [](C x) { return std::sqrt(x); }>;
    case Unary::kSin:
      return run_unary<C, C, [](C x) { return std::sin(x); }>;
    case Unary::kCos:
      return run_unary<C, C, [](C x) { return std::cos(x); }>;
    case Unary::kTan:
      return run_unary<C, C, [](C x) { return std::tan(x); }>;
    case Unary::kAsin:
      return run_unary<C, C, [](C x) { return std::asin(x); }>;
    case Unary::kAcos:
      return run_unary<C, C, [](C x) { return std::acos(x); }>;
    case Unary::kAtan:
      return run_unary<C, C, [](C x) { return std::atan(x); }>;
    case Unary::kSinh:
      return run_unary<C, C, [](C x) { return std::sinh(x); }>;
    case Unary::kCosh:
      return run_unary<C, C, [](C x) { return std::cosh(x); }>;
    case Unary::kTanh:
      return run_unary<C, C, [](C x) { return std::tanh(x); }>;
    case Unary::kAsinh:
      return run_unary<C, C, [](C x) { return std::asinh(x); }>;
    case Unary::kAcosh:
      return run_unary<C, C, [](C x) { return std::acosh(x); }>;
    case Unary::kAtanh:
      return run_unary<C, C, [](C x) { return std::atanh(x); }>;
    case Unary::kAbs:
      return kernels_of<T>().abs;
    default:
      return nullptr;
  }
}

template <class T>
LoopFn binary_fn(Binary op) noexcept {
  using C = Complex<T>;
  switch (op) {
    case Binary::kAdd:
      return kernels_of<T>().add;
    case Binary::kSub:
      return kernels_of<T>().sub;
    case Binary::kMul:
      return kernels_of<T>().mul;
    case Binary::kDiv:
      return run_binary<C, C, [](C x, C y, const LoopParams&) { return divide(x, y); }>;
    case Binary::kPow:
      return run_binary<C, C, [](C x, C y, const LoopParams&) { return std::pow(x, y); }>;
    default:
      return nullptr;
  }
}

template <class T>
LoopFn comparison_fn(Comparison op) noexcept {
  using C = Complex<T>;
  using B = uint8_t;
  switch (op) {
    case Comparison::kEq:
      return run_binary<B, C, [](C x, C y, const LoopParams&) -> B {
        return (x.real() == y.real()) & (x.imag() == y.imag());
      }>;
    case Comparison::kNe:
      return run_binary<B, C, [](C x, C y, const LoopParams&) -> B {
        return (x.real() != y.real()) | (x.imag() != y.imag());
      }>;
    case Comparison::kLogicalAnd:
      return run_binary<B, C, [](C x, C y, const LoopParams&) -> B { return is_nonzero(x) && is_nonzero(y); }>;
    case Comparison::kLogicalOr:
      return run_binary<B, C, [](C x, C y, const LoopParams&) -> B { return is_nonzero(x) || is_nonzero(y); }>;
    case Comparison::kLogicalXor:
      return run_binary<B, C, [](C x, C y, const LoopParams&) -> B { return is_nonzero(x) != is_nonzero(y); }>;
    default:
      return nullptr;
  }
}

Loop make_loop(LoopFn run, DType in, DType out, uint8_t inputs) noexcept {
  Loop loop;
  loop.run = run;
  loop.out = out;
  loop.in[0] = in;
  if (inputs == 2) loop.in[1] = in;
  loop.inputs = inputs;
  loop.cost = 4;
  return loop;
}

bool is_single(DType dtype) noexcept { return dtype == DType::kComplex64; }

}  // namespace

Loop complex_unary_loop(Unary op, DType dtype) noexcept {
  const DType real = is_single(dtype) ? DType::kFloat32 : DType::kFloat64;
  const LoopFn run = is_single(dtype) ? unary_fn<float>(op) : unary_fn<double>(op);
  return make_loop(run, dtype, op == Unary::kAbs ? real : dtype, 1);
}

Loop conjugate_loop(DType dtype) noexcept {
  return make_loop((is_single(dtype) ? kernels_of<float>() : kernels_of<double>()).conjugate, dtype, dtype, 1);
}

Loop complex_binary_loop(Binary op, DType dtype) noexcept {
  return make_loop(is_single(dtype) ? binary_fn<float>(op) : binary_fn<double>(op), dtype, dtype, 2);
}

Loop complex_comparison_loop(Comparison op, DType dtype) noexcept {
  return make_loop(is_single(dtype) ? comparison_fn<float>(op) : comparison_fn<double>(op), dtype, DType::kBool, 2);
}

}  // namespace enr::kernels
