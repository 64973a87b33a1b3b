#pragma once

// Bytes aligned to a cache line, for packed weights, arenas and workspaces.

#include <cstddef>
#include <memory>

namespace enr {

inline constexpr size_t kBufferAlignment = 64;

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Uninitialised. Throws std::bad_alloc where memory is short.
  explicit AlignedBuffer(size_t size_bytes);
  // Zeros. Where large, they are pages of their own, which take memory when they are touched and give it back to the
  // system as soon as the buffer goes: for what may stay unused, and for what is made, read once and dropped.
  static AlignedBuffer zeroed(size_t size_bytes);

  std::byte* data() noexcept { return data_.get(); }
  const std::byte* data() const noexcept { return data_.get(); }
  template <class T>
  T* as() noexcept {
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  const T* as() const noexcept {
    return reinterpret_cast<const T*>(data_.get());
  }
  size_t size_bytes() const noexcept { return size_bytes_; }

 private:
  class Free {
   public:
    Free() noexcept : mapped_bytes_(0) {}
    explicit Free(size_t mapped_bytes) noexcept : mapped_bytes_(mapped_bytes) {}
    void operator()(std::byte* p) const noexcept;

   private:
    size_t mapped_bytes_;  // 0: of the heap
  };
  std::unique_ptr<std::byte[], Free> data_;
  size_t size_bytes_ = 0;
};

}  // namespace enr
