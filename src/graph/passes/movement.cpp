#include <algorithm>

#include "graph/passes.h"

namespace enr::graph {

namespace {

bool is_identity(const Shape& permutation) {
  for (size_t d = 0; d < permutation.rank(); ++d) {
    if (permutation[d] != static_cast<int64_t>(d)) return false;
  }
  return true;
}

// Whether the permutation keeps the order of all dims that are not 1.
bool moves_only_ones(const Shape& in, const Shape& permutation) {
  int64_t previous = -1;
  for (const int64_t d : permutation) {
    if (in[static_cast<size_t>(d)] == 1) continue;
    if (d < previous) return false;
    previous = d;
  }
  return true;
}

void become_reshape(Graph& graph, Node& node) {
  node.op = Op::kReshape;
  node.attributes = ReshapeAttributes{graph.values[node.outputs[0]].shape, std::nullopt};
}

}  // namespace

void merge_transposes(Graph& graph) {
  const auto writers = find_writers(graph);
  for (Node& node : graph.nodes) {
    if (node.op != Op::kTranspose || !node.post.is_empty()) continue;
    // A transpose may read through several others; those that nobody else reads are removed as dead.
    while (writers[node.inputs[0]] != kNoValue) {
      const Node& inner = graph.nodes[writers[node.inputs[0]]];
      if (inner.op != Op::kTranspose || !inner.post.is_empty()) break;
      Shape permutation = node.as<TransposeAttributes>().permutation;
      const Shape& first = inner.as<TransposeAttributes>().permutation;
      for (size_t d = 0; d < permutation.rank(); ++d) permutation[d] = first[static_cast<size_t>(permutation[d])];
      node.as<TransposeAttributes>().permutation = permutation;
      node.inputs[0] = inner.inputs[0];
    }
    if (is_identity(node.as<TransposeAttributes>().permutation)) {
      node.op = Op::kCopy;
      node.attributes = std::monostate();
    }
  }
  remove_dead_nodes(graph);
}

void merge_padding(Graph& graph) {
  const auto writers = find_writers(graph);
  const auto readers = find_readers(graph);
  for (Node& node : graph.nodes) {
    if ((node.op != Op::kConv && node.op != Op::kDepthwise) || !is_float(graph, node)) continue;
    const ValueId in = node.inputs[0];
    if (writers[in] == kNoValue || readers[in].size() != 1 || graph.values[in].is_external()) continue;
    const Node& writer = graph.nodes[writers[in]];
    if (writer.op != Op::kPad || !writer.post.is_empty()) continue;
    const auto& pad = writer.as<PadAttributes>();
    const bool spatial =
        pad.before.rank() == 4 && pad.before[0] == 0 && pad.after[0] == 0 && pad.before[3] == 0 && pad.after[3] == 0;
    const auto negative = [](int64_t amount) { return amount < 0; };
    if (!spatial || pad.value != 0.0f || std::any_of(pad.before.begin(), pad.before.end(), negative) ||
        std::any_of(pad.after.begin(), pad.after.end(), negative)) {
      continue;
    }
    auto& window = node.as<WindowAttributes>();
    window.pad_top += static_cast<uint32_t>(pad.before[1]);
    window.pad_bottom += static_cast<uint32_t>(pad.after[1]);
    window.pad_left += static_cast<uint32_t>(pad.before[2]);
    window.pad_right += static_cast<uint32_t>(pad.after[2]);
    node.inputs[0] = writer.inputs[0];
  }
  remove_dead_nodes(graph);
}

void quantize_in_transposes(Graph& graph) {
  const auto writers = find_writers(graph);
  const auto readers = find_readers(graph);
  for (Node& node : graph.nodes) {
    const ValueId in = node.inputs[0];
    if (node.op != Op::kTranspose || !node.post.is_empty() || writers[in] == kNoValue) continue;
    const Node& writer = graph.nodes[writers[in]];
    const Value &quantized = graph.values[in], &out = graph.values[node.outputs[0]];
    const bool to_pixels = node.as<TransposeAttributes>().permutation == Shape{0, 2, 3, 1};
    if (!to_pixels || writer.op != Op::kConvert || !writer.post.is_empty() || readers[in].size() != 1 ||
        quantized.is_external() || quantized.quantization.kind != Quantization::Kind::kPerTensor ||
        dtype_size(quantized.dtype) != 1 || !same_quantization(quantized, out)) {
      continue;
    }
    const Value& real = graph.values[writer.inputs[0]];
    constexpr int64_t kMaxPlanes = 16;  // each adds to a block that is to stay in cache
    const bool is_image = real.dtype == DType::kFloat32 && real.is_input && real.shape.numel() != 0;
    if (is_image && real.shape[1] <= kMaxPlanes) node.inputs[0] = writer.inputs[0];
  }
  remove_dead_nodes(graph);
}

void read_planes(Graph& graph) {
  const auto writers = find_writers(graph);
  const auto readers = find_readers(graph);
  for (Node& node : graph.nodes) {
    const ValueId in = node.inputs[0];
    if (node.op != Op::kConv || !is_float(graph, node) || writers[in] == kNoValue || readers[in].size() != 1 ||
        graph.values[in].is_external()) {
      continue;
    }
    const Node& writer = graph.nodes[writers[in]];
    if (writer.op != Op::kTranspose || !writer.post.is_empty() ||
        writer.as<TransposeAttributes>().permutation != Shape{0, 2, 3, 1}) {
      continue;
    }
    auto& window = node.as<WindowAttributes>();
    const Value& planes = graph.values[writer.inputs[0]];
    constexpr int64_t kMaxPlanes = 4;
    const bool suits_winograd = window.kernel_height == 3 && window.kernel_width == 3 && window.stride_height == 1 &&
                                window.stride_width == 1;  // it wants pixels
    if (!planes.is_input || planes.dtype != DType::kFloat32 || planes.shape[1] > kMaxPlanes || window.groups != 1 ||
        suits_winograd) {
      continue;
    }
    window.reads_planes = true;
    node.inputs[0] = writer.inputs[0];
  }
  remove_dead_nodes(graph);
}

void simplify_movement(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!node.post.is_empty()) continue;
    const Shape& in = graph.values[node.inputs[0]].shape;
    if (node.op == Op::kTranspose && moves_only_ones(in, node.as<TransposeAttributes>().permutation)) {
      become_reshape(graph, node);
    } else if (node.op == Op::kSlice && in == graph.values[node.outputs[0]].shape) {
      become_reshape(graph, node);
    }
  }
}

}  // namespace enr::graph
