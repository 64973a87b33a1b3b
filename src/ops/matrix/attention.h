#pragma once

// What the attention operators share: tensors as operands of the kernel.

#include <optional>

#include "kernels/attention/attention.h"
#include "ops/context.h"
#include "ops/strided_view.h"

namespace enr::ops {

// The tensor as [batch, head, row, size] of T, repeated to these leading sizes (all but rows and size).
template <class T>
kernels::AttentionOperand<const T> attention_operand(OpContext& context, const Tensor& tensor, Sizes leading);

// A mask to add to the scores: of a bool one, true is 0 and false is minus infinity. Broadcasts to [leading, rows,
// keys]; no data where `mask` is null.
template <class T>
kernels::AttentionOperand<const T> attention_mask(OpContext& context, const Tensor* mask, Sizes leading, int64_t rows,
                                                  int64_t keys);

// Runs the kernel with workspace from the context.
void run_attention(OpContext& context, const kernels::Attention<float>& call);
void run_attention(OpContext& context, const kernels::Attention<double>& call);

// What scores are multiplied by.
double attention_scale(std::optional<double> scale, int64_t head_size) noexcept;

}  // namespace enr::ops
