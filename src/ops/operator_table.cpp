#include "ops/families.h"

namespace enr {

const OperatorTable& operator_table() {
  static const OperatorTable table = [] {
    OperatorTable built;
    ops::register_prim(built);
    ops::register_matmul(built);
    ops::register_convolution(built);
    ops::register_pooling(built);
    ops::register_resample(built);
    ops::register_quantize(built);
    ops::register_choose_parameters(built);
    ops::register_quantized_embedding(built);
    ops::register_mixed_products(built);
    ops::register_fft(built);
    ops::register_convolution_backward(built);
    ops::register_copy(built);
    ops::register_reshape(built);
    ops::register_slice(built);
    ops::register_concat(built);
    ops::register_rearrange(built);
    ops::register_pad(built);
    ops::register_create(built);
    ops::register_uniform(built);
    ops::register_normal(built);
    ops::register_draws(built);
    ops::register_dropout(built);
    ops::register_index(built);
    ops::register_index_select(built);
    ops::register_gather_scatter(built);
    ops::register_masked(built);
    ops::register_sort(built);
    ops::register_search(built);
    ops::register_unique(built);
    ops::register_unary(built);
    ops::register_activation(built);
    ops::register_arithmetic(built);
    ops::register_binary(built);
    ops::register_comparison(built);
    ops::register_ternary(built);
    ops::register_special(built);
    ops::register_reduction(built);
    ops::register_statistics(built);
    ops::register_arg_reduction(built);
    ops::register_softmax(built);
    ops::register_attention(built);
    ops::register_cached_attention(built);
    ops::register_lstm(built);
    ops::register_hadamard(built);
    ops::register_products(built);
    ops::register_embedding_bag(built);
    ops::register_complex_parts(built);
    ops::register_windows(built);
    ops::register_pooling_3d(built);
    ops::register_losses(built);
    ops::register_upsample(built);
    ops::register_lowbit(built);
    ops::register_fold(built);
    ops::register_norm(built);
    ops::register_batch_norm(built);
    ops::register_distance(built);
    ops::register_grid_sampler(built);
    ops::register_fractional_pooling(built);
    ops::register_distributions(built);
    ops::register_histogram(built);
    ops::register_segments(built);
    ops::register_ctc_loss(built);
    ops::register_packed_sequence(built);
    ops::register_fake_quantize(built);
    ops::register_lu(built);
    ops::register_triangular(built);
    ops::register_orthogonal(built);
    ops::register_spectrum(built);
    ops::register_eigen(built);
    ops::register_ldl(built);
    ops::register_least_squares(built);
    ops::register_bessel(built);
    ops::register_gamma(built);
    ops::register_polynomials(built);
    ops::register_aliases(built);
    return built;
  }();
  return table;
}

}  // namespace enr
