// What programs quantised before export do around their float operators. Weights stay integers, for the nodes that
// compute with them; others read them dequantised once.

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/mapped_pages.h"
#include "kernels/quantize/quantize.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

using graph::Quantization;
using graph::Shape;
using graph::ValueId;

// Scale and zero point at arguments 1 and 2, of all values of the dtype.
Quantization parameters(const Call& call, DType dtype) {
  const bool is_signed = dtype == DType::kInt8;
  Quantization q;
  q.kind = Quantization::Kind::kPerTensor;
  q.scale = static_cast<float>(call.number(1));
  const int64_t zero_point = call.integer(2), lowest = is_signed ? -128 : 0;
  if ((!is_signed && dtype != DType::kUInt8) || !std::isfinite(q.scale) || q.scale <= 0 || zero_point < lowest ||
      zero_point > lowest + 255) {
    fail_execution("parameters");
  }
  q.zero_point = static_cast<int32_t>(zero_point);
  return q;
}

void quantize(RegionBuilder& region, const Call& call) {
  const Raised self = region.read(call.value(0));
  const DType dtype = call.tensor(6).dtype;
  const Quantization q = parameters(call, dtype);
  const int64_t lowest = dtype == DType::kInt8 ? -128 : 0;
  if (call.integer(3) != lowest || call.integer(4) != lowest + 255) fail_execution("limits");
  const ValueId out = region.emit(graph::Op::kConvert, {self.id});
  region.graph.values[out].dtype = dtype;
  region.graph.values[out].quantization = q;
  region.define(call.value(6), {out, self.order});
}

bool is_quantized_constant(const program::Tensor& tensor) {
  return tensor.storage == program::Storage::kConstant && tensor.size_bytes != 0 &&
         (tensor.dtype == DType::kInt8 || tensor.dtype == DType::kUInt8 || tensor.dtype == DType::kInt32) &&
         tensor.sizes.size() <= graph::kMaxRank && std::is_sorted(tensor.dim_order.begin(), tensor.dim_order.end());
}

void dequantize_per_tensor(RegionBuilder& region, const Call& call) {
  const program::Tensor& tensor = call.tensor(0);
  const Quantization q = parameters(call, tensor.dtype);
  if (is_quantized_constant(tensor)) return region.define(call.value(7), region.quantized_constant(tensor, q));
  const Raised self = region.read_quantized(call.value(0), q);
  region.define(call.value(7), {region.emit(graph::Op::kConvert, {self.id}), self.order});
}

template <class T>
std::span<const T> constant_vector(const program::Tensor& tensor, DType dtype, int64_t count) {
  if (tensor.storage != program::Storage::kConstant || tensor.dtype != dtype ||
      tensor.size_bytes != static_cast<uint64_t>(count) * dtype_size(dtype) ||
      !std::is_sorted(tensor.dim_order.begin(), tensor.dim_order.end())) {
    fail_execution("parameters");
  }
  return {reinterpret_cast<const T*>(tensor.bytes.data()), static_cast<size_t>(count)};
}

// Whether a constant of `count` integers is zero.
bool is_zero(const program::Tensor& tensor, int64_t count) {
  return tensor.storage == program::Storage::kConstant && is_integer(tensor.dtype) &&
         tensor.size_bytes == static_cast<uint64_t>(count) * dtype_size(tensor.dtype) &&
         std::all_of(tensor.bytes.begin(), tensor.bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::vector<float> constant_scales(const program::Tensor& tensor, int64_t count) {
  std::vector<float> scales;
  if (tensor.dtype == DType::kFloat64) {
    for (const double scale : constant_vector<double>(tensor, DType::kFloat64, count))
      scales.push_back(static_cast<float>(scale));
  } else {
    const auto floats = constant_vector<float>(tensor, DType::kFloat32, count);
    scales.assign(floats.begin(), floats.end());
  }
  return scales;
}

// Of channels with zero points of their own, in row-major order; `inner` elements have one scale.
template <class T>
void dequantize(const program::Tensor& tensor, std::span<const float> scales, std::span<const int64_t> zero_points,
                size_t inner, std::byte* out) {
  const auto* integers = reinterpret_cast<const T*>(tensor.bytes.data());
  auto* floats = reinterpret_cast<float*>(out);
  const size_t runs = tensor.size_bytes / sizeof(T) / inner;
  for (size_t i = 0; i < runs; ++i) {
    const size_t channel = i % scales.size();
    const auto zero_point = static_cast<float>(zero_points[channel]);
    kernels::dequantize_by(integers + i * inner, floats + i * inner, inner, scales[channel], zero_point);
  }
}

ValueId dequantized(RegionBuilder& region, const program::Tensor& tensor, std::span<const float> scales,
                    std::span<const int64_t> zero_points, size_t inner) {
  std::string how = concat("dequantized ", static_cast<int>(tensor.dtype), " each ", inner, ' ');
  how.append(reinterpret_cast<const char*>(scales.data()), scales.size_bytes());
  how.append(reinterpret_cast<const char*>(zero_points.data()), zero_points.size_bytes());
  return region.derive(DType::kFloat32, Shape(tensor.sizes), tensor.bytes.data(), how, [&](std::byte* out) {
    if (tensor.dtype == DType::kInt8) dequantize<int8_t>(tensor, scales, zero_points, inner, out);
    if (tensor.dtype == DType::kUInt8) dequantize<uint8_t>(tensor, scales, zero_points, inner, out);
    if (tensor.dtype == DType::kInt32) dequantize<int32_t>(tensor, scales, zero_points, inner, out);
    release_pages(tensor.bytes.data(), tensor.size_bytes);
  });
}

void dequantize_per_channel(RegionBuilder& region, const Call& call) {
  const program::Tensor& tensor = call.tensor(0);
  if (!is_quantized_constant(tensor)) fail_execution("not a constant");
  const graph::Shape sizes(tensor.sizes);
  const size_t axis = call.dim(3, sizes.rank());
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (!call.is_none(i) && call.tensor(i).sizes.size() != 1) fail_execution("parameters");
  }
  std::vector<float> scales = constant_scales(call.tensor(1), sizes[axis]);
  std::span<const int64_t> zero_points;
  if (!call.is_none(2)) zero_points = constant_vector<int64_t>(call.tensor(2), DType::kInt64, sizes[axis]);
  if (std::any_of(zero_points.begin(), zero_points.end(), [](int64_t point) { return point != 0; })) {
    const auto inner = static_cast<size_t>(sizes.product(axis + 1, sizes.rank()));
    return region.define(call.value(8),
                         {dequantized(region, tensor, scales, zero_points, inner), row_major(sizes.rank())});
  }
  Quantization q;
  q.kind = Quantization::Kind::kPerChannel;
  q.scales = std::make_shared<const std::vector<float>>(std::move(scales));
  q.channel_dim = static_cast<uint8_t>(axis);
  region.define(call.value(8), region.quantized_constant(tensor, q));
}

// Blocks of `group` inputs of each output.
void dequantize_per_channel_group(RegionBuilder& region, const Call& call) {
  const program::Tensor& tensor = call.tensor(0);
  if (!is_quantized_constant(tensor) || tensor.sizes.size() != 2) fail_execution("not a constant matrix");
  const int64_t columns = tensor.sizes[1], group = std::min(call.integer(6), columns);
  if (group < 2 || columns % group != 0) fail_execution("groups");
  const int64_t blocks = columns / group, count = tensor.sizes[0] * blocks;
  Quantization q;
  q.kind = blocks == 1 ? Quantization::Kind::kPerChannel : Quantization::Kind::kPerBlock;
  q.scales = std::make_shared<const std::vector<float>>(constant_scales(call.tensor(1), count));
  q.group_size = static_cast<uint32_t>(group);
  if (!call.is_none(2) && !is_zero(call.tensor(2), count)) fail_execution("zero points");
  region.define(call.value(8), region.quantized_constant(tensor, q));
}

// Parameters found at run time have no nodes, nor have the integers: a pair of nodes quantises and dequantises.

Raised with_meaning(Raised of, Meaning meaning) {
  of.meaning = meaning;
  return of;
}

void choose_parameters(RegionBuilder& region, const Call& call) {
  Raised self = region.read(call.value(0));
  if (call.integer(1) != -128 || call.integer(2) != 127) fail_execution("limits");
  self.epsilon = static_cast<float>(call.number(3));
  region.define_unwritten(call.value(5), with_meaning(self, Meaning::kScale), {1}, DType::kFloat64);
  region.define_unwritten(call.value(6), with_meaning(self, Meaning::kZeroPoint), {1}, DType::kInt64);
}

// Of every row: the parameters XNNPACK finds.
void choose_row_parameters(RegionBuilder& region, const Call& call) {
  Raised self = region.read(call.value(0));
  if (self.order.rank() == 0) fail_execution("a scalar");
  self.by_row = true;
  Shape sizes = region.sizes(self);
  sizes.back() = 1;
  const DType dtype = call.tensor(2).dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) fail_execution("scales");
  region.define_unwritten(call.value(2), with_meaning(self, Meaning::kScale), sizes, dtype);
  region.define_unwritten(call.value(3), with_meaning(self, Meaning::kZeroPoint), sizes, DType::kInt64);
}

// The value with how it is quantised, which the parameters at arguments 1 and 2 must be of.
Raised with_parameters(RegionBuilder& region, const Call& call, Raised value, bool by_row) {
  const Raised scale = region.read_condition(call.value(1)), zero_point = region.read_condition(call.value(2));
  if (scale.meaning != Meaning::kScale || zero_point.meaning != Meaning::kZeroPoint || scale.id != value.id ||
      zero_point.id != value.id || scale.epsilon != zero_point.epsilon || scale.by_row != by_row ||
      zero_point.by_row != by_row) {
    fail_execution("parameters of something else");
  }
  value.by_row = by_row;
  value.epsilon = scale.epsilon;
  return value;
}

template <bool by_row>
void quantize_at_run_time(RegionBuilder& region, const Call& call) {
  const Raised self = with_parameters(region, call, region.read(call.value(0)), by_row);
  if (call.integer(3) != -128 || call.integer(4) != 127) fail_execution("limits");
  region.define_unwritten(call.value(6), with_meaning(self, Meaning::kIntegers), region.sizes(self), DType::kInt8);
}

template <bool by_row>
void dequantize_at_run_time(RegionBuilder& region, const Call& call) {
  const Raised self = region.read_condition(call.value(0));
  const Raised expected = with_parameters(region, call, self, by_row);
  if (self.meaning != Meaning::kIntegers || self.by_row != by_row || self.epsilon != expected.epsilon)
    fail_execution("parameters of something else");
  if (self.order.rank() == 0) fail_execution("a scalar");
  const Order order = by_row ? row_major(self.order.rank()) : self.order;
  graph::Attributes attributes;
  if (!by_row) attributes = graph::ChosenAttributes{self.epsilon};
  const ValueId real = region.arrange({self.id, self.order}, order);
  const ValueId integers = region.emit(graph::Op::kConvert, {real}, attributes);
  region.graph.values[integers].dtype = DType::kInt8;
  region.graph.values[integers].quantization.kind = Quantization::Kind::kPerRow;
  region.define(call.value(7), {region.emit(graph::Op::kConvert, {integers}), order});
}

constexpr NamedTranslation kRows[] = {
    {"quantized_decomposed::choose_qparams.Tensor_out", choose_parameters},
    {"quantized_decomposed::quantize_per_tensor.Tensor_out", quantize_at_run_time<false>},
    {"quantized_decomposed::dequantize_per_tensor.Tensor_out", dequantize_at_run_time<false>},
    {"quantized_decomposed::choose_qparams_per_token_asymmetric.out", choose_row_parameters},
    {"quantized_decomposed::quantize_per_token.out", quantize_at_run_time<true>},
    {"quantized_decomposed::dequantize_per_token.out", dequantize_at_run_time<true>},
    {"quantized_decomposed::quantize_per_tensor.out", quantize},
    {"quantized_decomposed::dequantize_per_tensor.out", dequantize_per_tensor},
    {"quantized_decomposed::dequantize_per_channel.out", dequantize_per_channel},
    {"quantized_decomposed::dequantize_per_channel_group.out", dequantize_per_channel_group},
};

}  // namespace

Translation find_quantized(std::string_view name) noexcept { return find_in(kRows, name); }

}  // namespace enr::raise
