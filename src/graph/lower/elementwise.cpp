#include <algorithm>
#include <memory>

#include "base/thread_pool.h"
#include "graph/lowering.h"
#include "kernels/elementwise/driver.h"

namespace enr::graph {

namespace {

using kernels::Loop;
using kernels::LoopParams;

// Elements that a tile of operands and result keeps in the first-level cache.
constexpr size_t kTile = 2048;

// Every operand has the result's elements in the result's order, or is one element.
struct FlatStep : Step {
  Loop loop;
  LoopParams params;
  PostLoop post;
  bool has_post = false;
  uint32_t out = 0;
  uint32_t operands[2] = {};
  uint8_t steps[2] = {};
  size_t count = 0;

  void run(const Frame& frame) const noexcept override {
    float* to = frame.out<float>(out);
    const float* from[2] = {frame.in<float>(operands[0]), loop.inputs == 2 ? frame.in<float>(operands[1]) : nullptr};
    const auto body = [&](size_t begin, size_t end) {
      const size_t tile = has_post ? kTile : end - begin;
      for (size_t i = begin; i < end; i += tile) {
        const size_t n = std::min(tile, end - i);
        const void* in[2] = {from[0] + i * steps[0], from[1] + i * steps[1]};
        loop.run(to + i, in, steps, n, params);
        if (has_post) post.apply(to + i, n);
      }
    };
    const size_t grain = std::max<size_t>(32768 / loop.cost, kTile);
    if (count <= grain) return body(0, count);
    parallel_ranges(count, grain, body);
  }
};

struct StridedStep : Step {
  Loop loop;
  LoopParams params;
  uint32_t out = 0;
  uint32_t operands[2] = {};
  Shape sizes;
  std::array<int64_t, kMaxRank> out_strides{}, in_strides[2]{};

  void run(const Frame& frame) const noexcept override {
    kernels::ConstStrided in[2];
    for (size_t i = 0; i < loop.inputs; ++i) in[i] = {frame.in<float>(operands[i]), loop.in[i], in_strides[i].data()};
    const kernels::Strided to{frame.out<float>(out), loop.out, out_strides.data()};
    kernels::run_elementwise(loop, params, sizes.dims(), to, {in, loop.inputs});
  }
};

void lower_loop(Lowering& lowering, const Node& node, const Loop& loop, const LoopParams& params, std::string name) {
  const ValueId out = node.outputs[0];
  const Shape& shape = lowering.shape(out);
  bool flat = lowering.is_dense(out);
  for (const ValueId in : node.inputs) {
    const bool single = lowering.shape(in).numel() == 1;
    flat = flat && (single || (lowering.is_dense(in) && lowering.shape(in).numel() == shape.numel()));
  }
  if (flat) {
    auto& step = lowering.add<FlatStep>(node, std::move(name));
    step.loop = loop;
    step.params = params;
    step.post = PostLoop(node.post);
    step.has_post = node.post.clamps() || node.post.activation.has_value();
    step.out = out;
    step.count = static_cast<size_t>(shape.numel());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      step.operands[i] = node.inputs[i];
      step.steps[i] = lowering.shape(node.inputs[i]).numel() != 1 || step.count == 1 ? 1 : 0;
    }
    return;
  }
  auto& step = lowering.add<StridedStep>(node, std::move(name));
  step.loop = loop;
  step.params = params;
  step.out = out;
  step.sizes = shape;
  step.out_strides = lowering.strides(out);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    step.operands[i] = node.inputs[i];
    kernels::broadcast_strides(shape.dims(), lowering.shape(node.inputs[i]).dims(),
                               lowering.strides(node.inputs[i]).data(), step.in_strides[i].data());
  }
  lower_post(lowering, node, node.post);
}

}  // namespace

void lower_binary(Lowering& lowering, const Node& node) {
  const kernels::Binary op = node.as<BinaryAttributes>().op;
  LoopParams params;
  params.a = 1.0;  // the second operand's factor in sums
  lower_loop(lowering, node, kernels::binary_loop(op, DType::kFloat32), params, kernels::binary_name(op));
}

void lower_unary(Lowering& lowering, const Node& node) {
  const auto& unary = node.as<UnaryAttributes>();
  lower_loop(lowering, node, kernels::unary_loop(unary.op, DType::kFloat32), unary.params,
             kernels::unary_name(unary.op));
}

}  // namespace enr::graph
