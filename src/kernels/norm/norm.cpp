#include "kernels/norm/norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/elementwise/float_scratch.h"
#include "kernels/isa.h"
#include "kernels/norm/norm_table.h"

namespace enr::kernels {

ENR_SELECT_ISA(NormTable, norm_table)

namespace {

// Elements that pay for waking a thread.
constexpr size_t kGrain = 16384;

size_t grain_of(size_t elements_each) { return std::max<size_t>(kGrain / std::max<size_t>(elements_each, 1), 1); }

template <class T>
const NormKernels<T>& kernels_of();
template <>
const NormKernels<float>& kernels_of() {
  return norm_table().f32;
}
template <>
const NormKernels<double>& kernels_of() {
  return norm_table().f64;
}

template <class T>
T* at(T* array, size_t index) {
  return array != nullptr ? array + index : nullptr;
}

const void* byte_offset(const void* p, size_t elements, DType dtype) {
  return static_cast<const std::byte*>(p) + elements * dtype_size(dtype);
}
void* byte_offset(void* p, size_t elements, DType dtype) {
  return static_cast<std::byte*>(p) + elements * dtype_size(dtype);
}

void to_float(DType dtype, const void* from, float* to, size_t n) { convert_fn(dtype, DType::kFloat32)(from, to, n); }
void from_float(DType dtype, const float* from, void* to, size_t n) { convert_fn(DType::kFloat32, dtype)(from, to, n); }

// An optional half array as floats.
struct FloatCopy {
  std::vector<float> values;
  bool exists;
  FloatCopy(DType dtype, const void* from, size_t n) : exists(from != nullptr) {
    if (!exists) return;
    values.resize(n);
    to_float(dtype, from, values.data(), n);
  }
  const float* data() const { return exists ? values.data() : nullptr; }
  const float* at(size_t index) const { return exists ? values.data() + index : nullptr; }
};

template <class T>
void layer_norm_typed(const void* in, const void* gamma, const void* beta, void* out, void* mean_out, void* rstd_out,
                      size_t rows, size_t cols, double eps) {
  parallel_ranges(rows, grain_of(cols), [&](size_t begin, size_t end) {
    kernels_of<T>().layer_norm(static_cast<const T*>(in) + begin * cols, static_cast<const T*>(gamma),
                               static_cast<const T*>(beta), static_cast<T*>(out) + begin * cols,
                               at(static_cast<T*>(mean_out), begin), at(static_cast<T*>(rstd_out), begin), end - begin,
                               cols, eps);
  });
}

template <class T>
void rms_norm_typed(const void* in, const void* gamma, void* out, size_t rows, size_t cols, double eps) {
  parallel_ranges(rows, grain_of(cols), [&](size_t begin, size_t end) {
    kernels_of<T>().rms_norm(static_cast<const T*>(in) + begin * cols, static_cast<const T*>(gamma),
                             static_cast<T*>(out) + begin * cols, end - begin, cols, eps);
  });
}

template <class T>
void group_norm_typed(const void* in, const void* gamma, const void* beta, void* out, void* mean_out, void* rstd_out,
                      size_t batch, size_t channels, size_t spatial, size_t groups, double eps) {
  const size_t each = channels / groups;
  parallel_ranges(batch * groups, grain_of(each * spatial), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t channel = i % groups * each;
      kernels_of<T>().group_norm(static_cast<const T*>(in) + i * each * spatial,
                                 at(static_cast<const T*>(gamma), channel), at(static_cast<const T*>(beta), channel),
                                 static_cast<T*>(out) + i * each * spatial, at(static_cast<T*>(mean_out), i),
                                 at(static_cast<T*>(rstd_out), i), each, spatial, eps);
    }
  });
}

template <class T>
void channel_affine_typed(const void* in, const void* scale, const void* shift, void* out, size_t outer,
                          size_t channels, size_t inner) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const T* scales = static_cast<const T*>(scale);
  const T* shifts = static_cast<const T*>(shift);
  if (inner == 1) {
    parallel_ranges(outer, grain_of(channels), [&](size_t begin, size_t end) {
      kernels_of<T>().affine_each(x + begin * channels, scales, shifts, y + begin * channels, end - begin, channels);
    });
    return;
  }
  parallel_ranges(outer * channels, grain_of(inner), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      kernels_of<T>().affine(x + i * inner, scales[i % channels], shifts[i % channels], y + i * inner, inner);
    }
  });
}

template <class T>
void batch_norm_fold_typed(const void* gamma, const void* beta, const void* mean, const void* var, double eps,
                           void* scale, void* shift, size_t channels) {
  for (size_t c = 0; c < channels; ++c) {
    const double g = gamma != nullptr ? static_cast<double>(static_cast<const T*>(gamma)[c]) : 1.0;
    const double b = beta != nullptr ? static_cast<double>(static_cast<const T*>(beta)[c]) : 0.0;
    const double factor = g / std::sqrt(static_cast<double>(static_cast<const T*>(var)[c]) + eps);
    static_cast<T*>(scale)[c] = static_cast<T>(factor);
    static_cast<T*>(shift)[c] = static_cast<T>(b - static_cast<double>(static_cast<const T*>(mean)[c]) * factor);
  }
}

template <class T>
void channel_mean_var_typed(const void* in, void* mean, void* var, size_t outer, size_t channels, size_t inner) {
  const T* x = static_cast<const T*>(in);
  const double count = static_cast<double>(outer * inner);
  const size_t blocks = inner == 0 ? 0 : outer;
  const auto moment = [&](size_t channel, double centre, int power) {
    double total = 0;
    for (size_t o = 0; o < blocks; ++o) {
      total += kernels_of<T>().moment(x + (o * channels + channel) * inner, inner, centre, power);
    }
    return total;
  };
  parallel_ranges(channels, grain_of(outer * inner), [&](size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) {
      const double centre = moment(c, 0, 1) / count;
      static_cast<T*>(mean)[c] = static_cast<T>(centre);
      static_cast<T*>(var)[c] = static_cast<T>(moment(c, centre, 2) / count);
    }
  });
}

bool is_half(DType dtype) { return dtype != DType::kFloat32 && dtype != DType::kFloat64; }

}  // namespace

void layer_norm(DType dtype, const void* in, const void* gamma, const void* beta, void* out, void* mean_out,
                void* rstd_out, size_t rows, size_t cols, double eps) {
  if (cols == 0 && mean_out == nullptr && rstd_out == nullptr) return;
  if (!is_half(dtype)) {
    const auto run = dtype == DType::kFloat32 ? &layer_norm_typed<float> : &layer_norm_typed<double>;
    return run(in, gamma, beta, out, mean_out, rstd_out, rows, cols, eps);
  }
  const FloatCopy gammas(dtype, gamma, cols), betas(dtype, beta, cols);
  with_float_blocks(rows, cols, 2, [&](size_t row, size_t count, float* scratch) {
    float* mean = scratch + count * cols;
    float* rstd = mean + count;
    to_float(dtype, byte_offset(in, row * cols, dtype), scratch, count * cols);
    kernels_of<float>().layer_norm(scratch, gammas.data(), betas.data(), scratch, mean, rstd, count, cols, eps);
    from_float(dtype, scratch, byte_offset(out, row * cols, dtype), count * cols);
    if (mean_out != nullptr) from_float(dtype, mean, byte_offset(mean_out, row, dtype), count);
    if (rstd_out != nullptr) from_float(dtype, rstd, byte_offset(rstd_out, row, dtype), count);
  });
}

void rms_norm(DType dtype, const void* in, const void* gamma, void* out, size_t rows, size_t cols, double eps) {
  if (cols == 0) return;
  if (!is_half(dtype)) {
    const auto run = dtype == DType::kFloat32 ? &rms_norm_typed<float> : &rms_norm_typed<double>;
    return run(in, gamma, out, rows, cols, eps);
  }
  const FloatCopy gammas(dtype, gamma, cols);
  with_float_blocks(rows, cols, 0, [&](size_t row, size_t count, float* scratch) {
    to_float(dtype, byte_offset(in, row * cols, dtype), scratch, count * cols);
    kernels_of<float>().rms_norm(scratch, gammas.data(), scratch, count, cols, eps);
    from_float(dtype, scratch, byte_offset(out, row * cols, dtype), count * cols);
  });
}

void group_norm(DType dtype, const void* in, const void* gamma, const void* beta, void* out, void* mean_out,
                void* rstd_out, size_t batch, size_t channels, size_t spatial, size_t groups, double eps) {
  if (channels * spatial == 0 && mean_out == nullptr && rstd_out == nullptr) return;
  if (!is_half(dtype)) {
    const auto run = dtype == DType::kFloat32 ? &group_norm_typed<float> : &group_norm_typed<double>;
    return run(in, gamma, beta, out, mean_out, rstd_out, batch, channels, spatial, groups, eps);
  }
  const FloatCopy gammas(dtype, gamma, channels), betas(dtype, beta, channels);
  const size_t each = channels / groups;
  const size_t block = each * spatial;
  with_float_scratch(batch * groups, block, [&](size_t i, float* scratch) {
    float mean, rstd;
    const size_t channel = i % groups * each;
    to_float(dtype, byte_offset(in, i * block, dtype), scratch, block);
    kernels_of<float>().group_norm(scratch, gammas.at(channel), betas.at(channel), scratch, &mean, &rstd, each, spatial,
                                   eps);
    from_float(dtype, scratch, byte_offset(out, i * block, dtype), block);
    if (mean_out != nullptr) from_float(dtype, &mean, byte_offset(mean_out, i, dtype), 1);
    if (rstd_out != nullptr) from_float(dtype, &rstd, byte_offset(rstd_out, i, dtype), 1);
  });
}

void channel_affine(DType dtype, const void* in, const void* scale, const void* shift, void* out, size_t outer,
                    size_t channels, size_t inner) {
  if (channels * inner == 0) return;
  if (!is_half(dtype)) {
    const auto run = dtype == DType::kFloat32 ? &channel_affine_typed<float> : &channel_affine_typed<double>;
    return run(in, scale, shift, out, outer, channels, inner);
  }
  const FloatCopy scales(dtype, scale, channels), shifts(dtype, shift, channels);
  const size_t block = channels * inner;
  with_float_scratch(outer, block, [&](size_t i, float* scratch) {
    to_float(dtype, byte_offset(in, i * block, dtype), scratch, block);
    channel_affine_typed<float>(scratch, scales.data(), shifts.data(), scratch, 1, channels, inner);
    from_float(dtype, scratch, byte_offset(out, i * block, dtype), block);
  });
}

void batch_norm_fold(DType dtype, const void* gamma, const void* beta, const void* mean, const void* var, double eps,
                     void* scale, void* shift, size_t channels) {
  if (!is_half(dtype)) {
    const auto run = dtype == DType::kFloat32 ? &batch_norm_fold_typed<float> : &batch_norm_fold_typed<double>;
    return run(gamma, beta, mean, var, eps, scale, shift, channels);
  }
  const FloatCopy gammas(dtype, gamma, channels), betas(dtype, beta, channels);
  const FloatCopy means(dtype, mean, channels), vars(dtype, var, channels);
  std::vector<float> scales(channels), shifts(channels);
  batch_norm_fold_typed<float>(gammas.data(), betas.data(), means.data(), vars.data(), eps, scales.data(),
                               shifts.data(), channels);
  from_float(dtype, scales.data(), scale, channels);
  from_float(dtype, shifts.data(), shift, channels);
}

void channel_mean_var(DType dtype, const void* in, void* mean, void* var, size_t outer, size_t channels, size_t inner) {
  if (!is_half(dtype)) {
    const auto run = dtype == DType::kFloat32 ? &channel_mean_var_typed<float> : &channel_mean_var_typed<double>;
    return run(in, mean, var, outer, channels, inner);
  }
  const FloatCopy values(dtype, in, outer * channels * inner);
  std::vector<float> means(channels), vars(channels);
  channel_mean_var_typed<float>(values.data(), means.data(), vars.data(), outer, channels, inner);
  from_float(dtype, means.data(), mean, channels);
  from_float(dtype, vars.data(), var, channels);
}

}  // namespace enr::kernels
