#pragma once

// Numbers as unsigned keys that sort as eager sorts the numbers, and sorting of keys with their positions.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/dtype.h"
#include "base/half.h"

namespace enr::ops {

// Ascending keys for ascending numbers: NaN is above everything, -0 equals 0.
template <class T>
uint64_t order_key(T value) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    constexpr auto kFlip = std::is_signed_v<T> ? Unsigned(Unsigned{1} << (8 * sizeof(T) - 1)) : Unsigned{0};
    return static_cast<Unsigned>(static_cast<Unsigned>(value) ^ kFlip);
  } else if constexpr (std::is_same_v<T, double>) {
    if (value != value) return UINT64_MAX;
    const auto bits = std::bit_cast<uint64_t>(value + 0.0);
    return bits >> 63 != 0 ? ~bits : bits | uint64_t{1} << 63;
  } else {  // float, and what float holds exactly
    const auto number = static_cast<float>(value);
    if (number != number) return UINT32_MAX;
    const auto bits = std::bit_cast<uint32_t>(number + 0.0f);
    return bits >> 31 != 0 ? static_cast<uint32_t>(~bits) : bits | uint32_t{1} << 31;
  }
}

// A key of up to 32 bits with a position in one word: words compare by key first.
struct NarrowEntry {
  uint64_t word;

  NarrowEntry() = default;
  NarrowEntry(uint64_t key, int64_t position) noexcept : word(key << 32 | static_cast<uint32_t>(position)) {}
  uint64_t key() const noexcept { return word >> 32; }
  int64_t position() const noexcept { return static_cast<uint32_t>(word); }
  static constexpr int kKeyBytes = 4;
};

struct WideEntry {
  uint64_t key_value;
  int64_t index;

  WideEntry() = default;
  WideEntry(uint64_t key, int64_t position) noexcept : key_value(key), index(position) {}
  uint64_t key() const noexcept { return key_value; }
  int64_t position() const noexcept { return index; }
  static constexpr int kKeyBytes = 8;
};

template <class Entry>
bool key_less(const Entry& a, const Entry& b) noexcept {
  return a.key() < b.key();
}
template <class Entry>
bool key_greater(const Entry& a, const Entry& b) noexcept {
  return a.key() > b.key();
}

// Whether entries of a line this long can be narrow.
inline bool fits_narrow(DType dtype, int64_t length) noexcept {
  return (dtype_size(dtype) <= 4) && length <= int64_t{UINT32_MAX};
}

// Sorts by key; equal keys keep their order of positions, which must rise at the start. `spare` has room for as many
// entries. Returns where the sorted entries are: in `entries` or in `spare`.
template <class Entry>
Entry* sort_entries(Entry* entries, Entry* spare, int64_t count) noexcept {
  constexpr int64_t kRadixPays = 128;
  if (count < kRadixPays) {
    std::sort(entries, entries + count, [](const Entry& a, const Entry& b) {
      return a.key() != b.key() ? a.key() < b.key() : a.position() < b.position();
    });
    return entries;
  }
  std::array<std::array<int64_t, 256>, Entry::kKeyBytes> histograms{};
  std::array<int64_t, 256> starts;
  for (int64_t i = 0; i < count; ++i) {
    for (int byte = 0; byte < Entry::kKeyBytes; ++byte) {
      ++histograms[static_cast<size_t>(byte)][entries[i].key() >> (8 * byte) & 0xff];
    }
  }
  for (int byte = 0; byte < Entry::kKeyBytes; ++byte) {
    const auto& histogram = histograms[static_cast<size_t>(byte)];
    if (histogram[entries[0].key() >> (8 * byte) & 0xff] == count) continue;
    int64_t start = 0;
    for (size_t digit = 0; digit < 256; ++digit) {
      starts[digit] = start;
      start += histogram[digit];
    }
    for (int64_t i = 0; i < count; ++i) spare[starts[entries[i].key() >> (8 * byte) & 0xff]++] = entries[i];
    std::swap(entries, spare);
  }
  return entries;
}

}  // namespace enr::ops
