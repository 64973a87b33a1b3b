#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapped_pages.h"
#include "graph/passes.h"

namespace enr::graph {

namespace {

using kernels::Binary;

const float* floats_of(const Value& value) { return reinterpret_cast<const float*>(value.data); }

bool is_float_constant(const Graph& graph, ValueId id) {
  return graph.values[id].is_constant() && graph.values[id].dtype == DType::kFloat32;
}

bool takes_channel_constants(const Graph& graph, const Node& node) {
  if (node.op != Op::kConv && node.op != Op::kDepthwise && node.op != Op::kConvTranspose &&
      node.op != Op::kFullyConnected) {
    return false;
  }
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  return node.post.is_empty() && is_float(graph, node) && is_float_constant(graph, node.inputs[1]) &&
         (!has_bias || is_float_constant(graph, node.inputs[2]));
}

class ChannelFolding {
 public:
  explicit ChannelFolding(Graph& g) : graph(g), readers(find_readers(g)), writers(find_writers(g)) {}

  void run() {
    std::vector<Node> kept;
    kept.reserve(graph.nodes.size());
    for (Node& node : graph.nodes) {
      if (!fold(node, kept)) {
        kept.push_back(std::move(node));
        for (const ValueId out : kept.back().outputs) writers[out] = static_cast<uint32_t>(kept.size() - 1);
      }
    }
    graph.nodes = std::move(kept);
  }

 private:
  // Whether the node, an addition or multiplication, went into one of those in front.
  bool fold(const Node& node, std::vector<Node>& before) {
    if (node.op != Op::kBinary || !node.post.is_empty() || !is_float(graph, node)) return false;
    const Binary op = node.as<BinaryAttributes>().op;
    if (op != Binary::kAdd && op != Binary::kMul) return false;
    for (size_t side = 0; side < 2; ++side) {
      const ValueId in = node.inputs[side], constant = node.inputs[1 - side];
      if (!is_float_constant(graph, constant) || writers[in] == kNoValue || readers[in].size() != 1 ||
          graph.values[in].is_external() || !is_per_channel(constant, in, node.outputs[0])) {
        continue;
      }
      Node& host = before[writers[in]];
      if (!takes_channel_constants(graph, host)) continue;
      const float* amounts = floats_of(graph.values[constant]);
      const auto channels = static_cast<size_t>(graph.values[in].shape.back());
      if (op == Binary::kMul) {
        if (!std::all_of(amounts, amounts + channels, [](float f) { return std::isfinite(f); })) continue;
        scale(host, amounts, channels);
      } else {
        shift(host, amounts, channels);
      }
      host.outputs[0] = node.outputs[0];
      writers[node.outputs[0]] = writers[in];
      return true;
    }
    return false;
  }

  bool is_per_channel(ValueId constant, ValueId in, ValueId out) const {
    const Shape &shape = graph.values[constant].shape, &image = graph.values[in].shape;
    return image.rank() > 0 && shape.rank() > 0 && shape.back() == image.back() && shape.numel() == image.back() &&
           image == graph.values[out].shape;
  }

  void scale(Node& host, const float* factors, size_t channels) {
    const Value& filter = graph.values[host.inputs[1]];
    const float* from = floats_of(filter);
    const bool innermost =
        host.op == Op::kDepthwise || (host.op == Op::kFullyConnected && host.as<MatmulAttributes>().transposed);
    const auto count = static_cast<size_t>(filter.shape.numel());
    const size_t inner = innermost ? 1 : count / std::max<size_t>(channels, 1);
    const auto fill = [&](std::byte* data) {
      auto* to = reinterpret_cast<float*>(data);
      for (size_t i = 0; i < count;) {
        for (size_t c = 0; c < channels; ++c) {
          for (const size_t end = i + inner; i < end; ++i) to[i] = from[i] * factors[c];
        }
      }
      release_pages(from, count * sizeof(float));  // what is packed later is this copy
    };
    const std::string how = concat("scaled by ", static_cast<const void*>(factors), " each ", inner);
    replace(host.inputs[1], graph.derive(DType::kFloat32, filter.shape, from, how, fill));
    if (host.inputs.size() > 2 && host.inputs[2] != kNoValue) {
      const float* bias = floats_of(graph.values[host.inputs[2]]);
      replace_bias(host, channels, bias, how, [&](size_t c) { return bias[c] * factors[c]; });
    }
  }

  void shift(Node& host, const float* addends, size_t channels) {
    if (host.inputs.size() < 3) host.inputs.push_back(kNoValue);
    const float* bias = host.inputs[2] != kNoValue ? floats_of(graph.values[host.inputs[2]]) : nullptr;
    const std::string how = concat("shifted by ", static_cast<const void*>(addends), " all ", channels);
    replace_bias(host, channels, bias, how,
                 [&](size_t c) { return bias != nullptr ? addends[c] + bias[c] : addends[c]; });
  }

  template <class BiasOf>
  void replace_bias(Node& host, size_t channels, const float* from, const std::string& how, const BiasOf& bias_of) {
    const Shape shape{static_cast<int64_t>(channels)};
    replace(host.inputs[2], graph.derive(DType::kFloat32, shape, from, "bias " + how, [&](std::byte* data) {
      for (size_t c = 0; c < channels; ++c) reinterpret_cast<float*>(data)[c] = bias_of(c);
    }));
  }

  // What only this node read, and what a pass made, takes no memory any more.
  void replace(ValueId& operand, ValueId with) {
    if (operand != kNoValue && (operand >= readers.size() || readers[operand].size() == 1)) {
      graph.values[operand].data = nullptr;
      graph.values[operand].owner.reset();
    }
    operand = with;
  }

  Graph& graph;
  std::vector<std::vector<uint32_t>> readers;
  std::vector<uint32_t> writers;
};

}  // namespace

void fold_channel_constants(Graph& graph) { ChannelFolding(graph).run(); }

}  // namespace enr::graph
