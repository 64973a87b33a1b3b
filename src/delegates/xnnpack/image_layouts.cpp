#include "delegates/xnnpack/image_layouts.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace enr::delegates::xnnpack {

bool takes_pixels(NodeType type) {
  switch (type) {
    case NodeType::kConv2d:
    case NodeType::kDepthwiseConv2d:
    case NodeType::kConvTranspose2d:
    case NodeType::kMaxPooling2d:
    case NodeType::kAveragePooling2d:
    case NodeType::kArgMaxPooling2d:
    case NodeType::kGlobalAveragePooling2d:
    case NodeType::kResizeBilinear2d:
    case NodeType::kPRelu:
      return true;
    default:
      return false;
  }
}

bool needs_planes(NodeType type) {
  return type == NodeType::kFullyConnected || type == NodeType::kStaticReshape ||
         type == NodeType::kBatchMatrixMultiply;
}

bool is_float(const Value& value) { return value.type == DataType::kFloat32 || value.type == DataType::kFloat16; }

bool is_quantised(const Value& value) { return value.type == DataType::kQInt8 || value.type == DataType::kQUInt8; }

namespace {

// The quantised image in pixels of which the conversion gives the floats in planes; kNone where it is another one.
uint32_t source_in_pixels(const Payload& payload, const std::vector<const Node*>& writers, const Node& conversion) {
  if (conversion.type != NodeType::kConvert) return kNone;
  const uint32_t planes = conversion.inputs[0];
  if (!is_float(payload.values[conversion.outputs[0]]) || !is_quantised(payload.values[planes])) return kNone;
  const Node* transpose = writers[planes];
  const bool is_to_planes = transpose != nullptr && transpose->type == NodeType::kStaticTranspose &&
                            std::ranges::equal(transpose->perm, kToPlanes);
  return is_to_planes ? transpose->inputs[0] : kNone;
}

// The nodes that read each value, in order.
using Readers = std::vector<std::vector<size_t>>;

Readers find_readers(const Payload& payload) {
  Readers readers(payload.values.size());
  for (size_t n = 0; n < payload.nodes.size(); ++n) {
    for (const uint32_t input : payload.nodes[n].inputs) {
      if (input != kNone && (readers[input].empty() || readers[input].back() != n)) readers[input].push_back(n);
    }
  }
  return readers;
}

// Where nodes stop to be written for pixels: with the first that needs planes, or at the end for what leaves the graph.
size_t end_of_pixels(const Payload& payload, const Readers& readers, uint32_t value) {
  for (const size_t n : readers[value]) {
    if (needs_planes(payload.nodes[n].type)) return n;
  }
  return payload.values[value].is_external_output ? payload.nodes.size() : 0;
}

void replace_input(Node& node, uint32_t value, uint32_t replacement) {
  std::ranges::replace(node.inputs, value, replacement);
}

// Puts each node of `added` that has outputs behind the node of the same index.
void insert_behind(std::vector<Node>& nodes, std::vector<Node> added) {
  std::vector<Node> old = std::exchange(nodes, {});
  for (size_t n = 0; n < old.size(); ++n) {
    nodes.push_back(std::move(old[n]));
    if (!added[n].outputs.empty()) nodes.push_back(std::move(added[n]));
  }
}

bool are_images(const Payload& payload, const std::vector<uint32_t>& values) {
  return std::ranges::all_of(values, [&](uint32_t v) { return v != kNone && payload.values[v].dims.size() == 4; });
}

// Which values are images in pixels, as exporters reckon: other nodes keep the layout they are given, unless something
// of another rank goes in. Results of a node that needs planes are none.
std::vector<bool> find_pixels(const Payload& payload) {
  std::vector<bool> is_pixels(payload.values.size());
  for (const uint32_t id : payload.externals) {
    is_pixels[id] = payload.values[id].is_external_input && payload.values[id].layout == ImageLayout::kPixels;
  }
  // An argument that is not turned in front of a convolution comes in pixels.
  for (const Node& node : payload.nodes) {
    if (takes_pixels(node.type)) is_pixels[node.inputs[0]] = payload.values[node.inputs[0]].is_external_input;
  }
  for (const Node& node : payload.nodes) {
    const bool any_pixels = std::ranges::any_of(node.inputs, [&](uint32_t v) { return v != kNone && is_pixels[v]; });
    const bool is_to_planes = node.type == NodeType::kStaticTranspose && std::ranges::equal(node.perm, kToPlanes) &&
                              is_quantised(payload.values[node.inputs[0]]);
    const bool gives_pixels = takes_pixels(node.type) || (are_images(payload, node.inputs) && any_pixels &&
                                                          !needs_planes(node.type) && !is_to_planes);
    for (const uint32_t output : node.outputs) is_pixels[output] = gives_pixels;
  }
  return is_pixels;
}

// Which values are images in planes for sure: results of nodes that need planes, and what comes of them. In front of
// what quantises images at run time, a turn to pixels is the exporter's where an argument or a concatenation goes in;
// elsewhere it is a permutation of the program's own.
std::vector<bool> find_planes(const Payload& payload, const std::vector<bool>& is_pixels) {
  std::vector<bool> is_planes(payload.values.size()), ends_a_trace(payload.values.size());
  for (const uint32_t id : payload.externals) ends_a_trace[id] = true;
  for (const Node& node : payload.nodes) {
    const uint32_t input = node.inputs[0], output = node.outputs[0];
    ends_a_trace[output] = node.type == NodeType::kConcatenate2;
    bool in_planes = needs_planes(node.type);
    if (node.type == NodeType::kStaticTranspose) {
      const bool is_turn =
          std::ranges::equal(node.perm, kToPixels) && (ends_a_trace[input] || is_quantised(payload.values[input]));
      in_planes = is_planes[input] && !is_turn;
    } else if (!takes_pixels(node.type) && !in_planes) {
      in_planes = std::ranges::any_of(node.inputs, [&](uint32_t v) { return v != kNone && is_planes[v]; });
    }
    is_planes[output] = in_planes && !is_pixels[output] && payload.values[output].dims.size() == 4;
  }
  return is_planes;
}

// At run time, for a convolution.
bool quantises_image(const Payload& payload, const Node& node) {
  const Value& result = payload.values[node.outputs[0]];
  return node.type == NodeType::kConvert && result.type == DataType::kQDInt8 && result.num_nonbatch_dims == 3;
}

bool has_same_levels(const Value& a, const Value& b) {
  return a.type == b.type && a.scale == b.scale && a.zero_point == b.zero_point;
}

Value value_like(const Value& other, std::vector<int64_t> dims) {
  Value value;
  value.type = other.type;
  value.dims = std::move(dims);
  return value;
}

// Lets nodes in front of `end` that read the conversion's floats read those of `source`, by a conversion of its own,
// which is returned; without outputs where there are none.
Node convert_instead(Payload& payload, const Readers& readers, size_t conversion, uint32_t source, size_t end) {
  const uint32_t floats = payload.nodes[conversion].outputs[0];
  if (readers[floats].empty() || readers[floats][0] >= end) return {};
  Node added = payload.nodes[conversion];
  added.inputs = {source};
  added.outputs = {static_cast<uint32_t>(payload.values.size())};
  payload.values.push_back(value_like(payload.values[floats], payload.values[source].dims));
  for (const size_t n : readers[floats]) {
    if (n < end) replace_input(payload.nodes[n], floats, added.outputs[0]);
  }
  return added;
}

// A quantised image that a node gives in pixels.
struct TurnedImage {
  std::vector<size_t> conversions;  // nodes that give its floats
  size_t end = 0;                   // the first node that reads it as pixels; those in front were written for planes
};

TurnedImage find_turned_image(const Payload& payload, const Readers& readers, const std::vector<bool>& is_pixels,
                              uint32_t value) {
  TurnedImage image;
  size_t first = payload.nodes.size();
  bool leaves_in_pixels = false;
  const auto visit = [&](size_t n) {
    const Node& node = payload.nodes[n];
    const bool any_pixels = std::ranges::any_of(node.inputs, [&](uint32_t v) { return v != kNone && is_pixels[v]; });
    if (takes_pixels(node.type) || (any_pixels && are_images(payload, node.inputs))) first = std::min(first, n);
  };
  for (const size_t n : readers[value]) {
    visit(n);
    const Value& result = payload.values[payload.nodes[n].outputs[0]];
    if (payload.nodes[n].type != NodeType::kConvert || !is_float(result)) continue;
    image.conversions.push_back(n);
    leaves_in_pixels |= result.is_external_output && result.layout == ImageLayout::kPixels;
    for (const size_t reader : readers[payload.nodes[n].outputs[0]]) visit(reader);
  }
  if (leaves_in_pixels || first < payload.nodes.size()) image.end = first;
  return image;
}

}  // namespace

bool read_outputs_as_pixels(Payload& payload) {
  std::vector<const Node*> writers(payload.values.size());
  for (const Node& node : payload.nodes) {
    for (const uint32_t output : node.outputs) writers[output] = &node;
  }
  const Readers readers = find_readers(payload);
  std::vector<Node> added(payload.nodes.size());
  for (size_t n = 0; n < payload.nodes.size(); ++n) {
    const uint32_t source = source_in_pixels(payload, writers, payload.nodes[n]);
    if (source == kNone) continue;
    const size_t end = end_of_pixels(payload, readers, payload.nodes[n].outputs[0]);
    added[n] = convert_instead(payload, readers, n, source, end);
  }
  const bool has_any = std::ranges::any_of(added, [](const Node& node) { return !node.outputs.empty(); });
  insert_behind(payload.nodes, std::move(added));
  return has_any;
}

bool read_turned_as_planes(Payload& payload) {
  const std::vector<bool> is_pixels = find_pixels(payload);
  const Readers readers = find_readers(payload);
  std::vector<Node> added(payload.nodes.size());
  bool has_any = false;
  for (size_t n = 0; n < payload.nodes.size(); ++n) {
    const Node& node = payload.nodes[n];
    const uint32_t planes = node.inputs[0], pixels = node.outputs[0];
    const bool is_turn = node.type == NodeType::kStaticTranspose && std::ranges::equal(node.perm, kToPixels) &&
                         is_quantised(payload.values[planes]) && !is_pixels[planes];
    if (!is_turn || !has_same_levels(payload.values[planes], payload.values[pixels])) continue;
    const TurnedImage image = find_turned_image(payload, readers, is_pixels, pixels);
    for (const size_t m : image.conversions) {
      added[m] = convert_instead(payload, readers, m, planes, image.end);
      has_any |= !added[m].outputs.empty();
    }
    for (const size_t m : readers[pixels]) {
      if (m >= image.end || std::ranges::binary_search(image.conversions, m)) continue;
      replace_input(payload.nodes[m], pixels, planes);
      has_any = true;
    }
  }
  insert_behind(payload.nodes, std::move(added));
  return has_any;
}

bool quantise_rows_beside_images(Payload& payload) {
  const Readers readers = find_readers(payload);
  std::vector<Node> nodes = std::exchange(payload.nodes, {});
  std::vector<uint32_t> rows_of(payload.values.size(), kNone);
  bool has_any = false;
  for (Node& node : nodes) {
    const uint32_t image = node.outputs[0];
    const bool has_rows = std::ranges::any_of(
        readers[image], [&](size_t reader) { return nodes[reader].type == NodeType::kFullyConnected; });
    if (quantises_image(payload, node) && has_rows) {
      has_any = true;
      rows_of[image] = static_cast<uint32_t>(payload.values.size());
      Value rows = payload.values[image];
      rows.num_nonbatch_dims = 1;
      payload.values.push_back(std::move(rows));
      Node conversion = node;
      conversion.outputs = {rows_of[image]};
      payload.nodes.push_back(std::move(conversion));
    }
    if (node.type == NodeType::kFullyConnected && rows_of[node.inputs[0]] != kNone) {
      node.inputs[0] = rows_of[node.inputs[0]];
    }
    payload.nodes.push_back(node);
  }
  return has_any;
}

bool turn_in_front_of_convolutions(Payload& payload) {
  struct Turn {
    uint32_t planes, pixels;
    size_t end;  // the first node that takes the pixels: those in front of it are written for planes
  };
  std::vector<Turn> turns;
  std::vector<uint32_t> turn_of(payload.values.size(), kNone);  // where a value comes from, by first inputs
  const std::vector<bool> is_pixels = find_pixels(payload), is_planes = find_planes(payload, is_pixels);
  std::vector<Node> nodes = std::exchange(payload.nodes, {});
  for (size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    const uint32_t input = node.inputs[0];
    uint32_t turn = turn_of[input];
    if (turn != kNone && turns[turn].end == nodes.size() &&
        (quantises_image(payload, node) || (takes_pixels(node.type) && input == turns[turn].pixels))) {
      turns[turn].end = n;
    }
    if (turn == kNone && node.type == NodeType::kStaticTranspose && std::ranges::equal(node.perm, kToPixels) &&
        !is_pixels[input]) {
      turn = static_cast<uint32_t>(turns.size());
      turns.push_back({input, node.outputs[0], nodes.size()});
    }
    if (is_pixels[node.outputs[0]]) turn = kNone;
    for (const uint32_t output : node.outputs) turn_of[output] = turn;
  }

  bool has_any = false;
  for (size_t n = 0; n < nodes.size(); ++n) {
    Node& node = nodes[n];
    const uint32_t input = node.inputs[0], first = turn_of[input];
    const bool is_end = first != kNone && turns[first].end == n && input != turns[first].pixels;
    const bool is_unturned = quantises_image(payload, node) && is_planes[input];
    for (uint32_t& read : node.inputs) {
      if (read == kNone || turn_of[read] == kNone) continue;
      const Turn& turn = turns[turn_of[read]];
      if (read != turn.pixels || turn.end == nodes.size() || n >= turn.end) continue;
      read = turn.planes;
      has_any = true;
    }
    if (is_end || is_unturned) {
      has_any = true;
      Node transpose;
      transpose.type = NodeType::kStaticTranspose;
      transpose.perm.assign(std::begin(kToPixels), std::end(kToPixels));
      transpose.inputs = node.inputs;
      const auto& dims = payload.values[node.inputs[0]].dims;
      Value pixels = value_like(payload.values[node.inputs[0]], dims);
      if (dims.size() == 4) pixels.dims = {dims[0], dims[2], dims[3], dims[1]};
      node.inputs = {static_cast<uint32_t>(payload.values.size())};
      transpose.outputs = node.inputs;
      payload.values.push_back(std::move(pixels));
      payload.nodes.push_back(std::move(transpose));
    }
    payload.nodes.push_back(std::move(node));
  }
  return has_any;
}

void turn_softmax_of_pixels(Payload& payload) {
  const std::vector<bool> is_pixels = find_pixels(payload);
  std::vector<Node> nodes = std::exchange(payload.nodes, {});
  for (Node& node : nodes) {
    const uint32_t input = node.inputs[0], output = node.outputs[0];
    if (node.type != NodeType::kSoftmax || !is_pixels[input] || payload.values[input].dims.size() != 4) {
      payload.nodes.push_back(std::move(node));
      continue;
    }
    const auto turned = static_cast<uint32_t>(payload.values.size()), result = turned + 1;
    std::vector<int64_t> dims = payload.values[input].dims;
    std::swap(dims[2], dims[3]);
    payload.values.push_back(value_like(payload.values[input], dims));
    payload.values.push_back(value_like(payload.values[output], dims));
    Node turn;
    turn.type = NodeType::kStaticTranspose;
    turn.perm = {0, 1, 3, 2};
    turn.inputs = {input};
    turn.outputs = {turned};
    payload.nodes.push_back(turn);
    node.inputs = {turned};
    node.outputs = {result};
    payload.nodes.push_back(std::move(node));
    turn.inputs = {result};
    turn.outputs = {output};
    payload.nodes.push_back(std::move(turn));
  }
}

}  // namespace enr::delegates::xnnpack
