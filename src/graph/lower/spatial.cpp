#include <algorithm>
#include <cmath>

#include "graph/lower/geometry.h"
#include "graph/lowering.h"
#include "kernels/norm/norm.h"
#include "kernels/softmax/softmax.h"

namespace enr::graph {

namespace {

struct PoolStep : Step {
  kernels::PoolShape pool;
  Op op = Op::kMaxPool;
  uint32_t in = 0, out = 0, indices = 0;
  float min = 0, max = 0;

  void run(const Frame& frame) const noexcept override {
    if (op == Op::kArgMaxPool) {
      kernels::argmax_pool_nhwc(pool, frame.in<float>(in), frame.out<float>(out), frame.out<uint32_t>(indices));
    } else if (op == Op::kAveragePool) {
      kernels::average_pool_nhwc(pool, kernels::AverageDivisor::kExcludePadding, 0, frame.in<float>(in),
                                 frame.out<float>(out), min, max);
    } else {
      kernels::max_pool_nhwc(pool, frame.in<float>(in), frame.out<float>(out), min, max);
    }
  }
};

struct GlobalAverageStep : Step {
  size_t batch = 0, pixels = 0, channels = 0, pixel_stride = 0;
  float min = 0, max = 0;
  uint32_t in = 0, out = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::global_average_nhwc(batch, pixels, channels, pixel_stride, frame.in<float>(in), frame.out<float>(out), min,
                                 max);
  }
};

struct SoftmaxStep : Step {
  bool logarithm = false, masked_rows_are_zero = false;
  size_t rows = 0, columns = 0;
  uint32_t in = 0, out = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::softmax(logarithm, DType::kFloat32, frame.in<void>(in), frame.out<void>(out), rows, columns, 1);
    if (masked_rows_are_zero) clear_masked_rows(frame.in<float>(in), frame.out<float>(out));
  }

 private:
  void clear_masked_rows(const float* from, float* to) const noexcept {
    for (size_t r = 0; r < rows; ++r) {
      const float* row = from + r * columns;
      if (!std::isnan(to[r * columns])) continue;
      const bool is_masked = std::all_of(row, row + columns, [](float x) { return std::isinf(x) && x < 0; });
      if (is_masked) std::fill_n(to + r * columns, columns, 0.0f);
    }
  }
};

struct NormStep : Step {
  Op op = Op::kLayerNorm;
  double epsilon = 0;
  size_t rows = 0, columns = 0, channels = 0, groups = 1;  // kGroupNorm: rows are images, columns pixels
  uint32_t in = 0, weight = kNoValue, bias = kNoValue, out = 0;

  void run(const Frame& frame) const noexcept override {
    const void* gamma = weight == kNoValue ? nullptr : frame.in<void>(weight);
    const void* beta = bias == kNoValue ? nullptr : frame.in<void>(bias);
    if (op == Op::kLayerNorm) {
      kernels::layer_norm(DType::kFloat32, frame.in<void>(in), gamma, beta, frame.out<void>(out), nullptr, nullptr,
                          rows, columns, epsilon);
    } else {
      kernels::group_norm(DType::kFloat32, frame.in<void>(in), gamma, beta, frame.out<void>(out), nullptr, nullptr,
                          rows, channels, columns, groups, epsilon);
    }
  }
};

struct ResizeStep : Step {
  kernels::ResizeShape resize;
  bool nearest = false, align_corners = false;
  uint32_t in = 0, out = 0;

  void run(const Frame& frame) const noexcept override {
    if (nearest) return kernels::resize_nearest_nhwc(resize, frame.in<float>(in), frame.out<float>(out), sizeof(float));
    kernels::resize_bilinear_nhwc(resize, align_corners, frame.in<float>(in), frame.out<float>(out));
  }
};

void lower_global_average(Lowering& lowering, const Node& node) {
  const ValueId in = node.inputs[0];
  auto& step = lowering.add<GlobalAverageStep>(node, "global average");
  step.batch = lowering.dim(in, 0);
  step.pixels = lowering.dim(in, 1) * lowering.dim(in, 2);
  step.channels = lowering.dim(in, 3);
  step.pixel_stride = lowering.row_stride(in);
  step.min = node.post.min;
  step.max = node.post.max;
  step.in = in;
  step.out = node.outputs[0];
}

}  // namespace

void lower_pool(Lowering& lowering, const Node& node) {
  if (node.op == Op::kGlobalAverage) return lower_global_average(lowering, node);
  const ValueId in = node.inputs[0], out = node.outputs[0];
  auto& step = lowering.add<PoolStep>(node, op_name(node.op));
  step.pool = pool_shape(lowering, node);
  step.op = node.op;
  step.min = node.post.min;
  step.max = node.post.max;
  step.in = in;
  step.out = out;
  if (node.op == Op::kArgMaxPool) step.indices = node.outputs[1];
}

void lower_softmax(Lowering& lowering, const Node& node) {
  auto& step = lowering.add<SoftmaxStep>(node, "softmax");
  const auto* attributes = std::get_if<SoftmaxAttributes>(&node.attributes);
  if (attributes != nullptr) {
    step.logarithm = attributes->logarithm;
    step.masked_rows_are_zero = attributes->masked_rows_are_zero;
  }
  const Shape& shape = lowering.shape(node.inputs[0]);
  step.rows = static_cast<size_t>(shape.rows());
  step.columns = static_cast<size_t>(shape.back());
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  lower_post(lowering, node, node.post);
}

void lower_norm(Lowering& lowering, const Node& node) {
  auto& step = lowering.add<NormStep>(node, op_name(node.op));
  const auto& norm = node.as<NormAttributes>();
  const Shape& shape = lowering.shape(node.inputs[0]);
  step.op = node.op;
  step.epsilon = norm.epsilon;
  step.groups = norm.groups;
  step.columns = static_cast<size_t>(shape.back());
  step.rows = static_cast<size_t>(node.op == Op::kLayerNorm ? shape.rows() : shape[0]);
  if (node.op == Op::kGroupNorm) step.channels = static_cast<size_t>(shape[1]);
  step.in = node.inputs[0];
  if (node.inputs.size() > 1) step.weight = node.inputs[1];
  if (node.inputs.size() > 2) step.bias = node.inputs[2];
  step.out = node.outputs[0];
  lower_post(lowering, node, node.post);
}

void lower_resize(Lowering& lowering, const Node& node) {
  const ValueId in = node.inputs[0], out = node.outputs[0];
  auto& step = lowering.add<ResizeStep>(node, op_name(node.op));
  step.nearest = node.op == Op::kResizeNearest;
  step.resize = resize_shape(lowering, node);
  step.align_corners = node.as<ResizeAttributes>().align_corners;
  step.in = in;
  step.out = out;
  lower_post(lowering, node, node.post);
}

}  // namespace enr::graph
