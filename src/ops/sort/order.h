#pragma once

// Numbers as unsigned keys that sort as eager sorts the numbers, and sorting of keys with their positions.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "base/half.h"
#include "kernels/sort/sort_lines.h"

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
inline constexpr uint64_t kKeyMask = Entry::kKeyBytes == 4 ? UINT32_MAX : UINT64_MAX;

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

// Lines of up to so many entries are sorted by a network.
inline constexpr int64_t kFewEntries = 128;

inline bool comes_first(const WideEntry& a, const WideEntry& b) noexcept {
  return a.key_value != b.key_value ? a.key_value < b.key_value : a.index < b.index;
}

// The entries of up to kernels::kSortedLines lines as words, to be sorted together.
class LineWords {
 public:
  LineWords(size_t lines, size_t length) noexcept : lines_(lines), length_(length) {
    if (lines != kernels::kSortedLines) std::fill_n(words_.begin(), length * kernels::kSortedLines, 0);
  }
  void set(size_t line, size_t i, uint64_t word) noexcept {
    words_[i * kernels::kSortedLines + line] = static_cast<int64_t>(word ^ kSign);
  }
  uint64_t get(size_t line, size_t i) const noexcept {
    return static_cast<uint64_t>(words_[i * kernels::kSortedLines + line]) ^ kSign;
  }
  void sort() noexcept { kernels::sort_kernels().sort_lines(words_.data(), lines_, length_); }

 private:
  static constexpr uint64_t kSign = uint64_t{1} << 63;  // words compare as signed numbers

  alignas(64) std::array<int64_t, static_cast<size_t>(kFewEntries) * kernels::kSortedLines> words_;
  size_t lines_, length_;
};

// Sorts up to kernels::kSortedLines lines of at most kFewEntries entries, `apart` entries from each other, by key and
// position, which must rise at the start.
inline void sort_few(NarrowEntry* entries, size_t apart, size_t lines, int64_t count) noexcept {
  const auto length = static_cast<size_t>(count);
  LineWords words(lines, length);
  for (size_t l = 0; l < lines; ++l) {
    for (size_t i = 0; i < length; ++i) words.set(l, i, entries[l * apart + i].word);
  }
  words.sort();
  for (size_t l = 0; l < lines; ++l) {
    for (size_t i = 0; i < length; ++i) entries[l * apart + i].word = words.get(l, i);
  }
}
inline void sort_few(WideEntry* entries, size_t apart, size_t lines, int64_t count) noexcept {
  constexpr int kPlaceBits = 7;
  constexpr uint64_t kPlace = kFewEntries - 1;
  static_assert(kFewEntries == 1 << kPlaceBits);
  const auto length = static_cast<size_t>(count);
  LineWords words(lines, length);
  std::array<bool, kernels::kSortedLines> is_exact{};
  for (size_t l = 0; l < lines; ++l) {
    const WideEntry* line = entries + l * apart;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < length; ++i) {
      low = std::min(low, line[i].key_value);
      high = std::max(high, line[i].key_value);
    }
    // Keys with places in their last bits: exact where the keys lie close together, else the last bits of keys are
    // lost.
    is_exact[l] = length == 0 || (high - low) >> (64 - kPlaceBits) == 0;
    for (size_t i = 0; i < length; ++i) {
      const uint64_t key = line[i].key_value;
      words.set(l, i, (is_exact[l] ? (key - low) << kPlaceBits : key & ~kPlace) | i);
    }
  }
  words.sort();
  std::array<WideEntry, static_cast<size_t>(kFewEntries)> given;
  for (size_t l = 0; l < lines; ++l) {
    WideEntry* line = entries + l * apart;
    std::copy_n(line, length, given.begin());
    for (size_t i = 0; i < length; ++i) line[i] = given[words.get(l, i) & kPlace];
    for (size_t i = 1; !is_exact[l] && i < length; ++i) {
      const WideEntry entry = line[i];
      size_t k = i;
      for (; k > 0 && comes_first(entry, line[k - 1]); --k) line[k] = line[k - 1];
      line[k] = entry;
    }
  }
}

// Sorts by key; equal keys keep their order of positions, which must rise at the start. `spare` has room for as many
// entries. Returns where the sorted entries are: in `entries` or in `spare`.
template <class Entry>
Entry* sort_entries(Entry* entries, Entry* spare, int64_t count) noexcept {
  if (count <= kFewEntries) {
    sort_few(entries, 0, 1, count);
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
