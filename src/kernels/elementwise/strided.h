#pragma once

// Walking several strided operands together: what the elementwise and reduction drivers share.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/elementwise/driver.h"

namespace enr::kernels {

// The dimensions of an iteration over `kOperands` operands, outermost first, in the order that suits operand 0, with
// those that all operands pass through without a gap merged. Always has at least one dimension.
template <size_t kOperands>
struct LoopNest {
  size_t rank = 0;
  int64_t sizes[kMaxLoopRank];
  int64_t strides[kOperands][kMaxLoopRank];

  void assign(std::span<const int64_t> given_sizes, std::span<const int64_t* const> given_strides) noexcept {
    const size_t operands = given_strides.size();
    rank = 0;
    for (size_t d = 0; d < given_sizes.size(); ++d) {
      if (given_sizes[d] == 1) continue;
      // Insertion sort by operand 0's stride: the order among equals stays.
      size_t at = rank++;
      const int64_t key = magnitude(given_strides[0][d]);
      while (at > 0 && magnitude(strides[0][at - 1]) < key) {
        move_dim(at - 1, at, operands);
        --at;
      }
      sizes[at] = given_sizes[d];
      for (size_t k = 0; k < operands; ++k) strides[k][at] = given_strides[k][d];
    }
    if (rank == 0) {
      rank = 1;
      sizes[0] = 1;
      for (size_t k = 0; k < operands; ++k) strides[k][0] = k == 0;
    }
    merge(operands);
  }

  size_t count() const noexcept {
    size_t total = 1;
    for (size_t d = 0; d < rank; ++d) total *= static_cast<size_t>(sizes[d]);
    return total;
  }

 private:
  static int64_t magnitude(int64_t stride) noexcept { return stride < 0 ? -stride : stride; }

  void move_dim(size_t from, size_t to, size_t operands) noexcept {
    sizes[to] = sizes[from];
    for (size_t k = 0; k < operands; ++k) strides[k][to] = strides[k][from];
  }

  void merge(size_t operands) noexcept {
    size_t kept = 0;
    for (size_t d = 1; d < rank; ++d) {
      bool joins = true;
      for (size_t k = 0; k < operands; ++k) joins &= strides[k][kept] == strides[k][d] * sizes[d];
      if (joins) {
        sizes[kept] *= sizes[d];
        for (size_t k = 0; k < operands; ++k) strides[k][kept] = strides[k][d];
      } else {
        move_dim(d, ++kept, operands);
      }
    }
    rank = kept + 1;
  }
};

// Which run of the innermost dimension a walk is at, and where each operand's first element of it lies.
template <size_t kOperands>
struct LoopPosition {
  int64_t index[kMaxLoopRank] = {};
  int64_t offsets[kOperands] = {};

  LoopPosition(const LoopNest<kOperands>& nest, size_t run, size_t operands) noexcept {
    for (size_t d = nest.rank - 1; d-- > 0 && run != 0;) {
      index[d] = static_cast<int64_t>(run % static_cast<size_t>(nest.sizes[d]));
      run /= static_cast<size_t>(nest.sizes[d]);
      for (size_t k = 0; k < operands; ++k) offsets[k] += index[d] * nest.strides[k][d];
    }
  }

  void advance(const LoopNest<kOperands>& nest, size_t operands) noexcept {
    for (size_t d = nest.rank - 1; d-- > 0;) {
      if (++index[d] < nest.sizes[d]) {
        for (size_t k = 0; k < operands; ++k) offsets[k] += nest.strides[k][d];
        return;
      }
      for (size_t k = 0; k < operands; ++k) offsets[k] -= (nest.sizes[d] - 1) * nest.strides[k][d];
      index[d] = 0;
    }
  }
};

// Calls f with a value of an unsigned type of `size` bytes.
template <class F>
void with_element_of(size_t size, F f) {
  struct Wide {
    uint64_t low, high;
  };
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Wide{});
  }
}

// Copies n elements that lie `stride` elements apart.
inline void gather(const void* from, int64_t stride, size_t size, void* to, size_t n) noexcept {
  with_element_of(size, [&](auto element) {
    using T = decltype(element);
    const T* in = static_cast<const T*>(from);
    T* out = static_cast<T*>(to);
    for (size_t i = 0; i < n; ++i) out[i] = in[static_cast<int64_t>(i) * stride];
  });
}

inline void scatter(const void* from, void* to, int64_t stride, size_t size, size_t n) noexcept {
  with_element_of(size, [&](auto element) {
    using T = decltype(element);
    const T* in = static_cast<const T*>(from);
    T* out = static_cast<T*>(to);
    for (size_t i = 0; i < n; ++i) out[static_cast<int64_t>(i) * stride] = in[i];
  });
}

// Copies `runs` runs of the innermost dimension of operand k, from run `first`, to a contiguous place.
template <size_t kOperands>
void gather_runs(const LoopNest<kOperands>& nest, size_t k, const void* data, size_t size, size_t first, size_t runs,
                 void* to) noexcept {
  LoopPosition<kOperands> position(nest, first, k + 1);
  const int64_t inner = nest.sizes[nest.rank - 1];
  const int64_t stride = nest.strides[k][nest.rank - 1];
  with_element_of(size, [&](auto element) {
    using T = decltype(element);
    T* out = static_cast<T*>(to);
    for (size_t r = 0; r < runs; ++r) {
      const T* in = static_cast<const T*>(data) + position.offsets[k];
      for (int64_t i = 0; i < inner; ++i) out[i] = in[i * stride];
      out += inner;
      position.advance(nest, k + 1);
    }
  });
}

template <size_t kOperands>
void scatter_runs(const LoopNest<kOperands>& nest, size_t k, const void* from, size_t size, size_t first, size_t runs,
                  void* data) noexcept {
  LoopPosition<kOperands> position(nest, first, k + 1);
  const int64_t inner = nest.sizes[nest.rank - 1];
  const int64_t stride = nest.strides[k][nest.rank - 1];
  with_element_of(size, [&](auto element) {
    using T = decltype(element);
    const T* in = static_cast<const T*>(from);
    for (size_t r = 0; r < runs; ++r) {
      T* out = static_cast<T*>(data) + position.offsets[k];
      for (int64_t i = 0; i < inner; ++i) out[i * stride] = in[i];
      in += inner;
      position.advance(nest, k + 1);
    }
  });
}

}  // namespace enr::kernels
