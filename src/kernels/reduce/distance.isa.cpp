#include "kernels/reduce/distance.h"

#include "kernels/isa.h"
#include "kernels/simd/arith.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

namespace {

// What a coordinate's difference adds to a distance, and what becomes of the whole.
struct Count {
  template <class V>
  ENR_INLINE static V add(V total, V difference) {
    return total + (difference != V{} ? V{} + 1 : V{});
  }
  template <class V>
  ENR_INLINE static V merge(V a, V b) {
    return a + b;
  }
  template <class V>
  ENR_INLINE static V finish(V total) {
    return total;
  }
};
struct Sum : Count {
  template <class V>
  ENR_INLINE static V add(V total, V difference) {
    return total + abs(difference);
  }
};
struct Euclidean : Count {
  template <class V>
  ENR_INLINE static V add(V total, V difference) {
    return fma(difference, difference, total);
  }
  template <class V>
  ENR_INLINE static V finish(V total) {
    return sqrt(total);
  }
};
struct Largest : Count {
  template <class V>
  ENR_INLINE static V add(V total, V difference) {
    return merge(total, abs(difference));
  }
  template <class V>
  ENR_INLINE static V merge(V a, V b) {  // NaN wins
    return (a > b) | (a != a) ? a : b;
  }
};

// kVectors vectors of points, or `count` points where that is less than one vector.
template <class T, class Kind, size_t kVectors>
ENR_INLINE void some_distances(const T* x, const T* points, size_t stride, size_t dims, T* out, size_t count) {
  constexpr size_t lanes = kLanes<T>;
  constexpr size_t kRun = 64;  // coordinates whose sum is kept apart, for the sake of its precision
  Vec<T> totals[kVectors] = {};
  for (size_t begin = 0; begin < dims; begin += kRun) {
    const size_t end = dims - begin < kRun ? dims : begin + kRun;
    Vec<T> run[kVectors] = {};
    for (size_t c = begin; c < end; ++c) {
      const Vec<T> own = splat(x[c]);
      const T* p = points + c * stride;
      for (size_t k = 0; k < kVectors; ++k) {
        const Vec<T> other = count < lanes ? load_first(p, count) : load(p + k * lanes);
        run[k] = Kind::add(run[k], own - other);
      }
    }
    for (size_t k = 0; k < kVectors; ++k) totals[k] = Kind::merge(totals[k], run[k]);
  }
  for (size_t k = 0; k < kVectors; ++k) {
    const Vec<T> result = Kind::finish(totals[k]);
    count < lanes ? store_first(out, result, count) : store(out + k * lanes, result);
  }
}

template <class T, class Kind>
void distances(const T* x, const T* points, size_t stride, size_t dims, T* out, size_t n) noexcept {
  constexpr size_t lanes = kLanes<T>;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    some_distances<T, Kind, 4>(x, points + i, stride, dims, out + i, 4 * lanes);
  }
  for (; i + lanes <= n; i += lanes) some_distances<T, Kind, 1>(x, points + i, stride, dims, out + i, lanes);
  if (i < n) some_distances<T, Kind, 1>(x, points + i, stride, dims, out + i, n - i);
}

template <class T>
DistanceKernels<T> kernels() {
  return {&distances<T, Count>, &distances<T, Sum>, &distances<T, Euclidean>, &distances<T, Largest>};
}

}  // namespace

const DistanceTable& distance_table() {
  static const DistanceTable table{kernels<float>(), kernels<double>()};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
