// Elements picked or changed by an index of their own along one dim: gather, scatter and its reductions.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "kernels/transpose/copy_threads.h"
#include "kernels/transpose/gather.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// An index tensor over a tensor whose sizes it does not exceed but along `dim`.
struct IndexedDim {
  size_t dim;
  const int64_t* values;  // row-major
  StridedView target;     // the indexed tensor; a rank 0 one counts as [1]
  Shape sizes;            // of the index
};

void insert_rank(StridedView& view) noexcept {
  if (view.rank == 0) view.push_back(1, 1);
}

// Checks everything about an index that does not depend on the operator. `target` is self or out.
IndexedDim check_index(OpContext& context, const Tensor& target, int64_t dim, const Tensor& index) {
  require_index_dtype(index, "index");
  IndexedDim indexed{normalize_dim(dim, target.rank), nullptr, StridedView(target), Shape(index.sizes())};
  insert_rank(indexed.target);
  if (index.rank == 0) indexed.sizes.push_back(1);
  if (index.numel() == 0) return indexed;
  if (indexed.sizes.rank != indexed.target.rank) {
    fail_execution("index: expected rank ", int{target.rank}, ", got shape ", index.sizes());
  }
  for (size_t d = 0; d < indexed.sizes.rank; ++d) {
    if (d != indexed.dim && indexed.sizes[d] > indexed.target.size(d)) {
      fail_execution("index: expected at most shape ", target.sizes(), " but along dim ", indexed.dim, ", got ",
                     index.sizes());
    }
  }
  indexed.values = row_major_as<int64_t>(context, index);
  const auto count = static_cast<size_t>(index.numel());
  const int64_t size = indexed.target.size(indexed.dim);
  const size_t bad = kernels::first_index_outside(indexed.values, count, 0, size);
  if (bad != count) {
    fail_execution("index: expected 0 to ", size - 1, ", got ", indexed.values[bad], " at ", bad);
  }
  return indexed;
}

// Calls visit(position in the index, offset in the target) for the elements [first, end_column) of rows [begin, end) of
// the index, a row being its innermost dim.
template <class Visit>
void visit_columns(const IndexedDim& indexed, int64_t begin, int64_t end, int64_t first, int64_t end_column,
                   const Visit& visit) {
  const size_t last = indexed.sizes.rank - 1;
  const int64_t length = indexed.sizes[last];
  const int64_t dim_stride = indexed.target.stride(indexed.dim);
  const int64_t step = indexed.dim == last ? 0 : indexed.target.stride(last);
  for (int64_t row = begin; row < end; ++row) {
    int64_t offset = 0, rest = row;
    for (size_t d = last; d-- > 0;) {
      if (d != indexed.dim) offset += rest % indexed.sizes[d] * indexed.target.stride(d);
      rest /= indexed.sizes[d];
    }
    for (int64_t i = first; i < end_column; ++i) {
      visit(row * length + i, offset + indexed.values[row * length + i] * dim_stride + i * step);
    }
  }
}

template <class Visit>
void visit_rows(const IndexedDim& indexed, int64_t begin, int64_t end, const Visit& visit) {
  visit_columns(indexed, begin, end, 0, indexed.sizes[indexed.sizes.rank - 1], visit);
}

int64_t row_count(const IndexedDim& indexed) noexcept {
  return product(Sizes(indexed.sizes), 0, indexed.sizes.rank - 1);
}

template <size_t kSize>
void gather(const IndexedDim& indexed, std::byte* out) {
  const std::byte* in = indexed.target.data;
  const auto row_bytes = static_cast<size_t>(indexed.sizes[indexed.sizes.rank - 1]) * (kSize + 8);
  kernels::parallel_copy(static_cast<size_t>(row_count(indexed)), row_bytes, [&](size_t begin, size_t end) {
    visit_rows(indexed, static_cast<int64_t>(begin), static_cast<int64_t>(end), [&](int64_t to, int64_t from) {
      std::memcpy(out + to * int64_t{kSize}, in + from * int64_t{kSize}, kSize);
    });
  });
}

void gather_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, bool, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const IndexedDim indexed = check_index(context, self, dim, index);
  context.resize(out, index.sizes());
  if (out.numel() == 0) return;
  RowMajorOut to(context, out);
  switch (dtype_size(self.dtype)) {
    case 1:
      gather<1>(indexed, to.data());
      break;
    case 2:
      gather<2>(indexed, to.data());
      break;
    case 4:
      gather<4>(indexed, to.data());
      break;
    case 8:
      gather<8>(indexed, to.data());
      break;
    default:
      gather<16>(indexed, to.data());
  }
  to.commit();
}

// Checks src and returns its part under the index, row-major and apart from out.
const std::byte* source_elements(OpContext& context, const Tensor& src, const IndexedDim& indexed, const Tensor& self,
                                 const Tensor& out) {
  require_dtype(src, self.dtype, "src");
  if (indexed.values == nullptr) return src.data;
  StridedView part(src);
  insert_rank(part);
  bool fits = part.rank == indexed.sizes.rank;
  for (size_t d = 0; fits && d < part.rank; ++d) fits = indexed.sizes[d] <= part.size(d);
  if (!fits) fail_execution("src: expected at least the index's shape ", Sizes(indexed.sizes), ", got ", src.sizes());
  for (size_t d = 0; d < part.rank; ++d) part.size_array[d] = indexed.sizes[d];
  if (part.is_contiguous() && !overlaps(src, out)) return part.data;
  const auto bytes = static_cast<size_t>(part.numel()) * dtype_size(src.dtype);
  const StridedView copy(context.scratch(bytes), src.dtype, part.sizes());
  copy_view(context, copy, part);
  return copy.data;
}

// out = self, ready to be written at the indexed elements; the view of out takes self's place in `indexed`.
void start_from_self(OpContext& context, const Tensor& self, IndexedDim& indexed, Tensor& out) {
  copy_tensor(context, out, self);
  indexed.target = StridedView(out);
  insert_rank(indexed.target);
}

// All elements, spread over threads. Elements meet in the target only where they differ along `dim` alone: these stay
// together and in order.
template <class Visit>
void visit_apart(const IndexedDim& indexed, const Visit& visit) {
  const size_t last = indexed.sizes.rank - 1;
  const int64_t length = indexed.sizes[last], rows = row_count(indexed);
  constexpr int64_t kBytes = 24;  // an index, a source and a target
  if (indexed.dim == last) {
    return kernels::parallel_copy(static_cast<size_t>(rows), static_cast<size_t>(length * kBytes),
                                  [&](size_t begin, size_t end) {
                                    visit_rows(indexed, static_cast<int64_t>(begin), static_cast<int64_t>(end), visit);
                                  });
  }
  const int64_t outer = product(Sizes(indexed.sizes), 0, indexed.dim), per_outer = rows / outer;
  if (outer > 1) {
    return kernels::parallel_copy(
        static_cast<size_t>(outer), static_cast<size_t>(per_outer * length * kBytes), [&](size_t begin, size_t end) {
          visit_rows(indexed, static_cast<int64_t>(begin) * per_outer, static_cast<int64_t>(end) * per_outer, visit);
        });
  }
  constexpr int64_t kLine = 16;  // threads that share cache lines would wait for each other
  const int64_t lines = (length + kLine - 1) / kLine;
  kernels::parallel_copy(static_cast<size_t>(lines), static_cast<size_t>(rows * kLine * kBytes),
                         [&](size_t begin, size_t end) {
                           visit_columns(indexed, 0, rows, static_cast<int64_t>(begin) * kLine,
                                         std::min(static_cast<int64_t>(end) * kLine, length), visit);
                         });
}

template <class T, class Change>
void change_elements(const IndexedDim& indexed, const T* src, int64_t src_step, const Change& change) {
  T* out = reinterpret_cast<T*>(indexed.target.data);
  visit_apart(indexed, [&](int64_t from, int64_t to) { out[to] = change(out[to], src[from * src_step]); });
}

// Stores src (or, with a step of 0, its one element) by bytes.
void store_elements(const IndexedDim& indexed, const std::byte* src, int64_t src_step) {
  const auto store = [&]<class Bits>(Bits) {
    change_elements(indexed, reinterpret_cast<const Bits*>(src), src_step, [](Bits, Bits value) { return value; });
  };
  struct Sixteen {
    uint64_t low, high;
  };
  switch (dtype_size(indexed.target.dtype)) {
    case 1:
      return store(uint8_t{});
    case 2:
      return store(uint16_t{});
    case 4:
      return store(uint32_t{});
    case 8:
      return store(uint64_t{});
    default:
      return store(Sixteen{});
  }
}

enum class Reduction { kSum, kProduct, kMean, kMaximum, kMinimum };

Reduction reduction_of(std::string_view name) {
  if (name == "add" || name == "sum") return Reduction::kSum;
  if (name == "multiply" || name == "prod") return Reduction::kProduct;
  if (name == "mean") return Reduction::kMean;
  if (name == "amax") return Reduction::kMaximum;
  if (name == "amin") return Reduction::kMinimum;
  fail_execution("reduce: expected sum, prod, mean, amax or amin, got ", std::string(name));
}

template <class T>
bool is_nan(T value) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::isnan(static_cast<double>(value));
  }
}

template <class T>
void reduce_elements(const IndexedDim& indexed, const T* src, int64_t src_step, Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kMean:
      return change_elements(indexed, src, src_step, [](T a, T b) { return wrapping_add(a, b); });
    case Reduction::kProduct:
      return change_elements(indexed, src, src_step, [](T a, T b) { return wrapping_multiply(a, b); });
    default:
      break;
  }
  if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>) {
    if (reduction == Reduction::kMaximum) {
      return change_elements(indexed, src, src_step, [](T a, T b) { return is_nan(a) || a > b ? a : b; });
    }
    return change_elements(indexed, src, src_step, [](T a, T b) { return is_nan(a) || a < b ? a : b; });
  } else {
    fail_execution("self: expected a dtype with an order, got ", dtype_name(dtype_of<T>));
  }
}

// What a reduction starts from where self does not count.
template <class T>
T identity_of(Reduction reduction) {
  if (reduction == Reduction::kSum || reduction == Reduction::kMean) return T(0.0f);
  if (reduction == Reduction::kProduct) return T(1.0f);
  const bool lowest = reduction == Reduction::kMaximum;
  if constexpr (std::is_integral_v<T>) {
    return lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  } else {
    return static_cast<T>((lowest ? -1 : 1) * std::numeric_limits<float>::infinity());
  }
}

// Divides each element by how often it was added to; integers round down.
template <class T>
void divide_by_counts(OpContext& context, const IndexedDim& indexed, bool include_self) {
  const auto count = static_cast<size_t>(indexed.target.numel());
  auto* times = context.scratch_of<int64_t>(count);
  std::fill_n(times, count, int64_t{include_self ? 1 : 0});
  // The tensor is dense, so that offsets number its elements.
  visit_rows(indexed, 0, row_count(indexed), [&](int64_t, int64_t to) { ++times[to]; });
  T* out = reinterpret_cast<T*>(indexed.target.data);
  for (size_t i = 0; i < count; ++i) {
    if (times[i] <= 1) continue;
    if constexpr (std::is_same_v<T, bool>) {
      continue;
    } else if constexpr (std::is_integral_v<T>) {
      const auto divisor = static_cast<__int128>(times[i]);
      const auto value = static_cast<__int128>(out[i]);
      out[i] = static_cast<T>(value / divisor - (value % divisor < 0 ? 1 : 0));
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      out[i] /= static_cast<float>(times[i]);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      out[i] = T(out[i] / static_cast<float>(times[i]));
    } else {
      out[i] /= static_cast<double>(times[i]);
    }
  }
}

void reduce(OpContext& context, const IndexedDim& indexed, const std::byte* src, int64_t src_step, Reduction reduction,
            bool include_self) {
  with_number_type(indexed.target.dtype, "self", [&]<class T>() {
    const auto* values = reinterpret_cast<const T*>(src);
    if (!include_self) {
      const T identity = identity_of<T>(reduction);
      change_elements(indexed, values, src_step, [identity](T, T) { return identity; });
    }
    reduce_elements(indexed, values, src_step, reduction);
    if (reduction == Reduction::kMean) divide_by_counts<T>(context, indexed, include_self);
  });
}

void scatter_src_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                     Tensor& out) {
  require_dtype(out, self.dtype, "out");
  IndexedDim indexed = check_index(context, self, dim, index);
  const std::byte* elements = source_elements(context, src, indexed, self, out);
  context.resize(out, self.sizes());
  start_from_self(context, self, indexed, out);
  if (indexed.values != nullptr) store_elements(indexed, elements, 1);
}

void scatter_value_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                       Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Element element = element_of(value, self.dtype, "value");
  IndexedDim indexed = check_index(context, self, dim, index);
  context.resize(out, self.sizes());
  start_from_self(context, self, indexed, out);
  if (indexed.values != nullptr) store_elements(indexed, element.bytes.data(), 0);
}

void scatter_reduce_two_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                            std::string_view reduce_name, bool include_self, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Reduction reduction = reduction_of(reduce_name);
  const bool needs_order = reduction == Reduction::kMaximum || reduction == Reduction::kMinimum;
  if (needs_order && is_complex(self.dtype))
    fail_execution("self: expected a dtype with an order, got ", dtype_name(self.dtype));
  IndexedDim indexed = check_index(context, self, dim, index);
  const std::byte* elements = source_elements(context, src, indexed, self, out);
  context.resize(out, self.sizes());
  start_from_self(context, self, indexed, out);
  if (indexed.values != nullptr) reduce(context, indexed, elements, 1, reduction, include_self);
}

void scatter_add_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                     Tensor& out) {
  scatter_reduce_two_out(context, self, dim, index, src, "sum", true, out);
}

void scatter_reduce_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce_name, Tensor& out) {
  scatter_reduce_two_out(context, self, dim, index, src, reduce_name, true, out);
}

void scatter_value_reduce_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index,
                              const Scalar& value, std::string_view reduce_name, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Reduction reduction = reduction_of(reduce_name);
  const Element element = element_of(value, self.dtype, "value");
  IndexedDim indexed = check_index(context, self, dim, index);
  context.resize(out, self.sizes());
  start_from_self(context, self, indexed, out);
  if (indexed.values != nullptr) reduce(context, indexed, element.bytes.data(), 0, reduction, true);
}

}  // namespace

void register_gather_scatter(OperatorTable& table) {
  table.add<gather_out>("aten::gather.out", "self, dim, index, sparse_grad, out");
  table.add<scatter_src_out>("aten::scatter.src_out", "self, dim, index, src, out");
  table.add<scatter_value_out>("aten::scatter.value_out", "self, dim, index, value, out");
  table.add<scatter_reduce_out>("aten::scatter.reduce_out", "self, dim, index, src, reduce, out");
  table.add<scatter_value_reduce_out>("aten::scatter.value_reduce_out", "self, dim, index, value, reduce, out");
  table.add<scatter_add_out>("aten::scatter_add.out", "self, dim, index, src, out");
  table.add<scatter_reduce_two_out>("aten::scatter_reduce.two_out", "self, dim, index, src, reduce, include_self, out");
}

}  // namespace enr::ops
