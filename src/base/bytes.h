#pragma once

// A view of bytes somebody else keeps alive, and little-endian reads from it at any alignment.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace enr {

using Bytes = std::span<const std::byte>;

static_assert(std::endian::native == std::endian::little, "the readers copy little-endian numbers as they are");

// The caller has checked that the read lies within `bytes`.
template <class T>
T load_unaligned(Bytes bytes, size_t offset) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

inline std::string_view as_text(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Whether [offset, offset + size) lies within a whole of `total` bytes; never overflows.
constexpr bool is_range_within(uint64_t offset, uint64_t size, uint64_t total) noexcept {
  return offset <= total && size <= total - offset;
}

}  // namespace enr
