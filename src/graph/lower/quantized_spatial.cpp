#include "base/error.h"
#include "graph/lower/geometry.h"
#include "graph/lower/quantized.h"
#include "kernels/qelementwise/qelementwise.h"

namespace enr::graph {

namespace {

struct Operands : Step {
  bool is_unsigned = false;
  uint32_t in = 0, out = 0;
};

struct PoolStep : Operands {
  kernels::PoolShape pool;
  bool is_average = false;
  kernels::Quantization from, to;
  int32_t min = 0, max = 0;

  void run(const Frame& frame) const noexcept override { is_unsigned ? run_as<uint8_t>(frame) : run_as<int8_t>(frame); }

  template <class T>
  void run_as(const Frame& frame) const noexcept {
    if (is_average) {
      kernels::qaverage_pool_nhwc(pool, kernels::AverageDivisor::kExcludePadding, frame.in<T>(in), frame.out<T>(out),
                                  from, to, min, max);
    } else {
      kernels::max_pool_nhwc(pool, frame.in<T>(in), frame.out<T>(out), static_cast<T>(min), static_cast<T>(max));
    }
  }
};

struct MeanStep : Operands {
  size_t batch = 0, pixels = 0, channels = 0, pixel_stride = 0;
  kernels::Quantization from, to;
  kernels::QOutput range;
  bool clamps = false, was_signed = false;

  void run(const Frame& frame) const noexcept override { is_unsigned ? run_as<uint8_t>(frame) : run_as<int8_t>(frame); }

  template <class T>
  void run_as(const Frame& frame) const noexcept {
    kernels::qmean(batch, pixels, channels, pixel_stride, frame.in<T>(in), frame.out<T>(out), from, to, pixels,
                   was_signed);
    if (clamps) kernels::qclamp(frame.in<T>(out), frame.out<T>(out), batch * channels, range.min, range.max);
  }
};

struct ResizeStep : Operands {
  kernels::ResizeShape resize;
  bool align_corners = false;

  void run(const Frame& frame) const noexcept override {
    if (is_unsigned) {
      kernels::qresize_bilinear_nhwc(resize, align_corners, frame.in<uint8_t>(in), frame.out<uint8_t>(out));
    } else {
      kernels::qresize_bilinear_nhwc(resize, align_corners, frame.in<int8_t>(in), frame.out<int8_t>(out));
    }
  }
};

template <class S>
S& add_step(Lowering& lowering, const Node& node, std::string name) {
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  if (!is_per_tensor(in) || !is_per_tensor(out) || in.dtype != out.dtype) fail_no_kernel(lowering, node);
  S& step = lowering.add<S>(node, std::move(name));
  step.is_unsigned = in.dtype == DType::kUInt8;
  step.in = node.inputs[0];
  step.out = node.outputs[0];
  return step;
}

}  // namespace

void lower_quantized_pool(Lowering& lowering, const Node& node) {
  const Value &in = lowering.value(node.inputs[0]), &out = lowering.value(node.outputs[0]);
  const kernels::QOutput range = quantized_output(out, node.post);
  if (node.op == Op::kGlobalAverage) {
    auto& step = add_step<MeanStep>(lowering, node, "global average int8");
    step.batch = lowering.dim(node.inputs[0], 0);
    step.pixels = lowering.dim(node.inputs[0], 1) * lowering.dim(node.inputs[0], 2);
    step.channels = lowering.dim(node.inputs[0], 3);
    step.pixel_stride = lowering.row_stride(node.inputs[0]);
    step.from = parameters_of(in);
    step.to = parameters_of(out);
    step.range = range;
    step.clamps = node.post.clamps();
    step.was_signed = in.was_signed && out.was_signed;
    return;
  }
  auto& step = add_step<PoolStep>(lowering, node, concat(op_name(node.op), " int8"));
  step.pool = pool_shape(lowering, node);
  step.is_average = node.op == Op::kAveragePool;
  step.from = parameters_of(in);
  step.to = parameters_of(out);
  step.min = range.min;
  step.max = range.max;
}

void lower_quantized_resize(Lowering& lowering, const Node& node) {
  auto& step = add_step<ResizeStep>(lowering, node, "resize bilinear int8");
  step.resize = resize_shape(lowering, node);
  step.align_corners = node.as<ResizeAttributes>().align_corners;
}

}  // namespace enr::graph
