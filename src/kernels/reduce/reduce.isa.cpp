#include "kernels/reduce/reduce_table.h"

#include "kernels/simd/extremes.h"
#include "kernels/simd/lanes.h"
#include "kernels/simd/math.h"
#include "kernels/simd/sums.h"

namespace enr::kernels::ENR_ISA {

void fill_args(ReduceTable& table);

namespace {

// The terms of sums: f(x, c).
struct Value {
  template <class V>
  ENR_INLINE V operator()(V x, V) const {
    return x;
  }
};
struct AbsValue {
  template <class V>
  ENR_INLINE V operator()(V x, V) const {
    return abs(x);
  }
};
struct SquareOf {
  template <class V>
  ENR_INLINE V operator()(V x, V) const {
    return x * x;
  }
};
struct NonZero {
  template <class V>
  ENR_INLINE V operator()(V x, V) const {
    return x != V{} ? constant<V>(1) : V{};
  }
};
struct Deviation {
  template <class V>
  ENR_INLINE V operator()(V x, V c) const {
    return (x - c) * (x - c);
  }
};
struct Power {
  template <class V>
  ENR_INLINE V operator()(V x, V c) const {
    return pow(abs(x), c);
  }
};
struct ExpOf {
  template <class V>
  ENR_INLINE V operator()(V x, V c) const {
    return exp(x - c);
  }
};

ENR_INLINE void add_to(double* acc, F32 v) {
  store(acc, load(acc) + low_doubles(v));
  store(acc + kLanes<double>, load(acc + kLanes<double>) + high_doubles(v));
}
ENR_INLINE void add_to(double* acc, F64 v) { store(acc, load(acc) + v); }
ENR_INLINE void add_to(int64_t* acc, I64 v) { store(acc, load(acc) + v); }

template <class T, class F>
double sum_row(const T* x, size_t n, const double* c, double acc) noexcept {
  const F f;
  const Vec<T> centre = splat<T>(c != nullptr ? static_cast<T>(*c) : T{0});
  return acc + sum_of(x, n, [&](Vec<T> v) __attribute__((always_inline)) { return f(v, centre); });
}

// Adds `rows` rows, at most 8, of `width` columns; `has_next`: another 8 follow.
template <class T, class A, class F>
ENR_INLINE void add_rows(const T* x, ptrdiff_t stride, size_t rows, bool has_next, size_t width, const T* c, A* acc) {
  const F f;
  constexpr size_t lanes = kLanes<T>;
  size_t w = 0;
  for (; w + lanes <= width; w += lanes) {
    const Vec<T> centre = c != nullptr ? load(c + w) : Vec<T>{};
    Vec<T> sum = f(load(x + w), centre);
    if (rows == 8) {
      const T* p = x + w;
      if (has_next && w * sizeof(T) % 64 == 0) {  // the rows after these, as in extreme_vectors
        for (ptrdiff_t next = 8; next < 16; ++next) __builtin_prefetch(p + next * stride);
      }
      const Vec<T> s01 = sum + f(load(p + stride), centre);
      const Vec<T> s23 = f(load(p + 2 * stride), centre) + f(load(p + 3 * stride), centre);
      const Vec<T> s45 = f(load(p + 4 * stride), centre) + f(load(p + 5 * stride), centre);
      const Vec<T> s67 = f(load(p + 6 * stride), centre) + f(load(p + 7 * stride), centre);
      sum = (s01 + s23) + (s45 + s67);
    } else {
      for (size_t r = 1; r < rows; ++r) sum += f(load(x + static_cast<ptrdiff_t>(r) * stride + w), centre);
    }
    add_to(acc + w, sum);
  }
  if (w == width) return;
  const size_t rest = width - w;
  const Vec<T> centre = c != nullptr ? load_first(c + w, rest) : Vec<T>{};
  Vec<T> sum{};
  for (size_t r = 0; r < rows; ++r) sum += f(load_first(x + static_cast<ptrdiff_t>(r) * stride + w, rest), centre);
  T values[lanes];
  store(values, sum);
  for (size_t k = 0; k < rest; ++k) acc[w + k] += values[k];
}

template <class T, class A, class F>
void sum_columns(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, const A* c, A* acc) noexcept {
  T centres[kReduceColumns];
  if (c != nullptr) {
    for (size_t w = 0; w < width; ++w) centres[w] = static_cast<T>(c[w]);
  }
  const T* centre = c != nullptr ? centres : nullptr;
  size_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    const bool has_next = r + 16 <= rows;
    add_rows<T, A, F>(x + static_cast<ptrdiff_t>(r) * row_stride, row_stride, 8, has_next, width, centre, acc);
  }
  if (r == rows) return;
  add_rows<T, A, F>(x + static_cast<ptrdiff_t>(r) * row_stride, row_stride, rows - r, false, width, centre, acc);
}

// Calls body(w) at every vector of `width` columns; the last one overlaps.
template <class T, class Body>
ENR_INLINE void for_each_vector(size_t width, const Body& body) {
  constexpr size_t lanes = kLanes<T>;
  size_t w = 0;
  for (; w + lanes <= width; w += lanes) body(w);
  if (w < width) body(width - lanes);
}

template <class T, class First, class Next, class Last>
ENR_INLINE void fold_few_rows(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, T* out, First first,
                              Next next, Last last) {
  const auto fold = [&](size_t w, size_t count) __attribute__((always_inline)) {
    Vec<T> v = first(load(x + w));
#pragma GCC unroll 4
    for (size_t r = 1; r < count; ++r) v = next(v, load(x + static_cast<ptrdiff_t>(r) * row_stride + w));
    store(out + w, last(v));
  };
  // Unrolled for the fewest.
  if (rows == 2) return for_each_vector<T>(width, [&](size_t w) __attribute__((always_inline)) { fold(w, 2); });
  if (rows == 3) return for_each_vector<T>(width, [&](size_t w) __attribute__((always_inline)) { fold(w, 3); });
  if (rows == 4) return for_each_vector<T>(width, [&](size_t w) __attribute__((always_inline)) { fold(w, 4); });
  for_each_vector<T>(width, [&](size_t w) __attribute__((always_inline)) { fold(w, rows); });
}

// What few rows' results become at last.
struct AsItIs {
  template <class V>
  ENR_INLINE V operator()(V v, size_t) const {
    return v;
  }
};
struct OverRows {
  template <class V>
  ENR_INLINE V operator()(V v, size_t rows) const {
    return v / constant<V>(static_cast<double>(rows));
  }
};
struct RootOf {
  template <class V>
  ENR_INLINE V operator()(V v, size_t) const {
    return sqrt(v);
  }
};
struct AsTruth {
  ENR_INLINE Vec<uint8_t> operator()(Vec<uint8_t> v, size_t) const {
    return (Vec<uint8_t>)(v != Vec<uint8_t>{}) & splat<uint8_t>(1);
  }
};

template <class T, class F, class Last>
void sum_few_rows(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, T* out) noexcept {
  const F f;
  fold_few_rows(
      x, row_stride, rows, width, out, [&](Vec<T> v) __attribute__((always_inline)) { return f(v, Vec<T>{}); },
      [&](Vec<T> sum, Vec<T> v) __attribute__((always_inline)) { return sum + f(v, Vec<T>{}); },
      [&](Vec<T> sum) __attribute__((always_inline)) { return Last{}(sum, rows); });
}

template <class A>
A plus(A x, A y) noexcept {
  return x + y;
}

template <class T, class F>
ReduceKernel<T, double> sum_kernel() {
  return {0, &sum_row<T, F>, &sum_columns<T, double, F>, &plus<double>, false};
}

template <class T>
void fill_sums(ReduceKernel<T, double>* sums) {
  sums[kTermValue] = sum_kernel<T, Value>();
  sums[kTermAbs] = sum_kernel<T, AbsValue>();
  sums[kTermSquare] = sum_kernel<T, SquareOf>();
  sums[kTermNonZero] = sum_kernel<T, NonZero>();
  sums[kTermDeviation] = sum_kernel<T, Deviation>();
  sums[kTermPower] = sum_kernel<T, Power>();
  sums[kTermExp] = sum_kernel<T, ExpOf>();
  sums[kTermValue].few_rows = &sum_few_rows<T, Value, AsItIs>;
}

int64_t sum_row_i64(const int64_t* x, size_t n, const int64_t*, int64_t acc) noexcept {
  uint64_t total = static_cast<uint64_t>(acc);
  for (size_t i = 0; i < n; ++i) total += static_cast<uint64_t>(x[i]);
  return static_cast<int64_t>(total);
}

template <class A>
ENR_INLINE A multiply(A x, A y) {
  if constexpr (static_cast<A>(0.5) != A{0}) return x * y;
  return static_cast<A>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}
template <class A>
A times(A x, A y) noexcept {
  return multiply(x, y);
}
template <class T, class A>
A prod_row(const T* x, size_t n, const A*, A acc) noexcept {
  A partial[16];
  for (size_t k = 0; k < 16; ++k) partial[k] = 1;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (size_t k = 0; k < 16; ++k) partial[k] = multiply(partial[k], static_cast<A>(x[i + k]));
  }
  for (; i < n; ++i) acc = multiply(acc, static_cast<A>(x[i]));
  for (size_t k = 0; k < 16; ++k) acc = multiply(acc, partial[k]);
  return acc;
}
template <class T, class A>
void prod_columns(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, const A*, A* acc) noexcept {
  size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T* row = x + static_cast<ptrdiff_t>(r) * row_stride;
    for (size_t w = 0; w < width; ++w) {
      const A first = multiply(static_cast<A>(row[w]), static_cast<A>(row[static_cast<ptrdiff_t>(w) + row_stride]));
      const A second = multiply(static_cast<A>(row[static_cast<ptrdiff_t>(w) + 2 * row_stride]),
                                static_cast<A>(row[static_cast<ptrdiff_t>(w) + 3 * row_stride]));
      acc[w] = multiply(acc[w], multiply(first, second));
    }
  }
  for (; r < rows; ++r) {
    const T* row = x + static_cast<ptrdiff_t>(r) * row_stride;
    for (size_t w = 0; w < width; ++w) acc[w] = multiply(acc[w], static_cast<A>(row[w]));
  }
}

template <class T>
void prod_few_rows(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, T* out) noexcept {
  fold_few_rows(
      x, row_stride, rows, width, out, [](Vec<T> v) __attribute__((always_inline)) { return v; },
      [](Vec<T> product, Vec<T> v) __attribute__((always_inline)) { return product * v; },
      [](Vec<T> product) __attribute__((always_inline)) { return product; });
}
template <class T, class A>
ReduceKernel<T, A> prod_kernel() {
  return {1, &prod_row<T, A>, &prod_columns<T, A>, &times<A>, false, &prod_few_rows<T>};
}

// Extremes. `wins(x, y)` is the vector that holds the winner of each lane.
struct Largest {
  template <class V>
  static ENR_INLINE V of(V x) {
    return x;
  }
  template <class V>
  static ENR_INLINE V wins(V x, V y) {
    return larger(x, y);
  }
};
struct Smallest {
  template <class V>
  static ENR_INLINE V of(V x) {
    return x;
  }
  template <class V>
  static ENR_INLINE V wins(V x, V y) {
    return smaller(x, y);
  }
};
struct LargestAbs : Largest {
  template <class V>
  static ENR_INLINE V of(V x) {
    return abs(x);
  }
};
struct SmallestAbs : Smallest {
  template <class V>
  static ENR_INLINE V of(V x) {
    return abs(x);
  }
};

template <class T>
ENR_INLINE T wins_scalar(Largest, T x, T y) {
  return x > y || x != x ? x : y;
}
template <class T>
ENR_INLINE T wins_scalar(Smallest, T x, T y) {
  return x < y || x != x ? x : y;
}

template <class T, class F>
T extreme_combine(T x, T y) noexcept {
  return wins_scalar(F{}, x, wins_scalar(F{}, y, x));
}

template <class T, class F>
ENR_INLINE T winning_lane(Vec<T> v, T acc) {
  const T top = fold_lanes<T>(v, [](Vec<T> x, Vec<T> y) __attribute__((always_inline)) { return F::wins(x, y); });
  return extreme_combine<T, F>(top, acc);
}

template <class T, class F>
T extreme_row(const T* x, size_t n, const T*, T acc) noexcept {
  constexpr size_t lanes = kLanes<T>;
  if (n == 0) return acc;
  if (n < lanes) return winning_lane<T, F>(F::of(load_repeated(x, n)), acc);
  Vec<T> a = F::of(load(x));
  size_t i = lanes;
  if (n >= 4 * lanes) {
    Vec<T> b = F::of(load(x + lanes)), c = F::of(load(x + 2 * lanes)), d = F::of(load(x + 3 * lanes));
    for (i = 4 * lanes; i + 4 * lanes <= n; i += 4 * lanes) {
      a = F::wins(a, F::of(load(x + i)));
      b = F::wins(b, F::of(load(x + i + lanes)));
      c = F::wins(c, F::of(load(x + i + 2 * lanes)));
      d = F::wins(d, F::of(load(x + i + 3 * lanes)));
    }
    a = F::wins(F::wins(a, b), F::wins(c, d));
  }
  // The last vector overlaps what has been seen, which an extreme does not mind.
  for (; i < n; i += lanes) a = F::wins(a, F::of(load(x + (i + lanes <= n ? i : n - lanes))));
  return winning_lane<T, F>(a, acc);
}

// kCount vectors of columns. Rows far apart give the processor no hint of what comes: where `has_next`, as many rows
// behind these are asked for. (Where there are none, asking would cost a walk through page tables each.)
template <class T, class F, size_t kCount>
ENR_INLINE void extreme_vectors(const T* x, ptrdiff_t row_stride, size_t rows, bool has_next, T* acc) {
  constexpr size_t lanes = kLanes<T>, line = 64 / sizeof(T);
  Vec<T> best[kCount];
#pragma GCC unroll 4
  for (size_t k = 0; k < kCount; ++k) best[k] = load(acc + k * lanes);
  for (size_t r = 0; r < rows; ++r) {
    const T* p = x + static_cast<ptrdiff_t>(r) * row_stride;
#pragma GCC unroll 4
    for (size_t k = 0; has_next && k < kCount * lanes; k += line) {
      __builtin_prefetch(p + static_cast<ptrdiff_t>(rows) * row_stride + static_cast<ptrdiff_t>(k));
    }
#pragma GCC unroll 4
    for (size_t k = 0; k < kCount; ++k) best[k] = F::wins(best[k], F::of(load(p + k * lanes)));
  }
#pragma GCC unroll 4
  for (size_t k = 0; k < kCount; ++k) store(acc + k * lanes, best[k]);
}

template <class T, class F>
void extreme_columns(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, const T*, T* acc) noexcept {
  constexpr size_t lanes = kLanes<T>;
  // A few rows at a time, so that they are read as they lie in memory.
  constexpr size_t batch = 8;
  for (size_t r = 0; r < rows; r += batch) {
    const T* p = x + static_cast<ptrdiff_t>(r) * row_stride;
    const size_t count = rows - r < batch ? rows - r : batch;
    const bool has_next = r + batch < rows;
    if (width < lanes) {
      for (size_t k = 0; k < count; ++k) {
        const T* row = p + static_cast<ptrdiff_t>(k) * row_stride;
        for (size_t w = 0; w < width; ++w) acc[w] = extreme_combine<T, F>(F::of(splat<T>(row[w]))[0], acc[w]);
      }
      continue;
    }
    size_t w = 0;
    for (; w + 4 * lanes <= width; w += 4 * lanes) {
      extreme_vectors<T, F, 4>(p + w, row_stride, count, has_next, acc + w);
    }
    // The last vector overlaps, which an extreme does not mind.
    for (; w < width; w += lanes) {
      const size_t from = w + lanes <= width ? w : width - lanes;
      extreme_vectors<T, F, 1>(p + from, row_stride, count, has_next, acc + from);
    }
  }
}

template <class T, class F, class Last>
void extreme_few_rows(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, T* out) noexcept {
  fold_few_rows(
      x, row_stride, rows, width, out, [](Vec<T> v) __attribute__((always_inline)) { return F::of(v); },
      [](Vec<T> best, Vec<T> v) __attribute__((always_inline)) { return F::wins(best, F::of(v)); },
      [&](Vec<T> best) __attribute__((always_inline)) { return Last{}(best, rows); });
}

template <class T, class F>
ReduceKernel<T, T> extreme_kernel(T start) {
  return {start,
          &extreme_row<T, F>,
          &extreme_columns<T, F>,
          &extreme_combine<T, F>,
          false,
          &extreme_few_rows<T, F, AsItIs>};
}

template <class T>
void fill_integer_extremes(ReduceKernel<T, T>* kernels, T lowest, T highest) {
  kernels[kLargest] = extreme_kernel<T, Largest>(lowest);
  kernels[kSmallest] = extreme_kernel<T, Smallest>(highest);
}

template <class T>
void fill_extremes(ReduceKernel<T, T>* kernels) {
  const T infinity = static_cast<T>(__builtin_inf());
  fill_integer_extremes<T>(kernels, -infinity, infinity);
  kernels[kLargestAbs] = extreme_kernel<T, LargestAbs>(0);
  kernels[kSmallestAbs] = extreme_kernel<T, SmallestAbs>(infinity);
}

ReduceTable make_table() {
  ReduceTable table{};
  fill_sums<float>(table.sum_f32);
  fill_sums<double>(table.sum_f64);
  table.sum_i64 = {0, &sum_row_i64, &sum_columns<int64_t, int64_t, Value>, &plus<int64_t>, false};
  table.prod_f32 = prod_kernel<float, double>();
  table.prod_f64 = prod_kernel<double, double>();
  table.prod_i64 = prod_kernel<int64_t, int64_t>();
  fill_extremes<float>(table.extreme_f32);
  fill_extremes<double>(table.extreme_f64);
  fill_integer_extremes<int64_t>(table.extreme_i64, INT64_MIN, INT64_MAX);
  fill_integer_extremes<int32_t>(table.extreme_i32, INT32_MIN, INT32_MAX);
  fill_integer_extremes<int16_t>(table.extreme_i16, INT16_MIN, INT16_MAX);
  fill_integer_extremes<int8_t>(table.extreme_i8, INT8_MIN, INT8_MAX);
  fill_integer_extremes<uint8_t>(table.extreme_u8, 0, UINT8_MAX);
  fill_integer_extremes<uint64_t>(table.extreme_u64, 0, UINT64_MAX);
  table.mean_few_rows_f32 = &sum_few_rows<float, Value, OverRows>;
  table.mean_few_rows_f64 = &sum_few_rows<double, Value, OverRows>;
  table.norm_few_rows_f32 = &sum_few_rows<float, SquareOf, RootOf>;
  table.norm_few_rows_f64 = &sum_few_rows<double, SquareOf, RootOf>;
  table.any_few_rows = &extreme_few_rows<uint8_t, Largest, AsTruth>;
  table.all_few_rows = &extreme_few_rows<uint8_t, Smallest, AsTruth>;
  fill_args(table);
  return table;
}

}  // namespace

const ReduceTable& reduce_table() {
  static const ReduceTable table = make_table();
  return table;
}

}  // namespace enr::kernels::ENR_ISA
