// Constants of a region: those of the program, and those made of others; and integers that are computed as reals.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"
#include "graph/passes.h"
#include "kernels/convert/convert.h"
#include "kernels/elementwise/driver.h"
#include "program/overlap.h"
#include "raise/region_builder.h"

namespace enr::raise {

using graph::kNoValue;
using graph::Op;
using graph::Shape;
using graph::ValueId;

const float* RegionBuilder::constant_data(const Raised& raised) const {
  if (!is_constant(raised)) fail_execution("value is not constant");
  return reinterpret_cast<const float*>(graph.values[raised.id].data);
}

Raised RegionBuilder::read_converted(uint32_t value) {
  const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
  if (tensor == nullptr || tensor->storage != program::Storage::kConstant ||
      (!is_floating(tensor->dtype) && !is_integer(tensor->dtype) && !is_bool(tensor->dtype)) ||
      tensor->sizes.size() > graph::kMaxRank || tensor->size_bytes == 0) {
    fail_execution("value ", value, " is not a constant of numbers");
  }
  Raised raised;
  Shape shape;
  for (const uint8_t dim : tensor->dim_order) {
    raised.order.push_back(dim);
    shape.push_back(tensor->sizes[dim]);
  }
  const std::byte* data = tensor->bytes.data();
  raised.id = derive(
      DType::kFloat32, shape, data, concat("converted ", static_cast<int>(tensor->dtype)), [&](std::byte* floats) {
        kernels::convert(tensor->dtype, data, DType::kFloat32, floats, static_cast<size_t>(shape.numel()));
      });
  return raised;
}

ValueId RegionBuilder::derive(DType dtype, const Shape& shape, const void* source, const std::string& how,
                              FunctionRef<void(std::byte*)> fill) {
  reserve(static_cast<uint64_t>(shape.numel()) * dtype_size(dtype));
  return graph.derive(dtype, shape, source, how, fill);
}

void RegionBuilder::reserve(uint64_t size_bytes) {
  if (size_bytes > constant_bytes_) fail_execution("too many constants in other layouts");
  constant_bytes_ -= size_bytes;
}

Raised RegionBuilder::quantized_constant(const program::Tensor& tensor, const graph::Quantization& quantization) {
  const Shape sizes(tensor.sizes);
  const ValueId id = graph.add_constant(tensor.dtype, sizes, nullptr, tensor.bytes.data());
  graph.values[id].quantization = quantization;
  return {id, row_major(sizes.rank())};
}

ValueId RegionBuilder::dequantized(ValueId id) {
  if (!graph::is_quantized_constant(graph.values[id])) return id;
  ValueId& known = arranged_.try_emplace({id, "floats"}, kNoValue).first->second;
  if (known == kNoValue) {
    reserve(static_cast<uint64_t>(graph.values[id].shape.numel()) * sizeof(float));
    known = graph::add_dequantized(graph, id);
  }
  return known;
}

ValueId RegionBuilder::constant(const Shape& shape, std::span<const float> floats) {
  const std::string content =
      "floats " + std::string(reinterpret_cast<const char*>(floats.data()), floats.size_bytes());
  return derive(DType::kFloat32, shape, nullptr, content,
                [&](std::byte* data) { std::memcpy(data, floats.data(), floats.size_bytes()); });
}

namespace {

// The levels of a constant, as reals: their scale is 1.
graph::Quantization plain_levels() {
  graph::Quantization q;
  q.kind = graph::Quantization::Kind::kPerTensor;
  return q;
}

bool is_zero(const graph::Value& value) {
  const size_t size_bytes = static_cast<size_t>(value.shape.numel()) * dtype_size(value.dtype);
  return value.quantization.zero_point == 0 &&
         std::all_of(value.data, value.data + size_bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// Whether b has a's sizes, or 1 in place of some.
bool spreads_over(const Shape& b, const Shape& a) {
  if (b.rank() > a.rank()) return false;
  for (size_t i = 0; i < b.rank(); ++i) {
    if (b[b.rank() - 1 - i] != 1 && b[b.rank() - 1 - i] != a[a.rank() - 1 - i]) return false;
  }
  return true;
}

}  // namespace

bool RegionBuilder::is_levels(uint32_t value) {
  if (const auto known = raised_.find(value); known != raised_.end()) return known->second.meaning == Meaning::kLevels;
  const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
  if (tensor != nullptr && program::is_placed(*tensor) && is_integer(tensor->dtype)) {
    const Raised* alias = find_alias(value);
    return alias != nullptr && alias->meaning == Meaning::kLevels;
  }
  return tensor != nullptr && tensor->storage == program::Storage::kConstant && tensor->size_bytes != 0 &&
         (tensor->dtype == DType::kInt8 || tensor->dtype == DType::kUInt8) && tensor->sizes.size() <= graph::kMaxRank &&
         std::is_sorted(tensor->dim_order.begin(), tensor->dim_order.end());
}

Raised RegionBuilder::read_levels(uint32_t value) {
  if (const auto known = raised_.find(value); known != raised_.end()) return known->second;
  Raised raised = quantized_constant(std::get<program::Tensor>(method_.values[value]), plain_levels());
  raised.meaning = Meaning::kLevels;
  set(value, raised);
  return raised;
}

const graph::Node* RegionBuilder::writer(ValueId id) const {
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const graph::Node& node = graph.nodes[n];
    if (node.outputs[0] != id) continue;
    if (node.op != Op::kReshape) return &node;
    id = node.inputs[0];
  }
  return nullptr;
}

bool RegionBuilder::is_whole(ValueId id, int depth) const {
  const graph::Value& value = graph.values[id];
  if (value.is_constant()) {
    if (value.dtype != DType::kFloat32) return value.quantization.scale == 1 && value.quantization.scales == nullptr;
    const float number = *reinterpret_cast<const float*>(value.data);
    return value.shape.numel() == 1 && std::nearbyint(number) == number;
  }
  const graph::Node* node = writer(id);
  if (node == nullptr || depth == 0) return false;
  if (node->op == Op::kBinary) {
    const kernels::Binary op = node->as<graph::BinaryAttributes>().op;
    return (op == kernels::Binary::kAdd || op == kernels::Binary::kSub) && is_whole(node->inputs[0], depth - 1) &&
           is_whole(node->inputs[1], depth - 1);
  }
  if (node->op != Op::kUnary) return false;
  const auto& unary = node->as<graph::UnaryAttributes>();
  if (unary.op == kernels::Unary::kRound) return true;
  const kernels::LoopParams& params = unary.params;
  return unary.op == kernels::Unary::kClamp && std::nearbyint(params.a) == params.a &&
         std::nearbyint(params.b) == params.b && is_whole(node->inputs[0], depth - 1);
}

bool RegionBuilder::has_levels(ValueId id, DType dtype) const {
  constexpr int kMaxDepth = 8;
  const graph::Node* node = writer(id);
  if (node == nullptr || node->op != Op::kUnary) return false;
  const auto& unary = node->as<graph::UnaryAttributes>();
  const bool is_unsigned = dtype == DType::kUInt8;
  const double low = is_unsigned ? 0 : -128, high = is_unsigned ? 255 : 127;
  return unary.op == kernels::Unary::kClamp && unary.params.a >= low && unary.params.b <= high &&
         is_whole(id, kMaxDepth);
}

std::optional<Raised> RegionBuilder::difference(const Raised& a, const Raised& b) const {
  if (!is_constant(a) || !is_constant(b) || !spreads_over(sizes(b), sizes(a)) || !is_zero(graph.values[b.id]))
    return std::nullopt;
  return a;
}

std::optional<Raised> RegionBuilder::scaled_levels(const Raised& a, const Raised& factors) {
  const graph::Value levels = graph.values[a.id];
  const Shape of_levels = sizes(a), of_factors = sizes(factors);
  const size_t rank = of_levels.rank();
  if (!levels.is_constant() || levels.quantization.kind != graph::Quantization::Kind::kPerTensor ||
      levels.quantization.zero_point != 0 || !is_constant(factors) ||
      graph.values[factors.id].dtype != DType::kFloat32 || of_factors.rank() != rank || rank < 2 ||
      !(a.order == row_major(rank)) || !(factors.order == row_major(rank))) {
    return std::nullopt;
  }
  for (size_t d = 0; d < rank; ++d) {
    if (of_factors[d] != (d + 1 < rank ? of_levels[d] : 1)) return std::nullopt;
  }
  graph::Quantization q;
  q.kind = rank == 2 ? graph::Quantization::Kind::kPerChannel : graph::Quantization::Kind::kPerBlock;
  q.group_size = static_cast<uint32_t>(of_levels.back());
  const float* from = constant_data(factors);
  std::vector<float> scales(from, from + numel(factors));
  for (float& scale : scales) scale *= levels.quantization.scale;
  q.scales = std::make_shared<const std::vector<float>>(std::move(scales));
  const ValueId id = graph.add_constant(levels.dtype, levels.shape, levels.owner, levels.data);
  graph.values[id].quantization = std::move(q);
  return Raised{id, a.order};
}

ValueId RegionBuilder::fold(const graph::Node& node) {
  if (node.op != Op::kBinary && node.op != Op::kUnary) return kNoValue;
  const Shape shape = graph.values[node.outputs[0]].shape;
  std::string how;
  bool grows = true;
  for (const ValueId id : node.inputs) {
    const graph::Value& in = graph.values[id];
    if (!in.is_constant() || in.dtype != DType::kFloat32) return kNoValue;
    grows &= in.shape.numel() < shape.numel();
    how += concat(' ', static_cast<const void*>(in.data), ' ', in.shape.dims());
  }
  if (grows) return kNoValue;  // what repeats elements takes more memory than time
  kernels::Loop loop;
  kernels::LoopParams params;
  if (node.op == Op::kBinary) {
    const kernels::Binary op = node.as<graph::BinaryAttributes>().op;
    loop = kernels::binary_loop(op, DType::kFloat32);
    how += concat(" binary ", static_cast<int>(op));
  } else {
    const auto& unary = node.as<graph::UnaryAttributes>();
    loop = kernels::unary_loop(unary.op, DType::kFloat32);
    params = unary.params;
    how += concat(" unary ", static_cast<int>(unary.op), ' ', std::bit_cast<uint64_t>(params.a), ' ',
                  std::bit_cast<uint64_t>(params.b));
  }
  return derive(DType::kFloat32, shape, graph.values[node.inputs[0]].data, how, [&](std::byte* data) {
    std::array<std::array<int64_t, graph::kMaxRank>, 2> strides{};
    std::array<int64_t, graph::kMaxRank> out_strides{};
    std::array<kernels::ConstStrided, 2> in;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const graph::Value& value = graph.values[node.inputs[i]];
      kernels::broadcast_strides(shape.dims(), value.shape.dims(), nullptr, strides[i].data());
      in[i] = {value.data, loop.in[i], strides[i].data()};
    }
    kernels::broadcast_strides(shape.dims(), shape.dims(), nullptr, out_strides.data());
    kernels::run_elementwise(loop, params, shape.dims(), {data, loop.out, out_strides.data()},
                             {in.data(), node.inputs.size()});
  });
}

}  // namespace enr::raise
