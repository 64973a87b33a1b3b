// Elements chosen by a mask: masked_fill, masked_scatter, masked_select, nonzero.

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/driver.h"
#include "kernels/ternary/ternary.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/index/lines.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

void require_mask(const Tensor& mask) {
  if (mask.dtype == DType::kBool || mask.dtype == DType::kUInt8) return;
  fail_execution("mask: expected dtype bool, got ", dtype_name(mask.dtype));
}

// The view with its dims in this order, where the order of the elements does not matter.
StridedView reordered(const StridedView& view, std::span<const uint8_t> dim_order) {
  StridedView result;
  result.data = view.data;
  result.dtype = view.dtype;
  for (const uint8_t d : dim_order) result.push_back(view.size(d), view.stride(d));
  return result;
}

struct Sixteen {
  uint64_t low, high;
};

// Calls body with a value of an unsigned type as large as the dtype's elements.
template <class Body>
void with_bits(DType dtype, const Body& body) {
  switch (dtype_size(dtype)) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    case 8:
      return body(uint64_t{});
    default:
      return body(Sixteen{});
  }
}

void fill_masked(OpContext& context, const Tensor& self, const Tensor& mask, const Element& element, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_mask(mask);
  const Shape shape = broadcast(self.sizes(), mask.sizes(), "mask");
  context.resize(out, shape);
  const kernels::Loop where = kernels::where_loop(out.dtype);
  if (!where) fail_execution("self: expected a dtype that it takes, got ", dtype_name(out.dtype));
  const StridedView to = reordered(StridedView(out), out.dim_order());
  const StridedView from = reordered(expanded(self, shape), out.dim_order());
  const StridedView flags = reordered(expanded(mask, shape), out.dim_order());
  const std::array<int64_t, kMaxRank> repeated{};
  const kernels::ConstStrided in[] = {{flags.data, DType::kBool, flags.stride_array.data()},
                                      {element.bytes.data(), out.dtype, repeated.data()},
                                      {from.data, out.dtype, from.stride_array.data()}};
  kernels::run_elementwise(where, {}, to.sizes(), {to.data, out.dtype, to.stride_array.data()}, in);
}

void masked_fill_scalar_out(OpContext& context, const Tensor& self, const Tensor& mask, const Scalar& value,
                            Tensor& out) {
  fill_masked(context, self, mask, element_of(value, self.dtype, "value"), out);
}

Element value_element(OpContext& context, const Tensor& self, const Tensor& value) {
  require_rank(value, 0, "value");
  require_convertible(value.dtype, self.dtype, "value");
  Element element;
  std::memcpy(element.bytes.data(), row_major_as(context, value, self.dtype), dtype_size(self.dtype));
  return element;
}

void masked_fill_tensor_out(OpContext& context, const Tensor& self, const Tensor& mask, const Tensor& value,
                            Tensor& out) {
  fill_masked(context, self, mask, value_element(context, self, value), out);
}

void masked_fill_scalar_in_place(OpContext& context, Tensor& self, const Tensor& mask, const Scalar& value) {
  require_broadcasts(mask, self.sizes(), "mask");
  fill_masked(context, self, mask, element_of(value, self.dtype, "value"), self);
}

void masked_fill_tensor_in_place(OpContext& context, Tensor& self, const Tensor& mask, const Tensor& value) {
  require_broadcasts(mask, self.sizes(), "mask");
  fill_masked(context, self, mask, value_element(context, self, value), self);
}

int64_t count_true(const StridedView& mask) {
  const Lines<1> lines({&mask});
  const int64_t step = lines.steps()[0], length = lines.length();
  int64_t count = 0;
  lines.visit(0, lines.count(), [&](const std::array<int64_t, 1>& at) {
    const auto* flags = reinterpret_cast<const uint8_t*>(mask.data) + at[0];
    for (int64_t i = 0; i < length; ++i) count += flags[i * step] != 0;
  });
  return count;
}

void masked_scatter_out(OpContext& context, const Tensor& self, const Tensor& mask, const Tensor& source, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_dtype(source, self.dtype, "source");
  require_mask(mask);
  const Shape shape = broadcast(self.sizes(), mask.sizes(), "mask");
  const StridedView flags = expanded(mask, shape);
  const int64_t needed = product(shape) == 0 ? 0 : count_true(flags);
  if (source.numel() < needed) {
    fail_execution("source: expected at least ", needed, " elements, as many as the mask chooses, got ",
                   source.numel());
  }
  context.resize(out, shape);
  if (out.numel() == 0) return;
  const std::byte* from = row_major(context, source);
  const StridedView to(out);
  copy_view(context, to, expanded(self, shape));
  const Lines<2> lines({&to, &flags});
  with_bits(out.dtype, [&]<class Bits>(Bits) {
    const auto* next = reinterpret_cast<const Bits*>(from);
    lines.visit(0, lines.count(), [&](const std::array<int64_t, 2>& at) {
      auto* line = reinterpret_cast<Bits*>(to.data) + at[0];
      const auto* chosen = reinterpret_cast<const uint8_t*>(flags.data) + at[1];
      for (int64_t i = 0; i < lines.length(); ++i) {
        if (chosen[i * lines.steps()[1]] != 0) line[i * lines.steps()[0]] = *next++;
      }
    });
  });
}

void masked_select_out(OpContext& context, const Tensor& self, const Tensor& mask, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_mask(mask);
  const Shape shape = broadcast(self.sizes(), mask.sizes(), "mask");
  const StridedView from = expanded(self, shape), flags = expanded(mask, shape);
  const bool is_empty = product(shape) == 0;
  context.resize(out, {is_empty ? 0 : count_true(flags)});
  if (out.numel() == 0) return;
  const Lines<2> lines({&from, &flags});
  with_bits(out.dtype, [&]<class Bits>(Bits) {
    auto* next = out.as<Bits>();
    const auto* end = next + out.numel();
    const auto [step, flag_step] = lines.steps();
    lines.visit(0, lines.count(), [&, step = step, flag_step = flag_step](const std::array<int64_t, 2>& at) {
      const auto* line = reinterpret_cast<const Bits*>(from.data) + at[0];
      const auto* chosen = reinterpret_cast<const uint8_t*>(flags.data) + at[1];
      // Every element is stored, and the next one overwrites it unless it is chosen: no branch to guess.
      for (int64_t i = 0; i < lines.length() && next != end; ++i) {
        *next = line[i * step];
        next += chosen[i * flag_step] != 0;
      }
    });
  });
}

// The positions of the first `count` flags that are set.
void list_positions(const uint8_t* flags, int64_t* positions, int64_t count) noexcept {
  constexpr int64_t kBlock = 8;
  int64_t i = 0, found = 0;
  for (; found + kBlock <= count; i += kBlock) {
    for (int64_t k = 0; k < kBlock; ++k) {
      positions[found] = i + k;
      found += flags[i + k] != 0;
    }
  }
  for (; found != count; ++i) {
    positions[found] = i;
    found += flags[i] != 0;
  }
}

void nonzero_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_dtype(out, DType::kInt64, "out");
  const auto* flags = reinterpret_cast<const uint8_t*>(row_major_as(context, self, DType::kBool));
  const int64_t total = self.numel();
  const int64_t count = total - std::count(flags, flags + total, 0);
  context.resize(out, {count, int64_t{self.rank}});
  if (out.numel() == 0) return;
  if (self.rank == 1 && out.stride(0) == 1) return list_positions(flags, out.as<int64_t>(), count);
  const size_t last = self.rank - 1u;
  const int64_t length = self.size(last);
  const int64_t row_step = out.stride(0), column_step = out.stride(1);
  std::array<int64_t, kMaxRank> counter{};
  int64_t found = 0;
  for (int64_t start = 0; start < total; start += length) {
    // Every position is stored, and the next one overwrites it unless it is chosen: no branch to guess.
    for (int64_t i = 0; i < length && found != count; ++i) {
      int64_t* row = out.as<int64_t>() + found * row_step;
      for (size_t d = 0; d < last; ++d) row[static_cast<int64_t>(d) * column_step] = counter[d];
      row[static_cast<int64_t>(last) * column_step] = i;
      found += flags[start + i] != 0;
    }
    for (size_t d = last; d-- > 0;) {
      if (++counter[d] < self.size(d)) break;
      counter[d] = 0;
    }
  }
}

// The first `size` positions; the fill value where there are fewer.
void nonzero_static_out(OpContext& context, const Tensor& self, int64_t size, int64_t fill_value, Tensor& out) {
  require_dtype(out, DType::kInt64, "out");
  if (size < 0) fail_execution("size: expected at least 0, got ", size);
  const auto* flags = reinterpret_cast<const uint8_t*>(row_major_as(context, self, DType::kBool));
  context.resize(out, {size, int64_t{self.rank}});
  RowMajorOut result(context, out);
  auto* to = result.as<int64_t>();
  std::fill_n(to, out.numel(), fill_value);
  const int64_t total = self.numel();
  for (int64_t i = 0, found = 0; i < total && found < size; ++i) {
    if (flags[i] == 0) continue;
    int64_t rest = i;
    for (size_t d = self.rank; d-- > 0; rest /= self.size(d)) to[found * self.rank + int64_t(d)] = rest % self.size(d);
    ++found;
  }
  result.commit();
}

}  // namespace

void register_masked(OperatorTable& table) {
  table.add<masked_fill_scalar_out>("aten::masked_fill.Scalar_out", "self, mask, value, out", kTruth<1>);
  table.add<masked_fill_tensor_out>("aten::masked_fill.Tensor_out", "self, mask, value, out", kTruth<1>);
  table.add<masked_fill_scalar_in_place>("aten::masked_fill_.Scalar", "self, mask, value", kTruth<1>);
  table.add<masked_fill_tensor_in_place>("aten::masked_fill_.Tensor", "self, mask, value", kTruth<1>);
  table.add<masked_scatter_out>("aten::masked_scatter.out", "self, mask, source, out", kTruth<1>);
  table.add<masked_select_out>("aten::masked_select.out", "self, mask, out", kTruth<1>);
  table.add<nonzero_out>("aten::nonzero.out", "self, out", kTruth<0>);
  table.add<nonzero_static_out>("aten::nonzero_static.out", "self, size, fill_value, out", kTruth<0>);
}

}  // namespace enr::ops
