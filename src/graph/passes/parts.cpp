#include <algorithm>
#include <utility>

#include "graph/lower/geometry.h"
#include "graph/lowering.h"
#include "graph/passes.h"

namespace enr::graph {

namespace {

// Fewer channels leave much of a vector empty: what is cheap for the last part is not for all.
constexpr int64_t kMinChannels = 8;

class PartsPass {
 public:
  explicit PartsPass(Graph& graph) : graph_(graph), readers_(find_readers(graph)), writers_(find_writers(graph)) {}

  void read_parts_of(Node& conv) const {
    const ValueId in = conv.inputs[0];
    std::vector<ValueId> images{in};
    if (const Node* concat = absorbable(in, Op::kConcat)) {
      if (concat->as<ConcatAttributes>().axis == 3 && suits(concat->inputs)) images = concat->inputs;
    }
    std::vector<Node::Part> parts;
    for (ValueId& image : images) {
      Node::Part part{graph_.values[image].shape[3], nullptr};
      if (const Node* resize = absorbable_resize(image)) {
        part.resize = std::make_shared<const Node>(*resize);
        image = resize->inputs[0];
      }
      parts.push_back(std::move(part));
    }
    if (parts.size() == 1 && parts[0].resize == nullptr) return;
    conv.parts = std::move(parts);
    conv.inputs.resize(3, kNoValue);
    conv.inputs[0] = images[0];
    conv.inputs.insert(conv.inputs.end(), images.begin() + 1, images.end());
  }

 private:
  // The node that computes the value for one other node.
  const Node* only_writer(ValueId id) const {
    const Value& value = graph_.values[id];
    if (writers_[id] == kNoValue || readers_[id].size() != 1 || value.is_external() || value.shape.rank() != 4)
      return nullptr;
    const Node& writer = graph_.nodes[writers_[id]];
    return is_float(graph_, writer) && writer.post.is_empty() ? &writer : nullptr;
  }

  const Node* absorbable(ValueId id, Op op) const {
    const Node* writer = only_writer(id);
    return writer != nullptr && writer->op == op ? writer : nullptr;
  }

  // Small images stay in cache, and each of their pixels is computed once instead of for every window that has it.
  const Node* absorbable_resize(ValueId id) const {
    const Node* writer = only_writer(id);
    const bool is_resize = writer != nullptr && (writer->op == Op::kResizeBilinear || writer->op == Op::kResizeNearest);
    return is_resize && is_worth_bands(graph_.values[id]) ? writer : nullptr;
  }

  bool suits(const std::vector<ValueId>& images) const {
    return images.size() <= kMaxConvParts && std::all_of(images.begin(), images.end(), [&](ValueId id) {
             const Value& image = graph_.values[id];
             return image.dtype == DType::kFloat32 && (id == images.back() || image.shape[3] >= kMinChannels);
           });
  }

  const Graph& graph_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<uint32_t> writers_;
};

}  // namespace

void read_parts(Graph& graph, PlanContext& context) {
  const PartsPass pass(graph);
  for (Node& node : graph.nodes) {
    if (node.op == Op::kConv && node.producer == nullptr && is_float(graph, node) &&
        graph.values[node.inputs[1]].is_constant() && graph.values[node.outputs[0]].shape.numel() != 0 &&
        kernels::reads_parts(conv_shape(graph, node), conv_format(graph, node, context))) {
      pass.read_parts_of(node);
    }
  }
  remove_dead_nodes(graph);
}

}  // namespace enr::graph
