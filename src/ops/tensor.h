#pragma once

// The tensor that operators and delegates see: a typed, dense, possibly permuted view of memory somebody else owns.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/aligned_buffer.h"
#include "base/dtype.h"

namespace enr {

inline constexpr size_t kMaxRank = 16;

using Sizes = std::span<const int64_t>;

// How far a tensor's sizes may change from call to call.
enum class Dynamism : uint8_t { kStatic, kBounded, kUnbounded };

struct Tensor {
  std::byte* data = nullptr;
  DType dtype = DType::kFloat32;
  uint8_t rank = 0;
  Dynamism dynamism = Dynamism::kStatic;
  bool is_constant = false;                         // data never changes during the life of the program: may be packed
  std::array<int64_t, kMaxRank> size_array{};       // sizes now
  std::array<int64_t, kMaxRank> stride_array{};     // in elements, always those of a dense tensor in dim_order
  std::array<uint8_t, kMaxRank> dim_order_array{};  // dims from outermost to innermost in memory
  size_t capacity_bytes = 0;                        // what `data` can hold
  std::shared_ptr<AlignedBuffer> grown;             // set where no memory was planned and the runtime had to allocate

  Sizes sizes() const noexcept { return {size_array.data(), rank}; }
  Sizes strides() const noexcept { return {stride_array.data(), rank}; }
  std::span<const uint8_t> dim_order() const noexcept { return {dim_order_array.data(), rank}; }
  int64_t size(size_t dim) const noexcept { return size_array[dim]; }
  int64_t stride(size_t dim) const noexcept { return stride_array[dim]; }

  int64_t numel() const noexcept {
    int64_t count = 1;
    for (size_t d = 0; d < rank; ++d) count *= size_array[d];
    return count;
  }
  size_t size_bytes() const noexcept { return static_cast<size_t>(numel()) * dtype_size(dtype); }

  // The caller knows the dtype.
  template <class T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(data);
  }

  // Whether the elements lie in memory in row-major order of the sizes (dims of size 1 do not count).
  bool is_contiguous() const noexcept;

  // Sets sizes and the strides that follow from them and the dim order. The caller knows that they are countable.
  void set_sizes(Sizes sizes) noexcept;
};

// Whether a dense tensor of these sizes takes at most kMaxBufferBytes. A size of 0 counts as 1, as it does in strides,
// so that a tensor without elements may be too large: no loop over its other sizes is endless.
bool is_countable(DType dtype, Sizes sizes) noexcept;

// Whether both lay their elements out alike: same sizes and, but for dims of size 1, same strides.
bool same_layout(const Tensor& a, const Tensor& b) noexcept;

}  // namespace enr
