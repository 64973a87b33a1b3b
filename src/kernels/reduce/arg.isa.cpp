#include "kernels/reduce/reduce_table.h"

#include "kernels/simd/arith.h"

namespace enr::kernels::ENR_ISA {

void fill_args(ReduceTable& table);

namespace {

// Whether x takes the place of the best so far, which came before it.
template <bool largest, class T>
ENR_INLINE bool beats(T x, T best) {
  const bool better = largest ? x > best : x < best;
  return best == best && (better || x != x);
}

// The larger (or smaller) lanes; the old ones where either is NaN.
template <bool largest, class V>
ENR_INLINE V better_of(V x, V best) {
  return (largest ? x > best : x < best) ? x : best;
}

// The extreme of the elements, or NaN if one of them is.
template <bool largest, class T>
ENR_INLINE T extreme_of(const T* p, size_t count) {
  constexpr size_t lanes = kLanes<T>;
  T top = p[0];
  if (count < 4 * lanes) {
    for (size_t i = 1; i < count; ++i) top = beats<largest, T>(p[i], top) ? p[i] : top;
    return top;
  }
  Vec<T> best[4];
  auto is_nan = load(p) != load(p);
  for (size_t k = 0; k < 4; ++k) {
    const Vec<T> x = load(p + (k < 3 ? k * lanes : count - lanes));  // overlaps, which an extreme does not mind
    is_nan |= x != x;
    best[k] = x;
  }
  size_t i = 3 * lanes;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (size_t k = 0; k < 4; ++k) {
      const Vec<T> x = load(p + i + k * lanes);
      is_nan |= x != x;
      best[k] = better_of<largest>(x, best[k]);
    }
  }
  for (; i + lanes <= count; i += lanes) {
    const Vec<T> x = load(p + i);
    is_nan |= x != x;
    best[0] = better_of<largest>(x, best[0]);
  }
  if (any(is_nan)) return static_cast<T>(__builtin_nan(""));
  const Vec<T> all = better_of<largest>(better_of<largest>(best[0], best[1]), better_of<largest>(best[2], best[3]));
  top = all[0];
  for (size_t k = 1; k < lanes; ++k) top = (largest ? all[k] > top : all[k] < top) ? all[k] : top;
  return top;
}

// Where `value` first stands; it does.
template <class T>
ENR_INLINE size_t find(const T* p, size_t count, T value) {
  constexpr size_t lanes = kLanes<T>;
  const bool is_nan = value != value;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vec<T> v = load(p + i);
    if (is_nan ? any(v != v) : any(v == splat<T>(value))) break;
  }
  while (!(is_nan ? p[i] != p[i] : p[i] == value)) ++i;
  return i;
}

template <class T, bool largest>
Best<T> arg_row(const T* x, size_t n, const Best<T>*, Best<T> acc) noexcept {
  constexpr size_t block = 64 * kLanes<T>;
  for (size_t begin = 0; begin < n; begin += block) {
    const size_t count = n - begin < block ? n - begin : block;
    const T top = extreme_of<largest>(x + begin, count);
    if (acc.index < 0 || beats<largest, T>(top, acc.value)) {
      acc.value = top;
      acc.index = acc.seen + static_cast<int64_t>(begin + find(x + begin, count, top));
    }
  }
  acc.seen += static_cast<int64_t>(n);
  return acc;
}

template <class T, bool largest>
void arg_columns(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, const Best<T>*, Best<T>* acc) noexcept {
  T best[kReduceColumns];
  int64_t index[kReduceColumns];
  for (size_t w = 0; w < width; ++w) {
    const bool is_new = acc[w].index < 0;
    best[w] = is_new ? x[w] : acc[w].value;
    index[w] = is_new ? acc[w].seen : acc[w].index;
  }
  for (size_t r = 0; r < rows; ++r) {
    const T* row = x + static_cast<ptrdiff_t>(r) * row_stride;
    const int64_t here = acc[0].seen + static_cast<int64_t>(r);
    for (size_t w = 0; w < width; ++w) {
      const T value = row[w], old = best[w];
      const bool takes = beats<largest, T>(value, old);
      best[w] = takes ? value : old;
      index[w] = takes ? here : index[w];
    }
  }
  for (size_t w = 0; w < width; ++w) acc[w] = {best[w], index[w], acc[w].seen + static_cast<int64_t>(rows)};
}

template <class T, bool largest>
Best<T> arg_combine(Best<T> x, Best<T> y) noexcept {
  if (y.index < 0) return {x.value, x.index, x.seen + y.seen};
  const bool takes = x.index < 0 || beats<largest, T>(y.value, x.value);
  return takes ? Best<T>{y.value, x.seen + y.index, x.seen + y.seen} : Best<T>{x.value, x.index, x.seen + y.seen};
}

template <class T>
void fill(ReduceKernel<T, Best<T>>* kernels) {
  kernels[kLargest] = {{0, -1, 0}, &arg_row<T, true>, &arg_columns<T, true>, &arg_combine<T, true>, true};
  kernels[kSmallest] = {{0, -1, 0}, &arg_row<T, false>, &arg_columns<T, false>, &arg_combine<T, false>, true};
}

}  // namespace

void fill_args(ReduceTable& table) {
  fill<float>(table.arg_f32);
  fill<double>(table.arg_f64);
  fill<int64_t>(table.arg_i64);
}

}  // namespace enr::kernels::ENR_ISA
