#pragma once

// Scaled dot-product attention: out = softmax(scale * q k^T + mask) v, for every batch and head.

#include <cstddef>
#include <cstdint>

namespace enr::kernels {

// [batch, head, row, size] with neighbouring elements in a row; strides count elements and may be 0.
template <class T>
struct AttentionOperand {
  T* data = nullptr;
  size_t batch_stride = 0, head_stride = 0, row_stride = 0;
  size_t heads_per = 1;  // query heads that share one of its heads

  T* row(size_t batch, size_t head, size_t row) const noexcept {
    return data + batch * batch_stride + head / heads_per * head_stride + row * row_stride;
  }
};

// Rows of int8 levels: number = (level - zero point) * scale, with a pair for every row of `size` elements as they lie
// in memory.
struct AttentionLevels {
  AttentionOperand<const int8_t> levels;  // data is null where there are none
  const int8_t* zero_points = nullptr;
  const float* scales = nullptr;
};

// A row that sees no key (all are masked, or there are none) gives zeros.
template <class T>
struct Attention {
  size_t batch = 1, heads = 1, queries = 0, keys = 0, head_size = 0, value_size = 0;
  T scale = 1;
  bool is_causal = false;  // query i sees keys [0, first_visible + i]
  size_t first_visible = 0;
  AttentionOperand<const T> q, k, v;
  AttentionLevels k_levels, v_levels;  // float32 only: instead of k and v, both or none
  AttentionOperand<const T> mask;      // added to the scores; data is null where there is none
  AttentionOperand<T> out;             // must not overlap the others
  T* weights = nullptr;                // if wanted: the softmax, [batch, heads, queries, keys]
  T* log_sums = nullptr;  // if wanted: log(sum(exp(scores))), [batch, heads, queries]; 0 where no key is seen
};

// Spreads over the pool by itself. `workspace` is 64-byte aligned and as large as asked for.
size_t attention_workspace_bytes(const Attention<float>& call) noexcept;
void attention(const Attention<float>& call, void* workspace, size_t workspace_bytes) noexcept;

// The plain loop, for float64. Workspace: `keys` numbers.
void attention(const Attention<double>& call, double* workspace) noexcept;

}  // namespace enr::kernels
