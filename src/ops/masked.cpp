// Elements chosen by a mask: masked_fill, masked_scatter, masked_select, nonzero.

#include <algorithm>
#include <cstring>

#include "kernels/transpose/copy_threads.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/lines.h"
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

StridedView expanded(const Tensor& tensor, const Shape& shape) {
  StridedView view(tensor);
  view.expand(shape);
  return view;
}

template <class Bits>
void fill_line(Bits* out, int64_t out_step, const Bits* in, int64_t in_step, const uint8_t* mask, int64_t mask_step,
               Bits value, int64_t length) noexcept {
  if (out_step == 1 && in_step == 1 && mask_step == 1) {
    for (int64_t i = 0; i < length; ++i) out[i] = mask[i] != 0 ? value : in[i];
  } else {
    for (int64_t i = 0; i < length; ++i) out[i * out_step] = mask[i * mask_step] != 0 ? value : in[i * in_step];
  }
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
  if (out.numel() == 0) return;
  const StridedView to = reordered(StridedView(out), out.dim_order());
  const StridedView from = reordered(expanded(self, shape), out.dim_order());
  const StridedView flags = reordered(expanded(mask, shape), out.dim_order());
  const Lines<3> lines({&to, &from, &flags});
  with_bits(out.dtype, [&]<class Bits>(Bits value) {
    std::memcpy(&value, element.bytes.data(), sizeof(Bits));
    const auto run = [&](int64_t begin, int64_t end, int64_t first, int64_t length) {
      const auto& steps = lines.steps();
      lines.visit(begin, end, [&](const std::array<int64_t, 3>& at) {
        fill_line(reinterpret_cast<Bits*>(to.data) + at[0] + first * steps[0], steps[0],
                  reinterpret_cast<const Bits*>(from.data) + at[1] + first * steps[1], steps[1],
                  reinterpret_cast<const uint8_t*>(flags.data) + at[2] + first * steps[2], steps[2], value, length);
      });
    };
    const auto line_bytes = static_cast<size_t>(lines.length()) * sizeof(Bits);
    if (lines.count() == 1) {
      kernels::parallel_copy(static_cast<size_t>(lines.length()), sizeof(Bits), [&](size_t begin, size_t end) {
        run(0, 1, static_cast<int64_t>(begin), static_cast<int64_t>(end - begin));
      });
    } else {
      kernels::parallel_copy(static_cast<size_t>(lines.count()), line_bytes, [&](size_t begin, size_t end) {
        run(static_cast<int64_t>(begin), static_cast<int64_t>(end), 0, lines.length());
      });
    }
  });
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

// In place, the mask must not enlarge self.
void require_mask_fits(const Tensor& self, const Tensor& mask) {
  const Shape shape = broadcast(self.sizes(), mask.sizes(), "mask");
  if (std::ranges::equal(Sizes(shape), self.sizes())) return;
  fail_execution("mask: shape ", mask.sizes(), " does not broadcast to ", self.sizes());
}

void masked_fill_scalar_in_place(OpContext& context, Tensor& self, const Tensor& mask, const Scalar& value) {
  require_mask_fits(self, mask);
  fill_masked(context, self, mask, element_of(value, self.dtype, "value"), self);
}

void masked_fill_tensor_in_place(OpContext& context, Tensor& self, const Tensor& mask, const Tensor& value) {
  require_mask_fits(self, mask);
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
    lines.visit(0, lines.count(), [&](const std::array<int64_t, 2>& at) {
      const auto* line = reinterpret_cast<const Bits*>(from.data) + at[0];
      const auto* chosen = reinterpret_cast<const uint8_t*>(flags.data) + at[1];
      for (int64_t i = 0; i < lines.length(); ++i) {
        if (chosen[i * lines.steps()[1]] != 0) *next++ = line[i * lines.steps()[0]];
      }
    });
  });
}

void nonzero_out(OpContext& context, const Tensor& self, Tensor& out) {
  require_dtype(out, DType::kInt64, "out");
  const auto* flags = reinterpret_cast<const uint8_t*>(row_major_as(context, self, DType::kBool));
  const int64_t total = self.numel();
  const int64_t count = total - std::count(flags, flags + total, 0);
  context.resize(out, {count, int64_t{self.rank}});
  if (out.numel() == 0) return;
  const int64_t length = self.size(self.rank - 1u);
  std::array<int64_t, kMaxRank> counter{};
  int64_t row = 0;
  for (int64_t start = 0; start < total; start += length) {
    for (int64_t i = 0; i < length; ++i) {
      if (flags[start + i] == 0) continue;
      counter[self.rank - 1u] = i;
      for (size_t d = 0; d < self.rank; ++d)
        out.as<int64_t>()[row * out.stride(0) + int64_t(d) * out.stride(1)] = counter[d];
      ++row;
    }
    for (size_t d = self.rank - 1u; d-- > 0;) {
      if (++counter[d] < self.size(d)) break;
      counter[d] = 0;
    }
  }
}

}  // namespace

void register_masked(OperatorTable& table) {
  table.add<masked_fill_scalar_out>("aten::masked_fill.Scalar_out");
  table.add<masked_fill_tensor_out>("aten::masked_fill.Tensor_out");
  table.add<masked_fill_scalar_in_place>("aten::masked_fill_.Scalar");
  table.add<masked_fill_tensor_in_place>("aten::masked_fill_.Tensor");
  table.add<masked_scatter_out>("aten::masked_scatter.out");
  table.add<masked_select_out>("aten::masked_select.out");
  table.add<nonzero_out>("aten::nonzero.out");
}

}  // namespace enr::ops
