// Whole slices picked or changed by a list of indices along one dim, and flat picks: index_select, embedding,
// index_add, index_copy, index_reduce, index_fill, take, put.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/transpose/gather.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// A row-major tensor around one dim.
struct Around {
  size_t dim;
  int64_t outer, size, inner;
};

Around around(const Tensor& self, int64_t dim) {
  const size_t d = normalize_dim(dim, self.rank);
  if (self.rank == 0) return {0, 1, 1, 1};
  return {d, product(self.sizes(), 0, d), self.size(d), product(self.sizes(), d + 1, self.rank)};
}

struct Indices {
  const int64_t* values;
  int64_t count;
};

// The indices as int64, all checked to lie in [low, size).
Indices checked_indices(OpContext& context, const Tensor& index, int64_t low, int64_t size, const char* what) {
  require_index_dtype(index, what);
  const Indices indices{row_major_as<int64_t>(context, index), index.numel()};
  const size_t bad = kernels::first_index_outside(indices.values, static_cast<size_t>(indices.count), low, size);
  if (bad != static_cast<size_t>(indices.count)) {
    fail_execution(what, ": expected ", low, " to ", size - 1, ", got ", indices.values[bad], " at ", bad);
  }
  return indices;
}

void require_vector(const Tensor& index) {
  if (index.rank > 1) fail_execution("index: expected rank 0 or 1, got shape ", index.sizes());
}

void gather_rows(void* out, const void* in, const Around& dims, int64_t element, const Indices& indices) {
  kernels::gather_rows(out, in, static_cast<size_t>(dims.outer), static_cast<size_t>(dims.size),
                       static_cast<size_t>(dims.inner * element), indices.values, static_cast<size_t>(indices.count));
}

void index_select_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_vector(index);
  const Around dims = around(self, dim);
  const Indices indices = checked_indices(context, index, 0, dims.size, "index");
  Shape shape(self.sizes());
  if (self.rank != 0) {
    shape[dims.dim] = indices.count;
  } else if (indices.count != 1) {
    fail_execution("index: expected one index for a rank 0 tensor, got ", indices.count);
  }
  context.resize(out, shape);
  const std::byte* in = row_major(context, self);
  RowMajorOut to(context, out);
  gather_rows(to.data(), in, dims, static_cast<int64_t>(dtype_size(self.dtype)), indices);
  to.commit();
}

void embedding_out(OpContext& context, const Tensor& weight, const Tensor& indices, int64_t, bool, bool, Tensor& out) {
  require_dtype(out, weight.dtype, "out");
  require_rank(weight, 2, "weight");
  const Indices rows = checked_indices(context, indices, 0, weight.size(0), "indices");
  Shape shape(indices.sizes());
  shape.push_back(weight.size(1));
  context.resize(out, shape);
  const std::byte* in = row_major(context, weight);
  RowMajorOut to(context, out);
  const Around dims{0, 1, weight.size(0), weight.size(1)};
  gather_rows(to.data(), in, dims, static_cast<int64_t>(dtype_size(weight.dtype)), rows);
  to.commit();
}

// Checks what index_add and index_copy have in common.
Indices check_source(OpContext& context, const Tensor& self, const Around& dims, const Tensor& index,
                     const Tensor& source) {
  require_vector(index);
  require_dtype(source, self.dtype, "source");
  const Indices indices = checked_indices(context, index, 0, dims.size, "index");
  Shape expected(self.sizes());
  if (source.rank == 0 || self.rank == 0) {
    if (source.numel() != 1 || indices.count != 1) {
      fail_execution("source: expected the shape of self ", self.sizes(), " with ", indices.count, " indices, got ",
                     source.sizes());
    }
    return indices;
  }
  expected[dims.dim] = indices.count;
  require_sizes(source, expected, "source");
  return indices;
}

// out = self, then change(row of out, row of source) for each index; a row has dims.inner elements.
template <class Change>
void change_rows(OpContext& context, const Tensor& self, const Around& dims, const Indices& indices,
                 const Tensor& source, Tensor& out, const Change& change) {
  const std::byte* from = row_major(context, source);
  if (overlaps(source, out)) {
    auto* saved = context.scratch(source.size_bytes());
    std::memcpy(saved, from, source.size_bytes());
    from = saved;
  }
  copy_tensor(context, out, self);
  RowMajorOut to(context, out);
  if (to.data() != out.data) copy_view(context, StridedView(to.data(), out.dtype, out.sizes()), StridedView(out));
  const int64_t row_bytes = dims.inner * static_cast<int64_t>(dtype_size(out.dtype));
  // A few rows one by one, more with all that lies between them.
  constexpr int64_t kFewRows = 256;
  const bool are_few = dims.outer * indices.count <= kFewRows && to.data() == out.data;
  if (!are_few) context.overwriting(out.data, out.size_bytes());
  for (int64_t o = 0; o < dims.outer; ++o) {
    for (int64_t i = 0; i < indices.count; ++i) {
      std::byte* row = to.data() + (o * dims.size + indices.values[i]) * row_bytes;
      if (are_few) context.overwriting(row, static_cast<size_t>(row_bytes));
      change(row, from + (o * indices.count + i) * row_bytes);
    }
  }
  to.commit();
}

void index_copy_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Around dims = around(self, dim);
  const Indices indices = check_source(context, self, dims, index, source);
  context.resize(out, self.sizes());
  const auto row_bytes = static_cast<size_t>(dims.inner) * dtype_size(self.dtype);
  change_rows(context, self, dims, indices, source, out,
              [row_bytes](std::byte* to, const std::byte* from) { std::memcpy(to, from, row_bytes); });
}

void index_add_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                   const Scalar& alpha, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Around dims = around(self, dim);
  const Indices indices = check_source(context, self, dims, index, source);
  if (alpha.is_double() && !is_floating(self.dtype) && !is_complex(self.dtype)) {
    fail_execution("alpha: expected an int for ", dtype_name(self.dtype), ", got a float");
  }
  const Element factor = element_of(alpha, self.dtype, "alpha");
  context.resize(out, self.sizes());
  with_number_type(self.dtype, "self", [&]<class T>() {
    T scale;
    std::memcpy(&scale, factor.bytes.data(), sizeof(T));
    change_rows(context, self, dims, indices, source, out, [&](std::byte* to_bytes, const std::byte* from_bytes) {
      auto* to = reinterpret_cast<T*>(to_bytes);
      const auto* from = reinterpret_cast<const T*>(from_bytes);
      for (int64_t k = 0; k < dims.inner; ++k) to[k] = wrapping_add(to[k], wrapping_multiply(from[k], scale));
    });
  });
}

void index_reduce_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                      std::string_view reduce, bool include_self, Tensor& out) {
  const bool is_mean = reduce == "mean", is_product = reduce == "prod", is_largest = reduce == "amax";
  if (!is_mean && !is_product && !is_largest && reduce != "amin") {
    fail_execution("reduce: expected prod, mean, amax or amin, got ", reduce);
  }
  require_dtype(out, self.dtype, "out");
  const Around dims = around(self, dim);
  const Indices indices = check_source(context, self, dims, index, source);
  context.resize(out, self.sizes());
  std::vector<int64_t> counts(static_cast<size_t>(dims.size));
  for (int64_t i = 0; i < indices.count; ++i) ++counts[static_cast<size_t>(indices.values[i])];
  if ((is_complex(self.dtype) && !is_product && !is_mean) || (is_bool(self.dtype) && is_mean)) {
    fail_execution("self: expected a dtype with ", reduce, ", got ", dtype_name(self.dtype));
  }
  with_number_type(self.dtype, "self", [&]<class T>() {
    constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
    const T* from = reinterpret_cast<const T*>(row_major(context, source));
    copy_tensor(context, out, self);
    RowMajorOut to(context, out);
    if (to.data() != out.data) copy_view(context, StridedView(to.data(), out.dtype, out.sizes()), StridedView(out));
    for (int64_t o = 0; o < dims.outer; ++o) {
      std::vector<bool> is_fresh(counts.size(), !include_self);
      for (int64_t i = 0; i < indices.count; ++i) {
        const int64_t at = indices.values[i];
        T* row = to.template as<T>() + (o * dims.size + at) * dims.inner;
        const T* other = from + (o * indices.count + i) * dims.inner;
        if (is_fresh[static_cast<size_t>(at)]) {
          std::copy_n(other, dims.inner, row);
          is_fresh[static_cast<size_t>(at)] = false;
          continue;
        }
        for (int64_t k = 0; k < dims.inner; ++k) {
          const T x = row[k], y = other[k];
          if (is_mean) {
            row[k] = wrapping_add(x, y);
          } else if (is_product) {
            row[k] = wrapping_multiply(x, y);
          } else if constexpr (!kIsComplex) {
            const bool is_nan = x != x || y != y;
            row[k] = is_nan ? (x != x ? x : y) : (is_largest ? x < y : y < x) ? y : x;
          }
        }
      }
      if (!is_mean) continue;
      for (size_t at = 0; at < counts.size(); ++at) {
        const int64_t divisor = counts[at] + (include_self ? 1 : 0);
        if (counts[at] == 0) continue;
        T* row = to.template as<T>() + (o * dims.size + static_cast<int64_t>(at)) * dims.inner;
        for (int64_t k = 0; k < dims.inner; ++k) {
          if constexpr (kIsComplex) {
            row[k] /= static_cast<typename T::value_type>(divisor);
          } else if constexpr (std::is_integral_v<T>) {
            row[k] = static_cast<T>(std::floor(static_cast<double>(row[k]) / static_cast<double>(divisor)));
          } else {
            row[k] = static_cast<T>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
                static_cast<double>(row[k]) / static_cast<double>(divisor)));
          }
        }
      }
    }
    to.commit();
  });
}

void fill_rows(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Element& value,
               Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_vector(index);
  const Around dims = around(self, dim);
  const Indices indices = checked_indices(context, index, -dims.size, dims.size, "index");
  context.resize(out, self.sizes());
  copy_tensor(context, out, self);
  Element filler = value;
  for (int64_t i = 0; i < indices.count; ++i) {
    StridedView target(out);
    const int64_t at = indices.values[i] < 0 ? indices.values[i] + dims.size : indices.values[i];
    if (self.rank != 0) target.select(dims.dim, at);
    StridedView source;
    source.data = filler.bytes.data();
    source.dtype = out.dtype;
    source.expand(target.sizes());
    copy_view(context, target, source);
  }
}

void index_fill_scalar_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index,
                           const Scalar& value, Tensor& out) {
  fill_rows(context, self, dim, index, element_of(value, self.dtype, "value"), out);
}

void index_fill_tensor_out(OpContext& context, const Tensor& self, int64_t dim, const Tensor& index,
                           const Tensor& value, Tensor& out) {
  require_rank(value, 0, "value");
  if (!is_complex(self.dtype)) require_real(value.dtype, "value");
  require_convertible(value.dtype, self.dtype, "value");
  Element element;
  std::memcpy(element.bytes.data(), row_major_as(context, value, self.dtype), dtype_size(self.dtype));
  fill_rows(context, self, dim, index, element, out);
}

void take_out(OpContext& context, const Tensor& self, const Tensor& index, Tensor& out) {
  require_dtype(out, self.dtype, "out");
  const Around flat{0, 1, self.numel(), 1};
  const Indices indices = checked_indices(context, index, -flat.size, flat.size, "index");
  context.resize(out, index.sizes());
  const std::byte* in = row_major(context, self);
  RowMajorOut to(context, out);
  gather_rows(to.data(), in, flat, static_cast<int64_t>(dtype_size(self.dtype)), indices);
  to.commit();
}

void put_out(OpContext& context, const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate,
             Tensor& out) {
  require_dtype(out, self.dtype, "out");
  require_dtype(source, self.dtype, "source");
  const int64_t size = self.numel();
  const Indices indices = checked_indices(context, index, -size, size, "index");
  if (source.numel() != indices.count) {
    fail_execution("source: expected ", indices.count, " elements, got shape ", source.sizes());
  }
  context.resize(out, self.sizes());
  // Written by flat index of a row-major copy, whatever out's layout.
  auto* flat = context.scratch(self.size_bytes());
  copy_view(context, StridedView(flat, self.dtype, self.sizes()), StridedView(self));
  const std::byte* from = row_major(context, source);
  const auto resolve = [&](int64_t i) { return indices.values[i] < 0 ? indices.values[i] + size : indices.values[i]; };
  if (!accumulate) {
    kernels::scatter_rows(flat, static_cast<size_t>(size), from, dtype_size(self.dtype), indices.values,
                          static_cast<size_t>(indices.count));
  } else {
    with_number_type(self.dtype, "self", [&]<class T>() {
      auto* to = reinterpret_cast<T*>(flat);
      for (int64_t i = 0; i < indices.count; ++i) {
        to[resolve(i)] = wrapping_add(to[resolve(i)], reinterpret_cast<const T*>(from)[i]);
      }
    });
  }
  copy_view(context, StridedView(out), StridedView(flat, self.dtype, self.sizes()));
}

}  // namespace

void register_index_select(OperatorTable& table) {
  table.add<index_select_out>("aten::index_select.out", "self, dim, index, out");
  table.add<embedding_out>("aten::embedding.out", "weight, indices, padding_idx, scale_grad_by_freq, sparse, out");
  table.add<index_copy_out>("aten::index_copy.out", "self, dim, index, source, out");
  table.add<index_add_out>("aten::index_add.out", "self, dim, index, source, alpha, out");
  table.add<index_reduce_out>("aten::index_reduce.out", "self, dim, index, source, reduce, include_self, out");
  table.add<index_fill_scalar_out>("aten::index_fill.int_Scalar_out", "self, dim, index, value, out");
  table.add<index_fill_tensor_out>("aten::index_fill.int_Tensor_out", "self, dim, index, value, out");
  table.add<take_out>("aten::take.out", "self, index, out");
  table.add<put_out>("aten::put.out", "self, index, source, accumulate, out");
}

}  // namespace enr::ops
