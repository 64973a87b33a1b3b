#pragma once

// The first few entries of a line, without a look at the keys of the others.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "ops/sort/order.h"

namespace enr::ops {

namespace detail {

// Whether the value may come before the limit; NaN may, wherever it belongs.
template <bool kDescending, class T>
bool may_precede(T value, T limit) noexcept {
  if constexpr (std::is_arithmetic_v<T>) {
    return kDescending ? !(value <= limit) : !(value >= limit);
  } else {
    return may_precede<kDescending>(order_key(value), order_key(limit));
  }
}

// Puts the entry in the place of the heap's top: a hole sinks to the bottom, then the entry rises from there.
template <class Entry>
void replace_top(Entry* heap, int64_t count, Entry entry) noexcept {
  int64_t hole = 0;
  for (int64_t child = 2; child <= count; child = 2 * hole + 2) {
    if (child == count || key_less(heap[child], heap[child - 1])) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  for (; hole > 0 && key_less(heap[(hole - 1) / 2], entry); hole = (hole - 1) / 2) heap[hole] = heap[(hole - 1) / 2];
  heap[hole] = entry;
}

template <bool kDescending, class T, class Entry>
void load_first(const T* line, int64_t stride, int64_t length, int64_t count, Entry* entries) noexcept {
  constexpr uint64_t kFlip = kDescending ? kKeyMask<Entry> : 0;
  const auto entry_at = [&](int64_t i) { return Entry(order_key(line[i * stride]) ^ kFlip, i); };
  for (int64_t i = 0; i < count; ++i) entries[i] = entry_at(i);
  std::make_heap(entries, entries + count, key_less<Entry>);
  T limit = line[entries[0].position() * stride];
  const auto visit = [&](int64_t i) {
    if (!may_precede<kDescending>(line[i * stride], limit)) return;
    const Entry entry = entry_at(i);
    if (!key_less(entry, entries[0])) return;
    replace_top(entries, count, entry);
    limit = line[entries[0].position() * stride];
  };
  constexpr int64_t kBlock = 32;
  int64_t i = count;
  for (; i + kBlock <= length; i += kBlock) {
    const T* block = line + i * stride;
    int found = 0;
    if (stride == 1) {
      for (int64_t k = 0; k < kBlock; ++k) found += may_precede<kDescending>(block[k], limit) ? 1 : 0;
      if (found == 0) continue;
    }
    for (int64_t k = 0; k < kBlock; ++k) visit(i + k);
  }
  for (; i < length; ++i) visit(i);
  std::sort_heap(entries, entries + count, key_less<Entry>);
}

}  // namespace detail

// Loads the first `count` entries of the line, at least one, in order. Chooses among equal keys as std::partial_sort
// does, whose steps these are.
template <class T, class Entry>
void load_first(const T* line, int64_t stride, int64_t length, bool descending, int64_t count,
                Entry* entries) noexcept {
  if (descending) {
    detail::load_first<true>(line, stride, length, count, entries);
  } else {
    detail::load_first<false>(line, stride, length, count, entries);
  }
}

}  // namespace enr::ops
