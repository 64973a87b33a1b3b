#pragma once

// Bytes aligned to a cache line, for packed weights, arenas and workspaces.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace enr {

inline constexpr size_t kBufferAlignment = 64;

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Uninitialised. Throws std::bad_alloc where memory is short.
  explicit AlignedBuffer(size_t size_bytes) : size_bytes_(size_bytes) {
    if (size_bytes == 0) return;
    if (size_bytes > SIZE_MAX - kBufferAlignment) throw std::bad_alloc();
    const size_t rounded = (size_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, rounded)));
    if (data_ == nullptr) throw std::bad_alloc();
  }

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
  struct Free {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> data_;
  size_t size_bytes_ = 0;
};

}  // namespace enr
