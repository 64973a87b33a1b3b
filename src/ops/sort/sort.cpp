// Order along a dim: sort, argsort, topk, kthvalue, median, mode.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/thread_pool.h"
#include "kernels/convert/convert.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/sort/first_entries.h"
#include "ops/sort/order.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// A row-major tensor as lines along one dim.
struct LineSet {
  size_t dim;
  int64_t outer, length, inner;

  int64_t count() const noexcept { return outer * inner; }
  int64_t start(int64_t line, int64_t line_length) const noexcept {
    return line / inner * line_length * inner + line % inner;
  }
};

LineSet lines_along(const Tensor& self, int64_t dim) {
  const size_t d = normalize_dim(dim, self.rank);
  if (self.rank == 0) return {0, 1, 1, 1};
  return {d, product(self.sizes(), 0, d), self.size(d), product(self.sizes(), d + 1, self.rank)};
}

void require_order(const Tensor& self) {
  with_real_type(self.dtype, "self", []<class T>() {});
}

template <class T, class Entry>
void load_entries(const T* line, int64_t stride, int64_t length, bool descending, Entry* entries) noexcept {
  const uint64_t flip = descending ? kKeyMask<Entry> : 0;
  for (int64_t i = 0; i < length; ++i) entries[i] = Entry(order_key(line[i * stride]) ^ flip, i);
}

// Loads the entries of a line in order of position or, where `first` is not 0, the first so many in order of keys.
template <class Entry>
using Load = void (*)(const std::byte* line, int64_t stride, int64_t length, bool descending, int64_t first,
                      Entry* entries);

template <class Entry>
Load<Entry> load_function(DType dtype) {
  Load<Entry> load = nullptr;
  with_real_type(dtype, "self", [&]<class T>() {
    if constexpr (Entry::kKeyBytes == 8 || sizeof(T) <= 4) {
      load = [](const std::byte* line, int64_t stride, int64_t length, bool descending, int64_t first, Entry* entries) {
        const auto* values = reinterpret_cast<const T*>(line);
        if (first != 0) return load_first(values, stride, length, descending, first, entries);
        load_entries(values, stride, length, descending, entries);
      };
    }
  });
  return load;
}

// How a line's entries are loaded: all in order of position, short lines in order of keys; or the first so many in
// order of keys, where `first` is not 0.
struct LoadOrder {
  bool descending;
  bool sorts_few = false;
  int64_t first = 0;
};

// For each line of self: pick(line, entries, spare) with its entries loaded; on all threads.
template <class Entry, class Pick>
void pick_lines(OpContext& context, const std::byte* data, DType dtype, const LineSet& lines, const LoadOrder& order,
                const Pick& pick) {
  const Load<Entry> load = load_function<Entry>(dtype);
  constexpr int64_t kElementsWorthAThread = 4096;
  const int64_t workers = std::clamp<int64_t>(lines.count() * lines.length / kElementsWorthAThread, 1,
                                              std::min<int64_t>(lines.count(), static_cast<int64_t>(num_threads())));
  const bool sorts = order.sorts_few && lines.length <= kFewEntries;
  const int64_t together = sorts ? static_cast<int64_t>(kernels::kSortedLines) : 1;
  const auto room = static_cast<size_t>(lines.length), own = (static_cast<size_t>(together) + 1) * room;
  auto* scratch = context.scratch_of<Entry>(static_cast<size_t>(workers) * own);
  const auto element = static_cast<int64_t>(dtype_size(dtype));
  parallel_for(static_cast<size_t>(workers), [&](size_t worker) {
    Entry *spare = scratch + worker * own, *entries = spare + room;
    const int64_t begin = lines.count() * static_cast<int64_t>(worker) / workers;
    const int64_t end = lines.count() * static_cast<int64_t>(worker + 1) / workers;
    for (int64_t line = begin; line < end; line += together) {
      const int64_t count = std::min(together, end - line);
      for (int64_t l = 0; l < count; ++l) {
        const std::byte* from = data + lines.start(line + l, lines.length) * element;
        load(from, lines.inner, lines.length, order.descending, order.first, entries + l * lines.length);
      }
      if (sorts) sort_few(entries, room, static_cast<size_t>(count), lines.length);
      for (int64_t l = 0; l < count; ++l) pick(line + l, entries + l * lines.length, spare);
    }
  });
}

// The same with the smallest entries that do: pick is a generic callable.
template <class Pick>
void pick_lines(OpContext& context, const std::byte* data, DType dtype, const LineSet& lines, const LoadOrder& order,
                const Pick& pick) {
  if (lines.count() == 0) return;
  if (fits_narrow(dtype, lines.length)) {
    pick_lines<NarrowEntry>(context, data, dtype, lines, order, pick);
  } else {
    pick_lines<WideEntry>(context, data, dtype, lines, order, pick);
  }
}

// values = self at indices along the dim; both row-major with `picked` entries a line.
void take_values(const std::byte* self, DType dtype, const LineSet& lines, const int64_t* indices, int64_t picked,
                 std::byte* values) {
  const auto take = [&]<class Bits>(Bits) {
    const auto* from = reinterpret_cast<const Bits*>(self);
    auto* to = reinterpret_cast<Bits*>(values);
    parallel_ranges(static_cast<size_t>(lines.outer * picked), 4096, [&](size_t begin, size_t end) {
      auto row = static_cast<int64_t>(begin);
      const Bits* block = from + row / picked * lines.length * lines.inner;
      for (int64_t next = row % picked; row < static_cast<int64_t>(end); ++row) {
        for (int64_t k = 0; k < lines.inner; ++k) {
          to[row * lines.inner + k] = block[indices[row * lines.inner + k] * lines.inner + k];
        }
        if (++next == picked) {
          block += lines.length * lines.inner;
          next = 0;
        }
      }
    });
  };
  if (picked == 0) return;
  switch (dtype_size(dtype)) {
    case 1:
      return take(uint8_t{});
    case 2:
      return take(uint16_t{});
    case 4:
      return take(uint32_t{});
    default:
      return take(uint64_t{});
  }
}

// Outputs of an operator that picks entries of lines: values and int64 positions.
struct Picked {
  Tensor* values;  // null where only positions are asked for
  Tensor& indices;
};

// Resizes the outputs, lets pick(entries, spare, length) return where `picked` entries stand for each line, and writes
// them.
template <class Pick>
void write_picked(OpContext& context, const Tensor& self, const LineSet& lines, const Shape& shape, int64_t picked,
                  const LoadOrder& order, const Picked& out, const Pick& pick) {
  require_dtype(out.indices, DType::kInt64, "indices");
  if (out.values != nullptr) {
    require_dtype(*out.values, self.dtype, "values");
    context.resize(*out.values, shape, "values");
  }
  context.resize(out.indices, shape, "indices");
  if (out.indices.numel() == 0) return;
  const std::byte* data = row_major(context, self);
  RowMajorOut indices(context, out.indices);
  auto* positions = indices.as<int64_t>();
  pick_lines(context, data, self.dtype, lines, order, [&](int64_t line, auto* entries, auto* spare) {
    const auto* chosen = pick(entries, spare, lines.length);
    int64_t* to = positions + lines.start(line, picked);
    for (int64_t i = 0; i < picked; ++i) to[i * lines.inner] = chosen[i].position();
  });
  if (out.values != nullptr) {
    RowMajorOut values(context, *out.values);
    take_values(data, self.dtype, lines, positions, picked, values.data());
    values.commit();
  }
  indices.commit();
}

// Entries that were loaded with LoadOrder::sorts_few.
template <class Entry>
Entry* sort_loaded(Entry* entries, Entry* spare, int64_t length) noexcept {
  return length <= kFewEntries ? entries : sort_entries(entries, spare, length);
}

void sort_lines(OpContext& context, const Tensor& self, int64_t dim, bool descending, const Picked& out) {
  require_order(self);
  const LineSet lines = lines_along(self, dim);
  write_picked(context, self, lines, Shape(self.sizes()), lines.length, {descending, true}, out,
               [](auto* entries, auto* spare, int64_t length) { return sort_loaded(entries, spare, length); });
}

void sort_values(OpContext& context, const Tensor& self, int64_t dim, bool descending, Tensor& values,
                 Tensor& indices) {
  sort_lines(context, self, dim, descending, {&values, indices});
}

// Every sort here is stable.
void sort_values_stable(OpContext& context, const Tensor& self, std::optional<bool>, int64_t dim, bool descending,
                        Tensor& values, Tensor& indices) {
  sort_lines(context, self, dim, descending, {&values, indices});
}

void argsort_out(OpContext& context, const Tensor& self, int64_t dim, bool descending, Tensor& out) {
  sort_lines(context, self, dim, descending, {nullptr, out});
}

void argsort_stable_out(OpContext& context, const Tensor& self, bool, int64_t dim, bool descending, Tensor& out) {
  sort_lines(context, self, dim, descending, {nullptr, out});
}

// Chooses among equal values as eager does, which takes these steps of the standard library.
template <class Entry>
Entry* pick_top(Entry* entries, int64_t length, int64_t k, bool is_sorted) noexcept {
  std::nth_element(entries, entries + k - 1, entries + length, key_less<Entry>);
  if (is_sorted) std::sort(entries, entries + k - 1, key_less<Entry>);
  return entries;
}

// Whether the first k hold no equal keys and none equals the next: then every way to choose them gives the same.
template <class Entry>
bool is_top_distinct(const Entry* sorted, int64_t count, int64_t k) noexcept {
  for (int64_t i = 0; i < std::min(k, count - 1); ++i) {
    if (sorted[i].key() == sorted[i + 1].key()) return false;
  }
  return true;
}

// The first k entries in order, where they are distinct: looked for among those below an estimate, from a sample, of
// the key that parts them. Null where that does not hold, with the entries as they were.
template <class Entry>
Entry* pick_distinct_top(const Entry* entries, Entry* spare, int64_t length, int64_t k) noexcept {
  constexpr int64_t kSample = 128;
  if (length < 8 * kSample || k * 4 > length) return nullptr;
  std::array<uint64_t, kSample> sample;
  for (int64_t i = 0; i < kSample; ++i) sample[static_cast<size_t>(i)] = entries[i * length / kSample].key();
  // As many as wanted, and three standard deviations more.
  const double expected = static_cast<double>(k * kSample) / static_cast<double>(length);
  const auto rank = static_cast<ptrdiff_t>(expected + 3 * std::sqrt(expected) + 2);
  std::nth_element(sample.begin(), sample.begin() + rank, sample.end());
  const uint64_t limit = sample[static_cast<size_t>(rank)];
  int64_t count = 0;
  for (int64_t i = 0; i < length; ++i) {
    spare[count] = entries[i];
    count += entries[i].key() <= limit ? 1 : 0;
  }
  if (count <= k || 2 * count > length) return nullptr;
  Entry* sorted = sort_entries(spare, spare + count, count);
  return is_top_distinct(sorted, count, k) ? sorted : nullptr;
}

void topk_values(OpContext& context, const Tensor& self, int64_t k, int64_t dim, bool largest, bool is_sorted,
                 Tensor& values, Tensor& indices) {
  require_order(self);
  const LineSet lines = lines_along(self, dim);
  if (k < 0 || k > lines.length) fail_execution("k: expected 0 to ", lines.length, ", got ", k);
  Shape shape(self.sizes());
  if (shape.rank != 0) shape[lines.dim] = k;
  if (self.rank == 0) k = 1;
  if (k != 0 && k * 64 <= lines.length) {
    return write_picked(context, self, lines, shape, k, {largest, false, k}, {&values, indices},
                        [](auto* entries, auto*, int64_t) { return entries; });
  }
  write_picked(context, self, lines, shape, k, {largest, true}, {&values, indices},
               [=](auto* entries, auto* spare, int64_t length) {
                 if (length <= kFewEntries) {
                   if (is_top_distinct(entries, length, k)) return entries;
                   for (int64_t i = 0; i < length; ++i) spare[entries[i].position()] = entries[i];
                   return pick_top(spare, length, k, is_sorted);
                 }
                 auto* distinct = pick_distinct_top(entries, spare, length, k);
                 return distinct != nullptr ? distinct : pick_top(entries, length, k, is_sorted);
               });
}

// The shape without the dim, or with a 1 in its place.
Shape reduced_shape(const Tensor& self, size_t dim, bool keepdim) {
  Shape shape;
  for (size_t d = 0; d < self.rank; ++d) {
    if (d != dim) {
      shape.push_back(self.size(d));
    } else if (keepdim) {
      shape.push_back(1);
    }
  }
  return shape;
}

LineSet nonempty_lines(const Tensor& self, int64_t dim) {
  require_order(self);
  const LineSet lines = lines_along(self, dim);
  if (lines.length == 0) fail_execution("dim: expected a dim with elements of shape ", self.sizes(), ", got ", dim);
  return lines;
}

void kthvalue_values(OpContext& context, const Tensor& self, int64_t k, int64_t dim, bool keepdim, Tensor& values,
                     Tensor& indices) {
  const LineSet lines = nonempty_lines(self, dim);
  if (k < 1 || k > lines.length) fail_execution("k: expected 1 to ", lines.length, ", got ", k);
  write_picked(context, self, lines, reduced_shape(self, lines.dim, keepdim), 1, {false}, {&values, indices},
               [=](auto* entries, auto*, int64_t length) {
                 std::nth_element(entries, entries + k - 1, entries + length,
                                  key_less<std::remove_pointer_t<decltype(entries)>>);
                 return entries + k - 1;
               });
}

// The lower median. NaN counts as the median of its line unless it is ignored.
template <class Entry>
Entry* pick_median(Entry* entries, int64_t length, bool ignores_nan, uint64_t nan_key) noexcept {
  const auto is_nan = [nan_key](const Entry& entry) { return entry.key() == nan_key; };
  int64_t counted = length;
  if (nan_key != 0) {
    Entry* first_nan = std::find_if(entries, entries + length, is_nan);
    if (first_nan != entries + length && !ignores_nan) return first_nan;
    counted -= std::count_if(first_nan, entries + length, is_nan);
  }
  const int64_t middle = std::max<int64_t>(counted - 1, 0) / 2;
  std::nth_element(entries, entries + middle, entries + length, key_less<Entry>);
  return entries + middle;
}

// The key of NaN, 0 for dtypes that have none.
uint64_t nan_key_of(DType dtype) noexcept {
  if (!is_floating(dtype)) return 0;
  return dtype == DType::kFloat64 ? UINT64_MAX : UINT32_MAX;
}

template <bool kIgnoresNan>
void median_dim_values(OpContext& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& values,
                       Tensor& indices) {
  const LineSet lines = nonempty_lines(self, dim);
  const uint64_t nan_key = nan_key_of(self.dtype);
  write_picked(
      context, self, lines, reduced_shape(self, lines.dim, keepdim), 1, {false}, {&values, indices},
      [=](auto* entries, auto*, int64_t length) { return pick_median(entries, length, kIgnoresNan, nan_key); });
}

// Of all elements.
template <bool kIgnoresNan>
void median_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_order(self);
  require_dtype(out, self.dtype, "out");
  context.resize(out, {});
  const int64_t count = self.numel();
  if (count == 0) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    kernels::convert_fn(DType::kFloat64, out.dtype)(&none, out.data, 1);
    return;
  }
  const LineSet lines{0, 1, count, 1};
  const std::byte* data = row_major(context, self);
  const auto element = dtype_size(self.dtype);
  const uint64_t nan_key = nan_key_of(self.dtype);
  pick_lines(context, data, self.dtype, lines, {false}, [&](int64_t, auto* entries, auto*) {
    const auto* middle = pick_median(entries, count, kIgnoresNan, nan_key);
    std::memcpy(out.data, data + middle->position() * static_cast<int64_t>(element), element);
  });
}

// The most frequent value, the smallest of several, at its last position.
void mode_values(OpContext& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  const LineSet lines = nonempty_lines(self, dim);
  write_picked(context, self, lines, reduced_shape(self, lines.dim, keepdim), 1, {false, true}, {&values, indices},
               [](auto* entries, auto* spare, int64_t length) {
                 auto* sorted = sort_loaded(entries, spare, length);
                 auto* best = sorted;
                 int64_t most = 0, run = 0;
                 for (int64_t i = 0; i < length; ++i) {
                   run = i != 0 && sorted[i].key() == sorted[i - 1].key() ? run + 1 : 1;
                   const bool run_ends = i + 1 == length || sorted[i].key() != sorted[i + 1].key();
                   if (run_ends && run > most) {
                     most = run;
                     best = sorted + i;
                   }
                 }
                 return best;
               });
}

}  // namespace

void register_sort(OperatorTable& table) {
  table.add<sort_values>("aten::sort.values", "self, dim, descending, values, indices");
  table.add<sort_values_stable>("aten::sort.values_stable", "self, stable, dim, descending, values, indices");
  table.add<argsort_out>("aten::argsort.out", "self, dim, descending, out");
  table.add<argsort_stable_out>("aten::argsort.stable_out", "self, stable, dim, descending, out");
  table.add<topk_values>("aten::topk.values", "self, k, dim, largest, sorted, values, indices");
  table.add<kthvalue_values>("aten::kthvalue.values", "self, k, dim, keepdim, values, indices");
  table.add<median_dim_values<false>>("aten::median.dim_values", "self, dim, keepdim, values, indices");
  table.add<median_dim_values<true>>("aten::nanmedian.dim_values", "self, dim, keepdim, values, indices");
  table.add<median_out<false>>("aten::median.out", "self, out");
  table.add<median_out<true>>("aten::nanmedian.out", "self, out");
  table.add<mode_values>("aten::mode.values", "self, dim, keepdim, values, indices");
}

}  // namespace enr::ops
