#include "kernels/softmax/softmax_table.h"

#include "kernels/simd/math.h"
#include "kernels/simd/sums.h"

namespace enr::kernels::ENR_ISA {
namespace {

template <class T>
ENR_INLINE T lane_log(T x) {
  return log(splat<T>(x))[0];
}

// The largest element that is a number: NaN shows up in the exponentials anyway.
template <class T>
ENR_INLINE T largest(const T* x, size_t n) {
  constexpr size_t lanes = kLanes<T>;
  T best = static_cast<T>(-__builtin_inf());
  if (n < lanes) {
    for (size_t i = 0; i < n; ++i) best = x[i] > best ? x[i] : best;
    return best;
  }
  Vec<T> a = splat<T>(best), b = a, c = a, d = load(x + n - lanes);
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = max_keep_nan(a, load(x + i));
    b = max_keep_nan(b, load(x + i + lanes));
    c = max_keep_nan(c, load(x + i + 2 * lanes));
    d = max_keep_nan(d, load(x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = max_keep_nan(a, load(x + i));
  // a, b and c are never NaN; d may be in the lanes of its first load.
  a = max_keep_nan(max_keep_nan(a, b), max_keep_nan(c, d));
  T values[lanes];
  store(values, a);
  for (size_t width = lanes / 2; width > 0; width /= 2) {
    for (size_t k = 0; k < width; ++k) values[k] = values[k] > values[k + width] ? values[k] : values[k + width];
  }
  return values[0];
}

// exp(v). What is far below the smallest number, as masked elements are, is 0 at once: the way there leads through
// denormals, which take a processor a hundred times as long.
template <class V>
ENR_INLINE V exp_or_zero(V v) {
  const auto is_gone = v < constant<V>(FloatFormat<V>::kExpLow);
  const V result = exp(is_gone ? V{} : v);
  return is_gone ? V{} : result;
}

// Writes exp(x - shift) and returns the sum of it.
template <class T>
ENR_INLINE double exponentials(const T* x, T* out, size_t n, T shift) {
  constexpr size_t lanes = kLanes<T>;
  const Vec<T> offset = splat<T>(shift);
  double total = 0;
  Vec<T> sum{};
  size_t since = 0;
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Vec<T> e = exp_or_zero(load(x + i) - offset);
    store(out + i, e);
    sum += e;
    if (++since == 64) {
      total += total_of(sum);
      sum = Vec<T>{};
      since = 0;
    }
  }
  total += total_of(sum);
  if (i < n) {
    T rest[lanes];
    store(rest, exp_or_zero(load_first(x + i, n - i) - offset));
    for (size_t k = 0; k < n - i; ++k) {
      out[i + k] = rest[k];
      total += rest[k];
    }
  }
  return total;
}

template <class T>
ENR_INLINE double sum_exponentials(const T* x, size_t n, T shift) {
  const Vec<T> offset = splat<T>(shift);
  return sum_of(x, n, [&](Vec<T> v) __attribute__((always_inline)) { return exp_or_zero(v - offset); });
}

template <class T>
ENR_INLINE void softmax_one(bool logarithm, const T* in, T* out, size_t n) {
  const T top = largest(in, n);
  if (logarithm) {
    const T shift = lane_log<T>(static_cast<T>(sum_exponentials(in, n, top)));
    const Vec<T> largest_value = splat<T>(top), log_sum = splat<T>(shift);
    map_vectors(in, out, n, [&](Vec<T> v) __attribute__((always_inline)) { return v - largest_value - log_sum; });
  } else {
    const Vec<T> factor = splat<T>(static_cast<T>(1.0 / exponentials(in, out, n, top)));
    map_vectors(out, out, n, [&](Vec<T> v) __attribute__((always_inline)) { return v * factor; });
  }
}

template <class T>
void softmax_rows(bool logarithm, const T* in, T* out, size_t rows, size_t n) noexcept {
  for (size_t r = 0; r < rows; ++r) softmax_one(logarithm, in + r * n, out + r * n, n);
}

template <class T>
void softmax_columns(bool logarithm, const T* in, size_t in_stride, T* out, size_t out_stride, size_t dim,
                     size_t width) noexcept {
  T top[kSoftmaxColumns], sum[kSoftmaxColumns];
  for (size_t w = 0; w < width; ++w) {
    top[w] = in[w];
    sum[w] = 0;
  }
  for (size_t d = 1; d < dim; ++d) {
    const T* row = in + d * in_stride;
    for (size_t w = 0; w < width; ++w) top[w] = row[w] > top[w] || row[w] != row[w] ? row[w] : top[w];
  }
  for (size_t d = 0; d < dim; ++d) {
    const T* row = in + d * in_stride;
    T* to = out + d * out_stride;
    size_t w = 0;
    for (; w < width; w += kLanes<T>) {
      const size_t count = width - w < kLanes<T> ? width - w : kLanes<T>;
      const bool whole = count == kLanes<T>;
      const Vec<T> x = whole ? load(row + w) : load_first(row + w, count);
      const Vec<T> e = exp_or_zero(x - (whole ? load(top + w) : load_first(top + w, count)));
      const Vec<T> total = (whole ? load(sum + w) : load_first(sum + w, count)) + e;
      if (whole) {
        store(sum + w, total);
        if (!logarithm) store(to + w, e);
      } else {
        store_first(sum + w, total, count);
        if (!logarithm) store_first(to + w, e, count);
      }
    }
  }
  for (size_t w = 0; w < width; ++w) sum[w] = logarithm ? sum[w] : T{1} / sum[w];
  if (logarithm) map_vectors(sum, sum, width, [](Vec<T> v) __attribute__((always_inline)) { return log(v); });
  for (size_t d = 0; d < dim; ++d) {
    T* to = out + d * out_stride;
    if (logarithm) {
      const T* row = in + d * in_stride;
      for (size_t w = 0; w < width; ++w) to[w] = row[w] - top[w] - sum[w];
    } else {
      for (size_t w = 0; w < width; ++w) to[w] *= sum[w];
    }
  }
}

void attention_row(const float* in, float* out, size_t n, float scale, const float* mask) noexcept {
  const F32 factor = splat<float>(scale);
  if (mask == nullptr) {
    map_vectors(in, out, n, [&](F32 v) __attribute__((always_inline)) { return v * factor; });
  } else {
    size_t i = 0;
    for (; i + kF32Lanes <= n; i += kF32Lanes) store(out + i, fma(load(in + i), factor, load(mask + i)));
    if (i < n) {
      store_first(out + i, fma(load_first(in + i, n - i), factor, load_first(mask + i, n - i)), n - i);
    }
  }
  if (n != 0) softmax_one<float>(false, out, out, n);
}

}  // namespace

const SoftmaxTable& softmax_table() {
  static const SoftmaxTable table{{&softmax_rows<float>, &softmax_columns<float>},
                                  {&softmax_rows<double>, &softmax_columns<double>},
                                  &attention_row};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
