#include "graph/infer.h"

#include <string>

#include "base/error.h"

namespace enr::graph {

namespace {

// Elements a tensor may have: a wrong shape must not become a request for all memory there is.
constexpr int64_t kMaxElements = int64_t{1} << 31;

template <class... Parts>
[[noreturn]] void fail_node(const Node& node, const Parts&... parts) {
  fail_execution("node ", node.origin, " (", op_name(node.op), "): ", parts...);
}

void check_size(const Node& node, const Shape& shape) {
  // Multiplies step by step: the product of hostile dims may overflow.
  int64_t count = 1;
  for (const int64_t dim : shape) {
    if (dim < 0 || (dim != 0 && count > kMaxElements / dim)) {
      fail_node(node, "a result of shape ", shape.dims(), " is not possible");
    }
    count *= dim;
  }
}

void check_rank(const Node& node, const char* what, const Shape& shape, size_t rank) {
  if (shape.rank() != rank) fail_node(node, what, " has shape ", shape.dims(), ", expected ", rank, " dims");
}

Shape broadcast(const Node& node, const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  Shape out = a.rank() == rank ? a : b;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < a.rank() ? a[a.rank() - 1 - i] : 1, y = i < b.rank() ? b[b.rank() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) fail_node(node, "shapes ", a.dims(), " and ", b.dims(), " do not broadcast");
    out[rank - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

// Positions of a sliding window along one dim; 0 where the padded input is smaller than the kernel.
int64_t window_positions(int64_t input, int64_t pads, uint32_t kernel, uint32_t dilation, uint32_t stride) {
  const int64_t reach = int64_t{kernel - 1} * dilation + 1;
  const int64_t padded = input + pads;
  return padded < reach ? 0 : (padded - reach) / stride + 1;
}

Shape infer_window(const Node& node, const Shape& in, int64_t channels) {
  const auto& w = node.as<WindowAttributes>();
  const int64_t height =
      window_positions(in[1], int64_t{w.pad_top} + w.pad_bottom, w.kernel_height, w.dilation_height, w.stride_height);
  const int64_t width =
      window_positions(in[2], int64_t{w.pad_left} + w.pad_right, w.kernel_width, w.dilation_width, w.stride_width);
  if ((height == 0 || width == 0) && in.numel() != 0) {
    fail_node(node, "the padded input of shape ", in.dims(), " is smaller than the ", w.kernel_height, "x",
              w.kernel_width, " window");
  }
  return {in[0], height, width, channels};
}

Shape infer_convolution(const Node& node, const Shape& in, const Shape& filter) {
  check_rank(node, "input", in, 4);
  check_rank(node, "filter", filter, 4);
  const auto& w = node.as<WindowAttributes>();
  const int64_t expected = node.op == Op::kDepthwise ? w.groups : filter[3] * w.groups;
  if (in[3] != expected) fail_node(node, "input has shape ", in.dims(), ", expected ", expected, " channels");
  if (node.op == Op::kDepthwise) return infer_window(node, in, filter[3]);
  if (node.op == Op::kConv) return infer_window(node, in, filter[0]);
  const auto extent = [](int64_t size, uint32_t stride, uint32_t kernel, uint32_t dilation, uint32_t adjustment,
                         int64_t pads) {
    const int64_t full = (size - 1) * stride + int64_t{kernel - 1} * dilation + 1 + adjustment;
    return size == 0 || full < pads ? 0 : full - pads;
  };
  return {in[0],
          extent(in[1], w.stride_height, w.kernel_height, w.dilation_height, w.adjustment_height,
                 int64_t{w.pad_top} + w.pad_bottom),
          extent(in[2], w.stride_width, w.kernel_width, w.dilation_width, w.adjustment_width,
                 int64_t{w.pad_left} + w.pad_right),
          filter[0]};
}

Shape infer_fully_connected(const Node& node, const Shape& in, const Shape& filter) {
  check_rank(node, "filter", filter, 2);
  const bool transposed = node.as<MatmulAttributes>().transposed;
  const int64_t input_channels = filter[transposed ? 0 : 1];
  if (in.rank() == 0 || in.back() != input_channels) {
    fail_node(node, "input has shape ", in.dims(), ", expected ", input_channels, " in the last dim");
  }
  Shape out = in;
  out.back() = filter[transposed ? 1 : 0];
  return out;
}

Shape infer_batch_matmul(const Node& node, const Shape& a, const Shape& given) {
  if (a.rank() < 2 || given.rank() < 2)
    fail_node(node, "shapes ", a.dims(), " and ", given.dims(), ", expected 2 dims or more");
  const Shape b = matmul_operand(node, given);
  const bool transposed = node.as<MatmulAttributes>().transposed;
  const int64_t k = b[b.rank() - (transposed ? 1 : 2)], n = b[b.rank() - (transposed ? 2 : 1)];
  if (a.back() != k) fail_node(node, "shapes ", a.dims(), " and ", b.dims(), " do not multiply");
  Shape out = broadcast(node, Shape(a.dims().first(a.rank() - 2)), Shape(b.dims().first(b.rank() - 2)));
  out.push_back(a[a.rank() - 2]);
  out.push_back(n);
  return out;
}

Shape infer_concat(const Graph& graph, const Node& node) {
  const size_t axis = node.as<ConcatAttributes>().axis;
  Shape out = graph.values[node.inputs[0]].shape;
  if (axis >= out.rank()) fail_node(node, "axis ", axis, " is out of range for shape ", out.dims());
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Shape& in = graph.values[node.inputs[i]].shape;
    Shape expected = out;
    if (in.rank() == out.rank()) expected[axis] = in[axis];
    if (!(in == expected)) fail_node(node, "input ", i, " has shape ", in.dims(), ", expected ", expected.dims());
    out[axis] += in[axis];
  }
  return out;
}

Shape infer_slice(const Node& node, const Shape& in) {
  const auto& slice = node.as<SliceAttributes>();
  check_rank(node, "input", in, slice.offsets.rank());
  Shape out = slice.sizes;
  for (size_t d = 0; d < in.rank(); ++d) {
    const int64_t offset = slice.offsets[d] < 0 ? slice.offsets[d] + in[d] : slice.offsets[d];
    if (out[d] == 0) out[d] = in[d] - offset;
    if (offset < 0 || out[d] < 0 || offset + out[d] > in[d]) {
      fail_node(node, "offsets ", slice.offsets.dims(), " and sizes ", slice.sizes.dims(), " leave the input of shape ",
                in.dims());
    }
  }
  return out;
}

Shape infer_reshape(const Node& node, const Shape& in) {
  const auto& reshape = node.as<ReshapeAttributes>();
  Shape out = reshape.shape;
  if (reshape.inferred) out[*reshape.inferred] = 1;
  check_size(node, out);
  if (reshape.inferred) {
    const int64_t rest = out.numel();
    out[*reshape.inferred] = rest == 0 ? 0 : in.numel() / rest;
  }
  if (out.numel() != in.numel()) {
    fail_node(node, "input of shape ", in.dims(), " cannot be reshaped to ", reshape.shape.dims());
  }
  return out;
}

Shape infer_transpose(const Node& node, const Shape& in) {
  const Shape& permutation = node.as<TransposeAttributes>().permutation;
  check_rank(node, "input", in, permutation.rank());
  Shape out = in;
  for (size_t d = 0; d < in.rank(); ++d) out[d] = in[static_cast<size_t>(permutation[d])];
  return out;
}

Shape infer_pad(const Node& node, const Shape& in) {
  const auto& pad = node.as<PadAttributes>();
  check_rank(node, "input", in, pad.before.rank());
  Shape out = in;
  for (size_t d = 0; d < in.rank(); ++d) {
    out[d] += pad.before[d] + pad.after[d];
    if (out[d] < 0) fail_node(node, "padding leaves dim ", d, " of shape ", in.dims(), " with a negative size");
  }
  return out;
}

Shape infer_reduce(const Node& node, const Shape& in) {
  const uint32_t dims = node.as<ReduceAttributes>().dims;
  if (in.rank() < 32 && dims >> in.rank() != 0) fail_node(node, "no such dim of shape ", in.dims());
  Shape out = in;
  for (size_t d = 0; d < in.rank(); ++d) {
    if ((dims >> d & 1) == 0) continue;
    if (in[d] == 0) fail_node(node, "nothing to reduce in shape ", in.dims());
    out[d] = 1;
  }
  return out;
}

Shape infer_argmax_pool(const Node& node, const Shape& in) {
  check_rank(node, "input", in, 4);
  const auto& w = node.as<WindowAttributes>();
  return {in[0], (in[1] + int64_t{w.pad_top} + w.pad_bottom) / w.kernel_height,
          (in[2] + int64_t{w.pad_left} + w.pad_right) / w.kernel_width, in[3]};
}

Shape infer_norm(const Graph& graph, const Node& node, const Shape& in) {
  const bool groups = node.op == Op::kGroupNorm;
  if (groups) check_rank(node, "input", in, 3);
  if (in.rank() == 0) fail_node(node, "input is a scalar, expected 1 dim or more");
  const int64_t channels = groups ? in[1] : in.back();
  const int64_t divisor = node.as<NormAttributes>().groups;
  if (divisor == 0 || channels % divisor != 0) fail_node(node, channels, " channels in ", divisor, " groups");
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Shape& parameter = graph.values[node.inputs[i]].shape;
    if (!(parameter == Shape{channels})) fail_node(node, "parameter has shape ", parameter.dims());
  }
  return in;
}

Shape infer_result(const Graph& graph, const Node& node) {
  const Shape& in = graph.values[node.inputs[0]].shape;
  const auto second = [&]() -> const Shape& { return graph.values[node.inputs[1]].shape; };
  switch (node.op) {
    case Op::kConv:
    case Op::kDepthwise:
    case Op::kConvTranspose:
      return infer_convolution(node, in, second());
    case Op::kFullyConnected:
      return infer_fully_connected(node, in, second());
    case Op::kBatchMatmul:
      return infer_batch_matmul(node, in, second());
    case Op::kBinary:
      return broadcast(node, in, second());
    case Op::kAveragePool:
    case Op::kMaxPool:
      check_rank(node, "input", in, 4);
      return infer_window(node, in, in[3]);
    case Op::kArgMaxPool:
      return infer_argmax_pool(node, in);
    case Op::kGlobalAverage:
      check_rank(node, "input", in, 4);
      return node.as<GlobalAverageAttributes>().keep_dims ? Shape{in[0], 1, 1, in[3]} : Shape{in[0], in[3]};
    case Op::kReduce:
      return infer_reduce(node, in);
    case Op::kSoftmax:
      if (in.rank() == 0) fail_node(node, "input is a scalar, expected 1 dim or more");
      return in;
    case Op::kLayerNorm:
    case Op::kGroupNorm:
      return infer_norm(graph, node, in);
    case Op::kConcat:
      return infer_concat(graph, node);
    case Op::kSlice:
      return infer_slice(node, in);
    case Op::kReshape:
      return infer_reshape(node, in);
    case Op::kTranspose:
      return infer_transpose(node, in);
    case Op::kPad:
      return infer_pad(node, in);
    case Op::kResizeBilinear:
    case Op::kResizeNearest: {
      check_rank(node, "input", in, 4);
      const auto& resize = node.as<ResizeAttributes>();
      if ((in[1] == 0 || in[2] == 0) && in[0] != 0 && in[3] != 0)
        fail_node(node, "input of shape ", in.dims(), " is empty");
      return {in[0], resize.height, resize.width, in[3]};
    }
    case Op::kUnary:
    case Op::kConvert:
    case Op::kCopy:
      return in;
  }
  return in;
}

}  // namespace

Shape matmul_operand(const Node& node, const Shape& b) {
  if (!node.as<MatmulAttributes>().shares_b) return b;
  Shape whole(b.dims().first(b.rank() - 2));
  whole.push_back(1);
  whole.push_back(b[b.rank() - 2]);
  whole.push_back(b.back());
  return whole;
}

void infer_shapes(Graph& graph, const Node& node) {
  const Shape shape = infer_result(graph, node);
  check_size(node, shape);
  for (const ValueId output : node.outputs) graph.values[output].shape = shape;
}

void infer_shapes(Graph& graph) {
  for (const Node& node : graph.nodes) infer_shapes(graph, node);
}

}  // namespace enr::graph
