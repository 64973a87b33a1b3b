#pragma once

// Packed constants, made once and shared by everything that was loaded from one program.

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"

namespace enr {

class WeightCache {
 public:
  // `total`, where there is one, counts this cache's bytes too, and must outlive it.
  explicit WeightCache(WeightCache* total = nullptr) noexcept : total_(total) {}
  WeightCache(const WeightCache&) = delete;
  WeightCache& operator=(const WeightCache&) = delete;
  ~WeightCache() {
    if (total_ != nullptr) total_->size_bytes_ -= size_bytes_;
  }

  // The packed form of the constant at `source`. `packing` names the layout and everything it depends on (sizes,
  // kernel, dtype): two calls with the same source and packing get the same buffer, and `pack` runs for the first only.
  // Thread-safe. What `pack` throws is passed on and nothing is kept.
  std::shared_ptr<const AlignedBuffer> get(const void* source, const std::string& packing,
                                           const std::function<AlignedBuffer()>& pack) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<const AlignedBuffer>& entry = entries_[{source, packing}];
    if (entry == nullptr) {
      entry = std::make_shared<const AlignedBuffer>(pack());
      size_bytes_ += entry->size_bytes();
      if (total_ != nullptr) total_->size_bytes_ += entry->size_bytes();
    }
    return entry;
  }

  size_t size_bytes() const noexcept { return size_bytes_; }

 private:
  WeightCache* total_;
  std::mutex mutex_;
  std::map<std::pair<const void*, std::string>, std::shared_ptr<const AlignedBuffer>> entries_;
  std::atomic<size_t> size_bytes_ = 0;
};

}  // namespace enr
