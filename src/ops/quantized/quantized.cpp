// quantized_decomposed: quantising and dequantising per tensor, channel and token, choosing parameters, quantised add,
// embeddings of packed weights, products with 8-bit weights. Formulas follow PyTorch's reference of these operators
// (torch.ao.quantization.fx._decomposed).

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/quantize/quantize.h"
#include "ops/element.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

struct Range {
  int64_t min = 0, max = 0;
};

// The limits of a storage type, and that [min, max] lies within them.
template <class T>
void check_range(const Range& range) {
  const int64_t low = std::numeric_limits<T>::min();
  const int64_t high = static_cast<int64_t>(std::numeric_limits<T>::max());
  if (range.min < low || range.max > high || range.min > range.max) {
    fail_execution("quant_min, quant_max: [", range.min, ", ", range.max, "] is no range within [", low, ", ", high,
                   "]");
  }
}

template <class Body>
void with_storage_type(DType dtype, const char* what, const Body& body) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kQInt8:
      return body.template operator()<int8_t>();
    case DType::kUInt8:
    case DType::kQUInt8:
      return body.template operator()<uint8_t>();
    case DType::kInt16:
      return body.template operator()<int16_t>();
    case DType::kUInt16:
    case DType::kBits16:
      return body.template operator()<uint16_t>();
    case DType::kInt32:
    case DType::kQInt32:
      return body.template operator()<int32_t>();
    default:
      fail_execution(what, ": expected an integer dtype of at most 32 bits, got ", dtype_name(dtype));
  }
}

void require_floating(const Tensor& tensor, const char* what) {
  if (!is_floating(tensor.dtype)) fail_execution(what, ": expected a floating dtype, got ", describe(tensor));
}

// Saturates before the integer conversion, so that any real (NaN gives the minimum) is fine.
template <class T>
T saturate(double value, const Range& range) {
  if (!(value > static_cast<double>(range.min))) return static_cast<T>(range.min);
  if (value > static_cast<double>(range.max)) return static_cast<T>(range.max);
  return static_cast<T>(value);
}

// The quotient is taken in float, as eager does for float32 inputs, then rounded half to even.
template <class T>
T quantize_one(float value, float inverse_scale, int64_t zero_point, const Range& range) {
  return saturate<T>(static_cast<double>(std::nearbyint(value * inverse_scale)) + static_cast<double>(zero_point),
                     range);
}

constexpr size_t kGrain = 1 << 14;  // elements a thread takes at a time

template <class T>
void quantize_many(const float* in, T* out, size_t n, float inverse_scale, int64_t zero_point, const Range& range) {
  constexpr int64_t kExact = 1 << 23;  // within which floats hold every integer
  if constexpr (sizeof(T) <= 2) {
    if (zero_point >= -kExact && zero_point <= kExact) {
      kernels::quantize_by(in, out, n, inverse_scale, static_cast<int32_t>(zero_point), range.min, range.max);
      return;
    }
  }
  for (size_t i = 0; i < n; ++i) out[i] = quantize_one<T>(in[i], inverse_scale, zero_point, range);
}

void check_scale(double scale, const char* what) {
  if (!(scale > 0) || !std::isfinite(scale)) fail_execution(what, ": expected a positive number, got ", scale);
}

void quantize_tensor(OpContext& context, const Tensor& input, double scale, int64_t zero_point, const Range& range,
                     Tensor& out) {
  require_floating(input, "input");
  check_scale(scale, "scale");
  context.resize(out, input.sizes());
  with_storage_type(out.dtype, "out", [&]<class T>() {
    check_range<T>(range);
    const auto* in = row_major_as<float>(context, input);
    RowMajorOut result(context, out);
    T* to = result.as<T>();
    const auto inverse = static_cast<float>(1.0 / scale);
    parallel_ranges(static_cast<size_t>(out.numel()), kGrain, [&](size_t begin, size_t end) {
      quantize_many(in + begin, to + begin, end - begin, inverse, zero_point, range);
    });
    result.commit();
  });
}

void dequantize_tensor(OpContext& context, const Tensor& input, double scale, int64_t zero_point, Tensor& out) {
  require_floating(out, "out");
  context.resize(out, input.sizes());
  with_storage_type(input.dtype, "input", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, input));
    RowMajorOut result(context, out, DType::kFloat32);
    auto* to = result.as<float>();
    const auto factor = static_cast<float>(scale);
    const auto zero = static_cast<float>(zero_point);
    parallel_ranges(static_cast<size_t>(out.numel()), kGrain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) to[i] = (static_cast<float>(in[i]) - zero) * factor;
    });
    result.commit();
  });
}

// The only element of a parameter tensor.
double scalar_of(OpContext& context, const Tensor& tensor, const char* what) {
  if (tensor.numel() != 1) fail_execution(what, ": expected one element, got ", describe(tensor));
  return *row_major_as<double>(context, tensor);
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

void quantize_per_channel_out(OpContext& context, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                              int64_t axis, int64_t quant_min, int64_t quant_max, DType, Tensor& out) {
  require_floating(input, "input");
  const Channels c = channels_of(input, axis, scales, &zero_points);
  const auto* scale = row_major_as<double>(context, scales);
  const auto* zero = row_major_as<int64_t>(context, zero_points);
  for (int64_t i = 0; i < c.count; ++i) check_scale(scale[i], "scales");
  context.resize(out, input.sizes());
  with_storage_type(out.dtype, "out", [&]<class T>() {
    const Range range{quant_min, quant_max};
    check_range<T>(range);
    const auto* in = row_major_as<float>(context, input);
    RowMajorOut result(context, out);
    T* to = result.as<T>();
    for (int64_t i = 0; i < c.outer * c.count; ++i) {
      const auto inverse = static_cast<float>(1.0 / scale[i % c.count]);
      for (int64_t k = i * c.inner; k < (i + 1) * c.inner; ++k) {
        to[k] = quantize_one<T>(in[k], inverse, zero[i % c.count], range);
      }
    }
    result.commit();
  });
}

void dequantize_per_channel_out(OpContext& context, const Tensor& input, const Tensor& scales,
                                const Tensor* zero_points, int64_t axis, int64_t, int64_t, DType, std::optional<DType>,
                                Tensor& out) {
  require_floating(out, "out");
  const Channels c = channels_of(input, axis, scales, zero_points);
  const auto* scale = row_major_as<float>(context, scales);
  const auto* zero = zero_points == nullptr ? nullptr : row_major_as<float>(context, *zero_points);
  context.resize(out, input.sizes());
  with_storage_type(input.dtype, "input", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, input));
    RowMajorOut result(context, out, DType::kFloat32);
    auto* to = result.as<float>();
    for (int64_t i = 0; i < c.outer * c.count; ++i) {
      const float z = zero == nullptr ? 0.0f : zero[i % c.count];
      for (int64_t k = i * c.inner; k < (i + 1) * c.inner; ++k)
        to[k] = (static_cast<float>(in[k]) - z) * scale[i % c.count];
    }
    result.commit();
  });
}

// --- parameters found at run time ---

void write_parameter(OpContext& context, Tensor& out, const std::vector<double>& values) {
  RowMajorOut result(context, out, DType::kFloat64);
  std::copy(values.begin(), values.end(), result.as<double>());
  result.commit();
}

void choose_qparams_out(OpContext& context, const Tensor& input, int64_t quant_min, int64_t quant_max, double eps,
                        DType, Tensor& scale_out, Tensor& zero_point_out) {
  require_floating(input, "input");
  if (quant_min >= quant_max) fail_execution("quant_min: ", quant_min, " must be below quant_max ", quant_max);
  if (input.numel() == 0) fail_execution("input: expected at least one element, got shape ", input.sizes());
  const auto* in = row_major_as<float>(context, input);
  const auto [low, high] = std::minmax_element(in, in + input.numel());
  const float min = std::min(*low, 0.0f);
  const float max = std::max(*high, 0.0f);
  float scale = (max - min) / static_cast<float>(quant_max - quant_min);
  scale = std::max(scale, static_cast<float>(eps));
  const double zero = static_cast<double>(quant_min) - static_cast<double>(std::nearbyint(min / scale));
  context.resize(scale_out, Shape(scale_out.sizes()), "scale_out");
  context.resize(zero_point_out, Shape(zero_point_out.sizes()), "zero_point_out");
  if (scale_out.numel() != 1) fail_execution("scale_out: expected one element, got ", describe(scale_out));
  if (zero_point_out.numel() != 1)
    fail_execution("zero_point_out: expected one element, got ", describe(zero_point_out));
  write_parameter(context, scale_out, {static_cast<double>(scale)});
  write_parameter(context, zero_point_out,
                  {std::clamp(zero, static_cast<double>(quant_min), static_cast<double>(quant_max))});
}

void choose_qparams_per_token_asymmetric_out(OpContext& context, const Tensor& input, DType, Tensor& scale_out,
                                             Tensor& zero_point_out) {
  require_floating(input, "input");
  if (input.rank == 0 || input.size(input.rank - 1u) == 0) {
    fail_execution("input: expected rows of at least one element, got shape ", input.sizes());
  }
  constexpr float kMin = -128, kMax = 127;
  const int64_t columns = input.size(input.rank - 1u);
  const int64_t rows = input.numel() / columns;
  const auto* in = row_major_as<float>(context, input);
  std::vector<double> scales, zeros;
  for (int64_t r = 0; r < rows; ++r) {
    const auto [low, high] = std::minmax_element(in + r * columns, in + (r + 1) * columns);
    const float min = std::min(*low, 0.0f);
    const float max = std::max(*high, 0.0f);
    const float scale = std::max((max - min) / (kMax - kMin), std::numeric_limits<float>::epsilon());
    const float low_quanta = min / scale;
    const float high_quanta = max / scale;
    const float zero = (kMin + low_quanta) + (kMax + high_quanta) > 0 ? kMin - low_quanta : kMax - high_quanta;
    scales.push_back(scale);
    zeros.push_back(std::nearbyint(std::clamp(zero, kMin, kMax)));
  }
  Shape shape(input.sizes());
  shape[shape.rank - 1] = 1;
  context.resize(scale_out, shape, "scale_out");
  context.resize(zero_point_out, shape, "zero_point_out");
  write_parameter(context, scale_out, scales);
  write_parameter(context, zero_point_out, zeros);
}

// Rows (tokens) of the last dim, and that there is one parameter for each.
int64_t token_count(const Tensor& input, const Tensor& scales, const Tensor& zero_points) {
  if (input.rank == 0) fail_execution("input: expected at least rank 1");
  const int64_t rows = product(input.sizes(), 0, input.rank - 1u);
  if (scales.numel() != rows) fail_execution("scales: expected ", rows, " elements, got ", describe(scales));
  if (zero_points.numel() != rows)
    fail_execution("zero_points: expected ", rows, " elements, got ", describe(zero_points));
  return rows;
}

void quantize_per_token_out(OpContext& context, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                            int64_t quant_min, int64_t quant_max, DType, Tensor& out) {
  require_floating(input, "input");
  const int64_t rows = token_count(input, scales, zero_points);
  const auto* scale = row_major_as<double>(context, scales);
  const auto* zero = row_major_as<double>(context, zero_points);
  for (int64_t r = 0; r < rows; ++r) check_scale(scale[r], "scales");
  context.resize(out, input.sizes());
  with_storage_type(out.dtype, "out", [&]<class T>() {
    const Range range{quant_min, quant_max};
    check_range<T>(range);
    const auto* in = row_major_as<float>(context, input);
    RowMajorOut result(context, out);
    T* to = result.as<T>();
    const int64_t columns = input.size(input.rank - 1u);
    // float64 scales make the whole sum float64, as type promotion has it.
    const bool is_double = scales.dtype == DType::kFloat64;
    for (int64_t r = 0; r < rows; ++r) {
      const double inverse = is_double ? 1.0 / scale[r] : static_cast<double>(1.0f / static_cast<float>(scale[r]));
      for (int64_t i = r * columns; i < (r + 1) * columns; ++i) {
        const double sum = is_double
                               ? in[i] * inverse + zero[r]
                               : static_cast<double>(in[i] * static_cast<float>(inverse) + static_cast<float>(zero[r]));
        to[i] = saturate<T>(std::nearbyint(sum), range);
      }
    }
    result.commit();
  });
}

void dequantize_per_token_out(OpContext& context, const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                              int64_t, int64_t, DType, DType, Tensor& out) {
  require_floating(out, "out");
  const int64_t rows = token_count(input, scales, zero_points);
  const auto* scale = row_major_as<double>(context, scales);
  const auto* zero = row_major_as<int64_t>(context, zero_points);
  context.resize(out, input.sizes());
  with_storage_type(input.dtype, "input", [&]<class T>() {
    const auto* in = reinterpret_cast<const T*>(row_major(context, input));
    RowMajorOut result(context, out, DType::kFloat64);
    auto* to = result.as<double>();
    const int64_t columns = input.size(input.rank - 1u);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = r * columns; i < (r + 1) * columns; ++i) {
        to[i] = static_cast<double>(int64_t{in[i]} - zero[r]) * scale[r];
      }
    }
    result.commit();
  });
}

void quantized_add_out(OpContext& context, const Tensor& a, double a_scale, int64_t a_zero_point, int64_t, int64_t,
                       const Tensor& b, double b_scale, int64_t b_zero_point, int64_t, int64_t, double out_scale,
                       int64_t out_zero_point, int64_t out_quant_min, int64_t out_quant_max, Tensor& out) {
  require_dtype(b, a.dtype, "b");
  require_dtype(out, a.dtype, "out");
  check_scale(out_scale, "out_scale");
  const Shape shape = broadcast(a.sizes(), b.sizes(), "b");
  context.resize(out, shape);
  with_storage_type(a.dtype, "a", [&]<class T>() {
    const Range range{out_quant_min, out_quant_max};
    check_range<T>(range);
    const auto expanded = [&](const Tensor& tensor) -> const T* {
      if (std::ranges::equal(tensor.sizes(), Sizes(shape)))
        return reinterpret_cast<const T*>(row_major(context, tensor));
      StridedView view(tensor);
      view.expand(shape);
      T* data = context.scratch_of<T>(static_cast<size_t>(out.numel()));
      copy_view(context, StridedView(reinterpret_cast<std::byte*>(data), tensor.dtype, shape), view);
      return data;
    };
    const T* left = expanded(a);
    const T* right = expanded(b);
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
        quantize_many(sums, to + begin, count, inverse, out_zero_point, range);
      }
    });
    result.commit();
  });
}

// --- embeddings of quantised weights ---

// How values lie in a byte of the weight.
struct Packing {
  int values_per_byte;
  int bits;
  bool high_bits_first;
  int offset;  // subtracted from the unsigned field; whole bytes are signed or not, as their dtype says
};
constexpr Packing kBytes{1, 8, false, 0};
constexpr Packing kNibbles{2, 4, true, 8};
constexpr Packing kCrumbs{4, 2, false, 2};

float unpack(const Packing& packing, const std::byte* row, int64_t column, bool is_signed) {
  const auto byte = static_cast<uint8_t>(row[column / packing.values_per_byte]);
  if (packing.bits == 8) return is_signed ? static_cast<float>(static_cast<int8_t>(byte)) : static_cast<float>(byte);
  const auto place = static_cast<int>(column % packing.values_per_byte);
  const int shift = packing.bits * (packing.high_bits_first ? packing.values_per_byte - 1 - place : place);
  return static_cast<float>(((byte >> shift) & ((1 << packing.bits) - 1)) - packing.offset);
}

void embed(OpContext& context, const Packing& packing, const Tensor& weight, const Tensor& scales,
           const Tensor* zero_points, const Tensor& indices, Tensor& out) {
  require_rank(weight, 2, "weight");
  if (weight.dtype != DType::kUInt8 && weight.dtype != DType::kInt8) {
    fail_execution("weight: expected uint8 or int8, got ", dtype_name(weight.dtype));
  }
  require_index_dtype(indices, "indices");
  require_floating(out, "out");
  const int64_t rows = weight.size(0);
  const int64_t columns = weight.size(1) * packing.values_per_byte;
  if ((scales.rank != 1 && scales.rank != 2) || scales.size(0) != rows) {
    fail_execution("weight_scales: expected [", rows, "] or [", rows, ", groups], got shape ", scales.sizes());
  }
  if (zero_points != nullptr) require_sizes(*zero_points, scales.sizes(), "weight_zero_points");
  const int64_t groups = scales.rank == 2 ? scales.size(1) : 1;
  if (groups < 1 || columns % groups != 0) {
    fail_execution("weight_scales: ", groups, " groups do not divide rows of ", columns, " values");
  }
  const auto* index = row_major_as<int64_t>(context, indices);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    if (index[i] < 0 || index[i] >= rows) fail_execution("indices: ", index[i], " is out of range for ", rows, " rows");
  }
  Shape shape(indices.sizes());
  shape.push_back(columns);
  context.resize(out, shape);
  const std::byte* data = row_major(context, weight);
  const auto* scale = row_major_as<float>(context, scales);
  const auto* zero = zero_points == nullptr ? nullptr : row_major_as<float>(context, *zero_points);
  RowMajorOut result(context, out, DType::kFloat32);
  auto* to = result.as<float>();
  const int64_t group_size = columns / groups;
  const bool is_signed = weight.dtype == DType::kInt8;
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const std::byte* row = data + index[i] * weight.size(1);
    for (int64_t k = 0; k < columns; ++k) {
      const int64_t at = index[i] * groups + k / group_size;
      *to++ = (unpack(packing, row, k, is_signed) - (zero == nullptr ? 0.0f : zero[at])) * scale[at];
    }
  }
  result.commit();
}

template <const Packing& packing>
void embedding_out(OpContext& context, const Tensor& weight, const Tensor& scales, const Tensor* zero_points, int64_t,
                   int64_t, const Tensor& indices, Tensor& out) {
  embed(context, packing, weight, scales, zero_points, indices, out);
}
template <const Packing& packing>
void embedding_dtype_out(OpContext& context, const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                         int64_t, int64_t, const Tensor& indices, std::optional<DType>, Tensor& out) {
  embed(context, packing, weight, scales, zero_points, indices, out);
}

// --- products of float rows and 8-bit weights ---

void mixed_mm_out(OpContext& context, const Tensor& input, const Tensor& weight, const Tensor& scales,
                  const Tensor* zero_points, Tensor& out) {
  require_rank(input, 2, "input");
  require_rank(weight, 2, "weight");
  require_dtype(weight, DType::kInt8, "weight");
  require_floating(input, "input");
  require_dtype(out, input.dtype, "out");
  if (input.size(1) != weight.size(0)) {
    fail_execution("weight: shapes ", input.sizes(), " and ", weight.sizes(), " do not multiply");
  }
  const int64_t inner = weight.size(0);
  const int64_t columns = weight.size(1);
  require_sizes(scales, Sizes(&inner, 1), "weight_scales");
  if (zero_points != nullptr) require_sizes(*zero_points, Sizes(&inner, 1), "weight_zero_points");
  context.resize(out, {input.size(0), columns});
  const auto* in = row_major_as<float>(context, input);
  const auto* w = reinterpret_cast<const int8_t*>(row_major(context, weight));
  const auto* scale = row_major_as<float>(context, scales);
  const auto* zero = zero_points == nullptr ? nullptr : row_major_as<float>(context, *zero_points);
  RowMajorOut result(context, out, DType::kFloat32);
  auto* to = result.as<float>();
  std::fill(to, to + out.numel(), 0.0f);
  for (int64_t m = 0; m < input.size(0); ++m) {
    for (int64_t k = 0; k < inner; ++k) {
      const float x = in[m * inner + k] * scale[k];
      const float z = zero == nullptr ? 0.0f : zero[k];
      for (int64_t n = 0; n < columns; ++n) to[m * columns + n] += x * (static_cast<float>(w[k * columns + n]) - z);
    }
  }
  result.commit();
}

void mixed_linear_out(OpContext& context, const Tensor& input, const Tensor& weight, const Tensor& scales,
                      const Tensor* zero_points, std::optional<DType>, Tensor& out) {
  require_rank(weight, 2, "weight");
  require_dtype(weight, DType::kInt8, "weight");
  require_floating(input, "input");
  require_floating(out, "out");
  const int64_t inner = weight.size(1);
  const int64_t columns = weight.size(0);
  if (input.rank == 0 || input.size(input.rank - 1u) != inner) {
    fail_execution("input: the last size of ", input.sizes(), " must be ", inner);
  }
  if ((scales.rank != 1 && scales.rank != 2) || scales.size(0) != columns) {
    fail_execution("weight_scales: expected [", columns, "] or [", columns, ", groups], got shape ", scales.sizes());
  }
  const int64_t groups = scales.rank == 2 ? scales.size(1) : 1;
  if (groups < 1) fail_execution("weight_scales: expected at least one group, got shape ", scales.sizes());
  if (zero_points != nullptr) require_sizes(*zero_points, scales.sizes(), "weight_zero_points");
  const int64_t group_size = (inner + groups - 1) / groups;
  Shape shape(input.sizes());
  shape[shape.rank - 1] = columns;
  context.resize(out, shape);
  const auto* in = row_major_as<float>(context, input);
  const auto* w = reinterpret_cast<const int8_t*>(row_major(context, weight));
  const auto* scale = row_major_as<float>(context, scales);
  const auto* zero = zero_points == nullptr ? nullptr : row_major_as<float>(context, *zero_points);
  RowMajorOut result(context, out, DType::kFloat32);
  auto* to = result.as<float>();
  for (int64_t m = 0; m < product(input.sizes(), 0, input.rank - 1u); ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      float total = 0;
      for (int64_t g = 0; g < groups; ++g) {
        const float z = zero == nullptr ? 0.0f : zero[n * groups + g];
        float sum = 0;
        for (int64_t k = g * group_size; k < std::min(inner, (g + 1) * group_size); ++k) {
          sum += in[m * inner + k] * (static_cast<float>(w[n * inner + k]) - z);
        }
        total += sum * scale[n * groups + g];
      }
      *to++ = total;
    }
  }
  result.commit();
}

}  // namespace

void register_quantized(OperatorTable& table) {
  table.add<quantize_per_tensor_out>("quantized_decomposed::quantize_per_tensor.out");
  table.add<quantize_per_tensor_tensor_out>("quantized_decomposed::quantize_per_tensor.Tensor_out");
  table.add<dequantize_per_tensor_out>("quantized_decomposed::dequantize_per_tensor.out");
  table.add<dequantize_per_tensor_tensor_out>("quantized_decomposed::dequantize_per_tensor.Tensor_out");
  table.add<quantize_per_channel_out>("quantized_decomposed::quantize_per_channel.out");
  table.add<dequantize_per_channel_out>("quantized_decomposed::dequantize_per_channel.out");
  table.add<choose_qparams_out>("quantized_decomposed::choose_qparams.Tensor_out");
  table.add<choose_qparams_per_token_asymmetric_out>("quantized_decomposed::choose_qparams_per_token_asymmetric.out");
  table.add<quantize_per_token_out>("quantized_decomposed::quantize_per_token.out");
  table.add<dequantize_per_token_out>("quantized_decomposed::dequantize_per_token.out");
  table.add<quantized_add_out>("quantized_decomposed::add.out");
  table.add<embedding_out<kBytes>>("quantized_decomposed::embedding_byte.out");
  table.add<embedding_dtype_out<kBytes>>("quantized_decomposed::embedding_byte.dtype_out");
  table.add<embedding_out<kNibbles>>("quantized_decomposed::embedding_4bit.out");
  table.add<embedding_dtype_out<kNibbles>>("quantized_decomposed::embedding_4bit.dtype_out");
  table.add<embedding_out<kCrumbs>>("quantized_decomposed::embedding_2bit.out");
  table.add<embedding_dtype_out<kCrumbs>>("quantized_decomposed::embedding_2bit.dtype_out");
  table.add<mixed_mm_out>("quantized_decomposed::mixed_mm.out");
  table.add<mixed_linear_out>("quantized_decomposed::mixed_linear.out");
}

}  // namespace enr::ops
