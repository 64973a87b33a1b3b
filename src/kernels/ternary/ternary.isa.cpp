#include "kernels/simd/arith.h"
#include "kernels/simd/partial.h"
#include "kernels/ternary/ternary_table.h"

namespace enr::kernels::ENR_ISA {
namespace {

template <class V>
struct Clamp {
  explicit ENR_INLINE Clamp(const LoopParams&) {}
  ENR_INLINE V operator()(V x, V low, V high) const { return min_nan(max_nan(x, low), high); }
};

template <class V>
struct AddCMul {
  V factor;
  explicit ENR_INLINE AddCMul(const LoopParams& p) : factor(constant<V>(p.a)) {}
  ENR_INLINE V operator()(V x, V y, V z) const { return x + factor * y * z; }
};

template <class V>
struct AddCDiv {
  V factor;
  explicit ENR_INLINE AddCDiv(const LoopParams& p) : factor(constant<V>(p.a)) {}
  ENR_INLINE V operator()(V x, V y, V z) const { return x + factor * y / z; }
};

template <class V>
struct MulAdd {
  explicit ENR_INLINE MulAdd(const LoopParams&) {}
  ENR_INLINE V operator()(V x, V y, V z) const { return fma(x, y, z); }
};

template <class V>
struct Lerp {
  explicit ENR_INLINE Lerp(const LoopParams&) {}
  ENR_INLINE V operator()(V start, V end, V weight) const {
    const V span = end - start;
    return abs(weight) < constant<V>(0.5) ? start + weight * span : end - span * (constant<V>(1) - weight);
  }
};

template <class T>
ENR_INLINE Vec<T> load_operand(const T* p, bool steps, size_t i, size_t count) {
  if (!steps) return splat<T>(*p);
  return count == kLanes<T> ? load(p + i) : load_first(p + i, count);
}

template <class T, template <class> class F>
void run_vectors(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const F<Vec<T>> f(params);
  const T* x = static_cast<const T*>(in[0]);
  const T* y = static_cast<const T*>(in[1]);
  const T* z = static_cast<const T*>(in[2]);
  const bool x_steps = step[0] != 0, y_steps = step[1] != 0, z_steps = step[2] != 0;
  T* to = static_cast<T*>(out);
  size_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    store(to + i, f(load_operand(x, x_steps, i, kLanes<T>), load_operand(y, y_steps, i, kLanes<T>),
                    load_operand(z, z_steps, i, kLanes<T>)));
  }
  if (i < n) {
    const Vec<T> value =
        f(load_operand(x, x_steps, i, n - i), load_operand(y, y_steps, i, n - i), load_operand(z, z_steps, i, n - i));
    store_first(to + i, value, n - i);
  }
}

struct IntClamp {
  explicit IntClamp(const LoopParams&) {}
  int64_t operator()(int64_t x, int64_t low, int64_t high) const {
    x = x < low ? low : x;
    return x > high ? high : x;
  }
};
struct IntAddCMul {
  uint64_t factor;
  explicit IntAddCMul(const LoopParams& p) : factor(static_cast<uint64_t>(p.i)) {}
  int64_t operator()(int64_t x, int64_t y, int64_t z) const {
    return static_cast<int64_t>(static_cast<uint64_t>(x) +
                                factor * static_cast<uint64_t>(y) * static_cast<uint64_t>(z));
  }
};
struct IntMulAdd {
  explicit IntMulAdd(const LoopParams&) {}
  int64_t operator()(int64_t x, int64_t y, int64_t z) const {
    return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y) + static_cast<uint64_t>(z));
  }
};

template <class F>
void run_int64(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const F f(params);
  const int64_t* x = static_cast<const int64_t*>(in[0]);
  const int64_t* y = static_cast<const int64_t*>(in[1]);
  const int64_t* z = static_cast<const int64_t*>(in[2]);
  int64_t* to = static_cast<int64_t*>(out);
  for (size_t i = 0; i < n; ++i) to[i] = f(x[i * step[0]], y[i * step[1]], z[i * step[2]]);
}

struct Wide {
  uint64_t low, high;
};

template <class T>
void run_where(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams&) noexcept {
  const uint8_t* condition = static_cast<const uint8_t*>(in[0]);
  const T* x = static_cast<const T*>(in[1]);
  const T* y = static_cast<const T*>(in[2]);
  T* to = static_cast<T*>(out);
  if (step[0] == 0) {
    const bool takes_x = *condition != 0;
    const T* from = takes_x ? x : y;
    if (step[takes_x ? 1 : 2] != 0) {
      __builtin_memmove(to, from, n * sizeof(T));
    } else {
      const T value = *from;
      for (size_t i = 0; i < n; ++i) to[i] = value;
    }
  } else if (step[1] != 0 && step[2] != 0) {
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n; ++i) {
      const T a = x[i], b = y[i];
      to[i] = condition[i] != 0 ? a : b;
    }
  } else if (step[1] != 0) {
    const T b = *y;
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n; ++i) {
      const T a = x[i];
      to[i] = condition[i] != 0 ? a : b;
    }
  } else if (step[2] != 0) {
    const T a = *x;
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n; ++i) {
      const T b = y[i];
      to[i] = condition[i] != 0 ? a : b;
    }
  } else {
    const T a = *x, b = *y;
    ENR_NO_ALIAS_LOOP
    for (size_t i = 0; i < n; ++i) to[i] = condition[i] != 0 ? a : b;
  }
}

TernaryTable make_table() {
  TernaryTable table{};
#define ENR_ROW(name, cost)                                                  \
  table.f32[static_cast<int>(Ternary::k##name)] = &run_vectors<float, name>; \
  table.f64[static_cast<int>(Ternary::k##name)] = &run_vectors<double, name>;
  ENR_TERNARY_OPS(ENR_ROW)
#undef ENR_ROW
  table.i64[static_cast<int>(Ternary::kClamp)] = &run_int64<IntClamp>;
  table.i64[static_cast<int>(Ternary::kAddCMul)] = &run_int64<IntAddCMul>;
  table.i64[static_cast<int>(Ternary::kMulAdd)] = &run_int64<IntMulAdd>;
  table.where[0] = &run_where<uint8_t>;
  table.where[1] = &run_where<uint16_t>;
  table.where[2] = &run_where<uint32_t>;
  table.where[3] = &run_where<uint64_t>;
  table.where[4] = &run_where<Wide>;
  return table;
}

}  // namespace

const TernaryTable& ternary_table() {
  static const TernaryTable table = make_table();
  return table;
}

}  // namespace enr::kernels::ENR_ISA
