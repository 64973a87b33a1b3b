#pragma once

// Lines of tensors brought to the Fourier kernels and back, as many side by side as those take.

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <tuple>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/fft/fft.h"
#include "kernels/transpose/transpose_kernels.h"
#include "ops/context.h"
#include "ops/strided_view.h"

namespace enr::ops {

inline constexpr size_t kFftGrain = 1 << 14;  // elements that pay for a thread
inline constexpr size_t kStretch =
    64;  // elements of a line moved at a time: those of all lanes fit in the nearest cache
inline constexpr size_t kMaxLanes = 16;  // of kernels::Fft

// The transforms an instruction needed last.
class Plans : public CallSiteState {
 public:
  template <class T>
  const kernels::Fft<T>& get(size_t n, bool inverse) {
    constexpr size_t kMax = 8;
    auto& plans = std::get<List<T>>(plans_);
    for (const auto& plan : plans) {
      if (plan->size() == n && plan->is_inverse() == inverse) return *plan;
    }
    if (plans.size() == kMax) plans.erase(plans.begin());
    return *plans.emplace_back(std::make_unique<const kernels::Fft<T>>(n, inverse));
  }

  // e^(-2 pi i k / n) for k <= n / 2, n even: how many there are tells n.
  template <class T>
  const std::vector<std::complex<T>>& roots(size_t n) {
    auto& roots = std::get<std::vector<std::complex<T>>>(roots_);
    if (roots.size() == n / 2 + 1) return roots;
    roots.resize(n / 2 + 1);
    for (size_t k = 0; k <= n / 2; ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      roots[k] = {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
    }
    return roots;
  }

 private:
  template <class T>
  using List = std::vector<std::unique_ptr<const kernels::Fft<T>>>;
  std::tuple<List<float>, List<double>> plans_;
  std::tuple<std::vector<std::complex<float>>, std::vector<std::complex<double>>> roots_;
};

// Lines of an array along one dim: element k of line i, in an array of n elements along it, is at start(i, n) +
// k * inner.
struct Lines {
  size_t count, n, inner;
  Lines(Sizes sizes, size_t dim)
      : count(static_cast<size_t>(product(sizes, 0, dim) * product(sizes, dim + 1, sizes.size()))),
        n(static_cast<size_t>(sizes[dim])),
        inner(static_cast<size_t>(product(sizes, dim + 1, sizes.size()))) {}
  size_t start(size_t line, size_t length) const { return line / inner * inner * length + line % inner; }
};

// Runs `transform` on `count` lines, as many side by side as the kernels take. load(first, lines, lanes, to) writes the
// elements of `lines` lines from `first` on as Fft::run wants them, of the lanes beyond whatever is there is
// transformed; store(first, lines, lanes, from) takes the results.
template <class T, class Load, class Store>
void each_group(OpContext& context, const kernels::Fft<T>& transform, size_t count, Load load, Store store) {
  if (count == 0) return;
  const size_t lanes = count == 1 ? 1 : kernels::Fft<T>::lanes(), groups = (count + lanes - 1) / lanes;
  const size_t wanted = groups * transform.size() * lanes / kFftGrain;
  const size_t tasks = std::clamp<size_t>(wanted, 1, std::min(groups, num_threads()));
  const size_t size = transform.memory_size(lanes);
  T* memory = context.scratch_of<T>(tasks * size);
  parallel_for(tasks, [&](size_t task) {
    T* own = memory + task * size;
    for (size_t group = groups * task / tasks; group < groups * (task + 1) / tasks; ++group) {
      const size_t first = group * lanes, lines = std::min(lanes, count - first);
      load(first, lines, lanes, own);
      store(first, lines, lanes, transform.run(own, lanes));
    }
  });
}

// to[j * to_stride + i] = from[i * from_stride + j]
template <class T>
void transpose(T* to, size_t to_stride, const T* from, size_t from_stride, size_t rows, size_t columns) {
  kernels::transpose_kernels().transpose[kernels::element_size_index(sizeof(T))](
      reinterpret_cast<char*>(to), static_cast<ptrdiff_t>(to_stride * sizeof(T)), reinterpret_cast<const char*>(from),
      static_cast<ptrdiff_t>(from_stride * sizeof(T)), rows, columns);
}

// std::complex<T> is a pair of T.
template <class T>
T* parts(std::complex<T>* z) {
  return reinterpret_cast<T*>(z);
}
template <class T>
const T* parts(const std::complex<T>* z) {
  return reinterpret_cast<const T*>(z);
}

}  // namespace enr::ops
