// quantized_decomposed: quantising and dequantising per tensor, channel and token, and the sum of quantised tensors.
// Formulas follow PyTorch's reference of these operators (torch.ao.quantization.fx._decomposed).

#include "kernels/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/thread_pool.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/quantized/scalar_of.h"
#include "ops/quantized/storage_type.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

constexpr size_t kGrain = 1 << 14;  // elements a thread takes at a time

size_t run_grain(int64_t run) noexcept { return kGrain / static_cast<size_t>(std::max<int64_t>(run, 1)) + 1; }

// The quotient is taken in float, as eager does for float32 inputs, then rounded half to even. The rounding is of the
// quotient alone: the zero point is added to an integer.
template <class T>
void quantize_run(const float* in, T* out, size_t n, float inverse_scale, int64_t zero_point,
                  const QuantizedRange& range) {
  constexpr int64_t kExact = 1 << 23;  // within which floats hold every integer
  if constexpr (sizeof(T) <= 2) {
    if (zero_point >= -kExact && zero_point <= kExact) {
      kernels::quantize_by(in, out, n, inverse_scale, static_cast<int32_t>(zero_point), range.min, range.max);
      return;
    }
  }
  const auto zero = static_cast<double>(zero_point);
  for (size_t i = 0; i < n; ++i) {
    out[i] = round_to_range<T>(static_cast<double>(std::nearbyint(in[i] * inverse_scale)) + zero, range);
  }
}

void quantize_tensor(OpContext& context, const Tensor& input, double scale, int64_t zero_point,
                     const QuantizedRange& range, Tensor& out) {
  require_floating(input.dtype, "input");
  require_positive_scale(scale, "scale");
  context.resize(out, input.sizes());
  with_storage_type(out.dtype, "out", [&]<class T>() {
    check_range<T>(range);
    const auto* in = row_major_as<float>(context, input);
    RowMajorOut result(context, out);
    T* to = result.as<T>();
    const auto inverse = static_cast<float>(1.0 / scale);
    parallel_ranges(static_cast<size_t>(out.numel()), kGrain, [&](size_t begin, size_t end) {
      quantize_run(in + begin, to + begin, end - begin, inverse, zero_point, range);
    });
    result.commit();
  });
}

void dequantize_tensor(OpContext& context, const Tensor& input, double scale, int64_t zero_point, Tensor& out) {
  require_floating(out.dtype, "out");
  context.resize(out, input.sizes());
  with_storage_type(input.dtype, "input", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, input));
    RowMajorOut result(context, out, DType::kFloat32);
    auto* to = result.as<float>();
    const auto factor = static_cast<float>(scale);
    const auto zero = static_cast<float>(zero_point);
    parallel_ranges(static_cast<size_t>(out.numel()), kGrain, [&](size_t begin, size_t end) {
      kernels::dequantize_by(in + begin, to + begin, end - begin, factor, zero);
    });
    result.commit();
  });
}

void quantize_per_tensor_out(OpContext& context, const Tensor& input, double scale, int64_t zero_point,
                             int64_t quant_min, int64_t quant_max, DType, Tensor& out) {
  quantize_tensor(context, input, scale, zero_point, {quant_min, quant_max}, out);
}

void quantize_per_tensor_tensor_out(OpContext& context, const Tensor& input, const Tensor& scale,
                                    const Tensor& zero_point, int64_t quant_min, int64_t quant_max, DType,
                                    Tensor& out) {
  const double factor = scalar_of(context, scale, "scale");
  const auto zero = Scalar(scalar_of(context, zero_point, "zero_point")).to<int64_t>();
  quantize_tensor(context, input, factor, zero, {quant_min, quant_max}, out);
}

void dequantize_per_tensor_out(OpContext& context, const Tensor& input, double scale, int64_t zero_point, int64_t,
                               int64_t, DType, std::optional<DType>, Tensor& out) {
  dequantize_tensor(context, input, scale, zero_point, out);
}

void dequantize_per_tensor_tensor_out(OpContext& context, const Tensor& input, const Tensor& scale,
                                      const Tensor& zero_point, int64_t, int64_t, DType, std::optional<DType>,
                                      Tensor& out) {
  const double factor = scalar_of(context, scale, "scale");
  const auto zero = Scalar(scalar_of(context, zero_point, "zero_point")).to<int64_t>();
  dequantize_tensor(context, input, factor, zero, out);
}

// [outer, channels, inner] around an axis.
struct Channels {
  int64_t outer = 1, count = 1, inner = 1;
};

Channels channels_of(const Tensor& input, int64_t axis, const Tensor& scales, const Tensor* zero_points) {
  const size_t dim = normalize_dim(axis, input.rank, "axis");
  Channels c{product(input.sizes(), 0, dim), input.rank == 0 ? 1 : input.size(dim),
             product(input.sizes(), dim + 1, input.rank)};
  if (input.rank == 0) c.inner = 1;
  require_sizes(scales, Sizes(&c.count, 1), "scales");
  if (zero_points != nullptr) require_sizes(*zero_points, Sizes(&c.count, 1), "zero_points");
  return c;
}

const double* positive_scales(OpContext& context, const Tensor& scales) {
  const auto* scale = row_major_as<double>(context, scales);
  for (int64_t i = 0; i < scales.numel(); ++i) require_positive_scale(scale[i], "scales");
  return scale;
}

// Calls body(channel, first element) for each run of neighbours with the same parameters, on several threads.
template <class Body>
void each_run(const Channels& c, const Body& body) {
  parallel_ranges(static_cast<size_t>(c.outer * c.count), run_grain(c.inner), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      body(i % static_cast<size_t>(c.count), i * static_cast<size_t>(c.inner));
    }
  });
}

void quantize_per_channel_out(OpContext& context, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                              int64_t axis, int64_t quant_min, int64_t quant_max, DType, Tensor& out) {
  require_floating(input.dtype, "input");
  const Channels c = channels_of(input, axis, scales, &zero_points);
  const double* scale = positive_scales(context, scales);
  const auto* zero = row_major_as<int64_t>(context, zero_points);
  context.resize(out, input.sizes());
  with_storage_type(out.dtype, "out", [&]<class T>() {
    const QuantizedRange range{quant_min, quant_max};
    check_range<T>(range);
    const auto* in = row_major_as<float>(context, input);
    RowMajorOut result(context, out);
    T* to = result.as<T>();
    each_run(c, [&](size_t channel, size_t at) {
      quantize_run(in + at, to + at, static_cast<size_t>(c.inner), static_cast<float>(1.0 / scale[channel]),
                   zero[channel], range);
    });
    result.commit();
  });
}

// zero: null where the zero points are 0.
void dequantize_runs(OpContext& context, const Tensor& input, const Channels& c, const float* scale, const float* zero,
                     Tensor& out) {
  with_storage_type(input.dtype, "input", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, input));
    RowMajorOut result(context, out, DType::kFloat32);
    auto* to = result.as<float>();
    each_run(c, [&](size_t channel, size_t at) {
      kernels::dequantize_by(in + at, to + at, static_cast<size_t>(c.inner), scale[channel],
                             zero == nullptr ? 0.0f : zero[channel]);
    });
    result.commit();
  });
}

void dequantize_per_channel_out(OpContext& context, const Tensor& input, const Tensor& scales,
                                const Tensor* zero_points, int64_t axis, int64_t, int64_t, DType, std::optional<DType>,
                                Tensor& out) {
  require_floating(out.dtype, "out");
  const Channels c = channels_of(input, axis, scales, zero_points);
  const auto* scale = row_major_as<float>(context, scales);
  const auto* zero = zero_points == nullptr ? nullptr : row_major_as<float>(context, *zero_points);
  context.resize(out, input.sizes());
  dequantize_runs(context, input, c, scale, zero, out);
}

// Runs of `group_size` neighbours in the rows of a matrix. Rows shorter than that are one run.
void dequantize_per_channel_group_out(OpContext& context, const Tensor& input, const Tensor& scales,
                                      const Tensor* zero_points, int64_t, int64_t, DType, int64_t group_size, DType,
                                      Tensor& out) {
  require_rank(input, 2, "input");
  require_floating(out.dtype, "out");
  if (group_size < 2) fail_execution("group_size: expected at least 2, got ", group_size);
  const int64_t columns = input.size(1), group = std::min(group_size, std::max<int64_t>(columns, 1));
  if (columns % group != 0) fail_execution("group_size: expected a divisor of ", columns, " columns, got ", group_size);
  const Channels c{1, input.size(0) * (columns / group), group};
  for (const Tensor* parameters : {&scales, zero_points}) {
    if (parameters == nullptr || parameters->numel() == c.count) continue;
    fail_execution(parameters == &scales ? "scales" : "zero_points", ": expected ", c.count, " elements, got ",
                   describe(*parameters));
  }
  const auto* scale = row_major_as<float>(context, scales);
  const auto* zero = zero_points == nullptr ? nullptr : row_major_as<float>(context, *zero_points);
  context.resize(out, input.sizes());
  dequantize_runs(context, input, c, scale, zero, out);
}

// Rows (tokens) of the last dim, one parameter for each.
Channels tokens_of(const Tensor& input, const Tensor& scales, const Tensor& zero_points) {
  if (input.rank == 0) fail_execution("input: expected at least rank 1, got rank 0");
  const Channels tokens{1, product(input.sizes(), 0, input.rank - 1u), input.size(input.rank - 1u)};
  if (scales.numel() != tokens.count) {
    fail_execution("scales: expected ", tokens.count, " elements, got ", describe(scales));
  }
  if (zero_points.numel() != tokens.count) {
    fail_execution("zero_points: expected ", tokens.count, " elements, got ", describe(zero_points));
  }
  return tokens;
}

// The zero point is added before rounding, unlike per tensor and channel. `Real` is what type promotion makes of the
// scales: float, or double where they are float64.
template <class Real, class T>
void quantize_token(const float* in, T* out, size_t n, Real inverse_scale, Real zero_point,
                    const QuantizedRange& range) {
  for (size_t i = 0; i < n; ++i) {
    const Real sum = static_cast<Real>(in[i]) * inverse_scale + zero_point;
    out[i] = round_to_range<T>(static_cast<double>(sum), range);
  }
}

void quantize_per_token_out(OpContext& context, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                            int64_t quant_min, int64_t quant_max, DType, Tensor& out) {
  require_floating(input.dtype, "input");
  const Channels tokens = tokens_of(input, scales, zero_points);
  const double* scale = positive_scales(context, scales);
  const auto* zero = row_major_as<double>(context, zero_points);
  context.resize(out, input.sizes());
  with_storage_type(out.dtype, "out", [&]<class T>() {
    const QuantizedRange range{quant_min, quant_max};
    check_range<T>(range);
    const auto* in = row_major_as<float>(context, input);
    RowMajorOut result(context, out);
    T* to = result.as<T>();
    const auto columns = static_cast<size_t>(tokens.inner);
    each_run(tokens, [&](size_t token, size_t at) {
      if (scales.dtype == DType::kFloat64) {
        quantize_token(in + at, to + at, columns, 1.0 / scale[token], zero[token], range);
      } else {
        quantize_token(in + at, to + at, columns, 1.0f / static_cast<float>(scale[token]),
                       static_cast<float>(zero[token]), range);
      }
    });
    result.commit();
  });
}

// The difference is exact and the product rounded once: in float64, then to Out.
template <class T, class Out>
void dequantize_tokens(const Channels& tokens, const T* in, const double* scale, const double* zero_point, Out* out) {
  each_run(tokens, [&](size_t token, size_t at) {
    const double factor = scale[token], zero = zero_point[token];
    for (size_t i = at; i < at + static_cast<size_t>(tokens.inner); ++i) {
      out[i] = static_cast<Out>((static_cast<double>(in[i]) - zero) * factor);
    }
  });
}

void dequantize_per_token_out(OpContext& context, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                              int64_t, int64_t, DType, DType, Tensor& out) {
  require_floating(out.dtype, "out");
  const Channels tokens = tokens_of(input, scales, zero_points);
  const auto* scale = row_major_as<double>(context, scales);
  const auto* zero = row_major_as<double>(context, zero_points);
  context.resize(out, input.sizes());
  with_storage_type(input.dtype, "input", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, input));
    const bool is_single = out.dtype == DType::kFloat32;
    RowMajorOut result(context, out, is_single ? DType::kFloat32 : DType::kFloat64);
    if (is_single) {
      dequantize_tokens(tokens, in, scale, zero, result.as<float>());
    } else {
      dequantize_tokens(tokens, in, scale, zero, result.as<double>());
    }
    result.commit();
  });
}

void quantized_add_out(OpContext& context, const Tensor& a, double a_scale, int64_t a_zero_point, int64_t, int64_t,
                       const Tensor& b, double b_scale, int64_t b_zero_point, int64_t, int64_t, double out_scale,
                       int64_t out_zero_point, int64_t out_quant_min, int64_t out_quant_max, Tensor& out) {
  require_dtype(b, a.dtype, "b");
  require_dtype(out, a.dtype, "out");
  require_positive_scale(out_scale, "out_scale");
  const Shape shape = broadcast(a.sizes(), b.sizes(), "b");
  context.resize(out, shape);
  with_storage_type(a.dtype, "a", [&]<class T>() {
    const QuantizedRange range{out_quant_min, out_quant_max};
    check_range<T>(range);
    const auto* left = reinterpret_cast<const T*>(row_major_as(context, a, a.dtype, shape));
    const auto* right = reinterpret_cast<const T*>(row_major_as(context, b, b.dtype, shape));
    RowMajorOut result(context, out);
    T* to = result.as<T>();
    const auto inverse = static_cast<float>(1.0 / out_scale);
    const auto real = [](T value, int64_t zero_point, double scale) {
      return (static_cast<float>(value) - static_cast<float>(zero_point)) * static_cast<float>(scale);
    };
    parallel_ranges(static_cast<size_t>(out.numel()), kGrain, [&](size_t begin, size_t end) {
      constexpr size_t kTile = 1024;
      float sums[kTile];
      for (; begin < end; begin += kTile) {
        const size_t count = std::min(kTile, end - begin);
        for (size_t i = 0; i < count; ++i) {
          sums[i] = real(left[begin + i], a_zero_point, a_scale) + real(right[begin + i], b_zero_point, b_scale);
        }
        quantize_run(sums, to + begin, count, inverse, out_zero_point, range);
      }
    });
    result.commit();
  });
}

}  // namespace

void register_quantize(OperatorTable& table) {
  table.add<quantize_per_tensor_out>("quantized_decomposed::quantize_per_tensor.out",
                                     "input, scale, zero_point, quant_min, quant_max, dtype, out");
  table.add<quantize_per_tensor_tensor_out>("quantized_decomposed::quantize_per_tensor.Tensor_out",
                                            "input, scale, zero_point, quant_min, quant_max, dtype, out");
  table.add<dequantize_per_tensor_out>("quantized_decomposed::dequantize_per_tensor.out",
                                       "input, scale, zero_point, quant_min, quant_max, dtype, out_dtype, out");
  table.add<dequantize_per_tensor_tensor_out>("quantized_decomposed::dequantize_per_tensor.Tensor_out",
                                              "input, scale, zero_point, quant_min, quant_max, dtype, out_dtype, out");
  table.add<quantize_per_channel_out>("quantized_decomposed::quantize_per_channel.out",
                                      "input, scales, zero_points, axis, quant_min, quant_max, dtype, out");
  table.add<dequantize_per_channel_out>(
      "quantized_decomposed::dequantize_per_channel.out",
      "input, scales, zero_points, axis, quant_min, quant_max, dtype, out_dtype, out");
  table.add<dequantize_per_channel_group_out>(
      "quantized_decomposed::dequantize_per_channel_group.out",
      "input, scales, zero_points, quant_min, quant_max, dtype, group_size, output_dtype, out");
  table.add<quantize_per_token_out>("quantized_decomposed::quantize_per_token.out",
                                    "input, scales, zero_points, quant_min, quant_max, dtype, out");
  table.add<dequantize_per_token_out>("quantized_decomposed::dequantize_per_token.out",
                                      "input, scales, zero_points, quant_min, quant_max, dtype, output_dtype, out");
  table.add<quantized_add_out>(
      "quantized_decomposed::add.out",
      "a, a_scale, a_zero_point, a_quant_min, a_quant_max, b, b_scale, b_zero_point, b_quant_min, b_quant_max, "
      "out_scale, out_zero_point, out_quant_min, out_quant_max, out");
}

}  // namespace enr::ops
