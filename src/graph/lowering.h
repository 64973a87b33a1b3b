#pragma once

// From nodes to steps. A lowering function sees final shapes and layouts, and appends the steps that compute one node.

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "graph/graph.h"
#include "graph/layout.h"
#include "graph/plan.h"
#include "graph/step.h"
#include "kernels/gemm/gemm.h"

namespace enr::graph {

class Lowering {
 public:
  Lowering(const Graph& g, const Layouts& l, PlanContext& c) : graph(g), layouts(l), context(c) {}

  const Graph& graph;
  const Layouts& layouts;
  PlanContext& context;

  const Value& value(ValueId id) const { return graph.values[id]; }
  const Shape& shape(ValueId id) const { return graph.values[id].shape; }
  size_t dim(ValueId id, size_t d) const { return static_cast<size_t>(graph.values[id].shape[d]); }
  // Distance of two neighbouring rows of the last dim, in elements; the last dim where the value is dense.
  size_t row_stride(ValueId id) const { return layouts.row_stride(graph, id); }
  bool is_dense(ValueId id) const { return layouts.is_dense(graph, id); }
  // Of all dims, in elements.
  std::array<int64_t, kMaxRank> strides(ValueId id) const;

  // Memory that the node's steps alone use; an operand for the frame.
  uint32_t scratch(size_t size_bytes);

  // The packed form of a constant, made by `fill` unless there is one of this name already.
  std::shared_ptr<const AlignedBuffer> pack(ValueId weights, const std::string& packing, size_t packed_bytes,
                                            FunctionRef<void(void*)> fill) const;

  // A step of type S; `name` says what computes it.
  template <class S, class... Args>
  S& add(const Node& node, std::string name, Args&&... args) {
    auto step = std::make_unique<S>(std::forward<Args>(args)...);
    S& added = *step;
    register_step(node, std::move(name), std::move(step));
    return added;
  }

  struct Scratch {
    size_t size_bytes;
    uint32_t node;
  };
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<Scratch> scratches;
  uint32_t current_node = 0;

 private:
  void register_step(const Node& node, std::string name, std::unique_ptr<Step> step);
};

// Clamp and activation in place, on pieces that are in cache.
class PostLoop {
 public:
  PostLoop() = default;
  explicit PostLoop(const Post& post);

  void apply(float* data, size_t count) const noexcept {
    if (clamp_ != nullptr) clamp_(data, count, &clamp_params_);
    if (activation_ != nullptr) activation_(data, count, &activation_params_);
  }

 private:
  kernels::ActivationFn clamp_ = nullptr, activation_ = nullptr;
  kernels::LoopParams clamp_params_, activation_params_;
};

void lower(Lowering& lowering, const Node& node);

// The format of a convolution's weights: the same for all plans.
kernels::ConvWeights conv_format(const Graph& graph, const Node& node, PlanContext& context);

void lower_conv(Lowering& lowering, const Node& node);
void lower_depthwise(Lowering& lowering, const Node& node);
void lower_bands(Lowering& lowering, const Node& node);  // nodes with a producer
void lower_conv_transpose(Lowering& lowering, const Node& node);
void lower_fully_connected(Lowering& lowering, const Node& node);
void lower_batch_matmul(Lowering& lowering, const Node& node);
void lower_binary(Lowering& lowering, const Node& node);
void lower_unary(Lowering& lowering, const Node& node);
void lower_pool(Lowering& lowering, const Node& node);  // the global average too
void lower_reduce(Lowering& lowering, const Node& node);
void lower_softmax(Lowering& lowering, const Node& node);
void lower_norm(Lowering& lowering, const Node& node);
void lower_resize(Lowering& lowering, const Node& node);
void lower_concat(Lowering& lowering, const Node& node);
void lower_movement(Lowering& lowering, const Node& node);  // transposes and slices
void lower_pad(Lowering& lowering, const Node& node);
void lower_convert(Lowering& lowering, const Node& node);
void lower_copy(Lowering& lowering, const Node& node);  // also of reshapes that could not be views

// Appends an in-place pass for a clamp and an activation that the node's kernel does not do itself.
void lower_post(Lowering& lowering, const Node& node, const Post& post);

}  // namespace enr::graph
