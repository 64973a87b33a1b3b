#pragma once

// One register function for each family file; operator_table.cpp calls them all. Cold functions lie side by side, so
// that filling the table does not bring every operator's code into memory.

#include "ops/registry.h"

namespace enr::ops {

[[gnu::cold]] void register_prim(OperatorTable& table);
[[gnu::cold]] void register_matmul(OperatorTable& table);
[[gnu::cold]] void register_convolution(OperatorTable& table);
[[gnu::cold]] void register_pooling(OperatorTable& table);
[[gnu::cold]] void register_resample(OperatorTable& table);
[[gnu::cold]] void register_quantize(OperatorTable& table);
[[gnu::cold]] void register_choose_parameters(OperatorTable& table);
[[gnu::cold]] void register_quantized_embedding(OperatorTable& table);
[[gnu::cold]] void register_mixed_products(OperatorTable& table);
[[gnu::cold]] void register_fft(OperatorTable& table);
[[gnu::cold]] void register_convolution_backward(OperatorTable& table);
[[gnu::cold]] void register_copy(OperatorTable& table);
[[gnu::cold]] void register_reshape(OperatorTable& table);
[[gnu::cold]] void register_slice(OperatorTable& table);
[[gnu::cold]] void register_concat(OperatorTable& table);
[[gnu::cold]] void register_rearrange(OperatorTable& table);
[[gnu::cold]] void register_pad(OperatorTable& table);
[[gnu::cold]] void register_create(OperatorTable& table);
[[gnu::cold]] void register_uniform(OperatorTable& table);
[[gnu::cold]] void register_normal(OperatorTable& table);
[[gnu::cold]] void register_draws(OperatorTable& table);
[[gnu::cold]] void register_dropout(OperatorTable& table);
[[gnu::cold]] void register_index(OperatorTable& table);
[[gnu::cold]] void register_index_select(OperatorTable& table);
[[gnu::cold]] void register_gather_scatter(OperatorTable& table);
[[gnu::cold]] void register_masked(OperatorTable& table);
[[gnu::cold]] void register_sort(OperatorTable& table);
[[gnu::cold]] void register_search(OperatorTable& table);
[[gnu::cold]] void register_unique(OperatorTable& table);
[[gnu::cold]] void register_unary(OperatorTable& table);
[[gnu::cold]] void register_activation(OperatorTable& table);
[[gnu::cold]] void register_arithmetic(OperatorTable& table);
[[gnu::cold]] void register_binary(OperatorTable& table);
[[gnu::cold]] void register_comparison(OperatorTable& table);
[[gnu::cold]] void register_ternary(OperatorTable& table);
[[gnu::cold]] void register_special(OperatorTable& table);
[[gnu::cold]] void register_reduction(OperatorTable& table);
[[gnu::cold]] void register_statistics(OperatorTable& table);
[[gnu::cold]] void register_arg_reduction(OperatorTable& table);
[[gnu::cold]] void register_softmax(OperatorTable& table);
[[gnu::cold]] void register_attention(OperatorTable& table);
[[gnu::cold]] void register_cached_attention(OperatorTable& table);
[[gnu::cold]] void register_lstm(OperatorTable& table);
[[gnu::cold]] void register_hadamard(OperatorTable& table);
[[gnu::cold]] void register_products(OperatorTable& table);
[[gnu::cold]] void register_embedding_bag(OperatorTable& table);
[[gnu::cold]] void register_complex_parts(OperatorTable& table);
[[gnu::cold]] void register_windows(OperatorTable& table);
[[gnu::cold]] void register_pooling_3d(OperatorTable& table);
[[gnu::cold]] void register_losses(OperatorTable& table);
[[gnu::cold]] void register_upsample(OperatorTable& table);
[[gnu::cold]] void register_lowbit(OperatorTable& table);
[[gnu::cold]] void register_fold(OperatorTable& table);
[[gnu::cold]] void register_aliases(OperatorTable& table);
[[gnu::cold]] void register_grid_sampler(OperatorTable& table);
[[gnu::cold]] void register_fractional_pooling(OperatorTable& table);
[[gnu::cold]] void register_distributions(OperatorTable& table);
[[gnu::cold]] void register_histogram(OperatorTable& table);
[[gnu::cold]] void register_segments(OperatorTable& table);
[[gnu::cold]] void register_ctc_loss(OperatorTable& table);
[[gnu::cold]] void register_packed_sequence(OperatorTable& table);
[[gnu::cold]] void register_fake_quantize(OperatorTable& table);
[[gnu::cold]] void register_lu(OperatorTable& table);
[[gnu::cold]] void register_triangular(OperatorTable& table);
[[gnu::cold]] void register_orthogonal(OperatorTable& table);
[[gnu::cold]] void register_spectrum(OperatorTable& table);
[[gnu::cold]] void register_eigen(OperatorTable& table);
[[gnu::cold]] void register_ldl(OperatorTable& table);
[[gnu::cold]] void register_least_squares(OperatorTable& table);
[[gnu::cold]] void register_bessel(OperatorTable& table);
[[gnu::cold]] void register_gamma(OperatorTable& table);
[[gnu::cold]] void register_polynomials(OperatorTable& table);
[[gnu::cold]] void register_norm(OperatorTable& table);
[[gnu::cold]] void register_batch_norm(OperatorTable& table);
[[gnu::cold]] void register_distance(OperatorTable& table);

}  // namespace enr::ops
