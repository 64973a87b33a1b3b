#include "ops/journal.h"

#include <algorithm>
#include <cstring>

namespace enr {

void Journal::keep(std::byte* data, size_t size_bytes) {
  if (size_bytes == 0) return;
  if (used_ == entries_.size()) entries_.emplace_back();
  Entry& entry = entries_[used_];
  if (entry.copy.size_bytes() < size_bytes) entry.copy = AlignedBuffer(size_bytes);
  entry.data = data;
  entry.size_bytes = size_bytes;
  std::memcpy(entry.copy.data(), data, size_bytes);
  ++used_;
}

void Journal::restore() noexcept {
  while (used_ > 0) {
    const Entry& entry = entries_[--used_];
    std::memcpy(entry.data, entry.copy.data(), entry.size_bytes);
  }
}

bool announces_writes(std::string_view operator_name) noexcept {
  constexpr std::string_view kNames[] = {"aten::index_put_", "llama::sdpa_with_kv_cache.out", "llama::update_cache.out",
                                         "llama::update_cache_with_indices.out"};
  return std::find(std::begin(kNames), std::end(kNames), operator_name) != std::end(kNames);
}

}  // namespace enr
