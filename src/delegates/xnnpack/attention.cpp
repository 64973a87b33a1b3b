#include "delegates/xnnpack/attention.h"

namespace enr::delegates::xnnpack {

void translate_attention(const Node& from, uint32_t origin, bool one_head, graph::Graph& to) {
  using graph::Op;
  const uint32_t q = from.inputs[0], k = from.inputs[1], v = from.inputs[2], scale = from.inputs[3],
                 mask = from.inputs[4];
  const auto append = [&](Op op, std::vector<graph::ValueId> inputs, graph::Attributes attributes,
                          graph::ValueId out = graph::kNoValue) {
    if (out == graph::kNoValue) {
      graph::Value value;
      value.dtype = to.values[q].dtype;
      out = to.add_value(std::move(value));
    }
    graph::Node node;
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {out};
    node.attributes = std::move(attributes);
    node.origin = origin;
    to.nodes.push_back(std::move(node));
    return out;
  };
  const graph::ValueId scaled = append(Op::kBinary, {q, scale}, graph::BinaryAttributes{kernels::Binary::kMul});
  const graph::ValueId products = append(Op::kBatchMatmul, {scaled, k}, graph::MatmulAttributes{true, one_head});
  const graph::ValueId logits = append(Op::kBinary, {products, mask}, graph::BinaryAttributes{kernels::Binary::kAdd});
  const graph::ValueId weights = append(Op::kSoftmax, {logits}, graph::SoftmaxAttributes{});
  append(Op::kBatchMatmul, {weights, v}, graph::MatmulAttributes{false, one_head}, from.outputs[0]);
}

}  // namespace enr::delegates::xnnpack
