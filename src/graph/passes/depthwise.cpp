#include <memory>

#include "graph/passes.h"

namespace enr::graph {

namespace {

// Intermediate images of half a second-level cache or less stay in cache anyway. Those of 8 bits are worth a band
// earlier: other values' memory is where another thread wrote a moment ago.
constexpr int64_t kLargeImageBytes = 512 * 1024, kLargeQuantizedImageBytes = 256 * 1024;

bool is_quantized(const Value& value) {
  return (value.dtype == DType::kInt8 || value.dtype == DType::kUInt8) &&
         value.quantization.kind == Quantization::Kind::kPerTensor;
}

// Statically quantised nodes have no other post than a clamp.
bool suits_bands(const Graph& graph, const Node& node) {
  const Value &in = graph.values[node.inputs[0]], &out = graph.values[node.outputs[0]];
  return is_float(graph, node) || (is_quantized(in) && is_quantized(out) && in.dtype == out.dtype);
}

bool suits_pointwise(const Graph& graph, const Node& node) { return suits_bands(graph, node) && is_pointwise(node); }

// A float convolution of few products for each output, as the first of a network is: computing rows of it twice where
// threads meet costs little.
bool is_cheap_conv(const Graph& graph, const Node& node) {
  constexpr int64_t kMaxProducts = 64;
  if (node.op != Op::kConv || !is_float(graph, node) || node.as<WindowAttributes>().groups != 1) return false;
  const Shape& filter = graph.values[node.inputs[1]].shape;
  const Shape& out = graph.values[node.outputs[0]].shape;
  return filter.product(1, 4) <= kMaxProducts && filter[2] > 1 && out[2] > 1;
}

// Images of one call that are small are worth it between float convolutions: cut by channels, they need no memory that
// another thread writes. The projection has sums to join, which must be few beside what it reads.
bool suits_channel_groups(const Graph& graph, const Node& depthwise) {
  const Shape& image = graph.values[depthwise.inputs[0]].shape;
  return is_float(graph, depthwise) && image.rank() == 4 && image[0] == 1;
}
bool has_few_sums(const Graph& graph, const Node& projection) {
  const Shape& filter = graph.values[projection.inputs[1]].shape;
  return 2 * filter[0] <= filter[3];
}

class DepthwiseFusion {
 public:
  explicit DepthwiseFusion(Graph& g)
      : graph(g), readers(find_readers(g)), writers(find_writers(g)), gone(g.nodes.size(), false) {}

  void run() {
    for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
      Node& node = graph.nodes[n];
      if (node.op == Op::kDepthwise && suits_bands(graph, node)) {
        Node* writer = only_writer(node);
        if (writer == nullptr) continue;
        const bool is_large = is_worth_bands(graph.values[node.inputs[0]]);
        if (suits_pointwise(graph, *writer) ? is_large || suits_channel_groups(graph, node)
                                            : is_large && is_cheap_conv(graph, *writer)) {
          absorb(node, *writer);
        }
      } else if (suits_pointwise(graph, node)) {
        Node* depthwise = only_writer(node);
        if (depthwise != nullptr && depthwise->op == Op::kDepthwise && suits_bands(graph, *depthwise) &&
            is_worth_projecting(node, *depthwise)) {
          absorb(node, *depthwise);
        }
      }
    }
    remove_nodes(graph, gone);
  }

 private:
  // Who computes the node's input, if nobody else needs it and no other input comes into it.
  Node* only_writer(const Node& node) {
    const ValueId in = node.inputs[0];
    if (writers[in] == kNoValue || gone[writers[in]] || readers[in].size() != 1 || graph.values[in].is_external())
      return nullptr;
    Node& writer = graph.nodes[writers[in]];
    return writer.post.residual == kNoValue ? &writer : nullptr;
  }

  // A band is worth it for the largest image of the chain.
  bool is_worth_projecting(const Node& node, const Node& depthwise) const {
    if (is_worth_bands(graph.values[node.inputs[0]])) return true;
    if (depthwise.producer == nullptr) return false;
    return is_worth_bands(graph.values[depthwise.producer->outputs[0]]) || has_few_sums(graph, node);
  }

  void absorb(Node& node, Node& writer) {
    gone[writers[node.inputs[0]]] = true;
    node.producer = std::make_shared<const Node>(writer);
    node.inputs[0] = writer.inputs[0];
  }

  Graph& graph;
  std::vector<std::vector<uint32_t>> readers;
  std::vector<uint32_t> writers;
  std::vector<bool> gone;
};

}  // namespace

bool is_pointwise(const Node& node) {
  if (node.op != Op::kConv) return false;
  const auto& w = node.as<WindowAttributes>();
  return w.kernel_height == 1 && w.kernel_width == 1 && w.stride_height == 1 && w.stride_width == 1 && w.groups == 1 &&
         w.pad_top + w.pad_bottom + w.pad_left + w.pad_right == 0 && !w.reads_planes;
}

bool is_worth_bands(const Value& image) {
  const int64_t bytes = image.shape.product(1, image.shape.rank()) * static_cast<int64_t>(dtype_size(image.dtype));
  return bytes >= (image.dtype == DType::kFloat32 ? kLargeImageBytes : kLargeQuantizedImageBytes);
}

void fuse_depthwise(Graph& graph) { DepthwiseFusion(graph).run(); }

}  // namespace enr::graph
