#pragma once

// Sizes of a tensor in memory order, outermost first, without allocation.

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>

namespace enr::graph {

inline constexpr size_t kMaxRank = 8;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) : rank_(static_cast<uint8_t>(dims.size())) {
    assert(dims.size() <= kMaxRank);
    std::copy(dims.begin(), dims.end(), dims_.begin());
  }

  size_t rank() const noexcept { return rank_; }
  int64_t operator[](size_t d) const noexcept { return dims_[d]; }
  int64_t& operator[](size_t d) noexcept { return dims_[d]; }
  int64_t back() const noexcept { return dims_[rank_ - 1]; }
  int64_t& back() noexcept { return dims_[rank_ - 1]; }
  const int64_t* begin() const noexcept { return dims_.data(); }
  const int64_t* end() const noexcept { return dims_.data() + rank_; }
  std::span<const int64_t> dims() const noexcept { return {dims_.data(), rank_}; }
  void push_back(int64_t dim) noexcept {
    assert(rank_ < kMaxRank);
    dims_[rank_++] = dim;
  }

  // Product of the dims [begin, end), or the largest number: dims beside a zero may be any.
  int64_t product(size_t begin, size_t end) const noexcept {
    int64_t count = 1;
    for (size_t d = begin; d < end; ++d) {
      if (__builtin_mul_overflow(count, dims_[d], &count)) count = std::numeric_limits<int64_t>::max();
    }
    return count;
  }
  int64_t numel() const noexcept { return product(0, rank_); }
  // How many rows of the last dimension there are; a scalar is one row.
  int64_t rows() const noexcept { return rank_ == 0 ? 1 : product(0, rank_ - 1); }

  bool operator==(const Shape& other) const noexcept {
    return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
  }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  uint8_t rank_ = 0;
};

}  // namespace enr::graph
