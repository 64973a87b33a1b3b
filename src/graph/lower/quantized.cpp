#include "graph/lower/quantized.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace enr::graph {

void fail_no_kernel(const Lowering& lowering, const Node& node) {
  std::string dtypes;
  const auto list = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id == kNoValue) continue;
      dtypes += concat(' ', dtype_name(lowering.value(id).dtype), lowering.value(id).is_constant() ? " constant" : "");
    }
  };
  list(node.inputs);
  dtypes += " ->";
  list(node.outputs);
  fail_execution("node ", node.origin, " (", op_name(node.op), "): no kernel for", dtypes);
}

std::vector<float> filter_scales(const Value& filter) {
  if (filter.quantization.scales != nullptr) return *filter.quantization.scales;
  return {filter.quantization.scale};
}

std::vector<float> requantization_scales(const Lowering& lowering, const Node& node, ValueId in) {
  const float input_scale = lowering.value(in).quantization.scale;
  const float output_scale = lowering.value(node.outputs[0]).quantization.scale;
  std::vector<float> scales = filter_scales(lowering.value(node.inputs[1]));
  for (float& scale : scales) scale = kernels::requantization_scale(input_scale, scale, output_scale);
  return scales;
}

std::string scales_key(const std::vector<float>& scales) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const float scale : scales) hash = (hash ^ std::bit_cast<uint32_t>(scale)) * 1099511628211u;
  return concat(scales.size(), " scales ", hash);
}

StaticBias static_bias(const Lowering& lowering, const Node& node, ValueId in) {
  StaticBias bias;
  if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return bias;
  const Value& value = lowering.value(node.inputs[2]);
  if (!value.is_constant()) fail_no_kernel(lowering, node);
  bias.source = value.data;
  const auto count = static_cast<size_t>(value.shape.numel());
  if (value.dtype == DType::kInt32) {
    const auto* sums = reinterpret_cast<const int32_t*>(value.data);
    bias.sums.assign(sums, sums + count);
    return bias;
  }
  if (value.dtype != DType::kFloat32) fail_no_kernel(lowering, node);
  const auto* reals = reinterpret_cast<const float*>(value.data);
  const double in_scale = lowering.value(in).quantization.scale;
  const double out_scale = lowering.value(node.outputs[0]).quantization.scale;
  const std::vector<float> scales = filter_scales(lowering.value(node.inputs[1]));
  for (size_t i = 0; i < count; ++i) {
    const double quantum = in_scale * static_cast<double>(scales[scales.size() == 1 ? 0 : i]);
    const double whole = std::clamp(std::nearbyint(double{reals[i]} / quantum), -0x1p30, 0x1p30);
    bias.sums.push_back(static_cast<int32_t>(whole));
    bias.offsets.push_back(static_cast<float>((double{reals[i]} - whole * quantum) / out_scale));
  }
  return bias;
}

const float* constant_bias(const Lowering& lowering, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return nullptr;
  const Value& value = lowering.value(node.inputs[2]);
  if (!value.is_constant() || value.dtype != DType::kFloat32) fail_no_kernel(lowering, node);
  return reinterpret_cast<const float*>(value.data);
}

void lower_quantized(Lowering& lowering, const Node& node) {
  if (node.producer != nullptr) return lower_quantized_bands(lowering, node);
  switch (node.op) {
    case Op::kConv:
    case Op::kConvTranspose:
      return lower_quantized_conv(lowering, node);
    case Op::kDepthwise:
      return lower_quantized_depthwise(lowering, node);
    case Op::kFullyConnected:
      return lower_quantized_fully_connected(lowering, node);
    case Op::kBinary:
      return lower_quantized_binary(lowering, node);
    case Op::kUnary:
      return lower_quantized_unary(lowering, node);
    case Op::kAveragePool:
    case Op::kMaxPool:
    case Op::kGlobalAverage:
      return lower_quantized_pool(lowering, node);
    case Op::kResizeBilinear:
      return lower_quantized_resize(lowering, node);
    default:
      fail_no_kernel(lowering, node);
  }
}

}  // namespace enr::graph
