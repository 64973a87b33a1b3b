#pragma once

// The functions of unary.h on floating vectors: NAME{params}(x).

#include "kernels/simd/math.h"
#include "kernels/unary/unary.h"

namespace enr::kernels::ENR_ISA {

#define ENR_FUNCTION(name, value)                        \
  template <class V>                                     \
  struct name {                                          \
    explicit ENR_INLINE name(const LoopParams&) {}       \
    ENR_INLINE V operator()(V x) const { return value; } \
  };

ENR_FUNCTION(Abs, abs(x))
ENR_FUNCTION(Neg, negate(x))
ENR_FUNCTION(Floor, round<Rounding::kDown>(x))
ENR_FUNCTION(Ceil, round<Rounding::kUp>(x))
ENR_FUNCTION(Trunc, round<Rounding::kTowardsZero>(x))
ENR_FUNCTION(Round, round<Rounding::kNearestEven>(x))
ENR_FUNCTION(Square, x* x)
ENR_FUNCTION(Sqrt, sqrt(x))
ENR_FUNCTION(Rsqrt, constant<V>(1) / sqrt(x))
ENR_FUNCTION(Reciprocal, constant<V>(1) / x)
ENR_FUNCTION(Exp, exp(x))
ENR_FUNCTION(Exp2, exp2(x))
ENR_FUNCTION(Expm1, expm1(x))
ENR_FUNCTION(Log, log(x))
ENR_FUNCTION(Log2, log2(x))
ENR_FUNCTION(Log10, log10(x))
ENR_FUNCTION(Log1p, log1p(x))
ENR_FUNCTION(Sin, sin(x))
ENR_FUNCTION(Cos, cos(x))
ENR_FUNCTION(Tan, tan(x))
ENR_FUNCTION(Asin, asin(x))
ENR_FUNCTION(Acos, acos(x))
ENR_FUNCTION(Atan, atan(x))
ENR_FUNCTION(Sinh, sinh(x))
ENR_FUNCTION(Cosh, cosh(x))
ENR_FUNCTION(Tanh, tanh(x))
ENR_FUNCTION(Asinh, asinh(x))
ENR_FUNCTION(Acosh, acosh(x))
ENR_FUNCTION(Atanh, atanh(x))
ENR_FUNCTION(Erf, erf(x))
ENR_FUNCTION(Erfc, erfc(x))
ENR_FUNCTION(Sigmoid, sigmoid(x))
ENR_FUNCTION(Silu, x* sigmoid(x))
ENR_FUNCTION(Relu, max_keep_nan(x, V{}))
#undef ENR_FUNCTION

template <class V>
struct Sign {
  explicit ENR_INLINE Sign(const LoopParams&) {}
  ENR_INLINE V operator()(V x) const {
    const V one = constant<V>(1);
    return x > V{} ? one : x < V{} ? negate(one) : V{};
  }
};

template <class V>
struct Clamp {
  V low, high;
  explicit ENR_INLINE Clamp(const LoopParams& p) : low(constant<V>(p.a)), high(constant<V>(p.b)) {}
  ENR_INLINE V operator()(V x) const { return min_nan(max_nan(x, low), high); }
};

template <class V>
struct LeakyRelu {
  V slope;
  explicit ENR_INLINE LeakyRelu(const LoopParams& p) : slope(constant<V>(p.a)) {}
  ENR_INLINE V operator()(V x) const { return x > V{} ? x : x * slope; }
};

template <class V>
struct Elu {
  V negative, positive;
  explicit ENR_INLINE Elu(const LoopParams& p) : negative(constant<V>(p.a * p.b)), positive(constant<V>(p.b)) {}
  ENR_INLINE V operator()(V x) const { return x <= V{} ? expm1(x) * negative : x * positive; }
};

// log(1 / (1 + e^-x)), without overflow or loss on either side.
template <class V>
struct LogSigmoid {
  explicit ENR_INLINE LogSigmoid(const LoopParams&) {}
  ENR_INLINE V operator()(V x) const { return min_keep_nan(x, V{}) - log1p(exp(negate(abs(x)))); }
};

template <class V>
struct Gelu {
  explicit ENR_INLINE Gelu(const LoopParams&) {}
  ENR_INLINE V operator()(V x) const {
    return x * constant<V>(0.5) * (constant<V>(1) + erf(x * constant<V>(0.70710678118654752440)));
  }
};

template <class V>
struct GeluTanh {
  explicit ENR_INLINE GeluTanh(const LoopParams&) {}
  ENR_INLINE V operator()(V x) const {
    const V cubic = constant<V>(0.044715) * x * x * x;
    const V inner = constant<V>(0.79788456080286535588) * (x + cubic);
    return constant<V>(0.5) * x * (constant<V>(1) + tanh(inner));
  }
};

template <class V>
struct HardSwish {
  explicit ENR_INLINE HardSwish(const LoopParams&) {}
  ENR_INLINE V operator()(V x) const {
    return x * (min_keep_nan(max_keep_nan(x + constant<V>(3), V{}), constant<V>(6)) * constant<V>(1.0 / 6));
  }
};

template <class V>
struct HardSigmoid {
  explicit ENR_INLINE HardSigmoid(const LoopParams&) {}
  ENR_INLINE V operator()(V x) const {
    return min_keep_nan(max_keep_nan(x + constant<V>(3), V{}), constant<V>(6)) * constant<V>(1.0 / 6);
  }
};

template <class V>
struct Softplus {
  V beta, threshold;
  explicit ENR_INLINE Softplus(const LoopParams& p) : beta(constant<V>(p.a)), threshold(constant<V>(p.b)) {}
  ENR_INLINE V operator()(V x) const {
    const V scaled = x * beta;
    return scaled > threshold ? x : log1p(exp(scaled)) / beta;
  }
};

template <class V>
struct Mish {
  explicit ENR_INLINE Mish(const LoopParams&) {}
  // With e = exp(x): tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2). Beyond 20 it is 1, and e^2 might overflow.
  ENR_INLINE V operator()(V x) const {
    const V e = exp(min_keep_nan(x, constant<V>(20)));
    const V n = e * (e + constant<V>(2));
    return x * (n / (n + constant<V>(2)));
  }
};

template <class V>
struct Logit {
  V low, high;
  bool clamps;
  explicit ENR_INLINE Logit(const LoopParams& p)
      : low(constant<V>(p.a)), high(constant<V>(1) - constant<V>(p.a)), clamps(p.a >= 0) {}
  ENR_INLINE V operator()(V x) const {
    if (clamps) x = x < low ? low : x > high ? high : x;
    return log(x / (constant<V>(1) - x));
  }
};

template <class V>
struct Scale {
  V factor, offset;
  explicit ENR_INLINE Scale(const LoopParams& p) : factor(constant<V>(p.a)), offset(constant<V>(p.b)) {}
  ENR_INLINE V operator()(V x) const { return x * factor + offset; }
};

}  // namespace enr::kernels::ENR_ISA
