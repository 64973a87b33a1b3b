#include "base/mapped_pages.h"

#include <cstdint>
#include <map>
#include <mutex>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace enr {

namespace {

struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, size_t> sizes;  // by address
};

// Never destroyed: mappings may end while the process exits.
Mappings& mappings() {
  static auto* const instance = new Mappings;
  return *instance;
}

}  // namespace

void add_mapping(const void* address, size_t size_bytes) {
  Mappings& m = mappings();
  const std::lock_guard<std::mutex> lock(m.mutex);
  m.sizes[reinterpret_cast<uintptr_t>(address)] = size_bytes;
}

void remove_mapping(const void* address) noexcept {
  Mappings& m = mappings();
  const std::lock_guard<std::mutex> lock(m.mutex);
  m.sizes.erase(reinterpret_cast<uintptr_t>(address));
}

void release_pages(const void* data, size_t size_bytes) noexcept {
#if defined(__unix__) || defined(__APPLE__)
  const auto begin = reinterpret_cast<uintptr_t>(data);
  Mappings& m = mappings();
  const std::lock_guard<std::mutex> lock(m.mutex);
  auto found = m.sizes.upper_bound(begin);
  if (found == m.sizes.begin()) return;
  --found;
  if (begin - found->first > found->second || size_bytes > found->second - (begin - found->first)) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = (begin + page - 1) / page * page, last = (begin + size_bytes) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
#else
  static_cast<void>(data);
  static_cast<void>(size_bytes);
#endif
}

void prefer_large_pages(void* data, size_t size_bytes) noexcept {
#if defined(__linux__)
  // Whole large pages only: parts of one would take memory that is not ours.
  constexpr uintptr_t kLargePage = 2u << 20;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + kLargePage - 1) / kLargePage * kLargePage;
  const uintptr_t last = (begin + size_bytes) / kLargePage * kLargePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
  static_cast<void>(data);
  static_cast<void>(size_bytes);
#endif
}

}  // namespace enr
