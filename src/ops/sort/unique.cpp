// Distinct values and slices: unique, with positions and counts.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "ops/element.h"
#include "ops/families.h"
#include "ops/sort/order.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// Items (elements or slices) as lines of keys that compare as the values do; NaN equals nothing.
class Items {
 public:
  Items(OpContext& context, const std::byte* data, DType dtype, int64_t outer, int64_t count, int64_t inner)
      : count_(count), width_(outer * inner), keys_(context.scratch_of<uint64_t>(size_t(outer * count * inner))) {
    const bool is_double = dtype == DType::kFloat64;
    nan_key_ = is_floating(dtype) ? (is_double ? UINT64_MAX : UINT32_MAX) : 0;
    with_real_type(dtype, "self", [&]<class T>() {
      const auto* values = reinterpret_cast<const T*>(data);
      uint64_t* key = keys_;
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t k = 0; k < inner; ++k) *key++ = order_key(values[(o * count + i) * inner + k]);
        }
      }
    });
  }

  int64_t count() const noexcept { return count_; }
  bool equal(int64_t a, int64_t b) const noexcept {
    for (int64_t k = 0; k < width_; ++k) {
      const uint64_t key = keys_[a * width_ + k];
      if (key != keys_[b * width_ + k] || (nan_key_ != 0 && key == nan_key_)) return false;
    }
    return true;
  }
  bool less(int64_t a, int64_t b) const noexcept {
    return std::lexicographical_compare(keys_ + a * width_, keys_ + (a + 1) * width_, keys_ + b * width_,
                                        keys_ + (b + 1) * width_);
  }
  const uint64_t* keys() const noexcept { return keys_; }
  int64_t width() const noexcept { return width_; }

 private:
  int64_t count_, width_;
  uint64_t* keys_;
  uint64_t nan_key_ = 0;
};

// Positions of the items, ordered so that equal ones are neighbours and, of these, earlier ones come first.
std::vector<int64_t> sorted_order(OpContext& context, const Items& items) {
  const int64_t count = items.count();
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (items.width() != 1) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return items.less(a, b); });
    return order;
  }
  auto* entries = context.scratch_of<WideEntry>(static_cast<size_t>(count));
  auto* spare = context.scratch_of<WideEntry>(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) entries[i] = WideEntry(items.keys()[i], i);
  const WideEntry* sorted = sort_entries(entries, spare, count);
  for (int64_t i = 0; i < count; ++i) order[static_cast<size_t>(i)] = sorted[i].position();
  return order;
}

struct Groups {
  std::vector<int64_t> first;    // a member of each group, in the order of the result
  std::vector<int64_t> counts;   // of each group
  std::vector<int64_t> inverse;  // the group of each item
};

// Neighbours in `order` that are equal make one group.
Groups group_neighbours(const Items& items, const std::vector<int64_t>& order) {
  Groups groups;
  groups.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !items.equal(order[i - 1], order[i])) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  return groups;
}

void write_numbers(OpContext& context, const std::vector<int64_t>& numbers, Sizes shape, bool is_wanted,
                   const char* what, Tensor& out) {
  require_dtype(out, DType::kInt64, what);
  if (!is_wanted) return context.resize(out, {0}, what);
  context.resize(out, shape, what);
  RowMajorOut to(context, out);
  std::copy(numbers.begin(), numbers.end(), to.as<int64_t>());
  to.commit();
}

// Where the distinct items go and what else is asked for; of slices, eager gives all three in any case.
struct UniqueOut {
  Tensor& values;
  Tensor* inverse;
  Tensor* counts;
  bool return_inverse, return_counts;
};

// Distinct slices along a dim; without one, distinct elements.
void unique(OpContext& context, const Tensor& self, std::optional<int64_t> dim, bool is_consecutive,
            const UniqueOut& out) {
  require_dtype(out.values, self.dtype, "out0");
  with_real_type(self.dtype, "self", []<class T>() {});
  const size_t d = dim ? normalize_dim(*dim, self.rank) : 0;
  const bool by_slice = dim && self.rank != 0;
  const int64_t outer = by_slice ? product(self.sizes(), 0, d) : 1;
  const int64_t count = by_slice ? self.size(d) : self.numel();
  const int64_t inner = by_slice ? product(self.sizes(), d + 1, self.rank) : 1;
  if (by_slice && outer * inner == 0 && count != 0) {
    fail_execution("self: expected slices with elements along dim ", d, ", got shape ", self.sizes());
  }
  const std::byte* data = row_major(context, self);
  const Items items(context, data, self.dtype, outer, count, inner);
  std::vector<int64_t> order;
  if (is_consecutive) {
    order.resize(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), int64_t{0});
  } else {
    order = sorted_order(context, items);
  }
  const Groups groups = group_neighbours(items, order);
  const auto distinct = static_cast<int64_t>(groups.first.size());

  Shape shape;
  if (by_slice) {
    shape = Shape(self.sizes());
    shape[d] = distinct;
  } else {
    shape.push_back(distinct);
  }
  context.resize(out.values, shape, "out0");
  if (out.inverse != nullptr) {
    write_numbers(context, groups.inverse, dim ? Sizes(&count, 1) : self.sizes(), dim || out.return_inverse, "out1",
                  *out.inverse);
  }
  if (out.counts != nullptr) {
    write_numbers(context, groups.counts, Sizes(&distinct, 1), dim || out.return_counts, "out2", *out.counts);
  }
  RowMajorOut to(context, out.values);
  const size_t row_bytes = static_cast<size_t>(inner) * dtype_size(self.dtype);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < distinct; ++i) {
      std::memcpy(to.data() + static_cast<size_t>(o * distinct + i) * row_bytes,
                  data + static_cast<size_t>(o * count + groups.first[static_cast<size_t>(i)]) * row_bytes, row_bytes);
    }
  }
  to.commit();
}

void unique2_out(OpContext& context, const Tensor& self, bool, bool return_inverse, bool return_counts, Tensor& out0,
                 Tensor& out1, Tensor& out2) {
  unique(context, self, std::nullopt, false, {out0, &out1, &out2, return_inverse, return_counts});
}

void unique_out(OpContext& context, const Tensor& self, bool, bool return_inverse, Tensor& out0, Tensor& out1) {
  unique(context, self, std::nullopt, false, {out0, &out1, nullptr, return_inverse, false});
}

void unique_dim_out(OpContext& context, const Tensor& self, int64_t dim, bool, bool return_inverse, bool return_counts,
                    Tensor& out0, Tensor& out1, Tensor& out2) {
  unique(context, self, dim, false, {out0, &out1, &out2, return_inverse, return_counts});
}

void unique_consecutive_out(OpContext& context, const Tensor& self, bool return_inverse, bool return_counts,
                            std::optional<int64_t> dim, Tensor& out0, Tensor& out1, Tensor& out2) {
  unique(context, self, dim, true, {out0, &out1, &out2, return_inverse, return_counts});
}

void unique_dim_consecutive_out(OpContext& context, const Tensor& self, int64_t dim, bool return_inverse,
                                bool return_counts, Tensor& out0, Tensor& out1, Tensor& out2) {
  unique(context, self, dim, true, {out0, &out1, &out2, return_inverse, return_counts});
}

}  // namespace

void register_unique(OperatorTable& table) {
  table.add<unique_out>("aten::_unique.out", "self, sorted, return_inverse, out0, out1");
  table.add<unique2_out>("aten::_unique2.out", "self, sorted, return_inverse, return_counts, out0, out1, out2");
  table.add<unique_dim_out>("aten::unique_dim.out",
                            "self, dim, sorted, return_inverse, return_counts, out0, out1, out2");
  table.add<unique_consecutive_out>("aten::unique_consecutive.out",
                                    "self, return_inverse, return_counts, dim, out0, out1, out2");
  table.add<unique_dim_consecutive_out>("aten::unique_dim_consecutive.out",
                                        "self, dim, return_inverse, return_counts, out0, out1, out2");
}

}  // namespace enr::ops
