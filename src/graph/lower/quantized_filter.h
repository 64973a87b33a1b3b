#pragma once

// Packed filters of statically quantised convolutions, with what a kernel wants to know of their values.

#include <memory>
#include <string>

#include "base/error.h"
#include "graph/lower/quantized.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qdepthwise/qdepthwise.h"

namespace enr::graph {

struct StaticFilter {
  std::shared_ptr<const AlignedBuffer> packed;
  kernels::QOutput output;
  int32_t input_zero_point = 0;
};

kernels::QConvWeights filter_weights(const Lowering& lowering, const Node& node);

// Names what a convolution's packed weights depend on.
std::string conv_packing(const kernels::ConvShape& shape, kernels::QConvFormat format);

// `in`: what the node reads, which is not inputs[0] where it has a producer.
StaticFilter pack_static(
    const Lowering& lowering, const Node& node, ValueId in, const std::string& packing, size_t packed_bytes,
    FunctionRef<void(const kernels::QConvWeights&, const int32_t*, const kernels::QStatic&, void*)> fill);

template <class ConvolutionPlan>
StaticFilter pack_static_conv(const Lowering& lowering, const Node& node, ValueId in, const ConvolutionPlan& plan,
                              const std::string& packing) {
  return pack_static(
      lowering, node, in, packing, plan.packed_bytes(),
      [&](const kernels::QConvWeights& weights, const int32_t* bias, const kernels::QStatic& quantization,
          void* packed) { plan.pack_static(weights, bias, quantization, packed); });
}

StaticFilter pack_static_depthwise(const Lowering& lowering, const Node& node, ValueId in,
                                   const kernels::DepthwiseShape& shape);

}  // namespace enr::graph
