// Where values belong among others: searchsorted, bucketize, isin, histc, bincount.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/thread_pool.h"
#include "kernels/transpose/pad.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/sort/order.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// Sorted sequences (one, or one for each line of the values), row-major.
template <class T>
struct Sequences {
  const T* values;
  const int64_t* sorter;  // null where the values are in order themselves
  int64_t length;
  bool is_shared;

  // find() of kTogether values in a shared sequence without a sorter: steps of searches that do not wait for each
  // other.
  static constexpr int64_t kTogether = 8;
  template <bool kRight>
  void find_together(const T* wanted, int64_t* positions) const noexcept {
    const auto is_before = [&](int64_t i, T value) { return kRight ? !(values[i] > value) : !(values[i] >= value); };
    std::fill_n(positions, kTogether, 0);
    int64_t count = length;
    while (count > 1) {
      const int64_t half = count / 2;
      for (int64_t k = 0; k < kTogether; ++k) {
        positions[k] += is_before(positions[k] + half - 1, wanted[k]) ? half : 0;
      }
      count -= half;
    }
    if (count == 0) return;
    for (int64_t k = 0; k < kTogether; ++k) positions[k] += is_before(positions[k], wanted[k]) ? 1 : 0;
  }

  // The first position where `value` may be inserted (right: the last). NaN goes to the end.
  template <bool kRight>
  int64_t find(int64_t base, T value) const noexcept {
    const auto is_before = [&](int64_t i) {
      const T pivot = values[base + (sorter == nullptr ? i : sorter[base + i])];
      return kRight ? !(pivot > value) : !(pivot >= value);
    };
    // Halves without branches on the comparison, which no processor guesses.
    int64_t first = 0, count = length;
    while (count > 1) {
      const int64_t half = count / 2;
      first += is_before(first + half - 1) ? half : 0;
      count -= half;
    }
    return first + (count == 1 && is_before(first) ? 1 : 0);
  }
};

struct SearchOptions {
  bool out_int32, right;
};

// Searches `count` values in lines of `line_length`, and writes the positions to out, which has their shape.
template <class T>
void search(OpContext& context, const Sequences<T>& sequences, const T* values, int64_t line_length,
            const SearchOptions& options, Tensor& out) {
  RowMajorOut to(context, out);
  constexpr size_t kGrain = 1024;
  parallel_ranges(static_cast<size_t>(out.numel()), kGrain, [&](size_t begin, size_t end) {
    auto i = static_cast<int64_t>(begin);
    constexpr int64_t kTogether = Sequences<T>::kTogether;
    if (sequences.is_shared && sequences.sorter == nullptr) {
      for (; i + kTogether <= static_cast<int64_t>(end); i += kTogether) {
        int64_t positions[kTogether];
        options.right ? sequences.template find_together<true>(values + i, positions)
                      : sequences.template find_together<false>(values + i, positions);
        if (options.out_int32) {
          std::copy_n(positions, kTogether, to.as<int32_t>() + i);
        } else {
          std::copy_n(positions, kTogether, to.as<int64_t>() + i);
        }
      }
    }
    for (; i < static_cast<int64_t>(end); ++i) {
      const int64_t base = sequences.is_shared ? 0 : i / line_length * sequences.length;
      const int64_t position = options.right ? sequences.template find<true>(base, values[i])
                                             : sequences.template find<false>(base, values[i]);
      if (options.out_int32) {
        to.as<int32_t>()[i] = static_cast<int32_t>(position);
      } else {
        to.as<int64_t>()[i] = position;
      }
    }
  });
  to.commit();
}

void require_sequence(const Tensor& sequence, const Tensor& self, const Tensor* sorter, const char* what) {
  if (sequence.rank == 0) fail_execution(what, ": expected a rank of at least 1, got rank 0");
  bool fits = sequence.rank == 1 || sequence.rank == self.rank;
  for (size_t d = 0; fits && sequence.rank != 1 && d + 1 < self.rank; ++d) fits = sequence.size(d) == self.size(d);
  if (!fits) {
    fail_execution(what, ": expected rank 1 or the leading sizes of ", self.sizes(), ", got shape ", sequence.sizes());
  }
  if (sorter == nullptr) return;
  require_dtype(*sorter, DType::kInt64, "sorter");
  require_sizes(*sorter, sequence.sizes(), "sorter");
}

const int64_t* checked_sorter(OpContext& context, const Tensor* sorter) {
  if (sorter == nullptr) return nullptr;
  const auto* order = row_major_as<int64_t>(context, *sorter);
  const int64_t length = sorter->size(sorter->rank - 1u);
  for (int64_t i = 0; i < sorter->numel(); ++i) {
    if (order[i] < 0 || order[i] >= length) {
      fail_execution("sorter: expected 0 to ", length - 1, ", got ", order[i], " at ", i);
    }
  }
  return order;
}

void search_tensor(OpContext& context, const Tensor& sequence, const Tensor& self, const SearchOptions& options,
                   const Tensor* sorter, const char* what, Tensor& out) {
  require_dtype(out, options.out_int32 ? DType::kInt32 : DType::kInt64, "out");
  require_sequence(sequence, self, sorter, what);
  with_real_type(self.dtype, "self", []<class T>() {});
  with_real_type(sequence.dtype, what, []<class T>() {});
  const int64_t* order = checked_sorter(context, sorter);
  context.resize(out, self.sizes());
  if (out.numel() == 0) return;
  const int64_t line_length = self.rank == 0 ? 1 : self.size(self.rank - 1u);
  const auto run = [&]<class T>() {
    const Sequences<T> sequences{row_major_as<T>(context, sequence), order, sequence.size(sequence.rank - 1u),
                                 sequence.rank == 1};
    search(context, sequences, row_major_as<T>(context, self), line_length, options, out);
  };
  if (self.dtype == sequence.dtype && self.dtype != DType::kFloat64 && is_floating(self.dtype)) {
    run.operator()<float>();
  } else if (is_floating(self.dtype) || is_floating(sequence.dtype)) {
    run.operator()<double>();
  } else if (self.dtype == DType::kUInt64 && sequence.dtype == DType::kUInt64) {
    run.operator()<uint64_t>();
  } else {
    run.operator()<int64_t>();
  }
}

bool is_right(bool right, std::optional<std::string_view> side) {
  if (!side) return right;
  if (*side != "left" && *side != "right") {
    fail_execution("side: expected left or right, got ", std::string(*side));
  }
  if (right && *side == "left") fail_execution("side: expected right where right is set, got left");
  return *side == "right";
}

void searchsorted_tensor_out(OpContext& context, const Tensor& sorted_sequence, const Tensor& self, bool out_int32,
                             bool right, std::optional<std::string_view> side, const Tensor* sorter, Tensor& out) {
  search_tensor(context, sorted_sequence, self, {out_int32, is_right(right, side)}, sorter, "sorted_sequence", out);
}

void bucketize_tensor_out(OpContext& context, const Tensor& self, const Tensor& boundaries, bool out_int32, bool right,
                          Tensor& out) {
  require_rank(boundaries, 1, "boundaries");
  search_tensor(context, boundaries, self, {out_int32, right}, nullptr, "boundaries", out);
}

// One number, compared as a double where either side is floating.
void search_scalar(OpContext& context, const Tensor& sequence, const Scalar& value, const SearchOptions& options,
                   const Tensor* sorter, const char* what, Tensor& out) {
  require_dtype(out, options.out_int32 ? DType::kInt32 : DType::kInt64, "out");
  require_rank(sequence, 1, what);
  require_sequence(sequence, sequence, sorter, what);
  with_real_type(sequence.dtype, what, []<class T>() {});
  const int64_t* order = checked_sorter(context, sorter);
  context.resize(out, {});
  const auto run = [&]<class T>() {
    const T number = value.to<T>();
    const Sequences<T> sequences{row_major_as<T>(context, sequence), order, sequence.size(0), true};
    search(context, sequences, &number, 1, options, out);
  };
  is_floating(sequence.dtype) || value.is_double() ? run.operator()<double>() : run.operator()<int64_t>();
}

void searchsorted_scalar_out(OpContext& context, const Tensor& sorted_sequence, const Scalar& self, bool out_int32,
                             bool right, std::optional<std::string_view> side, const Tensor* sorter, Tensor& out) {
  search_scalar(context, sorted_sequence, self, {out_int32, is_right(right, side)}, sorter, "sorted_sequence", out);
}

void bucketize_scalar_out(OpContext& context, const Scalar& self, const Tensor& boundaries, bool out_int32, bool right,
                          Tensor& out) {
  search_scalar(context, boundaries, self, {out_int32, right}, nullptr, "boundaries", out);
}

// Whether each element is among the others; NaN is among none.
template <class T>
void find_members(OpContext& context, const T* elements, const T* others, int64_t other_count, bool invert,
                  Tensor& out) {
  auto* sorted = context.scratch_of<T>(static_cast<size_t>(other_count));
  T* end = std::copy_if(others, others + other_count, sorted, [](T x) { return x == x; });
  std::sort(sorted, end);
  RowMajorOut to(context, out);
  if constexpr (std::is_same_v<T, int64_t>) {
    // Numbers that lie close together are marked in a table.
    const auto count = static_cast<uint64_t>(out.numel());
    const uint64_t span = sorted == end ? 0 : static_cast<uint64_t>(end[-1]) - static_cast<uint64_t>(*sorted);
    if (sorted != end && span < std::max<uint64_t>(4 * count, 256)) {
      auto* marks = context.scratch_of<bool>(span + 1);
      std::fill_n(marks, span + 1, invert);
      const auto place = [low = static_cast<uint64_t>(*sorted)](T x) { return static_cast<uint64_t>(x) - low; };
      for (const T* x = sorted; x != end; ++x) marks[place(*x)] = !invert;
      parallel_ranges(count, 4096, [&](size_t begin, size_t stop) {
        for (size_t i = begin; i < stop; ++i) {
          const uint64_t at = place(elements[i]);
          to.as<bool>()[i] = at <= span ? marks[at] : invert;
        }
      });
      return to.commit();
    }
  }
  parallel_ranges(static_cast<size_t>(out.numel()), 1024, [&](size_t begin, size_t stop) {
    for (size_t i = begin; i < stop; ++i) {
      const T* found = std::lower_bound(static_cast<const T*>(sorted), static_cast<const T*>(end), elements[i]);
      to.as<bool>()[i] = (found != end && *found == elements[i]) != invert;
    }
  });
  to.commit();
}

void isin_tensor_tensor_out(OpContext& context, const Tensor& elements, const Tensor& test_elements, bool, bool invert,
                            Tensor& out) {
  require_dtype(out, DType::kBool, "out");
  with_real_type(elements.dtype, "elements", []<class T>() {});
  with_real_type(test_elements.dtype, "test_elements", []<class T>() {});
  context.resize(out, elements.sizes());
  const auto run = [&]<class T>() {
    find_members(context, row_major_as<T>(context, elements), row_major_as<T>(context, test_elements),
                 test_elements.numel(), invert, out);
  };
  is_floating(elements.dtype) || is_floating(test_elements.dtype) ? run.operator()<double>()
                                                                  : run.operator()<int64_t>();
}

void isin_tensor_scalar_out(OpContext& context, const Tensor& elements, const Scalar& test_element, bool, bool invert,
                            Tensor& out) {
  require_dtype(out, DType::kBool, "out");
  with_real_type(elements.dtype, "elements", []<class T>() {});
  context.resize(out, elements.sizes());
  const auto run = [&]<class T>() {
    const T number = test_element.to<T>();
    find_members(context, row_major_as<T>(context, elements), &number, 1, invert, out);
  };
  is_floating(elements.dtype) || test_element.is_double() ? run.operator()<double>() : run.operator()<int64_t>();
}

void isin_scalar_tensor_out(OpContext& context, const Scalar& element, const Tensor& test_elements, bool, bool invert,
                            Tensor& out) {
  require_dtype(out, DType::kBool, "out");
  with_real_type(test_elements.dtype, "test_elements", []<class T>() {});
  context.resize(out, {});
  const auto run = [&]<class T>() {
    const T number = element.to<T>();
    find_members(context, &number, row_major_as<T>(context, test_elements), test_elements.numel(), invert, out);
  };
  element.is_double() || is_floating(test_elements.dtype) ? run.operator()<double>() : run.operator()<int64_t>();
}

template <class T>
void count_in_bins(OpContext& context, const Tensor& self, int64_t bins, T low, T high, Tensor& out) {
  const T* values = row_major_as<T>(context, self);
  const int64_t count = self.numel();
  if (low == high && count > 0) {
    const auto [smallest, largest] = std::minmax_element(values, values + count);
    low = *smallest;
    high = *largest;
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high)) {
    fail_execution("min: expected a finite range, got ", low, " to ", high);
  }
  if (low > high) fail_execution("max: expected at least min ", low, ", got ", high);
  context.resize(out, {bins});
  RowMajorOut to(context, out, dtype_of<T>);
  std::fill_n(to.as<T>(), bins, T{0});
  for (int64_t i = 0; i < count; ++i) {
    if (!(values[i] >= low && values[i] <= high)) continue;
    const auto bin = static_cast<int64_t>((values[i] - low) * static_cast<T>(bins) / (high - low));
    ++to.as<T>()[std::min(bin, bins - 1)];
  }
  to.commit();
}

void histc_out(OpContext& context, const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max,
               Tensor& out) {
  require_dtype(out, self.dtype, "out");
  if (!is_floating(self.dtype)) fail_execution("self: expected a floating dtype, got ", dtype_name(self.dtype));
  require_convertible(self.dtype, DType::kFloat64, "self");
  if (bins < 1) fail_execution("bins: expected at least 1, got ", bins);
  if (self.dtype == DType::kFloat64) {
    count_in_bins<double>(context, self, bins, min.to<double>(), max.to<double>(), out);
  } else {
    count_in_bins<float>(context, self, bins, min.to<float>(), max.to<float>(), out);
  }
}

template <class T>
void sum_by_bin(OpContext& context, const int64_t* bins, const T* weights, int64_t count, int64_t bin_count,
                Tensor& out) {
  context.resize(out, {bin_count});
  RowMajorOut to(context, out, dtype_of<T>);
  T* sums = to.as<T>();
  std::fill_n(sums, bin_count, T{0});
  if (weights == nullptr) {
    for (int64_t i = 0; i < count; ++i) sums[bins[i]] += 1;
  } else {
    for (int64_t i = 0; i < count; ++i) sums[bins[i]] += weights[i];
  }
  to.commit();
}

void bincount_out(OpContext& context, const Tensor& self, const Tensor* weights, int64_t minlength, Tensor& out) {
  require_rank(self, 1, "self");
  if (is_floating(self.dtype) || is_complex(self.dtype)) {
    fail_execution("self: expected an integer dtype, got ", dtype_name(self.dtype));
  }
  if (minlength < 0) fail_execution("minlength: expected at least 0, got ", minlength);
  if (weights != nullptr) require_sizes(*weights, self.sizes(), "weights");
  const auto* bins = row_major_as<int64_t>(context, self);
  const int64_t count = self.numel();
  int64_t largest = -1, least = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, bins[i]);
    least = std::min(least, bins[i]);
  }
  if (least < 0) {
    const int64_t at = std::find_if(bins, bins + count, [](int64_t bin) { return bin < 0; }) - bins;
    fail_execution("self: expected values of at least 0, got ", bins[at], " at position ", at);
  }
  const int64_t bin_count = std::max(minlength, largest == INT64_MAX ? largest : largest + 1);
  if (weights == nullptr) return sum_by_bin<int64_t>(context, bins, nullptr, count, bin_count, out);
  if (weights->dtype == DType::kFloat32) {
    return sum_by_bin(context, bins, row_major_as<float>(context, *weights), count, bin_count, out);
  }
  sum_by_bin(context, bins, row_major_as<double>(context, *weights), count, bin_count, out);
}

}  // namespace

void register_search(OperatorTable& table) {
  table.add<searchsorted_tensor_out>("aten::searchsorted.Tensor_out",
                                     "sorted_sequence, self, out_int32, right, side, sorter, out");
  table.add<searchsorted_scalar_out>("aten::searchsorted.Scalar_out",
                                     "sorted_sequence, self, out_int32, right, side, sorter, out");
  table.add<bucketize_tensor_out>("aten::bucketize.Tensor_out", "self, boundaries, out_int32, right, out");
  table.add<bucketize_scalar_out>("aten::bucketize.Scalar_out", "self, boundaries, out_int32, right, out");
  table.add<isin_tensor_tensor_out>("aten::isin.Tensor_Tensor_out",
                                    "elements, test_elements, assume_unique, invert, out");
  table.add<isin_scalar_tensor_out>("aten::isin.Scalar_Tensor_out",
                                    "element, test_elements, assume_unique, invert, out");
  table.add<isin_tensor_scalar_out>("aten::isin.Tensor_Scalar_out",
                                    "elements, test_element, assume_unique, invert, out");
  table.add<histc_out>("aten::histc.out", "self, bins, min, max, out");
  table.add<bincount_out>("aten::bincount.out", "self, weights, minlength, out");
}

}  // namespace enr::ops
