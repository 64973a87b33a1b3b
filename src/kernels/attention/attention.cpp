#include "kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"
#include "kernels/quantize/quantize.h"
#include "kernels/softmax/softmax.h"

namespace enr::kernels {

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// Scores of one block of rows that stay in the second-level cache while they become weights and are used.
constexpr size_t kScoresAtOnce = 64 * 1024;
// Enough rows to pay for packing keys and values once more.
constexpr size_t kLeastRows = 48;
// Keys (or values) that are brought from levels to numbers at a time; a product sums so many inputs in one go.
constexpr size_t kLevelRows = 128;

template <class T>
size_t visible_keys(const Attention<T>& call, size_t row) noexcept {
  return call.is_causal ? std::min(call.keys, call.first_visible + row + 1) : call.keys;
}

// A single query of heads that share keys: these heads are rows of one product.
Attention<float> shared_heads_as_rows(const Attention<float>& given) noexcept {
  Attention<float> call = given;
  const size_t group = call.k.heads_per;
  const bool wants_more = call.weights != nullptr || call.log_sums != nullptr;
  if (call.queries != 1 || group == 1 || call.v.heads_per != group || wants_more) return call;
  call.heads /= group;
  call.queries = group;
  call.keys = visible_keys(given, 0);
  call.is_causal = false;
  call.k.heads_per = call.v.heads_per = call.k_levels.levels.heads_per = call.v_levels.levels.heads_per = 1;
  const auto fold = [&](auto& operand) {
    operand.row_stride = operand.head_stride;
    operand.head_stride *= group;
  };
  fold(call.q);
  fold(call.mask);
  fold(call.out);
  return call;
}

struct Blocks {
  size_t rows;          // of a block
  size_t blocks;        // of a head
  size_t score_stride;  // of a row of scores
  size_t score_bytes;
  size_t product_bytes;
  size_t level_bytes;  // numbers of kLevelRows rows

  explicit Blocks(const Attention<float>& call) noexcept {
    const size_t heads = std::max<size_t>(1, call.batch * call.heads);
    const size_t per_thread = (num_threads() + heads - 1) / heads;
    rows = std::max(kLeastRows, kScoresAtOnce / std::max<size_t>(1, call.keys) / kLeastRows * kLeastRows);
    rows = std::min(rows, (call.queries + per_thread - 1) / per_thread);
    rows = std::clamp<size_t>(rows, 1, std::max<size_t>(1, call.queries));
    // Equal blocks, half as large again rather than one more: each brings keys and values into the products' layout.
    blocks = std::max<size_t>(1, (call.queries + rows / 2) / rows);
    rows = std::max<size_t>(1, (call.queries + blocks - 1) / blocks);
    blocks = (call.queries + rows - 1) / rows;
    score_stride = (call.keys + 15) / 16 * 16;
    score_bytes = (rows * score_stride * sizeof(float) + 63) / 64 * 64;
    product_bytes = std::max(batch_matmul_workspace_bytes(1, rows, call.keys, call.head_size),
                             batch_matmul_workspace_bytes(1, rows, call.value_size, call.keys));
    product_bytes = (product_bytes + 63) / 64 * 64;
    const bool has_levels = call.k_levels.levels.data != nullptr;
    level_bytes = has_levels ? kLevelRows * std::max(call.head_size, call.value_size) * sizeof(float) : 0;
    level_bytes = (level_bytes + 63) / 64 * 64;
  }
  size_t bytes() const noexcept { return score_bytes + product_bytes + level_bytes; }
};

// One row of scores becomes weights.
void weigh(const Attention<float>& call, size_t batch, size_t head, size_t row, size_t keys, float* scores) noexcept {
  const size_t visible = std::min(keys, visible_keys(call, row));
  const float* mask = call.mask.data == nullptr ? nullptr : call.mask.row(batch, head, row);
  const bool is_blind = visible == 0 || (mask != nullptr && std::all_of(mask, mask + visible,
                                                                        [](float value) { return value == kMasked; }));
  float* log_sum =
      call.log_sums == nullptr ? nullptr : call.log_sums + (batch * call.heads + head) * call.queries + row;
  if (is_blind) {
    std::fill(scores, scores + keys, 0.0f);
    if (log_sum != nullptr) *log_sum = 0;
    return;
  }
  size_t top = 0;
  float largest = kMasked;
  if (log_sum != nullptr) {
    for (size_t k = 0; k < visible; ++k) {
      const float score = call.scale * scores[k] + (mask == nullptr ? 0 : mask[k]);
      if (score > largest) {
        largest = score;
        top = k;
      }
    }
  }
  softmax_row(scores, scores, visible, call.scale, mask);
  std::fill(scores + visible, scores + keys, 0.0f);
  if (log_sum != nullptr) *log_sum = largest - std::log(scores[top]);
}

// Rows [first, first + count) of a head as numbers, back to back.
void to_numbers(const AttentionLevels& from, size_t batch, size_t head, size_t first, size_t count, size_t size,
                float* to) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const int8_t* row = from.levels.row(batch, head, first + i);
    const size_t index = static_cast<size_t>(row - from.levels.data) / size;
    dequantize_by(row, to + i * size, size, from.scales[index], static_cast<float>(from.zero_points[index]));
  }
}

void attend(const Attention<float>& call, const Blocks& blocks, size_t task, std::byte* workspace) noexcept {
  const size_t head = task / blocks.blocks % call.heads, batch = task / blocks.blocks / call.heads;
  const size_t first = task % blocks.blocks * blocks.rows, rows = std::min(blocks.rows, call.queries - first);
  const size_t keys = visible_keys(call, first + rows - 1);
  auto* scores = reinterpret_cast<float*>(workspace);
  std::byte* packed = workspace + blocks.score_bytes;
  auto* numbers = reinterpret_cast<float*>(packed + blocks.product_bytes);
  const bool has_levels = call.k_levels.levels.data != nullptr;

  BatchMatmul product;
  product.m = rows;
  product.n = keys;
  product.k = call.head_size;
  product.b_transposed = true;
  product.a = call.q.row(batch, head, first);
  product.a_stride = call.q.row_stride;
  product.c = scores;
  product.c_stride = blocks.score_stride;
  if (has_levels) {
    product.b = numbers;
    product.b_stride = call.head_size;
    for (size_t key = 0; key < keys; key += kLevelRows) {
      product.n = std::min(kLevelRows, keys - key);
      product.c = scores + key;
      to_numbers(call.k_levels, batch, head, key, product.n, call.head_size, numbers);
      batch_matmul(product, packed);
    }
  } else {
    product.b = call.k.row(batch, head, 0);
    product.b_stride = call.k.row_stride;
    batch_matmul(product, packed);
  }

  for (size_t r = 0; r < rows; ++r) {
    float* row = scores + r * blocks.score_stride;
    weigh(call, batch, head, first + r, keys, row);
    if (call.weights == nullptr) continue;
    float* kept = call.weights + ((batch * call.heads + head) * call.queries + first + r) * call.keys;
    std::fill(std::copy(row, row + keys, kept), kept + call.keys, 0.0f);
  }

  BatchMatmul sum;
  sum.m = rows;
  sum.n = call.value_size;
  sum.k = keys;
  sum.a = scores;
  sum.a_stride = blocks.score_stride;
  sum.c = call.out.row(batch, head, first);
  sum.c_stride = call.out.row_stride;
  if (!has_levels) {
    sum.b = call.v.row(batch, head, 0);
    sum.b_stride = call.v.row_stride;
    return batch_matmul(sum, packed);
  }
  sum.b = numbers;
  sum.b_stride = call.value_size;
  for (size_t key = 0; key < keys; key += kLevelRows) {
    sum.k = std::min(kLevelRows, keys - key);
    sum.a = scores + key;
    to_numbers(call.v_levels, batch, head, key, sum.k, call.value_size, numbers);
    batch_matmul(sum, packed);
    sum.addend = sum.c;  // from the second block on
    sum.addend_stride = sum.c_stride;
  }
}

size_t task_count(const Attention<float>& call, const Blocks& blocks) noexcept {
  return call.batch * call.heads * blocks.blocks;
}

}  // namespace

size_t attention_workspace_bytes(const Attention<float>& given) noexcept {
  const Attention<float> call = shared_heads_as_rows(given);
  const Blocks blocks(call);
  return blocks.bytes() * std::clamp<size_t>(task_count(call, blocks), 1, num_threads());
}

void attention(const Attention<float>& given, void* workspace, size_t workspace_bytes) noexcept {
  const Attention<float> call = shared_heads_as_rows(given);
  const Blocks blocks(call);
  const size_t tasks = task_count(call, blocks);
  if (tasks == 0) return;
  // Another thread may have changed their number since the workspace was made: then there is less of it, or fewer use
  // it.
  const size_t groups = std::clamp<size_t>(workspace_bytes / blocks.bytes(), 1, tasks);
  auto* bytes = static_cast<std::byte*>(workspace);
  const auto run = [&](size_t group) {
    for (size_t task = group * tasks / groups; task < (group + 1) * tasks / groups; ++task) {
      attend(call, blocks, task, bytes + group * blocks.bytes());
    }
  };
  if (groups == 1) return run(0);  // the products themselves use the threads
  parallel_for(groups, run);
}

void attention(const Attention<double>& call, double* workspace) noexcept {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < call.batch * call.heads * call.queries; ++i) {
    const size_t row = i % call.queries, head = i / call.queries % call.heads, batch = i / call.queries / call.heads;
    const double* q = call.q.row(batch, head, row);
    const size_t visible = visible_keys(call, row);
    double largest = kNever;
    for (size_t k = 0; k < call.keys; ++k) {
      const double* key = call.k.row(batch, head, k);
      double score = 0;
      for (size_t d = 0; d < call.head_size; ++d) score += q[d] * key[d];
      score *= call.scale;
      if (call.mask.data != nullptr) score += call.mask.row(batch, head, row)[k];
      workspace[k] = k < visible ? score : kNever;
      if (!(workspace[k] <= largest)) largest = workspace[k];
    }
    double total = 0;
    for (size_t k = 0; k < call.keys; ++k) {
      workspace[k] = largest == kNever ? 0 : std::exp(workspace[k] - largest);
      total += workspace[k];
    }
    if (total == 0) total = 1;
    double* out = call.out.row(batch, head, row);
    std::fill(out, out + call.value_size, 0.0);
    for (size_t k = 0; k < call.keys; ++k) {
      const double weight = workspace[k] / total;
      if (call.weights != nullptr) call.weights[i * call.keys + k] = weight;
      const double* value = call.v.row(batch, head, k);
      for (size_t d = 0; d < call.value_size; ++d) out[d] += weight * value[d];
    }
    if (call.log_sums != nullptr) call.log_sums[i] = largest == kNever ? 0 : largest + std::log(total);
  }
}

}  // namespace enr::kernels
