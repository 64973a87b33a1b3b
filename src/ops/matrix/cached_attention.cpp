// Attention over caches of keys and values, and writing to them: the operators of ExecuTorch's language models. Their
// tensors are [batch, position, head, size] unless said otherwise.

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/quantize/quantize.h"
#include "ops/families.h"
#include "ops/matrix/attention.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

using kernels::Attention;
using kernels::AttentionOperand;

void require_row_major(const Tensor& tensor, const char* what) {
  if (!tensor.is_contiguous()) fail_execution(what, ": expected the default dim order, got shape ", tensor.sizes());
}

// Caches -----------------------------------------------------------------------------------------------------------

void require_fits_cache(const Tensor& value, const Tensor& cache, const char* what, const char* cache_name) {
  require_rank(value, 4, what);
  require_rank(cache, 4, cache_name);
  require_row_major(value, what);
  require_row_major(cache, cache_name);
  require_same_dtype(value, cache.dtype, what);
  for (const size_t dim : {0, 2, 3}) {
    if (value.size(dim) == cache.size(dim)) continue;
    fail_execution(what, ": expected the sizes of ", cache_name, " ", cache.sizes(), " but the second, got ",
                   value.sizes());
  }
}

void require_positions(int64_t start, int64_t count, const Tensor& cache, const char* cache_name) {
  if (start >= 0 && start <= cache.size(1) - count) return;
  fail_execution("start_pos: expected positions among the ", cache.size(1), " of ", cache_name, ", got [", start, ", ",
                 start, " + ", count, ")");
}

void write_positions(OpContext& context, const Tensor& value, Tensor& cache, int64_t start) {
  const size_t position_bytes = static_cast<size_t>(product(cache.sizes(), 2, 4)) * dtype_size(cache.dtype);
  const size_t bytes = static_cast<size_t>(value.size(1)) * position_bytes;
  if (bytes == 0) return;
  for (int64_t batch = 0; batch < value.size(0); ++batch) {
    const auto position = static_cast<size_t>(batch * cache.size(1) + start);
    std::byte* to = cache.data + position * position_bytes;
    context.overwriting(to, bytes);
    std::memmove(to, value.data + static_cast<size_t>(batch) * bytes, bytes);
  }
}

// `out` is never read: programs give it one element for the sake of having a result.
void update_cache_out(OpContext& context, const Tensor& value, Tensor& cache, int64_t start_pos, Tensor&) {
  require_fits_cache(value, cache, "value", "cache");
  require_positions(start_pos, value.size(1), cache, "cache");
  write_positions(context, value, cache, start_pos);
}

void update_cache_with_indices_out(OpContext& context, const Tensor& value, Tensor& cache, int64_t,
                                   const Tensor& indices, Tensor&) {
  require_fits_cache(value, cache, "value", "cache");
  require_dtype(indices, DType::kInt64, "indices");
  require_sizes(indices, value.sizes().first(2), "indices");
  require_row_major(indices, "indices");
  const auto* positions = indices.as<int64_t>();
  const auto count = static_cast<size_t>(indices.numel());
  for (size_t i = 0; i < count; ++i) {
    if (positions[i] >= 0 && positions[i] < cache.size(1)) continue;
    fail_execution("indices: expected 0 to ", cache.size(1) - 1, ", got ", positions[i], " at ", i);
  }
  const size_t bytes = static_cast<size_t>(product(cache.sizes(), 2, 4)) * dtype_size(cache.dtype);
  if (bytes == 0 || count == 0) return;
  const size_t per_batch = count / static_cast<size_t>(value.size(0));
  for (size_t i = 0; i < count; ++i) {
    const size_t position = i / per_batch * static_cast<size_t>(cache.size(1)) + static_cast<size_t>(positions[i]);
    context.overwriting(cache.data + position * bytes, bytes);
    std::memmove(cache.data + position * bytes, value.data + i * bytes, bytes);
  }
}

// Attention --------------------------------------------------------------------------------------------------------

// 8-bit operands: number = (element - zero point) * scale, one pair for each vector of `size` elements.
struct QuantizedOperand {
  const Tensor& tensor;
  const Tensor* zero_points;
  const Tensor* scales;
  const char* name;

  void check() const {
    if (zero_points == nullptr || scales == nullptr) {
      fail_execution(name, ": expected zero points and scales for int8, got None");
    }
    require_dtype(*zero_points, DType::kInt8, "zero points");
    require_dtype(*scales, DType::kFloat32, "scales");
    Shape expected(tensor.sizes());
    expected[3] = 1;
    for (const Tensor* parameters : {zero_points, scales}) {
      require_sizes(*parameters, expected, parameters == scales ? "scales" : "zero points");
      require_row_major(*parameters, "quantisation parameters");
    }
  }

  const float* dequantize(OpContext& context) const {
    const auto size = static_cast<size_t>(tensor.size(3)), rows = static_cast<size_t>(scales->numel());
    float* out = context.scratch_of<float>(rows * size);
    for (size_t i = 0; i < rows; ++i) {
      const kernels::Quantization from{scales->as<float>()[i], zero_points->as<int8_t>()[i]};
      kernels::dequantize(tensor.as<int8_t>() + i * size, out + i * size, size, from);
    }
    return out;
  }
};

struct CachedAttention {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  int64_t start_pos;
  const Tensor* mask;
  double dropout;
  bool is_causal;
  std::optional<double> scale;
  size_t position_dim = 1;  // 2: [batch, head, position, size]

  size_t head_dim() const noexcept { return 3 - position_dim; }
  int64_t queries() const noexcept { return query.size(position_dim); }
  // Without a mask, keys after the last query's position are not there yet.
  int64_t keys() const noexcept { return mask != nullptr ? key.size(position_dim) : start_pos + queries(); }

  void check() const {
    const struct {
      const Tensor& tensor;
      const char* name;
    } operands[] = {{query, "query"}, {key, "key"}, {value, "value"}};
    for (const auto& [tensor, name] : operands) {
      require_rank(tensor, 4, name);
      require_row_major(tensor, name);
      require_same_dtype(tensor, query.dtype, name);
      if (tensor.size(0) != query.size(0) || tensor.size(3) != query.size(3)) {
        fail_execution(name, ": expected batch ", query.size(0), " and size ", query.size(3), " as query has, got ",
                       tensor.sizes());
      }
    }
    if (value.size(1) != key.size(1) || value.size(2) != key.size(2)) {
      fail_execution("value: expected the shape of key, ", key.sizes(), ", got ", value.sizes());
    }
    const int64_t heads = query.size(head_dim()), shared = key.size(head_dim());
    if (shared == 0 || heads % shared != 0) {
      fail_execution("key: expected a divisor of query's ", heads, " heads, got ", shared);
    }
    if (dropout != 0) fail_execution("drpout_p: expected 0, got ", dropout);
    if (start_pos < 0) fail_execution("start_pos: expected a position, got ", start_pos);
    if (mask != nullptr) {
      if (is_causal) fail_execution("attn_mask: expected None where is_causal is set, got a tensor");
      const std::array<int64_t, 2> expected{queries(), keys()};
      require_sizes(*mask, expected, "attn_mask");
      if (!is_floating(mask->dtype) && !is_bool(mask->dtype)) {
        fail_execution("attn_mask: expected a floating dtype or bool, got ", dtype_name(mask->dtype));
      }
    } else if (start_pos > key.size(position_dim) - queries()) {
      fail_execution("start_pos: expected positions among the ", key.size(position_dim), " of key, got [", start_pos,
                     ", ", start_pos, " + ", queries(), ")");
    }
  }

  // Batch and heads as strides; the dims' order is the tensor's.
  template <class T>
  AttentionOperand<T> operand(T* data, int64_t positions, int64_t heads) const noexcept {
    const auto size = static_cast<size_t>(query.size(3));
    AttentionOperand<T> result;
    result.data = data;
    result.batch_stride = static_cast<size_t>(positions * heads) * size;
    result.head_stride = position_dim == 1 ? size : static_cast<size_t>(positions) * size;
    result.row_stride = position_dim == 1 ? static_cast<size_t>(heads) * size : size;
    return result;
  }

  kernels::AttentionLevels levels(const QuantizedOperand& from, int64_t shared, size_t heads_per) const noexcept {
    kernels::AttentionLevels result;
    result.levels = operand(from.tensor.as<const int8_t>(), key.size(position_dim), shared);
    result.levels.heads_per = heads_per;
    result.zero_points = from.zero_points->as<const int8_t>();
    result.scales = from.scales->as<const float>();
    return result;
  }

  // Operands in the tensors' layout (only the first keys() positions are read) to the result; keys and values are
  // either numbers or levels.
  template <class T>
  void run(OpContext& context, const T* q, const T* k, const T* v, Tensor& out,
           const QuantizedOperand* k_levels = nullptr, const QuantizedOperand* v_levels = nullptr) const {
    const int64_t heads = query.size(head_dim()), shared = key.size(head_dim());
    Attention<T> call;
    call.batch = static_cast<size_t>(query.size(0));
    call.heads = static_cast<size_t>(heads);
    call.queries = static_cast<size_t>(queries());
    call.keys = static_cast<size_t>(keys());
    call.head_size = call.value_size = static_cast<size_t>(query.size(3));
    call.scale = static_cast<T>(attention_scale(scale, query.size(3)));
    call.is_causal = is_causal;
    call.first_visible = static_cast<size_t>(start_pos);
    call.q = operand(q, queries(), heads);
    call.k = operand(k, key.size(position_dim), shared);
    call.v = operand(v, key.size(position_dim), shared);
    call.k.heads_per = call.v.heads_per = static_cast<size_t>(heads / shared);
    if constexpr (std::is_same_v<T, float>) {
      if (k_levels != nullptr) {
        call.k_levels = levels(*k_levels, shared, call.k.heads_per);
        call.v_levels = levels(*v_levels, shared, call.k.heads_per);
      }
    }
    call.mask = attention_mask<T>(context, mask, {}, queries(), keys());
    const bool aliases =
        overlaps(out, query) || overlaps(out, key) || overlaps(out, value) || (mask != nullptr && overlaps(out, *mask));
    RowMajorOut result(context, out, dtype_of<T>);
    const auto count = static_cast<size_t>(out.numel());
    T* written = aliases ? context.scratch_of<T>(count) : result.template as<T>();
    call.out = operand(written, queries(), heads);
    run_attention(context, call);
    if (aliases) std::copy_n(written, count, result.template as<T>());
    result.commit();
  }
};

template <class T>
void run_floating(OpContext& context, const CachedAttention& a, Tensor& out) {
  a.run<T>(context, row_major_as<T>(context, a.query), row_major_as<T>(context, a.key),
           row_major_as<T>(context, a.value), out);
}

void attend(OpContext& context, const CachedAttention& a, Tensor& out) {
  require_floating(a.query.dtype, "query");
  require_same_dtype(out, a.query.dtype, "out");
  a.check();
  context.resize(out, a.query.sizes());
  (out.dtype == DType::kFloat64 ? &run_floating<double> : &run_floating<float>)(context, a, out);
}

void custom_sdpa_out(OpContext& context, const Tensor& query, const Tensor& key, const Tensor& value, int64_t start_pos,
                     const Tensor* mask, double dropout, bool is_causal, std::optional<double> scale, Tensor& out) {
  attend(context, {query, key, value, start_pos, mask, dropout, is_causal, scale}, out);
}

void sdpa_with_kv_cache_out(OpContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                            Tensor& key_cache, Tensor& value_cache, int64_t start_pos, int64_t seq_len,
                            const Tensor* mask, double dropout, bool is_causal, std::optional<double> scale,
                            Tensor& out) {
  require_fits_cache(key, key_cache, "key", "key_cache");
  require_fits_cache(value, value_cache, "value", "value_cache");
  if (key.size(1) != seq_len || value.size(1) != seq_len) {
    fail_execution("seq_len: expected ", key.size(1), ", the positions of key and value ", value.sizes(), ", got ",
                   seq_len);
  }
  require_positions(start_pos, seq_len, key_cache, "key_cache");
  require_positions(start_pos, seq_len, value_cache, "value_cache");
  const CachedAttention attention{query, key_cache, value_cache, start_pos, mask, dropout, is_causal, scale};
  attention.check();
  write_positions(context, key, key_cache, start_pos);
  write_positions(context, value, value_cache, start_pos);
  attend(context, attention, out);
}

void custom_quantized_sdpa_out(OpContext& context, const Tensor& query, const Tensor& key, const Tensor& value,
                               int64_t start_pos, const Tensor* mask, double dropout, bool is_causal,
                               std::optional<double> scale, const Tensor* q_zero_points, const Tensor* q_scales,
                               const Tensor* k_zero_points, const Tensor* k_scales, const Tensor* v_zero_points,
                               const Tensor* v_scales, bool is_seq_at_dim_2, Tensor& out) {
  const size_t position_dim = is_seq_at_dim_2 ? 2 : 1;
  const CachedAttention a{query, key, value, start_pos, mask, dropout, is_causal, scale, position_dim};
  if (query.dtype != DType::kInt8) return attend(context, a, out);
  require_floating(out.dtype, "out");
  a.check();
  const QuantizedOperand q{query, q_zero_points, q_scales, "query"};
  const QuantizedOperand k{key, k_zero_points, k_scales, "key"};
  const QuantizedOperand v{value, v_zero_points, v_scales, "value"};
  for (const QuantizedOperand* operand : {&q, &k, &v}) operand->check();
  context.resize(out, query.sizes());
  a.run<float>(context, q.dequantize(context), nullptr, nullptr, out, &k, &v);
}

}  // namespace

void register_cached_attention(OperatorTable& table) {
  table.add<update_cache_out>("llama::update_cache.out", "value, cache, start_pos, out");
  table.add<update_cache_with_indices_out>("llama::update_cache_with_indices.out",
                                           "value, cache, start_pos, indices, out");
  table.add<custom_sdpa_out>("llama::custom_sdpa.out",
                             "query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale, out");
  table.add<sdpa_with_kv_cache_out>(
      "llama::sdpa_with_kv_cache.out",
      "query, key, value, key_cache, value_cache, start_pos, seq_len, attn_mask, drpout_p, is_causal, scale, out");
  table.add<custom_quantized_sdpa_out>(
      "llama::custom_quantized_sdpa.out",
      "query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale, q_zero_points, q_scales, k_zero_points, "
      "k_scales, v_zero_points, v_scales, is_seq_at_dim_2, out");
}

}  // namespace enr::ops
