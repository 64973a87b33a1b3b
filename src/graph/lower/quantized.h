#pragma once

// What the lowerings of quantised nodes share.

#include <cstdint>
#include <string>

#include "graph/lowering.h"
#include "kernels/qgemm/qgemm.h"
#include "kernels/quantize/quantize.h"

namespace enr::graph {

inline kernels::Quantization parameters_of(const Value& value) {
  return {value.quantization.scale, value.quantization.zero_point};
}

inline bool is_per_row(const Value& value) { return value.quantization.kind == Quantization::Kind::kPerRow; }

// The real clamp of `post` in quanta of the result.
inline kernels::QOutput quantized_output(const Value& value, const Post& post) {
  return {value.quantization.zero_point, quantize_value(value, post.min), quantize_value(value, post.max)};
}

// Scales of a filter's outputs: one, or one for each channel.
std::vector<float> filter_scales(const Value& filter);
// From the accumulators of a node's products to quanta of its result. `in`: what it reads, which is not inputs[0] where
// the node has a producer.
std::vector<float> requantization_scales(const Lowering& lowering, const Node& node, ValueId in);
// Text that differs where scales differ, for keys of packed weights.
std::string scales_key(const std::vector<float>& scales);

// The bias of a statically quantised node. A real one is rounded to quanta of the products; what is left over is added
// to the results, in their quanta.
struct StaticBias {
  const void* source = nullptr;  // for keys of packed weights
  std::vector<int32_t> sums;
  std::vector<float> offsets;
  const int32_t* sums_data() const noexcept { return sums.empty() ? nullptr : sums.data(); }
  const float* offsets_data() const noexcept { return offsets.empty() ? nullptr : offsets.data(); }
};
// `in`: what the node reads.
StaticBias static_bias(const Lowering& lowering, const Node& node, ValueId in);
const float* constant_bias(const Lowering& lowering, const Node& node);

void lower_quantized_conv(Lowering& lowering, const Node& node);  // transposed ones too
void lower_quantized_depthwise(Lowering& lowering, const Node& node);
void lower_quantized_bands(Lowering& lowering, const Node& node);  // nodes with a producer
void lower_quantized_fully_connected(Lowering& lowering, const Node& node);
void lower_quantized_binary(Lowering& lowering, const Node& node);
void lower_quantized_unary(Lowering& lowering, const Node& node);
void lower_quantized_pool(Lowering& lowering, const Node& node);
void lower_quantized_resize(Lowering& lowering, const Node& node);

// A step that looks every byte of the input up.
void add_table(Lowering& lowering, const Node& node, const uint8_t* table, std::string name);

// Nodes whose input is quantised, but for movement.
void lower_quantized(Lowering& lowering, const Node& node);

[[noreturn]] void fail_no_kernel(const Lowering& lowering, const Node& node);

}  // namespace enr::graph
