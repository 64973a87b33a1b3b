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

// The steps of Batcher's odd-even merge sort of kSize entries, a power of two: which pairs are put in order.
template <size_t kSize>
struct Network {
  struct Pair {
    uint8_t first, second;
  };
  std::array<Pair, kSize * 6> pairs{};
  size_t count = 0;

  constexpr Network() {
    for (size_t sorted = 1; sorted < kSize; sorted *= 2) {
      for (size_t apart = sorted; apart > 0; apart /= 2) {
        const size_t begin = apart % sorted;
        for (size_t i = begin; i + apart < kSize; ++i) {
          const bool is_first = (i - begin) / apart % 2 == 0,
                     are_merged = i / (2 * sorted) == (i + apart) / (2 * sorted);
          if (is_first && are_merged) pairs[count++] = {static_cast<uint8_t>(i), static_cast<uint8_t>(i + apart)};
        }
      }
    }
  }
};

// Ascending, by steps that do not depend on the words.
template <size_t kSize>
void sort_by_network(uint64_t* words, size_t count) noexcept {
  static constexpr Network<kSize> network;
  std::array<uint64_t, kSize> w;
  std::copy_n(words, count, w.begin());
  std::fill(w.begin() + static_cast<ptrdiff_t>(count), w.end(), UINT64_MAX);
  const auto put_in_order = [](uint64_t& a, uint64_t& b) {  // without a branch to guess
    const uint64_t differing = (a ^ b) & (uint64_t{0} - uint64_t{b < a});
    a ^= differing;
    b ^= differing;
  };
  [&]<size_t... I>(std::index_sequence<I...>) {
    (put_in_order(w[network.pairs[I].first], w[network.pairs[I].second]), ...);
  }(std::make_index_sequence<network.count>());
  std::copy_n(w.begin(), count, words);
}

// Lines of up to so many entries are sorted by networks.
inline constexpr int64_t kNetworkEntries = 32;

inline void sort_few_words(uint64_t* words, size_t count) noexcept {
  if (count <= 4) return sort_by_network<4>(words, count);
  if (count <= 8) return sort_by_network<8>(words, count);
  if (count <= 16) return sort_by_network<16>(words, count);
  sort_by_network<32>(words, count);
}

inline bool comes_first(const WideEntry& a, const WideEntry& b) noexcept {
  return a.key_value != b.key_value ? a.key_value < b.key_value : a.index < b.index;
}

// By key, then by position. At most kNetworkEntries.
inline void sort_few(NarrowEntry* entries, int64_t count) noexcept {
  std::array<uint64_t, kNetworkEntries> words;
  const auto length = static_cast<size_t>(count);
  for (size_t i = 0; i < length; ++i) words[i] = entries[i].word;
  sort_few_words(words.data(), length);
  for (size_t i = 0; i < length; ++i) entries[i].word = words[i];
}
inline void sort_few(WideEntry* entries, int64_t count) noexcept {
  constexpr int kPlaceBits = 5;
  constexpr uint64_t kPlace = kNetworkEntries - 1;
  static_assert(kNetworkEntries == 1 << kPlaceBits);
  const auto length = static_cast<size_t>(count);
  uint64_t low = UINT64_MAX, high = 0;
  for (size_t i = 0; i < length; ++i) {
    low = std::min(low, entries[i].key_value);
    high = std::max(high, entries[i].key_value);
  }
  // Keys with places in their last bits: exact where the keys lie close together, else the last bits of keys are lost.
  const bool is_exact = length == 0 || (high - low) >> (64 - kPlaceBits) == 0;
  std::array<uint64_t, kNetworkEntries> words;
  std::array<WideEntry, kNetworkEntries> given;
  for (size_t i = 0; i < length; ++i) {
    const uint64_t key = entries[i].key_value;
    words[i] = (is_exact ? (key - low) << kPlaceBits : key & ~kPlace) | i;
    given[i] = entries[i];
  }
  sort_few_words(words.data(), length);
  for (size_t i = 0; i < length; ++i) entries[i] = given[words[i] & kPlace];
  for (size_t i = 1; !is_exact && i < length; ++i) {
    const WideEntry entry = entries[i];
    size_t k = i;
    for (; k > 0 && comes_first(entry, entries[k - 1]); --k) entries[k] = entries[k - 1];
    entries[k] = entry;
  }
}

// Sorts by key; equal keys keep their order of positions, which must rise at the start. `spare` has room for as many
// entries. Returns where the sorted entries are: in `entries` or in `spare`.
template <class Entry>
Entry* sort_entries(Entry* entries, Entry* spare, int64_t count) noexcept {
  if (count <= kNetworkEntries) {
    sort_few(entries, count);
    return entries;
  }
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
