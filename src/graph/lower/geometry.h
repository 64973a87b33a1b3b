#pragma once

// Shapes of windows as the kernels want them, from nodes.

#include "graph/lowering.h"
#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/pool/pool.h"
#include "kernels/resize/resize.h"

namespace enr::graph {

// Without strides where there is no lowering yet.
kernels::ConvShape conv_shape(const Graph& graph, const Node& node);
kernels::ConvShape conv_shape(const Lowering& lowering, const Node& node);
kernels::ConvTransposeShape conv_transpose_shape(const Lowering& lowering, const Node& node);
// `in`: the image it reads, which is not inputs[0] where the node has a producer.
kernels::DepthwiseShape depthwise_shape(const Lowering& lowering, const Node& node, ValueId in);
kernels::PoolShape pool_shape(const Lowering& lowering, const Node& node);
kernels::ResizeShape resize_shape(const Lowering& lowering, const Node& node);

// Additions and multiplications of a convolution.
double convolution_operations(const Lowering& lowering, const Node& node);

}  // namespace enr::graph
