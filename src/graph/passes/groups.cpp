#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "graph/passes.h"
#include "kernels/conv/conv.h"
#include "kernels/qconv/qconv.h"

namespace enr::graph {

namespace {

// Filters of more elements than this stay as they are.
constexpr int64_t kMaxElements = 64 * 1024;

bool is_mergeable(const Graph& graph, const Node& node) {
  if (node.op != Op::kConv || node.as<WindowAttributes>().groups == 1) return false;
  const Value& filter = graph.values[node.inputs[1]];
  return filter.is_constant() && filter.shape.rank() == 4 && filter.shape.numel() != 0 &&
         filter.quantization.kind != Quantization::Kind::kPerBlock &&
         (filter.dtype == DType::kFloat32 || filter.dtype == DType::kInt8 || filter.dtype == DType::kUInt8);
}

size_t groups_at_once(const Graph& graph, const Node& node) {
  const auto& window = node.as<WindowAttributes>();
  const Shape& filter = graph.values[node.inputs[1]].shape;
  kernels::ConvShape s;
  s.groups = window.groups;
  s.output_channels = static_cast<size_t>(filter[0]);
  s.kernel_height = static_cast<size_t>(filter[1]);
  s.kernel_width = static_cast<size_t>(filter[2]);
  s.input_channels = static_cast<size_t>(filter[3]) * s.groups;
  s.dilation_height = window.dilation_height;
  s.dilation_width = window.dilation_width;
  if (graph.values[node.inputs[1]].dtype == DType::kFloat32) return kernels::conv_groups_at_once(s);
  const bool is_unsigned = graph.values[node.inputs[1]].dtype == DType::kUInt8;
  const bool is_static = is_per_tensor(graph.values[node.inputs[0]]);
  return kernels::qconv_groups_at_once(s, is_unsigned ? kernels::QWeightType::kUInt8 : kernels::QWeightType::kInt8,
                                       is_static ? kernels::QKind::kStatic : kernels::QKind::kDynamic);
}

// The filter of `merged` groups each: zeros where an output does not see an input.
ValueId add_merged_filter(Graph& graph, ValueId id, size_t groups, size_t merged) {
  const Value filter = graph.values[id];
  const size_t size = dtype_size(filter.dtype);
  const auto outputs = static_cast<size_t>(filter.shape[0]) / groups;
  const auto taps = static_cast<size_t>(filter.shape[1] * filter.shape[2]);
  const size_t inputs = static_cast<size_t>(filter.shape[3]), bytes = inputs * size;
  const Shape shape{filter.shape[0], filter.shape[1], filter.shape[2], static_cast<int64_t>(inputs * merged)};
  const int32_t zero = filter.dtype == DType::kUInt8 ? filter.quantization.zero_point : 0;
  const std::string how = concat("groups merged ", merged, " of ", groups, " zero ", zero);
  const ValueId made = graph.derive(filter.dtype, shape, filter.data, how, [&](std::byte* to) {
    if (size == 1) std::memset(to, zero, static_cast<size_t>(shape.numel()));
    const std::byte* from = filter.data;
    for (size_t group = 0; group < groups; ++group) {
      std::byte* first = to + group * outputs * taps * merged * bytes + group % merged * bytes;
      for (size_t piece = 0; piece < outputs * taps; ++piece, from += bytes) {
        std::memcpy(first + piece * merged * bytes, from, bytes);
      }
    }
  });
  graph.values[made].quantization = filter.quantization;
  return made;
}

// Several outputs for each channel are a convolution of as many groups as there are channels. What products gain by
// that is more than they lose where vectors of a depthwise kernel would hold the same input many times: in float
// always, in integers from some outputs on, as the first layer of a network that reads one channel has them.
void separate_outputs(Graph& graph, Node& node) {
  constexpr int64_t kIntegerOutputs = 4;
  if (node.op != Op::kDepthwise) return;
  const Value filter = graph.values[node.inputs[1]];
  const bool is_float_filter = filter.dtype == DType::kFloat32;
  const int64_t channels = graph.values[node.inputs[0]].shape.back();
  if (!filter.is_constant() || filter.shape.rank() != 4 || channels == 0 || filter.shape.numel() > kMaxElements ||
      !(is_float_filter ? is_float(graph, node) : filter.dtype == DType::kInt8 || filter.dtype == DType::kUInt8) ||
      filter.shape[3] < channels * (is_float_filter ? 2 : kIntegerOutputs)) {
    return;
  }
  const auto outputs = static_cast<size_t>(filter.shape[3]);
  const size_t taps = static_cast<size_t>(filter.shape.numel()) / outputs, size = dtype_size(filter.dtype);
  const Shape shape{filter.shape[3], filter.shape[1], filter.shape[2], 1};
  node.inputs[1] = graph.derive(filter.dtype, shape, filter.data, "outputs first", [&](std::byte* to) {
    for (size_t o = 0; o < outputs; ++o) {
      for (size_t tap = 0; tap < taps; ++tap, to += size) {
        std::memcpy(to, filter.data + (tap * outputs + o) * size, size);
      }
    }
  });
  graph.values[node.inputs[1]].quantization = filter.quantization;
  graph.values[node.inputs[1]].quantization.channel_dim = 0;
  node.op = Op::kConv;
  node.as<WindowAttributes>().groups = static_cast<uint32_t>(channels);
}

}  // namespace

void merge_groups(Graph& graph) {
  for (Node& node : graph.nodes) {
    separate_outputs(graph, node);
    if (!is_mergeable(graph, node)) continue;
    const size_t groups = node.as<WindowAttributes>().groups, merged = groups_at_once(graph, node);
    if (merged == 1 || graph.values[node.inputs[1]].shape.numel() * static_cast<int64_t>(merged) > kMaxElements) {
      continue;
    }
    node.inputs[1] = add_merged_filter(graph, node.inputs[1], groups, merged);
    node.as<WindowAttributes>().groups = static_cast<uint32_t>(groups / merged);
  }
}

}  // namespace enr::graph
