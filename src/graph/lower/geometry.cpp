#include "graph/lower/geometry.h"

namespace enr::graph {

namespace {

size_t dim(const Graph& graph, ValueId id, size_t d) { return static_cast<size_t>(graph.values[id].shape[d]); }

// Fields that all operations with a window share, but for strides.
template <class WindowShape>
WindowShape dense_shape(const Graph& graph, const Node& node, ValueId in) {
  const auto& window = node.as<WindowAttributes>();
  WindowShape s;
  s.batch = dim(graph, in, 0);
  s.input_height = dim(graph, in, 1);
  s.input_width = dim(graph, in, 2);
  s.kernel_height = window.kernel_height;
  s.kernel_width = window.kernel_width;
  s.stride_height = window.stride_height;
  s.stride_width = window.stride_width;
  s.dilation_height = window.dilation_height;
  s.dilation_width = window.dilation_width;
  s.pad_top = window.pad_top;
  s.pad_left = window.pad_left;
  return s;
}

template <class WindowShape>
void set_strides(WindowShape& s, const Lowering& lowering, const Node& node, ValueId in) {
  s.input_pixel_stride = lowering.row_stride(in);
  s.output_pixel_stride = lowering.row_stride(node.outputs[0]);
}

template <class WindowShape>
WindowShape common_shape(const Lowering& lowering, const Node& node, ValueId in) {
  auto s = dense_shape<WindowShape>(lowering.graph, node, in);
  set_strides(s, lowering, node, in);
  return s;
}

template <class ConvolutionShape>
ConvolutionShape grouped_shape(const Graph& graph, const Node& node) {
  const auto& window = node.as<WindowAttributes>();
  auto s = dense_shape<ConvolutionShape>(graph, node, node.inputs[0]);
  s.input_channels = dim(graph, node.inputs[0], 3);
  s.output_channels = dim(graph, node.outputs[0], 3);
  s.groups = window.groups;
  s.pad_bottom = window.pad_bottom;
  s.pad_right = window.pad_right;
  return s;
}

}  // namespace

kernels::ConvShape conv_shape(const Graph& graph, const Node& node) {
  auto s = grouped_shape<kernels::ConvShape>(graph, node);
  s.is_planar = node.as<WindowAttributes>().reads_planes;
  if (s.is_planar) {
    s.input_channels = dim(graph, node.inputs[0], 1);
    s.input_height = dim(graph, node.inputs[0], 2);
    s.input_width = dim(graph, node.inputs[0], 3);
  }
  if (!node.parts.empty()) {
    const Node* resize = node.parts[0].resize.get();
    const ValueId image = resize != nullptr ? resize->outputs[0] : node.inputs[0];
    s.input_height = dim(graph, image, 1);
    s.input_width = dim(graph, image, 2);
    s.input_channels = 0;
    for (const Node::Part& part : node.parts) s.input_channels += static_cast<size_t>(part.channels);
  }
  return s;
}

kernels::ConvShape conv_shape(const Lowering& lowering, const Node& node) {
  auto s = conv_shape(lowering.graph, node);
  set_strides(s, lowering, node, node.inputs[0]);
  if (s.is_planar) s.input_pixel_stride = s.input_channels;
  return s;
}

kernels::ConvTransposeShape conv_transpose_shape(const Lowering& lowering, const Node& node) {
  auto s = grouped_shape<kernels::ConvTransposeShape>(lowering.graph, node);
  set_strides(s, lowering, node, node.inputs[0]);
  s.adjustment_height = node.as<WindowAttributes>().adjustment_height;
  s.adjustment_width = node.as<WindowAttributes>().adjustment_width;
  return s;
}

kernels::DepthwiseShape depthwise_shape(const Lowering& lowering, const Node& node, ValueId in) {
  auto s = common_shape<kernels::DepthwiseShape>(lowering, node, in);
  s.channels = lowering.dim(in, 3);
  s.multiplier = s.channels == 0 ? 1 : lowering.dim(node.outputs[0], 3) / s.channels;
  s.output_height = lowering.dim(node.outputs[0], 1);
  s.output_width = lowering.dim(node.outputs[0], 2);
  return s;
}

kernels::PoolShape pool_shape(const Lowering& lowering, const Node& node) {
  const ValueId in = node.inputs[0], out = node.outputs[0];
  auto s = common_shape<kernels::PoolShape>(lowering, node, in);
  s.channels = lowering.dim(in, 3);
  s.output_height = lowering.dim(out, 1);
  s.output_width = lowering.dim(out, 2);
  s.pad_bottom = node.as<WindowAttributes>().pad_bottom;
  s.pad_right = node.as<WindowAttributes>().pad_right;
  return s;
}

kernels::ResizeShape resize_shape(const Lowering& lowering, const Node& node) {
  const ValueId in = node.inputs[0], out = node.outputs[0];
  kernels::ResizeShape resize;
  resize.batch = lowering.dim(in, 0);
  resize.channels = lowering.dim(in, 3);
  resize.input_height = lowering.dim(in, 1);
  resize.input_width = lowering.dim(in, 2);
  resize.output_height = lowering.dim(out, 1);
  resize.output_width = lowering.dim(out, 2);
  resize.input_pixel_stride = lowering.row_stride(in);
  resize.output_pixel_stride = lowering.row_stride(out);
  return resize;
}

double convolution_operations(const Lowering& lowering, const Node& node) {
  const ValueId pixels = node.op == Op::kConvTranspose ? node.inputs[0] : node.outputs[0];
  return 2.0 * static_cast<double>(lowering.shape(pixels).rows()) *
         static_cast<double>(lowering.shape(node.inputs[1]).numel());
}

}  // namespace enr::graph
