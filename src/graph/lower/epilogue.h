#pragma once

// A node's post as the epilogue of a float32 gemm, convolution or depthwise kernel.

#include "graph/lowering.h"
#include "kernels/gemm/gemm.h"

namespace enr::graph {

class Epilogue {
 public:
  Epilogue() = default;
  Epilogue(const Lowering& lowering, const Node& node) : residual_(node.post.residual) {
    const Post& post = node.post;
    fixed_.min = post.min;
    fixed_.max = post.max;
    if (residual_ != kNoValue) {
      fixed_.residual_stride = lowering.row_stride(residual_);
      fixed_.residual_scale = post.residual_scale;
    }
    if (post.activation) {
      fixed_.activation = kernels::activation_fn(post.activation->op);
      params_ = post.activation->params;
    }
  }

  // Refers to this object.
  kernels::GemmEpilogue bind(const Frame& frame) const noexcept {
    kernels::GemmEpilogue bound = fixed_;
    if (residual_ != kNoValue) bound.residual = frame.in<float>(residual_);
    bound.activation_context = &params_;
    return bound;
  }

 private:
  kernels::GemmEpilogue fixed_;
  kernels::LoopParams params_;
  uint32_t residual_ = kNoValue;
};

}  // namespace enr::graph
