// Scaled dot-product attention and the forms that eager's dispatcher makes of it.

#include "ops/matrix/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/families.h"
#include "ops/pointwise/elementwise.h"
#include "ops/scratch_tensor.h"

namespace enr::ops {

using kernels::Attention;
using kernels::AttentionOperand;

namespace {

// [batch, head, row, size]: leading dims that lie evenly are merged, else the tensor is copied.
StridedView with_four_dims(OpContext& context, StridedView view) {
  while (view.rank < 4) view.insert(0, 1, 0);
  while (view.rank > 4) {
    if (view.size(0) != 1) {
      if (view.stride(0) != view.stride(1) * view.size(1)) {
        const size_t bytes = static_cast<size_t>(view.numel()) * dtype_size(view.dtype);
        const StridedView copy(context.scratch(bytes), view.dtype, view.sizes());
        copy_view(context, copy, view);
        view = copy;
      }
      view.size_array[1] *= view.size(0);
    }
    view.erase(0);
  }
  return view;
}

template <class T>
AttentionOperand<const T> operand_of(const StridedView& view) noexcept {
  AttentionOperand<const T> operand;
  operand.data = reinterpret_cast<const T*>(view.data);
  operand.batch_stride = static_cast<size_t>(view.stride(0));
  operand.head_stride = static_cast<size_t>(view.stride(1));
  operand.row_stride = static_cast<size_t>(view.stride(2));
  return operand;
}

Shape with_matrix(Sizes leading, int64_t rows, int64_t columns) {
  Shape shape(leading);
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

}  // namespace

template <class T>
AttentionOperand<const T> attention_operand(OpContext& context, const Tensor& tensor, Sizes leading) {
  const size_t last = tensor.rank - 1u;
  StridedView view(tensor);
  if (tensor.dtype != dtype_of<T> || (tensor.stride(last) != 1 && tensor.size(last) != 1)) {
    view = StridedView(row_major_as(context, tensor, dtype_of<T>), dtype_of<T>, tensor.sizes());
  }
  view.expand(with_matrix(leading, tensor.size(last - 1), tensor.size(last)));
  return operand_of<T>(with_four_dims(context, view));
}

template <class T>
AttentionOperand<const T> attention_mask(OpContext& context, const Tensor* mask, Sizes leading, int64_t rows,
                                         int64_t keys) {
  if (mask == nullptr) return {};
  const Shape full = with_matrix(leading, rows, keys);
  require_broadcasts(*mask, full, "attn_mask");
  Tensor added = *mask;
  if (is_bool(mask->dtype)) {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    added = scratch_tensor(context, dtype_of<T>, mask->sizes());
    const Number seen(0.0, dtype_of<T>), unseen(kNever, dtype_of<T>);
    run_loop(context, kernels::where_loop(dtype_of<T>), {}, {*mask, seen, unseen}, added);
  }
  const int64_t given_keys = added.rank == 0 ? 1 : added.size(added.rank - 1u);
  StridedView view(row_major_as(context, added, dtype_of<T>), dtype_of<T>, added.sizes());
  if (given_keys != keys) {
    Shape repeated(added.rank == 0 ? Sizes(&given_keys, 1) : added.sizes());
    repeated[repeated.rank - 1] = keys;
    view.expand(repeated);
    const StridedView copy(scratch_tensor(context, dtype_of<T>, repeated));
    copy_view(context, copy, view);
    view = copy;
  }
  view.expand(full);
  return operand_of<T>(with_four_dims(context, view));
}

template AttentionOperand<const float> attention_operand(OpContext&, const Tensor&, Sizes);
template AttentionOperand<const double> attention_operand(OpContext&, const Tensor&, Sizes);
template AttentionOperand<const float> attention_mask(OpContext&, const Tensor*, Sizes, int64_t, int64_t);
template AttentionOperand<const double> attention_mask(OpContext&, const Tensor*, Sizes, int64_t, int64_t);

void run_attention(OpContext& context, const Attention<float>& call) {
  const size_t bytes = kernels::attention_workspace_bytes(call);
  kernels::attention(call, context.scratch(bytes), bytes);
}

void run_attention(OpContext& context, const Attention<double>& call) {
  kernels::attention(call, context.scratch_of<double>(call.keys));
}

double attention_scale(std::optional<double> scale, int64_t head_size) noexcept {
  return scale.value_or(1 / std::sqrt(static_cast<double>(head_size)));
}

namespace {

struct Arguments {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const Tensor* mask;
  bool is_causal;
  std::optional<double> scale;
  bool shares_heads = false;   // enable_gqa
  bool adds_any_mask = false;  // of any real dtype, also of bools, as numbers
  bool excludes_both = true;   // a mask and causality
};

// Everything eager checks, and the sizes that follow.
struct Geometry {
  Shape leading;  // batch dims and heads of the result
  Shape key_leading, value_leading;
  int64_t queries, keys, head_size, value_size;
  int64_t key_group = 1, value_group = 1;

  Geometry(const Arguments& a, double dropout) {
    require_floating(a.query.dtype, "query");
    require_same_dtype(a.key, a.query.dtype, "key");
    require_same_dtype(a.value, a.query.dtype, "value");
    const struct {
      const Tensor& tensor;
      const char* name;
    } operands[] = {{a.query, "query"}, {a.key, "key"}, {a.value, "value"}};
    for (const auto& [tensor, name] : operands) {
      if (tensor.rank < (a.shares_heads ? 3 : 2)) {
        fail_execution(name, ": expected at least rank ", a.shares_heads ? 3 : 2, ", got shape ", tensor.sizes());
      }
    }
    if (a.mask != nullptr && a.adds_any_mask) {
      require_real(a.mask->dtype, "attn_mask");
    } else if (a.mask != nullptr && !is_bool(a.mask->dtype) && a.mask->dtype != DType::kFloat32 &&
               a.mask->dtype != a.query.dtype) {
      fail_execution("attn_mask: expected bool, float32 or ", dtype_name(a.query.dtype), ", got ",
                     dtype_name(a.mask->dtype));
    }
    if (a.mask != nullptr && a.is_causal && a.excludes_both) {
      fail_execution("is_causal: expected False beside an attn_mask, got True");
    }
    if (dropout != 0) fail_execution("dropout_p: expected 0 outside training, got ", dropout);
    queries = a.query.size(a.query.rank - 2u);
    head_size = a.query.size(a.query.rank - 1u);
    keys = a.key.size(a.key.rank - 2u);
    value_size = a.value.size(a.value.rank - 1u);
    if (a.key.size(a.key.rank - 1u) != head_size) {
      fail_execution("key: expected a last size of ", head_size, " as query has, got shape ", a.key.sizes());
    }
    if (a.value.size(a.value.rank - 2u) != keys) {
      fail_execution("value: expected ", keys, " rows as key has, got shape ", a.value.sizes());
    }
    leading = leading_of(a.query);
    key_leading = leading_of(a.key);
    value_leading = leading_of(a.value);
    if (a.shares_heads) {
      key_group = group_of(key_leading, "key");
      value_group = group_of(value_leading, "value");
    }
    repeat(key_leading, key_group);
    repeat(value_leading, value_group);
    leading = broadcast(broadcast(leading, key_leading, "key"), value_leading, "value");
    key_leading = leading;
    value_leading = leading;
    if (leading.rank > 0 && leading[leading.rank - 1] != 0) {
      key_leading[leading.rank - 1] /= key_group;
      value_leading[leading.rank - 1] /= value_group;
    }
  }

 private:
  static Shape leading_of(const Tensor& tensor) { return Shape(tensor.sizes().first(tensor.rank - 2u)); }

  int64_t group_of(const Shape& other, const char* what) const {
    const int64_t heads = leading[leading.rank - 1], shared = other[other.rank - 1];
    if (shared == 0 || heads % shared != 0) {
      fail_execution(what, ": expected a divisor of query's ", heads, " heads, got ", shared);
    }
    return heads / shared;
  }

  static void repeat(Shape& shape, int64_t times) {
    if (times != 1) shape[shape.rank - 1] *= times;
  }
};

template <class T>
void attend(OpContext& context, const Arguments& a, const Geometry& g, Tensor& out, Tensor* weights, Tensor* log_sums) {
  Attention<T> call;
  call.batch = static_cast<size_t>(g.leading.rank == 0 ? 1 : product(g.leading, 0, g.leading.rank - 1));
  call.heads = static_cast<size_t>(g.leading.rank == 0 ? 1 : g.leading[g.leading.rank - 1]);
  call.queries = static_cast<size_t>(g.queries);
  call.keys = static_cast<size_t>(g.keys);
  call.head_size = static_cast<size_t>(g.head_size);
  call.value_size = static_cast<size_t>(g.value_size);
  call.scale = static_cast<T>(attention_scale(a.scale, g.head_size));
  call.is_causal = a.is_causal;
  call.q = attention_operand<T>(context, a.query, g.leading);
  call.k = attention_operand<T>(context, a.key, g.key_leading);
  call.v = attention_operand<T>(context, a.value, g.value_leading);
  call.k.heads_per = static_cast<size_t>(g.key_group);
  call.v.heads_per = static_cast<size_t>(g.value_group);
  call.mask = attention_mask<T>(context, a.mask, g.leading, g.queries, g.keys);

  const bool aliases = overlaps(out, a.query) || overlaps(out, a.key) || overlaps(out, a.value) ||
                       (a.mask != nullptr && overlaps(out, *a.mask));
  RowMajorOut result(context, out, dtype_of<T>);
  const auto count = static_cast<size_t>(out.numel());
  call.out.data = aliases ? context.scratch_of<T>(count) : result.as<T>();
  call.out.row_stride = call.value_size;
  call.out.head_stride = call.queries * call.out.row_stride;
  call.out.batch_stride = call.heads * call.out.head_stride;
  std::optional<RowMajorOut> kept, sums;
  if (weights != nullptr) call.weights = kept.emplace(context, *weights, dtype_of<T>).template as<T>();
  if (log_sums != nullptr) call.log_sums = sums.emplace(context, *log_sums, dtype_of<T>).template as<T>();
  run_attention(context, call);
  if (aliases) std::copy_n(call.out.data, count, result.as<T>());
  result.commit();
  if (kept) kept->commit();
  if (sums) sums->commit();
}

void attend(OpContext& context, const Arguments& arguments, const Geometry& geometry, Tensor& out,
            Tensor* weights = nullptr, Tensor* log_sums = nullptr) {
  const auto is_empty = [](const Tensor* result) { return result == nullptr || result->numel() == 0; };
  if (is_empty(&out) && is_empty(weights) && is_empty(log_sums)) return;
  const auto run = out.dtype == DType::kFloat64 ? &attend<double> : &attend<float>;
  run(context, arguments, geometry, out, weights, log_sums);
}

void attention_out(OpContext& context, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor* mask,
                   double dropout, bool is_causal, std::optional<double> scale, bool enable_gqa, Tensor& out) {
  // Of four dims eager computes a mask and causality together; of others it drops nothing where dropout is negative.
  const bool is_flash = query.rank == 4;
  const Arguments arguments{.query = query,
                            .key = key,
                            .value = value,
                            .mask = mask,
                            .is_causal = is_causal,
                            .scale = scale,
                            .shares_heads = enable_gqa,
                            .excludes_both = !is_flash};
  const Geometry geometry(arguments, is_flash || dropout > 0 ? dropout : 0);
  if (is_flash && mask != nullptr && mask->rank < 2) {
    fail_execution("attn_mask: expected at least rank 2, got shape ", mask->sizes());
  }
  require_same_dtype(out, query.dtype, "out");
  context.resize(out, with_matrix(geometry.leading, geometry.queries, geometry.value_size));
  attend(context, arguments, geometry, out);
}

void flash_attention_out(OpContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                         double dropout, bool is_causal, const Tensor* mask, std::optional<double> scale, Tensor& out,
                         Tensor& log_sums) {
  const Arguments arguments{.query = query,
                            .key = key,
                            .value = value,
                            .mask = mask,
                            .is_causal = is_causal,
                            .scale = scale,
                            .excludes_both = false};
  const Geometry geometry(arguments, dropout);
  require_rank(query, 4, "query");
  require_rank(key, 4, "key");
  require_rank(value, 4, "value");
  if (geometry.value_size != geometry.head_size) {
    fail_execution("value: expected a last size of ", geometry.head_size, " as query has, got shape ", value.sizes());
  }
  if (mask != nullptr && mask->rank != 2 && mask->rank != 4) {
    fail_execution("attn_mask: expected rank 2 or 4, got shape ", mask->sizes());
  }
  require_same_dtype(out, query.dtype, "out0");
  require_same_dtype(log_sums, computing_dtype(query.dtype), "out1");
  context.resize(out, with_matrix(geometry.leading, geometry.queries, geometry.value_size), "out0");
  Shape rows(geometry.leading);
  rows.push_back(geometry.queries);
  context.resize(log_sums, rows, "out1");
  attend(context, arguments, geometry, out, nullptr, &log_sums);
}

// What eager multiplies where the dtypes are mixed: float32.
Tensor as_float(OpContext& context, const Tensor& tensor) {
  if (tensor.dtype == DType::kFloat32) return tensor;
  Tensor converted = scratch_tensor(context, DType::kFloat32, tensor.sizes());
  copy_elements(context, tensor, converted);
  return converted;
}

// Takes any real dtype but float64 along with floating ones; the result has the query's.
void math_attention_out(OpContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor* mask, double dropout, bool is_causal, const Tensor* dropout_mask,
                        std::optional<double> scale, bool enable_gqa, Tensor& out, Tensor& weights) {
  if (dropout_mask != nullptr) fail_execution("dropout_mask: expected None outside training, got a tensor");
  if (!(dropout > 0)) dropout = 0;  // eager drops nothing then
  const auto is_single = [](const Tensor& tensor) {
    return is_floating(tensor.dtype) && tensor.dtype != DType::kFloat64;
  };
  const auto is_any_single = [&](const Tensor& tensor) {
    return is_single(tensor) || is_integral_or_bool(tensor.dtype);
  };
  const bool is_mixed = key.dtype != query.dtype && is_any_single(query) && is_any_single(key) && is_single(value) &&
                        (value.dtype == key.dtype || (value.dtype == query.dtype && !is_single(key)));
  const Tensor q = is_mixed ? as_float(context, query) : query;
  const Tensor k = is_mixed ? as_float(context, key) : key;
  const Tensor v = is_mixed ? as_float(context, value) : value;
  Tensor added;
  if (mask != nullptr) added = is_bool(mask->dtype) ? as_float(context, *mask) : *mask;
  const Arguments arguments{q, k, v, mask == nullptr ? nullptr : &added, is_causal, scale, enable_gqa, true};
  const Geometry geometry(arguments, dropout);
  require_same_dtype(out, query.dtype, "out0");
  require_same_dtype(weights, query.dtype, "out1");
  context.resize(out, with_matrix(geometry.leading, geometry.queries, geometry.value_size), "out0");
  // Values of a larger batch do not enlarge the weights.
  const Arguments of_keys{q, k, k, arguments.mask, is_causal, scale, enable_gqa, true};
  const Geometry pairs(of_keys, dropout);
  context.resize(weights, with_matrix(pairs.leading, pairs.queries, pairs.keys), "out1");
  if (std::ranges::equal(pairs.leading, geometry.leading)) return attend(context, arguments, geometry, out, &weights);
  attend(context, arguments, geometry, out);
  Tensor unused = scratch_tensor(context, out.dtype, with_matrix(pairs.leading, pairs.queries, pairs.value_size));
  attend(context, of_keys, pairs, unused, &weights);
}

}  // namespace

void register_attention(OperatorTable& table) {
  table.add<attention_out>("aten::scaled_dot_product_attention.out",
                           "query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, out");
  table.add<flash_attention_out>("aten::_scaled_dot_product_flash_attention_for_cpu.out",
                                 "query, key, value, dropout_p, is_causal, attn_mask, scale, out, log_sums");
  table.add<math_attention_out>(
      "aten::_scaled_dot_product_attention_math.out",
      "query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa, out, weights");
}

}  // namespace enr::ops
