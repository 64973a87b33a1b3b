#pragma once

// Normalisation layers. All arrays are contiguous and of one floating dtype (float16 and bfloat16 compute in float32);
// out may be in. Optional arrays may be null. Drivers use threads; only half types allocate (and may throw bad_alloc).

#include <cstddef>

#include "base/dtype.h"

namespace enr::kernels {

// Each of `rows` rows of `cols`: out = (x - mean) * rstd * gamma + beta, rstd = 1 / sqrt(var + eps). gamma and beta
// (cols) are optional, mean_out and rstd_out (rows, of dtype) too.
void layer_norm(DType dtype, const void* in, const void* gamma, const void* beta, void* out, void* mean_out,
                void* rstd_out, size_t rows, size_t cols, double eps);

// out = x / sqrt(mean(x^2) + eps) * gamma.
void rms_norm(DType dtype, const void* in, const void* gamma, void* out, size_t rows, size_t cols, double eps);

// [batch, channels, spatial], statistics over each group of channels / groups; gamma and beta (channels), mean_out and
// rstd_out (batch * groups) are optional.
void group_norm(DType dtype, const void* in, const void* gamma, const void* beta, void* out, void* mean_out,
                void* rstd_out, size_t batch, size_t channels, size_t spatial, size_t groups, double eps);

// out = x * scale[c] + shift[c] over [outer, channels, inner]: NCHW has inner = height * width, NHWC inner = 1. Batch
// norm at inference folds its four arrays into these two.
void channel_affine(DType dtype, const void* in, const void* scale, const void* shift, void* out, size_t outer,
                    size_t channels, size_t inner);

// scale = gamma / sqrt(var + eps), shift = beta - mean * scale, in dtype; gamma and beta are optional.
void batch_norm_fold(DType dtype, const void* gamma, const void* beta, const void* mean, const void* var, double eps,
                     void* scale, void* shift, size_t channels);

// Mean and biased variance of each channel of [outer, channels, inner], in dtype: batch norm in training mode.
void channel_mean_var(DType dtype, const void* in, void* mean, void* var, size_t outer, size_t channels, size_t inner);

}  // namespace enr::kernels
