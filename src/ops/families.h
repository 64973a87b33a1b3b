#pragma once

// One register function for each family file; operator_table.cpp calls them all.

#include "ops/registry.h"

namespace enr::ops {

void register_prim(OperatorTable& table);
void register_matmul(OperatorTable& table);
void register_convolution(OperatorTable& table);
void register_pooling(OperatorTable& table);
void register_resample(OperatorTable& table);
void register_quantize(OperatorTable& table);
void register_choose_parameters(OperatorTable& table);
void register_quantized_embedding(OperatorTable& table);
void register_mixed_products(OperatorTable& table);
void register_fft(OperatorTable& table);
void register_convolution_backward(OperatorTable& table);
void register_copy(OperatorTable& table);
void register_reshape(OperatorTable& table);
void register_slice(OperatorTable& table);
void register_concat(OperatorTable& table);
void register_rearrange(OperatorTable& table);
void register_pad(OperatorTable& table);
void register_create(OperatorTable& table);
void register_uniform(OperatorTable& table);
void register_normal(OperatorTable& table);
void register_draws(OperatorTable& table);
void register_dropout(OperatorTable& table);
void register_index(OperatorTable& table);
void register_index_select(OperatorTable& table);
void register_gather_scatter(OperatorTable& table);
void register_masked(OperatorTable& table);
void register_sort(OperatorTable& table);
void register_search(OperatorTable& table);
void register_unique(OperatorTable& table);
void register_unary(OperatorTable& table);
void register_activation(OperatorTable& table);
void register_arithmetic(OperatorTable& table);
void register_binary(OperatorTable& table);
void register_comparison(OperatorTable& table);
void register_ternary(OperatorTable& table);
void register_special(OperatorTable& table);
void register_reduction(OperatorTable& table);
void register_statistics(OperatorTable& table);
void register_arg_reduction(OperatorTable& table);
void register_softmax(OperatorTable& table);
void register_attention(OperatorTable& table);
void register_cached_attention(OperatorTable& table);
void register_hadamard(OperatorTable& table);
void register_products(OperatorTable& table);
void register_embedding_bag(OperatorTable& table);
void register_complex_parts(OperatorTable& table);
void register_windows(OperatorTable& table);
void register_pooling_3d(OperatorTable& table);
void register_losses(OperatorTable& table);
void register_upsample(OperatorTable& table);
void register_lowbit(OperatorTable& table);
void register_fold(OperatorTable& table);
void register_aliases(OperatorTable& table);
void register_norm(OperatorTable& table);
void register_batch_norm(OperatorTable& table);
void register_distance(OperatorTable& table);

}  // namespace enr::ops
