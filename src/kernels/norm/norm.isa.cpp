#include "kernels/norm/norm_table.h"

#include "kernels/simd/sums.h"

namespace enr::kernels::ENR_ISA {
namespace {

template <class T>
ENR_INLINE double sum(const T* x, size_t n) {
  return sum_of(x, n, [](Vec<T> v) __attribute__((always_inline)) { return v; });
}
template <class T>
ENR_INLINE double sum_of_squares(const T* x, size_t n, double centre) {
  const Vec<T> offset = splat<T>(static_cast<T>(centre));
  return sum_of(x, n, [&](Vec<T> v) __attribute__((always_inline)) {
    const Vec<T> d = v - offset;
    return d * d;
  });
}

template <class T>
double moment(const T* x, size_t n, double centre, int power) noexcept {
  if (power == 2) return sum_of_squares(x, n, centre);
  return centre == 0 ? sum(x, n) : sum(x, n) - static_cast<double>(n) * centre;
}

struct Moments {
  double mean;
  double rstd;
};

template <class T>
ENR_INLINE Moments moments_of(const T* x, size_t n, double eps) {
  const double count = static_cast<double>(n);
  const double mean = sum(x, n) / count;
  const double variance = sum_of_squares(x, n, mean) / count;
  return {mean, 1.0 / __builtin_sqrt(variance + eps)};
}

// A pair of loads that also serves the last, partial vector.
template <class T>
ENR_INLINE Vec<T> load_some(const T* p, size_t count) {
  return count == kLanes<T> ? load(p) : load_first(p, count);
}
template <class T>
ENR_INLINE void store_some(T* p, Vec<T> v, size_t count) {
  if (count == kLanes<T>) return store(p, v);
  store_first(p, v, count);
}

// f(vector, index of its first element, lanes in use) over the array.
template <class T, class F>
ENR_INLINE void map_indexed(const T* in, T* out, size_t n, F f) {
  size_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(out + i, f(load(in + i), i, kLanes<T>));
  if (i < n) store_first(out + i, f(load_first(in + i, n - i), i, n - i), n - i);
}

template <class T>
void affine(const T* in, T scale, T shift, T* out, size_t n) noexcept {
  const Vec<T> factor = splat<T>(scale), offset = splat<T>(shift);
  map_vectors(in, out, n, [&](Vec<T> v) __attribute__((always_inline)) { return fma(v, factor, offset); });
}

template <class T>
void affine_each(const T* in, const T* scale, const T* shift, T* out, size_t rows, size_t cols) noexcept {
  for (size_t r = 0; r < rows; ++r) {
    map_indexed(in + r * cols, out + r * cols, cols,
                [&](Vec<T> v, size_t i, size_t count) __attribute__((always_inline)) {
                  return fma(v, load_some(scale + i, count), load_some(shift + i, count));
                });
  }
}

// Rows that would not fill a vector: tiles of them are turned, and the rows normalised side by side. What the mean
// rounds away is taken off the differences.
inline constexpr size_t kNarrow = 8, kTileRows = 64;

template <class T>
void layer_norm_narrow(const T* in, const T* gamma, const T* beta, T* out, T* mean_out, T* rstd_out, size_t rows,
                       size_t cols, T eps) noexcept {
  alignas(64) T tile[kNarrow * kTileRows] = {}, means[kTileRows], rstds[kTileRows];
  const Vec<T> share = splat(T{1} / static_cast<T>(cols));
  for (size_t begin = 0; begin < rows; begin += kTileRows) {
    const size_t count = rows - begin < kTileRows ? rows - begin : kTileRows;
    const T* x = in + begin * cols;
    for (size_t r = 0; r < count; ++r) {
      for (size_t c = 0; c < cols; ++c) tile[c * kTileRows + r] = x[r * cols + c];
    }
    for (size_t r = 0; r < count; r += kLanes<T>) {
      Vec<T> values[kNarrow], mean{}, rest{}, variance{};
      for (size_t c = 0; c < cols; ++c) {
        values[c] = load(tile + c * kTileRows + r);
        mean += values[c] * share;
      }
      for (size_t c = 0; c < cols; ++c) {
        values[c] -= mean;
        rest += values[c] * share;
      }
      for (size_t c = 0; c < cols; ++c) {
        values[c] -= rest;
        variance = fma(values[c] * share, values[c], variance);
      }
      const Vec<T> rstd = splat(T{1}) / sqrt(variance + splat(eps));
      store(means + r, mean + (rest == rest ? rest : Vec<T>{}));  // an infinite mean has no rest
      store(rstds + r, rstd);
      for (size_t c = 0; c < cols; ++c) {
        const Vec<T> scaled = values[c] * rstd;
        const Vec<T> shift = beta != nullptr ? splat(beta[c]) : Vec<T>{};
        store(tile + c * kTileRows + r, gamma != nullptr ? fma(scaled, splat(gamma[c]), shift) : scaled + shift);
      }
    }
    T* y = out + begin * cols;
    for (size_t r = 0; r < count; ++r) {
      for (size_t c = 0; c < cols; ++c) y[r * cols + c] = tile[c * kTileRows + r];
    }
    if (mean_out != nullptr) memcpy(mean_out + begin, means, count * sizeof(T));
    if (rstd_out != nullptr) memcpy(rstd_out + begin, rstds, count * sizeof(T));
  }
}

template <class T>
void layer_norm(const T* in, const T* gamma, const T* beta, T* out, T* mean_out, T* rstd_out, size_t rows, size_t cols,
                double eps) noexcept {
  if (cols <= kNarrow && rows >= kLanes<T>) {
    return layer_norm_narrow(in, gamma, beta, out, mean_out, rstd_out, rows, cols, static_cast<T>(eps));
  }
  for (size_t r = 0; r < rows; ++r) {
    const T* x = in + r * cols;
    T* y = out + r * cols;
    const Moments m = moments_of(x, cols, eps);
    if (mean_out != nullptr) mean_out[r] = static_cast<T>(m.mean);
    if (rstd_out != nullptr) rstd_out[r] = static_cast<T>(m.rstd);
    const Vec<T> mean = splat<T>(static_cast<T>(m.mean)), rstd = splat<T>(static_cast<T>(m.rstd));
    if (gamma != nullptr && beta != nullptr) {
      map_indexed(x, y, cols, [&](Vec<T> v, size_t i, size_t count) __attribute__((always_inline)) {
        return fma((v - mean) * rstd, load_some(gamma + i, count), load_some(beta + i, count));
      });
    } else if (gamma != nullptr) {
      map_indexed(x, y, cols, [&](Vec<T> v, size_t i, size_t count) __attribute__((always_inline)) {
        return (v - mean) * rstd * load_some(gamma + i, count);
      });
    } else if (beta != nullptr) {
      map_indexed(x, y, cols, [&](Vec<T> v, size_t i, size_t count) __attribute__((always_inline)) {
        return fma(v - mean, rstd, load_some(beta + i, count));
      });
    } else {
      map_vectors(x, y, cols, [&](Vec<T> v) __attribute__((always_inline)) { return (v - mean) * rstd; });
    }
  }
}

template <class T>
void rms_norm(const T* in, const T* gamma, T* out, size_t rows, size_t cols, double eps) noexcept {
  for (size_t r = 0; r < rows; ++r) {
    const T* x = in + r * cols;
    T* y = out + r * cols;
    const double mean_square = sum_of_squares(x, cols, 0) / static_cast<double>(cols);
    const Vec<T> factor = splat<T>(static_cast<T>(1.0 / __builtin_sqrt(mean_square + eps)));
    if (gamma != nullptr) {
      map_indexed(x, y, cols, [&](Vec<T> v, size_t i, size_t count) __attribute__((always_inline)) {
        return v * factor * load_some(gamma + i, count);
      });
    } else {
      map_vectors(x, y, cols, [&](Vec<T> v) __attribute__((always_inline)) { return v * factor; });
    }
  }
}

template <class T>
void group_norm(const T* in, const T* gamma, const T* beta, T* out, T* mean_out, T* rstd_out, size_t channels,
                size_t spatial, double eps) noexcept {
  const Moments m = moments_of(in, channels * spatial, eps);
  if (mean_out != nullptr) *mean_out = static_cast<T>(m.mean);
  if (rstd_out != nullptr) *rstd_out = static_cast<T>(m.rstd);
  for (size_t c = 0; c < channels; ++c) {
    const double scale = m.rstd * (gamma != nullptr ? static_cast<double>(gamma[c]) : 1.0);
    const double shift = (beta != nullptr ? static_cast<double>(beta[c]) : 0.0) - m.mean * scale;
    affine(in + c * spatial, static_cast<T>(scale), static_cast<T>(shift), out + c * spatial, spatial);
  }
}

template <class T>
NormKernels<T> kernels() {
  return {&layer_norm<T>, &rms_norm<T>, &group_norm<T>, &affine<T>, &affine_each<T>, &moment<T>};
}

}  // namespace

const NormTable& norm_table() {
  static const NormTable table{kernels<float>(), kernels<double>()};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
