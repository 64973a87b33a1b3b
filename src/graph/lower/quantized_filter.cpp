#include "graph/lower/quantized_filter.h"

namespace enr::graph {

kernels::QConvWeights filter_weights(const Lowering& lowering, const Node& node) {
  const Value& filter = lowering.value(node.inputs[1]);
  if (!filter.is_constant() || (filter.dtype != DType::kInt8 && filter.dtype != DType::kUInt8)) {
    fail_no_kernel(lowering, node);
  }
  const bool is_unsigned = filter.dtype == DType::kUInt8;
  return {is_unsigned ? kernels::QWeightType::kUInt8 : kernels::QWeightType::kInt8, filter.data,
          is_unsigned ? filter.quantization.zero_point : 0};
}

std::string conv_packing(const kernels::ConvShape& s, kernels::QConvFormat format) {
  static constexpr const char* kNames[] = {"conv ", "conv winograd 2 ", "conv winograd 4 ", "conv lines "};
  return concat(kNames[static_cast<size_t>(format)], s.output_channels, 'x', s.kernel_height, 'x', s.kernel_width, 'x',
                s.input_channels, '/', s.groups);
}

StaticFilter pack_static(
    const Lowering& lowering, const Node& node, ValueId in, const std::string& packing, size_t packed_bytes,
    FunctionRef<void(const kernels::QConvWeights&, const int32_t*, const kernels::QStatic&, void*)> fill) {
  const Value& input = lowering.value(in);
  const kernels::QConvWeights weights = filter_weights(lowering, node);
  const std::vector<float> scales = requantization_scales(lowering, node, in);
  const StaticBias bias = static_bias(lowering, node, in);
  const kernels::QStatic quantization{input.dtype == DType::kUInt8, input.quantization.zero_point, scales.data(),
                                      scales.size(), bias.offsets_data()};
  StaticFilter filter;
  filter.packed = lowering.pack(
      node.inputs[1],
      concat('q', packing, ' ', static_cast<int>(weights.type), ' ', weights.zero_point, ' ', quantization.is_unsigned,
             ' ', quantization.input_zero_point, ' ', scales_key(scales), " bias ", bias.source),
      packed_bytes, [&](void* packed) { fill(weights, bias.sums_data(), quantization, packed); });
  filter.output = quantized_output(lowering.value(node.outputs[0]), node.post);
  filter.input_zero_point = input.quantization.zero_point;
  return filter;
}

StaticFilter pack_static_depthwise(const Lowering& lowering, const Node& node, ValueId in,
                                   const kernels::DepthwiseShape& s) {
  return pack_static(lowering, node, in,
                     concat("depthwise ", s.channels, 'x', s.multiplier, 'x', s.kernel_height, 'x', s.kernel_width),
                     kernels::qdepthwise_packed_bytes(s),
                     [&](const kernels::QConvWeights& weights, const int32_t* bias,
                         const kernels::QStatic& quantization, void* packed) {
                       kernels::qdepthwise_pack(s, weights.type, weights.data, weights.zero_point, s.output_channels(),
                                                1, bias, quantization, packed);
                     });
}

}  // namespace enr::graph
