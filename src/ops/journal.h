#pragma once

// What a call has overwritten of the states of its method, to put back if it fails.

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"

namespace enr {

class Journal {
 public:
  // Copies bytes that are about to be overwritten.
  void keep(std::byte* data, size_t size_bytes);
  // Puts back what was kept since the last clear(), the last first.
  void restore() noexcept;
  void clear() noexcept { used_ = 0; }

 private:
  // Calls keep much the same again: copies stay for the next.
  struct Entry {
    std::byte* data = nullptr;
    size_t size_bytes = 0;
    AlignedBuffer copy;
  };
  std::vector<Entry> entries_;
  size_t used_ = 0;
};

// Whether the operator passes everything that it overwrites of the arguments it updates to OpContext::overwriting().
bool announces_writes(std::string_view operator_name) noexcept;

}  // namespace enr
