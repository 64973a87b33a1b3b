#include "delegates/xnnpack/payload_nodes.h"

#include <cmath>

#include "base/error.h"

namespace enr::delegates::xnnpack {

namespace {

using flatbuffer::Field;
using flatbuffer::in_field;
using flatbuffer::Table;
using flatbuffer::Vector;

class NodeReader {
 public:
  NodeReader(const Table& table, const DecodedValues& values, Node& node)
      : table_(table), values_(values), node_(node) {}

  void input(uint32_t id, const char* name) { node_.inputs.push_back(index({id, name})); }
  void optional_input(uint32_t id, const char* name) {
    const bool is_absent = table_.scalar<uint32_t>({id, name}) == kNone;
    node_.inputs.push_back(is_absent ? kNone : index({id, name}));
  }
  void output(uint32_t id, const char* name) { node_.outputs.push_back(index({id, name})); }
  void flags(uint32_t id) { node_.flags = number(id, "flags"); }
  uint32_t number(uint32_t id, const char* name) { return table_.scalar<uint32_t>({id, name}); }
  float real(uint32_t id, const char* name) { return table_.scalar<float>({id, name}); }

  // A list with as many items as field 0 says.
  Vector<uint32_t> counted_list(uint32_t id, const char* name) {
    const Vector<uint32_t> items = table_.vector<uint32_t>({id, name});
    const uint32_t count = number(0, "num_dims");
    if (items.size() != count) fail_load(name, ": has ", items.size(), " items, num_dims is ", count);
    return checked(items, name);
  }
  Vector<uint32_t> list(uint32_t id, const char* name) { return checked(table_.vector<uint32_t>({id, name}), name); }

 private:
  uint32_t index(Field field) const {
    const auto id = table_.scalar<uint32_t>(field);
    const auto found = values_.index_of_id.find(id);
    if (found == values_.index_of_id.end()) fail_load(field.name, ": is ", id, ", which no value has");
    return found->second;
  }
  static Vector<uint32_t> checked(Vector<uint32_t> items, const char* name) {
    if (items.size() > kMaxRank)
      fail_load(name, ": has ", items.size(), " items, at most ", kMaxRank, " are supported");
    return items;
  }

  const Table& table_;
  const DecodedValues& values_;
  Node& node_;
};

template <class T>
void assign(std::vector<T>& target, const Vector<uint32_t>& items) {
  for (size_t i = 0; i < items.size(); ++i) target.push_back(items[i]);
}

void read_binary(NodeReader& reader) {
  reader.input(0, "input1_id");
  reader.input(1, "input2_id");
  reader.output(2, "output_id");
  reader.flags(3);
}

// One input and one output from this field on.
void read_unary(NodeReader& reader, uint32_t first) {
  reader.input(first, "input_id");
  reader.output(first + 1, "output_id");
  reader.flags(first + 2);
}

void read_padding(NodeReader& reader, Node& node) {
  node.window.pad_top = reader.number(0, "padding_top");
  node.window.pad_right = reader.number(1, "padding_right");
  node.window.pad_bottom = reader.number(2, "padding_bottom");
  node.window.pad_left = reader.number(3, "padding_left");
  node.window.kernel_height = reader.number(4, "kernel_height");
  node.window.kernel_width = reader.number(5, "kernel_width");
}

void read_window(NodeReader& reader, Node& node) {
  read_padding(reader, node);
  node.window.stride_height = reader.number(6, "stride_height");
  node.window.stride_width = reader.number(7, "stride_width");
  node.window.dilation_height = reader.number(8, "dilation_height");
  node.window.dilation_width = reader.number(9, "dilation_width");
}

void read_convolution(NodeReader& reader, Node& node) {
  read_window(reader, node);
  node.group_input_channels = reader.number(10, "group_input_channels");
  node.group_output_channels = reader.number(11, "group_output_channels");
  node.groups = reader.number(12, "groups");
  node.adjustment_height = reader.number(13, "adjustment_height");
  node.adjustment_width = reader.number(14, "adjustment_width");
  reader.input(15, "input1_id");
  reader.input(16, "filter_id");
  reader.optional_input(17, "bias_id");
  reader.output(18, "output_id");
  reader.flags(19);
}

void read_fully_connected(NodeReader& reader) {
  reader.input(0, "input1_id");
  reader.input(1, "filter_id");
  reader.optional_input(2, "bias_id");
  reader.output(3, "output_id");
  reader.flags(4);
}

void read_pooling(NodeReader& reader, Node& node) {
  read_window(reader, node);
  if (node.type == NodeType::kAveragePooling2d) node.window.dilation_height = node.window.dilation_width = 1;
  read_unary(reader, 10);
}

void read_argmax_pooling(NodeReader& reader, Node& node) {
  read_padding(reader, node);
  node.window.stride_height = node.window.kernel_height;
  node.window.stride_width = node.window.kernel_width;
  reader.input(6, "input_id");
  reader.output(7, "output_value_id");
  reader.output(8, "output_index_id");
  reader.flags(9);
}

void read_concatenate(NodeReader& reader, Node& node, size_t count) {
  static constexpr Field kInputs[] = {
      {1, "input1_id"}, {2, "input2_id"}, {3, "input3_id"}, {4, "input4_id"}, {7, "input5_id"}};
  node.type = NodeType::kConcatenate2;
  node.axis = static_cast<int32_t>(reader.number(0, "axis"));
  for (size_t i = 0; i < count; ++i) reader.input(kInputs[i].id, kInputs[i].name);
  reader.output(5, "output_id");
  reader.flags(6);
}

void read_attention(NodeReader& reader) {
  static constexpr const char* kNames[] = {"query_id", "key_id", "value_id", "scale_id", "mask_id"};
  for (uint32_t i = 0; i < 5; ++i) reader.input(i, kNames[i]);
  reader.output(5, "output_id");
  reader.flags(6);
}

void read_parameters(NodeReader& reader, Node& node) {
  switch (node.type) {
    // Scalars have one dim of 1, where these lists have no items.
    case NodeType::kStaticTranspose:
      assign(node.perm, reader.counted_list(1, "perm"));
      if (node.perm.empty()) node.perm = {0};
      return read_unary(reader, 2);
    case NodeType::kStaticReshape:
      assign(node.new_shape, reader.counted_list(1, "new_shape"));
      if (node.new_shape.empty()) node.new_shape = {1};
      return read_unary(reader, 2);
    case NodeType::kStaticSlice:
      assign(node.offsets, reader.counted_list(1, "offsets"));
      assign(node.sizes, reader.counted_list(2, "sizes"));
      return read_unary(reader, 3);
    case NodeType::kConstantPad:
      assign(node.pre_pad, reader.list(0, "pre_paddings"));
      assign(node.post_pad, reader.list(1, "post_paddings"));
      node.value = reader.real(2, "padding_value");
      return read_unary(reader, 3);
    case NodeType::kResizeBilinear2d:
      node.new_height = reader.number(0, "new_height");
      node.new_width = reader.number(1, "new_width");
      return read_unary(reader, 2);
    case NodeType::kLeakyRelu:
      node.value = reader.real(0, "negative_slope");
      return read_unary(reader, 1);
    case NodeType::kElu:
      node.value = reader.real(0, "alpha");
      return read_unary(reader, 1);
    default:
      return read_unary(reader, 0);
  }
}

void read_node(uint8_t code, NodeReader& reader, Node& node) {
  switch (code) {
    case 1:   // add
    case 8:   // divide
    case 12:  // minimum
    case 15:  // multiply
    case 16:  // subtract
    case 26:  // maximum
    case 31:  // prelu
    case 37:  // batch matrix multiply
      return read_binary(reader);
    case 2:
      return read_fully_connected(reader);
    case 7:
    case 13:
    case 39:
      return read_convolution(reader, node);
    case 11:
    case 14:
      return read_pooling(reader, node);
    case 21:
      return read_argmax_pooling(reader, node);
    case 32:
    case 33:
    case 34:
      return read_concatenate(reader, node, 2 + (code - 32));
    case 38:
      return read_concatenate(reader, node, 5);
    case 36:
      return read_attention(reader);
    default:
      return read_parameters(reader, node);
  }
}

void read_clamp(const Table& entry, Node& node) {
  const auto clamp = entry.table({3, "output_min_max"});
  if (!clamp) return;
  node.output_min = clamp->scalar<float>({0, "output_min"});
  node.output_max = clamp->scalar<float>({1, "output_max"});
  if (!(node.output_min <= node.output_max)) {  // also refuses NaN
    fail_load("output_min_max: is ", node.output_min, " to ", node.output_max, ", expected the lower bound first");
  }
}

constexpr uint8_t kLastCode = static_cast<uint8_t>(NodeType::kCos);

}  // namespace

Node decode_node(const Table& entry, const DecodedValues& values) {
  const auto code = entry.scalar<uint8_t>({0, "xnode_union_type"});
  if (code == 0 || code > kLastCode) fail_load("xnode_union_type: ", +code, " is not a node this runtime knows");
  Node node;
  node.type = static_cast<NodeType>(code);
  node.debug_handle = entry.scalar<uint32_t>({2, "debug_handle"});
  in_field(node_type_name(node.type), [&] {
    const Table table = entry.required_table({1, "xnode_union"});
    NodeReader reader(table, values, node);
    read_node(code, reader, node);
    read_clamp(entry, node);
    check_node(node, values.values);
  });
  return node;
}

}  // namespace enr::delegates::xnnpack
