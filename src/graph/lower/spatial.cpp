#include "base/error.h"
#include "graph/lowering.h"
#include "kernels/pool/pool.h"
#include "kernels/resize/resize.h"
#include "kernels/softmax/softmax.h"

namespace enr::graph {

namespace {

struct PoolStep : Step {
  kernels::PoolShape pool;
  Op op = Op::kMaxPool;
  DType dtype = DType::kFloat32;
  uint32_t in = 0, out = 0, indices = 0;
  float min = 0, max = 0;
  int32_t integer_min = 0, integer_max = 0;  // the clamp of quantised values

  void run(const Frame& frame) const noexcept override {
    if (op == Op::kArgMaxPool) {
      kernels::argmax_pool_nhwc(pool, frame.in<float>(in), frame.out<float>(out), frame.out<uint32_t>(indices));
    } else if (op == Op::kAveragePool) {
      kernels::average_pool_nhwc(pool, kernels::AverageDivisor::kExcludePadding, 0, frame.in<float>(in),
                                 frame.out<float>(out), min, max);
    } else if (dtype == DType::kInt8) {
      kernels::max_pool_nhwc(pool, frame.in<int8_t>(in), frame.out<int8_t>(out), static_cast<int8_t>(integer_min),
                             static_cast<int8_t>(integer_max));
    } else if (dtype == DType::kUInt8) {
      kernels::max_pool_nhwc(pool, frame.in<uint8_t>(in), frame.out<uint8_t>(out), static_cast<uint8_t>(integer_min),
                             static_cast<uint8_t>(integer_max));
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
  const auto& window = node.as<WindowAttributes>();
  const ValueId in = node.inputs[0], out = node.outputs[0];
  auto& step = lowering.add<PoolStep>(node, op_name(node.op));
  kernels::PoolShape& pool = step.pool;
  pool.batch = lowering.dim(in, 0);
  pool.channels = lowering.dim(in, 3);
  pool.input_height = lowering.dim(in, 1);
  pool.input_width = lowering.dim(in, 2);
  pool.output_height = lowering.dim(out, 1);
  pool.output_width = lowering.dim(out, 2);
  pool.kernel_height = window.kernel_height;
  pool.kernel_width = window.kernel_width;
  pool.stride_height = window.stride_height;
  pool.stride_width = window.stride_width;
  pool.dilation_height = window.dilation_height;
  pool.dilation_width = window.dilation_width;
  pool.pad_top = window.pad_top;
  pool.pad_left = window.pad_left;
  pool.pad_bottom = window.pad_bottom;
  pool.pad_right = window.pad_right;
  pool.input_pixel_stride = lowering.row_stride(in);
  pool.output_pixel_stride = lowering.row_stride(out);
  step.op = node.op;
  step.dtype = lowering.value(in).dtype;
  step.min = node.post.min;
  step.max = node.post.max;
  if (step.dtype != DType::kFloat32) {
    step.integer_min = quantize_value(lowering.value(out), node.post.min);
    step.integer_max = quantize_value(lowering.value(out), node.post.max);
  }
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
  step.resize.batch = lowering.dim(in, 0);
  step.resize.channels = lowering.dim(in, 3);
  step.resize.input_height = lowering.dim(in, 1);
  step.resize.input_width = lowering.dim(in, 2);
  step.resize.output_height = lowering.dim(out, 1);
  step.resize.output_width = lowering.dim(out, 2);
  step.resize.input_pixel_stride = lowering.row_stride(in);
  step.resize.output_pixel_stride = lowering.row_stride(out);
  step.align_corners = node.as<ResizeAttributes>().align_corners;
  step.in = in;
  step.out = out;
  lower_post(lowering, node, node.post);
}

}  // namespace enr::graph
