#pragma once

// Convolutions as parts of other steps.

#include <memory>

#include "base/aligned_buffer.h"
#include "graph/lower/epilogue.h"
#include "graph/lowering.h"
#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"

namespace enr::graph {

// A 1x1 convolution as a product of pixels.
struct PackedPointwise {
  size_t n = 0, k = 0, a_stride = 0;
  std::shared_ptr<const AlignedBuffer> packed;
  Epilogue epilogue;

  // `first_pixel`: which of the result's pixels `to` is, for the residual.
  void run(const Frame& frame, size_t pixels, const float* from, float* to, size_t to_stride,
           size_t first_pixel) const noexcept {
    kernels::GemmEpilogue bound = epilogue.bind(frame);
    if (bound.residual != nullptr) bound.residual += first_pixel * bound.residual_stride;
    kernels::gemm(pixels, n, k, from, a_stride, packed->data(), to, to_stride, bound);
  }
};

// Any other convolution, whose rows are computed as they are needed.
struct PackedConv {
  kernels::ConvPlan plan;
  std::shared_ptr<const AlignedBuffer> packed;
  Epilogue epilogue;
};
PackedConv pack_conv(Lowering& lowering, const Node& node);

// a_stride is that of the node's input.
PackedPointwise pack_pointwise(Lowering& lowering, const Node& node);
std::shared_ptr<const AlignedBuffer> pack_depthwise(const Lowering& lowering, const Node& node,
                                                    const kernels::DepthwiseShape& shape);

}  // namespace enr::graph
