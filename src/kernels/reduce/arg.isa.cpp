#include "kernels/reduce/reduce_table.h"

#include "kernels/simd/extremes.h"
#include "kernels/simd/hide.h"
#include "kernels/simd/lanes.h"

namespace enr::kernels::ENR_ISA {

void fill_args(ReduceTable& table);

namespace {

// Whether x takes the place of the best so far, which came before it.
template <bool largest, class T>
ENR_INLINE bool beats(T x, T best) {
  const bool better = largest ? x > best : x < best;
  return best == best && (better || x != x);
}

// The larger (or smaller) lanes; the old ones where x is NaN.
template <bool largest, class T>
ENR_INLINE Vec<T> better_of(Vec<T> x, Vec<T> best) {
  constexpr bool is_integer = static_cast<T>(0.5) == 0;
  if constexpr (is_integer) return largest ? larger(x, best) : smaller(x, best);
  return largest ? max_keep_nan(best, x) : min_keep_nan(best, x);
}

// Whether a NaN was among the vectors seen, two at a time.
template <class T>
class NanSeen {
 public:
  ENR_INLINE void add(Vec<T> x, Vec<T> y) {
#if defined(__AVX512F__)
    if constexpr (is_floating) {
      if constexpr (sizeof(T) == 4) seen_ |= _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_UNORD_Q);
      if constexpr (sizeof(T) == 8) seen_ |= _mm512_cmp_pd_mask((__m512d)x, (__m512d)y, _CMP_UNORD_Q);
    }
#else
    if constexpr (is_floating) seen_ |= (x != x) | (y != y);
#endif
  }
#if defined(__AVX512F__)
  ENR_INLINE bool any_seen() const { return seen_ != 0; }

 private:
  uint16_t seen_ = 0;
#else
  ENR_INLINE bool any_seen() const { return is_floating && any(seen_); }

 private:
  decltype(Vec<T>{} != Vec<T>{}) seen_{};
#endif
  static constexpr bool is_floating = static_cast<T>(0.5) != 0;
};

// The extreme of the elements, or NaN if one of them is. count > 0.
template <bool largest, class T>
ENR_INLINE T extreme_of(const T* p, size_t count) {
  using V = Vec<T>;
  constexpr size_t lanes = kLanes<T>;
  const auto better = [](V x, V old) __attribute__((always_inline)) { return better_of<largest, T>(x, old); };
  NanSeen<T> nan;
  const V first = count < lanes ? load_repeated(p, count) : load(p);
  nan.add(first, first);
  V best[4] = {first, first, first, first};
  size_t i = lanes;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    V a = load(p + i), b = load(p + i + lanes), c = load(p + i + 2 * lanes), d = load(p + i + 3 * lanes);
    hide_vector(a);
    hide_vector(b);
    hide_vector(c);
    hide_vector(d);
    nan.add(a, b);
    nan.add(c, d);
    best[0] = better(a, best[0]);
    best[1] = better(b, best[1]);
    best[2] = better(c, best[2]);
    best[3] = better(d, best[3]);
  }
  // The last vector overlaps what has been seen, which an extreme does not mind.
  for (; i < count; i += lanes) {
    const V x = load(p + (i + lanes <= count ? i : count - lanes));
    nan.add(x, x);
    best[0] = better(x, best[0]);
  }
  if (nan.any_seen()) return static_cast<T>(__builtin_nan(""));
  return fold_lanes<T>(better(better(best[0], best[1]), better(best[2], best[3])), better);
}

// Where `value` first stands; it does.
template <class T>
ENR_INLINE size_t find(const T* p, size_t count, T value) {
  constexpr size_t lanes = kLanes<T>;
  if (value == value) {
    // In blocks of 32, of which the bits tell where without a guess.
    constexpr size_t vectors = 32 / lanes;
    const Vec<T> wanted = splat<T>(value);
    for (size_t i = 0; i + 32 <= count; i += 32) {
      // What lies behind the elements is likely read next, and this loop leaves time to fetch it.
      for (size_t line = 0; line < 32 * sizeof(T); line += 64) __builtin_prefetch((const char*)(p + count + i) + line);
      uint32_t bits = 0;
#pragma GCC unroll 16
      for (size_t v = 0; v < vectors; ++v) bits |= true_bits<sizeof(T)>(load(p + i + v * lanes) == wanted) << v * lanes;
      if (bits != 0) return i + static_cast<size_t>(__builtin_ctz(bits));
    }
    for (size_t i = count / 32 * 32;; i += lanes) {
      const Vec<T> v = i + lanes <= count ? load(p + i) : load_first(p + i, count - i);
      const uint32_t bits = true_bits<sizeof(T)>(v == wanted);
      if (bits != 0) return i + static_cast<size_t>(__builtin_ctz(bits));
    }
  }
  for (size_t i = 0;; ++i) {
    if (p[i] != p[i]) return i;
  }
}

template <class T>
  requires(sizeof(T) < 4)
ENR_INLINE size_t find(const T* p, size_t count, T value) {
  constexpr size_t lanes = kLanes<T>;
  size_t i = 0;
  if (count >= lanes) {
    const Vec<T> wanted = splat<T>(value);
    for (;; i = i + 2 * lanes <= count ? i + lanes : count - lanes) {  // the last vector overlaps what has been seen
      const auto mask = load(p + i) == wanted;
      if (any(mask)) return i + first_true_byte(mask) / sizeof(T);
    }
  }
  while (p[i] != value) ++i;
  return i;
}

template <class T, bool largest>
Best<T> arg_row(const T* x, size_t n, const Best<T>*, Best<T> acc) noexcept {
  // Large enough to fold the lanes seldom, small enough to be in cache still when the place is looked for.
  constexpr size_t block = (sizeof(T) < 4 ? 256 : 64) * kLanes<T>;
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

// Few columns without gaps: several rows are taken as one wide one.
template <class T, bool largest>
void arg_narrow(const T* x, size_t rows, size_t width, Best<T>* acc) {
  constexpr size_t wide = 64;
  const size_t folded = wide / width, count = rows / folded, used = folded * width;
  T best[wide];
  int32_t at[wide] = {};
  for (size_t w = 0; w < wide; ++w) best[w] = x[w < used ? w : 0];
  for (size_t r = 1; r < count; ++r) {
    const T* row = x + r * used;
    const int32_t here = static_cast<int32_t>(r);
    for (size_t w = 0; w < used; ++w) {
      const bool takes = beats<largest, T>(row[w], best[w]);
      best[w] = takes ? row[w] : best[w];
      at[w] = takes ? here : at[w];
    }
  }
  for (size_t w = 0; w < width; ++w) {
    Best<T> found = {best[w], static_cast<int64_t>(at[w]) * static_cast<int64_t>(folded), 0};
    for (size_t k = 1; k < folded; ++k) {
      const T value = best[k * width + w];
      const int64_t index =
          static_cast<int64_t>(at[k * width + w]) * static_cast<int64_t>(folded) + static_cast<int64_t>(k);
      const bool is_same = value == found.value || (value != value && found.value != found.value);
      if (is_same ? index < found.index : beats<largest, T>(value, found.value)) found = {value, index, 0};
    }
    if (acc[w].index < 0 || beats<largest, T>(found.value, acc[w].value)) {
      acc[w].value = found.value;
      acc[w].index = acc[w].seen + found.index;
    }
    acc[w].seen += static_cast<int64_t>(count * folded);
  }
}

template <class T, bool largest>
void arg_columns(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, const Best<T>*, Best<T>* acc) noexcept {
  if (width <= 16 && row_stride == static_cast<ptrdiff_t>(width) && rows >= 128 && rows < (size_t{1} << 31)) {
    const size_t folded = 64 / width, done = rows / folded * folded;
    arg_narrow<T, largest>(x, rows, width, acc);
    if (done < rows) arg_columns<T, largest>(x + done * width, row_stride, rows - done, width, nullptr, acc);
    return;
  }
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
void fill_rows(ReduceKernel<T, Best<T>>* kernels) {
  kernels[kLargest] = {{0, -1, 0}, &arg_row<T, true>, nullptr, &arg_combine<T, true>, true};
  kernels[kSmallest] = {{0, -1, 0}, &arg_row<T, false>, nullptr, &arg_combine<T, false>, true};
}

template <class T>
void fill(ReduceKernel<T, Best<T>>* kernels) {
  fill_rows(kernels);
  kernels[kLargest].columns = &arg_columns<T, true>;
  kernels[kSmallest].columns = &arg_columns<T, false>;
}

}  // namespace

void fill_args(ReduceTable& table) {
  fill<float>(table.arg_f32);
  fill<double>(table.arg_f64);
  fill<int64_t>(table.arg_i64);
  fill<int32_t>(table.arg_i32);
  fill_rows<int16_t>(table.arg_i16);
  fill_rows<int8_t>(table.arg_i8);
  fill_rows<uint8_t>(table.arg_u8);
}

}  // namespace enr::kernels::ENR_ISA
