#pragma once

// Shape rules that many operators share. All throw with the argument's name, what was expected and what was given.

#include <array>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "ops/tensor.h"

namespace enr::ops {

// Sizes held inline.
struct Shape {
  std::array<int64_t, kMaxRank> items{};
  size_t rank = 0;

  Shape() = default;
  explicit Shape(Sizes sizes);   // throws above kMaxRank
  void push_back(int64_t size);  // throws above kMaxRank
  int64_t& operator[](size_t i) noexcept { return items[i]; }
  int64_t operator[](size_t i) const noexcept { return items[i]; }
  operator Sizes() const noexcept { return {items.data(), rank}; }  // NOLINT(google-explicit-constructor)
  const int64_t* begin() const noexcept { return items.data(); }
  const int64_t* end() const noexcept { return items.data() + rank; }
};

// A dim in [-rank, rank) as [0, rank); a rank of 0 counts as 1, as eager has it.
size_t normalize_dim(int64_t dim, size_t rank, const char* what = "dim");

// The shape two shapes broadcast to.
Shape broadcast(Sizes a, Sizes b, const char* what = "other");

// Whether `tensor` broadcasts to `sizes` without enlarging them.
void require_broadcasts(const Tensor& tensor, Sizes sizes, const char* what);

// Whether a dense tensor of these sizes can be made (is_countable).
void require_countable(DType dtype, Sizes sizes);

// Whether a list that describes the dims of `size` has as many entries.
void require_one_for_each_size(Sizes given, Sizes size, const char* what);

// "float32 [1, 2, 3]" for messages.
std::string describe(const Tensor& tensor);

}  // namespace enr::ops
