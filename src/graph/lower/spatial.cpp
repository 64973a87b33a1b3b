#include "graph/lower/geometry.h"
#include "graph/lowering.h"
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
  size_t rows = 0, columns = 0;
  uint32_t in = 0, out = 0;

  void run(const Frame& frame) const noexcept override {
    kernels::softmax(false, DType::kFloat32, frame.in<void>(in), frame.out<void>(out), rows, columns, 1);
  }
};

struct ResizeStep : Step {
  kernels::ResizeShape resize;
  bool align_corners = false;
  uint32_t in = 0, out = 0;

  void run(const Frame& frame) const noexcept override {
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
  const Shape& shape = lowering.shape(node.inputs[0]);
  step.rows = static_cast<size_t>(shape.rows());
  step.columns = static_cast<size_t>(shape.back());
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  lower_post(lowering, node, node.post);
}

void lower_resize(Lowering& lowering, const Node& node) {
  const ValueId in = node.inputs[0], out = node.outputs[0];
  auto& step = lowering.add<ResizeStep>(node, "resize bilinear");
  step.resize = resize_shape(lowering, node);
  step.align_corners = node.as<ResizeAttributes>().align_corners;
  step.in = in;
  step.out = out;
  lower_post(lowering, node, node.post);
}

}  // namespace enr::graph
