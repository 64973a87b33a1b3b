#include "delegates/xnnpack/image_outputs.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace enr::delegates::xnnpack {

namespace {

constexpr uint32_t kToPlanes[] = {0, 3, 1, 2};

bool is_float(const Value& value) { return value.type == DataType::kFloat32 || value.type == DataType::kFloat16; }
bool is_quantised(const Value& value) { return value.type == DataType::kQInt8 || value.type == DataType::kQUInt8; }

// The quantised image in pixels of which the conversion gives the floats in planes; kNone where it is another one.
uint32_t source_in_pixels(const Payload& payload, const std::vector<const Node*>& writers, const Node& conversion) {
  if (conversion.type != NodeType::kConvert) return kNone;
  const Value& floats = payload.values[conversion.outputs[0]];
  const uint32_t planes = conversion.inputs[0];
  if (!floats.is_external_output || !is_float(floats) || !is_quantised(payload.values[planes])) return kNone;
  const Node* transpose = writers[planes];
  const bool is_to_planes = transpose != nullptr && transpose->type == NodeType::kStaticTranspose &&
                            std::ranges::equal(transpose->perm, kToPlanes);
  return is_to_planes ? transpose->inputs[0] : kNone;
}

// Whether a node from `begin` on reads the value; all of them read `replacement` then.
bool replace_reads(std::vector<Node>& nodes, size_t begin, uint32_t value, uint32_t replacement) {
  bool is_read = false;
  for (size_t n = begin; n < nodes.size(); ++n) {
    for (uint32_t& input : nodes[n].inputs) {
      if (input != value) continue;
      input = replacement;
      is_read = true;
    }
  }
  return is_read;
}

}  // namespace

bool read_outputs_as_pixels(Payload& payload) {
  std::vector<const Node*> writers(payload.values.size());
  for (const Node& node : payload.nodes) {
    for (const uint32_t output : node.outputs) writers[output] = &node;
  }
  std::vector<uint32_t> sources;
  for (const Node& node : payload.nodes) sources.push_back(source_in_pixels(payload, writers, node));

  bool has_any = false;
  std::vector<Node> nodes = std::exchange(payload.nodes, {});
  for (size_t n = 0; n < nodes.size(); ++n) {
    payload.nodes.push_back(nodes[n]);
    if (sources[n] == kNone) continue;
    const auto pixels = static_cast<uint32_t>(payload.values.size());
    const uint32_t planes = nodes[n].outputs[0];
    if (!replace_reads(nodes, n + 1, planes, pixels)) continue;
    has_any = true;
    Value value;
    value.type = payload.values[planes].type;
    value.dims = payload.values[sources[n]].dims;
    payload.values.push_back(std::move(value));
    Node conversion = nodes[n];
    conversion.inputs = {sources[n]};
    conversion.outputs = {pixels};
    payload.nodes.push_back(std::move(conversion));
  }
  return has_any;
}

}  // namespace enr::delegates::xnnpack
