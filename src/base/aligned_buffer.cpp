#include "base/aligned_buffer.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif

namespace enr {

namespace {

// Below, whole pages would waste more than they give back.
constexpr size_t kOwnPagesBytes = 64 << 10;

#if defined(__unix__) || defined(__APPLE__)
std::byte* map_pages(size_t size_bytes) {
  void* pages = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(pages);
}
#endif

}  // namespace

AlignedBuffer::AlignedBuffer(size_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  if (size_bytes > SIZE_MAX - kBufferAlignment) throw std::bad_alloc();
  const size_t rounded = (size_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, rounded)));
  if (data_ == nullptr) throw std::bad_alloc();
}

AlignedBuffer AlignedBuffer::zeroed(size_t size_bytes) {
#if defined(__unix__) || defined(__APPLE__)
  if (size_bytes >= kOwnPagesBytes) {
    AlignedBuffer buffer;
    buffer.data_ = std::unique_ptr<std::byte[], Free>(map_pages(size_bytes), Free{size_bytes});
    buffer.size_bytes_ = size_bytes;
    return buffer;
  }
#endif
  AlignedBuffer buffer(size_bytes);
  if (size_bytes != 0) std::memset(buffer.data(), 0, size_bytes);
  return buffer;
}

void AlignedBuffer::Free::operator()(std::byte* p) const noexcept {
#if defined(__unix__) || defined(__APPLE__)
  if (mapped_bytes_ != 0) {
    munmap(p, mapped_bytes_);
    return;
  }
#endif
  std::free(p);
}

}  // namespace enr
