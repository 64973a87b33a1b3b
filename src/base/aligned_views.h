#pragma once

// Views of a file's constants at addresses that kernels can rely on.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/error.h"

namespace enr {

class AlignedViews {
 public:
  // `limit_bytes` bounds what may be copied in all.
  AlignedViews(size_t alignment, uint64_t limit_bytes) noexcept : alignment_(alignment), left_bytes_(limit_bytes) {}

  // `bytes` itself where it starts at a multiple of the alignment, otherwise a copy; one copy for equal requests.
  Bytes align(Bytes bytes) {
    if (bytes.empty() || reinterpret_cast<uintptr_t>(bytes.data()) % alignment_ == 0) return bytes;
    const std::byte*& copy = copies_[{bytes.data(), bytes.size()}];
    if (copy == nullptr) {
      if (bytes.size() > left_bytes_)
        fail_load("constants: misaligned and overlapping ones add up to more than the file");
      left_bytes_ -= bytes.size();
      const auto buffer = std::make_shared<AlignedBuffer>(bytes.size());
      std::memcpy(buffer->data(), bytes.data(), bytes.size());
      copy = buffer->data();
      keep_alive_.push_back(buffer);
    }
    return {copy, bytes.size()};
  }

  // Owners of the copies made so far.
  const std::vector<std::shared_ptr<const void>>& keep_alive() const noexcept { return keep_alive_; }

 private:
  size_t alignment_;
  uint64_t left_bytes_;
  std::map<std::pair<const std::byte*, size_t>, const std::byte*> copies_;
  std::vector<std::shared_ptr<const void>> keep_alive_;
};

}  // namespace enr
