#include "delegates/xnnpack/argument_layouts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "delegates/xnnpack/image_layouts.h"

namespace enr::delegates::xnnpack {

namespace {

using Layout = ImageLayout;

Layout layout_of(const program::Tensor& tensor) {
  if (tensor.sizes.size() != 4 || tensor.sizes[1] == 1 || tensor.sizes[2] * tensor.sizes[3] == 1) {
    return Layout::kUnknown;
  }
  if (std::ranges::is_sorted(tensor.dim_order)) return Layout::kPlanes;
  return std::ranges::equal(tensor.dim_order, kToPixels) ? Layout::kPixels : Layout::kUnknown;
}

std::vector<int64_t> planes_of(const std::vector<int64_t>& pixels) {
  return {pixels[0], pixels[3], pixels[1], pixels[2]};
}

struct Read {
  size_t node, input;
};

// The layouts of a payload's images, as an exporter reckons that takes quantised arguments in pixels for planes, or one
// that does not, and what speaks against its being this exporter.
class Reckoning {
 public:
  Reckoning(const Payload& payload, bool mistakes_arguments)
      : payload_(payload), layouts_(payload.values.size()), mistaken_(payload.values.size()) {
    for (const uint32_t id : payload.externals) {
      if (payload.values[id].is_external_input) layouts_[id] = payload.values[id].layout;
    }
    for (size_t n = 0; n < payload.nodes.size(); ++n) visit(n, mistakes_arguments);
    for (const uint32_t id : payload.externals) {
      if (payload.values[id].is_external_output) require(id, payload.values[id].layout);
    }
  }

  size_t contradictions() const { return contradictions_; }
  const std::vector<Read>& reads_of_planes() const { return reads_of_planes_; }

 private:
  void visit(size_t n, bool mistakes_arguments) {
    const Node& node = payload_.nodes[n];
    const uint32_t input = node.inputs[0], output = node.outputs[0];
    if (mistakes_arguments && is_mistaken(node)) {
      mistaken_[output] = true;
      layouts_[output] = Layout::kPixels;
    } else if (takes_pixels(node.type)) {
      require(input, Layout::kPixels);
      set_results(node, Layout::kPixels);
    } else if (needs_planes(node.type)) {
      read_planes(n);
      set_results(node, Layout::kPlanes);
    } else if (node.type == NodeType::kStaticTranspose) {
      visit_transpose(n);
    } else {
      visit_any_layout(n);
    }
  }

  // An argument quantised, or dequantised again.
  bool is_mistaken(const Node& node) const {
    if (node.type != NodeType::kConvert) return false;
    const Value &from = payload_.values[node.inputs[0]], &to = payload_.values[node.outputs[0]];
    if (is_float(from) && (is_quantised(to) || to.type == DataType::kQDInt8)) {
      return from.is_external_input && from.layout == Layout::kPixels;
    }
    return is_float(to) && mistaken_[node.inputs[0]];
  }

  void visit_transpose(size_t n) {
    const Node& node = payload_.nodes[n];
    const uint32_t input = node.inputs[0];
    if (mistaken_[input]) reads_of_planes_.push_back({n, 0});
    const Layout layout = mistaken_[input] ? Layout::kPlanes : layouts_[input];
    const bool to_pixels = std::ranges::equal(node.perm, kToPixels);
    const bool to_planes = std::ranges::equal(node.perm, kToPlanes);
    contradictions_ += (to_pixels && layout == Layout::kPixels) || (to_planes && layout == Layout::kPlanes);
    // The program's own permutations look the same, and keep the layout.
    layouts_[node.outputs[0]] = to_pixels || to_planes ? Layout::kUnknown : layout;
  }

  // Where images of both layouts meet, exporters turn them all to pixels if there is nothing of another rank.
  void visit_any_layout(size_t n) {
    const Node& node = payload_.nodes[n];
    const bool all_images = std::ranges::all_of(node.inputs, [&](uint32_t v) { return v == kNone || is_image(v); });
    const auto is_in = [&](Layout layout) {
      return [this, layout](uint32_t v) { return v != kNone && !mistaken_[v] && layouts_[v] == layout; };
    };
    if (std::ranges::any_of(node.inputs, is_in(Layout::kPixels)) && all_images) {
      for (const uint32_t v : node.inputs) require(v, Layout::kPixels);
      set_results(node, Layout::kPixels);
      return;
    }
    const bool any_planes = std::ranges::any_of(node.inputs, is_in(Layout::kPlanes));
    const size_t before = reads_of_planes_.size();
    read_planes(n);
    set_results(node, any_planes || reads_of_planes_.size() > before ? Layout::kPlanes : Layout::kUnknown);
    compare_dims(node);
  }

  void read_planes(size_t n) {
    const Node& node = payload_.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      if (mistaken_[node.inputs[i]]) {
        reads_of_planes_.push_back({n, i});
      } else {
        require(node.inputs[i], Layout::kPlanes);
      }
    }
  }

  // What keeps its operand's shape declares dims in the same order.
  void compare_dims(const Node& node) {
    const std::vector<int64_t>& declared = payload_.values[node.outputs[0]].dims;
    for (const uint32_t input : node.inputs) {
      if (input == kNone || !is_image(input)) continue;
      const std::vector<int64_t>& dims = payload_.values[input].dims;
      const std::vector<int64_t> expected = mistaken_[input] ? planes_of(dims) : dims;
      contradictions_ += declared != expected && std::ranges::is_permutation(declared, expected);
    }
  }

  void require(uint32_t value, Layout layout) {
    if (value == kNone || mistaken_[value] || layout == Layout::kUnknown) return;
    contradictions_ += layouts_[value] != Layout::kUnknown && layouts_[value] != layout;
  }

  void set_results(const Node& node, Layout layout) {
    for (const uint32_t output : node.outputs) layouts_[output] = is_image(output) ? layout : Layout::kUnknown;
  }

  bool is_image(uint32_t value) const { return payload_.values[value].dims.size() == 4; }

  const Payload& payload_;
  std::vector<Layout> layouts_;  // by value
  std::vector<bool> mistaken_;   // pixels, but planes to the exporter
  size_t contradictions_ = 0;
  std::vector<Read> reads_of_planes_;  // of mistaken values
};

uint32_t add_planes(Payload& payload, uint32_t pixels) {
  Value value = payload.values[pixels];
  value.dims = planes_of(value.dims);
  value.is_external_input = value.is_external_output = false;
  value.external_id = kNone;
  payload.values.push_back(std::move(value));
  return static_cast<uint32_t>(payload.values.size() - 1);
}

Node turn_to_planes(uint32_t pixels, uint32_t planes) {
  Node node;
  node.type = NodeType::kStaticTranspose;
  node.perm.assign(std::begin(kToPlanes), std::end(kToPlanes));
  node.inputs = {pixels};
  node.outputs = {planes};
  return node;
}

void turn(Payload& payload, const std::vector<Read>& reads) {
  std::vector<uint32_t> planes_by_value(payload.values.size(), kNone);
  for (const auto [n, i] : reads) {
    uint32_t& input = payload.nodes[n].inputs[i];
    uint32_t& planes = planes_by_value[input];
    if (planes == kNone) planes = add_planes(payload, input);
    input = planes;
  }
  std::vector<Node> nodes = std::exchange(payload.nodes, {});
  for (Node& node : nodes) {
    const uint32_t output = node.outputs[0], planes = planes_by_value[output];
    payload.nodes.push_back(std::move(node));
    if (planes == kNone) continue;
    if (payload.values[output].type == DataType::kQDInt8) {
      // Rows are others in planes: these are quantised once more.
      Node conversion = payload.nodes.back();
      const uint32_t floats = add_planes(payload, conversion.inputs[0]);
      payload.nodes.push_back(turn_to_planes(conversion.inputs[0], floats));
      conversion.inputs = {floats};
      conversion.outputs = {planes};
      payload.nodes.push_back(std::move(conversion));
    } else {
      payload.nodes.push_back(turn_to_planes(output, planes));
    }
  }
}

}  // namespace

void set_layouts(Payload& payload, std::span<const program::Tensor* const> arguments) {
  for (const uint32_t id : payload.externals) {
    Value& value = payload.values[id];
    if (value.external_id >= arguments.size() || arguments[value.external_id] == nullptr) continue;
    if (value.dims.size() == 4) value.layout = layout_of(*arguments[value.external_id]);
  }
}

bool turn_quantised_arguments(Payload& payload) {
  const Reckoning mistaken(payload, true);
  if (mistaken.reads_of_planes().empty()) return false;
  if (mistaken.contradictions() >= Reckoning(payload, false).contradictions()) return false;
  turn(payload, mistaken.reads_of_planes());
  return true;
}

}  // namespace enr::delegates::xnnpack
