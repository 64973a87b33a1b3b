#include <doctest/doctest.h>

#include <limits>

#include "delegates/xnnpack/payload.h"
#include "program_tree.h"

namespace {

using namespace enr;
using namespace enr::test;
using namespace enr::delegates::xnnpack;

using Dims = std::vector<uint32_t>;
using Ids = std::vector<uint32_t>;

// A graph as a tree that tests break in one place. Values have the ids 10, 11, ... in the order they are made.
struct GraphTree {
  std::vector<Tree> values;
  std::vector<Tree> nodes;
  std::vector<Tree> constants = {table({})};
  ByteVector data;
  uint32_t external_count = 0;
  std::map<std::string, ByteVector, std::less<>> named;

  Tree& tensor(size_t index) {
    Tree& content = values.at(index)[1];
    return content.fields.count(1) != 0 && content.fields.count(6) == 0 ? content[0] : content;
  }
  Tree& params(size_t index) { return values.at(index)[1][2]; }
  Tree& node(size_t index) { return nodes.at(index)[1]; }

  uint32_t value(int16_t type, const Dims& dims) {
    const auto id = static_cast<uint32_t>(values.size()) + 10;
    values.push_back(value_node(1, table({{0, number(type)},
                                          {1, number(static_cast<uint32_t>(dims.size()))},
                                          {2, numbers(dims)},
                                          {4, number(delegates::xnnpack::kNone)},
                                          {5, number(uint32_t{0})},
                                          {6, number(id)}})));
    return id;
  }
  uint32_t external(int16_t type, const Dims& dims, uint32_t flags) {
    const uint32_t id = value(type, dims);
    tensor(values.size() - 1)[4] = number(external_count++);
    tensor(values.size() - 1)[5] = number(flags);
    return id;
  }
  uint32_t constant(int16_t type, const Dims& dims, size_t size_bytes) {
    const uint32_t id = value(type, dims);
    tensor(values.size() - 1)[3] = number(store(ByteVector(size_bytes, std::byte{0})));
    return id;
  }
  uint32_t store(const ByteVector& bytes) {
    data.resize((data.size() + 15) / 16 * 16);
    constants.push_back(table({{0, number(uint64_t{data.size()})}, {1, number(uint64_t{bytes.size()})}}));
    data.insert(data.end(), bytes.begin(), bytes.end());
    return static_cast<uint32_t>(constants.size() - 1);
  }
  // Gives the last value quantisation parameters.
  void quantise(uint8_t code, Tree parameters) {
    Tree content = values.back()[1];
    values.back() = value_node(2, table({{0, content}, {1, number(code)}, {2, std::move(parameters)}}));
  }
  void add_node(uint8_t code, std::map<uint32_t, Tree> fields) {
    nodes.push_back(table({{0, number(code)}, {1, table(std::move(fields))}}));
  }
  // A node of ids only, from field 0 on.
  void add_node(uint8_t code, const Ids& ids) {
    std::map<uint32_t, Tree> fields;
    for (uint32_t i = 0; i < ids.size(); ++i) fields[i] = number(ids[i]);
    add_node(code, std::move(fields));
  }

  Tree root() const {
    return table({{1, tables(nodes)}, {2, tables(values)}, {3, number(external_count)}, {8, tables(constants)}});
  }
  ByteVector bytes() const {
    ByteVector graph = FlatbufferWriter::write(root(), "XN01");
    ByteVector out(4);
    for (const char c : std::string_view("XH00")) out.push_back(static_cast<std::byte>(c));
    const auto data_offset = static_cast<uint32_t>((32 + graph.size() + 15) / 16 * 16);
    append_number(out, uint16_t{30});
    append_number(out, uint32_t{32});
    append_number(out, static_cast<uint32_t>(graph.size()));
    append_number(out, data_offset);
    append_number(out, uint64_t{data.size()});
    out.resize(32);
    out.insert(out.end(), graph.begin(), graph.end());
    out.resize(data_offset);
    out.insert(out.end(), data.begin(), data.end());
    return out;
  }
};

Payload decode(const ByteVector& bytes, const std::map<std::string, ByteVector, std::less<>>& named = {}) {
  const auto find = [&](std::string_view key) -> std::optional<Bytes> {
    const auto found = named.find(key);
    if (found == named.end()) return std::nullopt;
    return Bytes(found->second);
  };
  return decode_payload(bytes, find, "forward.delegates[0]");
}

std::string decode_message(const GraphTree& g) {
  return message_of([&] { decode(g.bytes(), g.named); });
}

enum : int16_t { kFp32 = 1, kQInt8Code = 3, kQCInt8Code = 6, kQCInt4Code = 8, kQDInt8Code = 9, kQBInt4Code = 10 };

// sigmoid(linear(x)): values are input, filter, bias, hidden, output.
struct LinearTree : GraphTree {
  LinearTree() {
    external(kFp32, {2, 3}, 1);
    constant(kFp32, {4, 3}, 48);
    constant(kFp32, {4}, 16);
    value(kFp32, {2, 4});
    external(kFp32, {2, 4}, 2);
    add_node(2, Ids{10, 11, 12, 13, 0});
    add_node(4, Ids{13, 14, 0});
  }
};

// A convolution: values are input, filter, bias, output.
struct ConvolutionTree : GraphTree {
  explicit ConvolutionTree(uint8_t code = 7, Dims filter = {6, 2, 3, 2}) {
    external(kFp32, {1, 8, 8, 4}, 1);
    constant(kFp32, filter, 4 * filter[0] * filter[1] * filter[2] * filter[3]);
    constant(kFp32, {6}, 24);
    external(kFp32, {1, 7, 6, 6}, 2);
    std::map<uint32_t, Tree> fields;
    const Ids numbers_of_fields = {0, 0, 0, 0, 2, 3, 1, 1, 1, 1, 2, 3, 2, 0, 0, 10, 11, 12, 13, 0};
    for (uint32_t i = 0; i < numbers_of_fields.size(); ++i) fields[i] = number(numbers_of_fields[i]);
    add_node(code, std::move(fields));
  }
};

// A quantised constant with parameters that tests choose, read by no node.
struct ConstantTree : GraphTree {
  ConstantTree(int16_t type, const Dims& dims, size_t size_bytes, uint8_t code, Tree parameters) {
    constant(type, dims, size_bytes);
    quantise(code, std::move(parameters));
  }
};

Tree per_tensor(float scale, int32_t zero_point) { return table({{0, number(scale)}, {1, number(zero_point)}}); }
Tree per_channel(const std::vector<float>& scales, int32_t dim) {
  return table({{0, numbers(scales)}, {1, number(dim)}});
}
Tree per_block(const std::vector<float>& scales, int32_t group_size) {
  return table({{0, numbers(scales)}, {1, number(int32_t{0})}, {2, number(group_size)}});
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A test named after what is wrong: `change` breaks the graph `g`, decoding it then fails with a message that has
// `part`.
#define REFUSED(name, tree, part, change)          \
  TEST_CASE("payload refused: " name) {            \
    tree g;                                        \
    change;                                        \
    const std::string message = decode_message(g); \
    CAPTURE(message);                              \
    CHECK(contains(message, part));                \
  }

#define REFUSED_CONSTANT(name, part, ...)                                  \
  TEST_CASE("payload refused: " name) {                                    \
    const std::string message = decode_message(ConstantTree(__VA_ARGS__)); \
    CAPTURE(message);                                                      \
    CHECK(contains(message, part));                                        \
  }

TEST_CASE("payload: a linear layer with a clamp is decoded") {
  LinearTree g;
  g.nodes[0][3] = table({{0, number(0.0f)}, {1, number(6.0f)}});
  const ByteVector bytes = g.bytes();
  const Payload p = decode(bytes);
  REQUIRE(p.values.size() == 5);
  CHECK(p.values[0].is_external_input);
  CHECK(p.values[0].dims == std::vector<int64_t>{2, 3});
  CHECK(p.values[1].is_constant);
  CHECK(p.values[1].data.size() == 48);
  CHECK(reinterpret_cast<uintptr_t>(p.values[1].data.data()) % 16 == 0);
  CHECK(p.values[4].is_external_output);
  CHECK(p.externals == std::vector<uint32_t>{0, 4});
  REQUIRE(p.nodes.size() == 2);
  CHECK(p.nodes[0].type == NodeType::kFullyConnected);
  CHECK(p.nodes[0].inputs == std::vector<uint32_t>{0, 1, 2});
  CHECK(p.nodes[0].outputs == std::vector<uint32_t>{3});
  CHECK(p.nodes[0].output_min == 0.0f);
  CHECK(p.nodes[0].output_max == 6.0f);
  CHECK(p.nodes[1].type == NodeType::kSigmoid);
  CHECK(p.nodes[1].output_max == kInf);
}

TEST_CASE("payload: without a header, constants inline (XN00)") {
  LinearTree g;
  Tree root = g.root();
  root.fields.erase(8);
  root[6] =
      tables({table({}), table({{0, blob(std::vector<float>(12, 2.0f))}}), table({{0, blob(std::vector<float>(4))}})});
  const Payload p = decode(FlatbufferWriter::write(root, "XN00"));
  CHECK(p.values[1].data.size() == 48);
}

TEST_CASE("payload: dq_datatype of XN00 inserts a conversion that all readers of the input use") {
  LinearTree g;
  g.tensor(0)[7] = number(int16_t{kQInt8Code});
  const ByteVector bytes = g.bytes();
  const Payload p = decode(bytes);
  REQUIRE(p.nodes.size() == 3);
  CHECK(p.nodes[0].type == NodeType::kConvert);
  CHECK(p.nodes[0].inputs == std::vector<uint32_t>{0});
  CHECK(p.nodes[0].outputs == std::vector<uint32_t>{5});
  CHECK(p.nodes[1].inputs[0] == 5);
  CHECK(p.values[5].type == DataType::kQDInt8);
  CHECK(p.values[5].num_nonbatch_dims == 1);
}

TEST_CASE("payload: constants by name, also where the name is empty") {
  LinearTree g;
  g.constants[1] = table({{0, number(~uint64_t{0})}, {2, text("")}});
  g.constants[2] = table({{0, number(~uint64_t{0})}, {2, text("bias")}});
  g.named[""] = ByteVector(48, std::byte{1});
  g.named["bias"] = ByteVector(16, std::byte{2});
  const Payload p = decode(g.bytes(), g.named);
  CHECK(p.values[1].data.front() == std::byte{1});
  CHECK(p.values[2].data.front() == std::byte{2});
}

TEST_CASE("payload: blockwise scales, from old files in float and from new ones in bfloat16") {
  GraphTree g;
  g.constant(kQBInt4Code, {2, 64}, 64);
  g.quantise(4, per_block({1.0f, 0.5f, 0.25f, 3.0f}, 32));
  g.constant(kQBInt4Code, {2, 64}, 64);
  ByteVector halves;
  for (const uint16_t half : {0x3F80, 0x3F00, 0x3E80, 0x4040}) append_number(halves, half);
  const uint32_t index = g.store(halves);
  g.quantise(4, table({{2, number(int32_t{32})}, {4, number(index)}, {5, number(uint32_t{4})}}));
  const Payload p = decode(g.bytes());
  CHECK(p.values[0].scales == std::vector<float>{1.0f, 0.5f, 0.25f, 3.0f});
  CHECK(p.values[1].scales == p.values[0].scales);
  CHECK(p.values[1].group_size == 32);
}

TEST_CASE("payload: rows of an odd number of 4-bit elements end in half a byte") {
  const auto tree = [](size_t size_bytes) {
    return ConstantTree(kQCInt4Code, {2, 5}, size_bytes, 1, per_channel({1, 1}, 0));
  };
  CHECK(decode_message(tree(6)) == "");
  CHECK(contains(decode_message(tree(5)), "has 5 bytes, the value needs 6"));
}

TEST_CASE("payload: convolutions of all three kinds, with their filters' layouts") {
  CHECK(decode_message(ConvolutionTree()) == "");
  CHECK(decode_message(ConvolutionTree(39)) == "");
  ConvolutionTree depthwise(13, {1, 2, 3, 6});
  depthwise.node(0)[10] = number(uint32_t{1});
  depthwise.tensor(0)[2] = numbers(Dims{1, 8, 8, 2});
  CHECK(decode_message(depthwise) == "");
}

TEST_CASE("payload: any byte may be anything without harm") {
  for (const ByteVector& bytes : {LinearTree().bytes(), ConvolutionTree().bytes()}) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
        ByteVector changed = bytes;
        changed[i] = static_cast<std::byte>(value);
        message_of([&] { decode(changed); });
      }
    }
  }
}

TEST_CASE("payload: any byte may be cut off without harm") {
  const ByteVector bytes = LinearTree().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const ByteVector cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    CHECK(message_of([&] { decode(cut); }) != "");
  }
}

// The container and its constants.

TEST_CASE("payload refused: of another delegate") {
  CHECK(contains(message_of([] { decode(ByteVector(64, std::byte{'x'})); }),
                 "forward.delegates[0].payload: the graph is marked 'xxxx', expected 'XN00' or 'XN01'"));
}

REFUSED("constant beyond the data", LinearTree, "constant_data[2].offset: bytes 48 + 17 do not fit in the 64 bytes",
        g.constants[2][1] = number(uint64_t{17}))
REFUSED("constant smaller than its value", LinearTree,
        "xvalues[1].xvalue_union.constant_buffer_idx: constant 1 has 47 bytes",
        g.constants[1][1] = number(uint64_t{47}))
REFUSED("constant that is not there", LinearTree, "constant_buffer_idx: is 3, the graph has 3 constants",
        g.tensor(1)[3] = number(uint32_t{3}))
REFUSED("names that are not found, all of them listed", LinearTree,
        "constant_data: 2 constants are neither in the program nor in a data file: 'bias', 'filter'",
        (g.constants[1][2] = text("filter"), g.constants[2][2] = text("bias")))

// Values.

REFUSED("unknown kind of value", LinearTree, "xvalues[0].xvalue_union_type: is 3", g.values[0][0] = number(uint8_t{3}))
REFUSED("unknown datatype", LinearTree, "xvalues[0].xvalue_union.datatype: is 15", g.tensor(0)[0] = number(int16_t{15}))
REFUSED("datatype that only exists at run time", LinearTree, "datatype: is 11", g.tensor(0)[0] = number(int16_t{11}))
REFUSED("rank above 8", LinearTree, "num_dims: is 9, at most 8", g.tensor(0)[1] = number(uint32_t{9}))
REFUSED("dims of another count", LinearTree, "dims: has 2 items, num_dims is 3", g.tensor(0)[1] = number(uint32_t{3}))
REFUSED("dims whose product overflows", LinearTree, "dims: fp32[4294967295, 4294967295] takes more than",
        g.tensor(0)[2] = numbers(Dims{~0u, ~0u}))
REFUSED("two values of one id", LinearTree, "xvalues[1].xvalue_union.id_out: is 10, as another value's",
        g.tensor(1)[6] = number(uint32_t{10}))
REFUSED("unknown flags", LinearTree, "flags: are 4, expected 0 (internal)", g.tensor(0)[5] = number(uint32_t{4}))
REFUSED("external value without an id", LinearTree, "external_id: missing",
        g.tensor(0)[4] = number(delegates::xnnpack::kNone))
REFUSED("external id twice", LinearTree, "xvalues[4].external_id: is 0, expected 0 to 1, each at most once",
        g.tensor(4)[4] = number(uint32_t{0}))
REFUSED("external id beyond the count", LinearTree, "external_id: is 7, expected 0 to 1, each at most once",
        g.tensor(4)[4] = number(uint32_t{7}))
REFUSED("external input behind an output", LinearTree,
        "xvalues[0].external_id: is 1 for an input, behind that of an output",
        (g.tensor(0)[4] = number(uint32_t{1}), g.tensor(4)[4] = number(uint32_t{0})))
REFUSED("wrong count of externals", LinearTree, "num_externs: is 3, the last of the graph's external values is 1",
        g.external_count = 3)
REFUSED("constant that is external", LinearTree, "flags: are 1 for a constant",
        (g.tensor(1)[5] = number(uint32_t{1}), g.tensor(1)[4] = number(uint32_t{2})))
REFUSED("external value of a datatype no tensor has", LinearTree, "quant_params_type: is 0, expected 3 for qdint8",
        g.tensor(0)[0] = number(int16_t{kQDInt8Code}))
REFUSED("quantised value without parameters", LinearTree, "quant_params_type: is 0, expected 2 for qint8",
        g.tensor(0)[0] = number(int16_t{kQInt8Code}))
REFUSED("parameters for a float value", LinearTree, "quant_params_type: is 2, expected 0 for fp32",
        g.quantise(2, per_tensor(1, 0)))
REFUSED("unknown dq_datatype", LinearTree, "dq_datatype: is 4", g.tensor(0)[7] = number(int16_t{4}))

REFUSED_CONSTANT("scale of zero", "quant_params.scale: is 0, expected a positive finite number", kQInt8Code, {4}, 4, 2,
                 per_tensor(0.0f, 0))
REFUSED_CONSTANT("negative scale", "scale: is -1", kQInt8Code, {4}, 4, 2, per_tensor(-1.0f, 0))
REFUSED_CONSTANT("scale that is not a number", "scale: is nan", kQInt8Code, {4}, 4, 2, per_tensor(kNaN, 0))
REFUSED_CONSTANT("infinite scale", "scale: is inf", kQInt8Code, {4}, 4, 2, per_tensor(kInf, 0))
REFUSED_CONSTANT("zero point out of range", "zero_point: is 128, expected -128 to 127 for qint8", kQInt8Code, {4}, 4, 2,
                 per_tensor(1.0f, 128))
REFUSED_CONSTANT("channel scale of zero", "quant_params.scale[1]: is 0", kQCInt8Code, {2, 3}, 6, 1,
                 per_channel({1, 0}, 0))
REFUSED_CONSTANT("too few channel scales", "scale: 2 scales for qcint8[2, 3], expected 3", kQCInt8Code, {2, 3}, 6, 1,
                 per_channel({1, 1}, 1))
REFUSED_CONSTANT("channel dim out of range", "channel_dim: is 2, the value has 2 dims", kQCInt8Code, {2, 3}, 6, 1,
                 per_channel({1, 1}, 2))
REFUSED_CONSTANT("negative channel dim", "channel_dim: is -1", kQCInt8Code, {2, 3}, 6, 1, per_channel({1, 1}, -1))
REFUSED_CONSTANT("group size of zero", "group_size: is 0, expected a multiple of 32", kQBInt4Code, {1, 64}, 32, 4,
                 per_block({1, 1}, 0))
REFUSED_CONSTANT("group size that does not divide", "group_size: is 64, expected a multiple of 32 that divides 96",
                 kQBInt4Code, {1, 96}, 48, 4, per_block({1}, 64))
REFUSED_CONSTANT("too many block scales", "scale: 3 scales for qbint4[1, 64], expected 2", kQBInt4Code, {1, 64}, 32, 4,
                 per_block({1, 1, 1}, 32))
REFUSED_CONSTANT("scales in a constant that is not there", "scale_buffer_idx: is 9, the graph has 2 constants",
                 kQCInt8Code, {2, 3}, 6, 1,
                 table({{1, number(int32_t{0})}, {2, number(uint32_t{9})}, {3, number(uint32_t{2})}}))
REFUSED_CONSTANT("scales in a constant that is too small",
                 "scale_buffer_idx: constant 1 has 6 bytes, the value needs 8", kQCInt8Code, {2, 3}, 6, 1,
                 table({{1, number(int32_t{0})}, {2, number(uint32_t{1})}, {3, number(uint32_t{2})}}))

// Nodes.

REFUSED("unknown node", LinearTree, "xnodes[1].xnode_union_type: 48 is not a node", g.nodes[1][0] = number(uint8_t{48}))
REFUSED("node without content", LinearTree, "xnodes[1].Sigmoid.xnode_union: missing", g.nodes[1].fields.erase(1))
REFUSED("node of a value that is not there", LinearTree, "xnodes[1].Sigmoid.input_id: is 99, which no value has",
        g.node(1)[0] = number(uint32_t{99}))
REFUSED("node that reads before it is written", LinearTree, "xnodes[0].Sigmoid.inputs: value 3 is read before",
        std::swap(g.nodes[0], g.nodes[1]))
REFUSED("node that writes a constant", LinearTree, "xnodes[0].FullyConnected.output_id: dims are [4, 3]",
        g.node(0)[3] = number(uint32_t{11}))
REFUSED("value written twice", LinearTree, "Sigmoid.outputs: value 3 is an input, a constant or written already",
        g.node(1)[1] = number(uint32_t{13}))
REFUSED("output that no node writes", LinearTree, "xvalues[4].flags: an external output that no node writes",
        g.nodes.pop_back())
REFUSED("clamp that is not a number", LinearTree, "FullyConnected.output_min_max: is nan to 0",
        g.nodes[0][3] = table({{0, number(kNaN)}}))
REFUSED("clamp of which the bounds are swapped", LinearTree, "output_min_max: is 1 to 0",
        g.nodes[0][3] = table({{0, number(1.0f)}}))
REFUSED("flags a node does not know", LinearTree, "Sigmoid.flags: are 1, this node knows 0",
        g.node(1)[2] = number(uint32_t{1}))
REFUSED("filter of another width than the input", LinearTree,
        "FullyConnected.input1_id: dims are [2, 3], expected the last to be 2", g.tensor(1)[2] = numbers(Dims{4, 2}))
REFUSED("bias of another size", LinearTree, "FullyConnected.bias_id: dims are [3], expected [4]",
        g.tensor(2)[2] = numbers(Dims{3}))
REFUSED("unary node that changes the rank", LinearTree, "Sigmoid.output_id: dims are [8], expected 2 of them",
        (g.tensor(4)[1] = number(uint32_t{1}), g.tensor(4)[2] = numbers(Dims{8})))
REFUSED("convolution filter of another window", ConvolutionTree,
        "Conv2d.filter_id: dims are [6, 2, 3, 2], expected [6, 2, 2, 2]", g.node(0)[5] = number(uint32_t{2}))
REFUSED("convolution of other groups than its input", ConvolutionTree, "Conv2d.filter_id: dims are",
        g.node(0)[12] = number(uint32_t{3}))
REFUSED("convolution without groups", ConvolutionTree, "Conv2d.groups: is 0", g.node(0)[12] = number(uint32_t{0}))
REFUSED("convolution with a stride of 0", ConvolutionTree, "Conv2d.stride_height: is 0",
        g.node(0)[6] = number(uint32_t{0}))
REFUSED("convolution with a dilation of 0", ConvolutionTree, "Conv2d.dilation_width: is 0",
        g.node(0)[9] = number(uint32_t{0}))
REFUSED("convolution of another channel count", ConvolutionTree,
        "Conv2d.input1_id: dims are [1, 8, 8, 5], expected the last to be 4",
        g.tensor(0)[2] = numbers(Dims{1, 8, 8, 5}))
REFUSED("convolution filter that is computed", ConvolutionTree, "Conv2d.filter_id: is not a constant",
        g.tensor(1)[3] = number(uint32_t{0}))
REFUSED("extra output of a convolution that is not transposed", ConvolutionTree, "Conv2d.adjustment_height: is 1",
        g.node(0)[13] = number(uint32_t{1}))

// Graphs of one node: input [2, 3, 4], output of the given dims, the parameters before the ids.
std::string one_node(uint8_t code, std::map<uint32_t, Tree> fields, uint32_t first_id, const Dims& output) {
  GraphTree g;
  fields[first_id] = number(g.external(kFp32, {2, 3, 4}, 1));
  fields[first_id + 1] = number(g.external(kFp32, output, 2));
  g.add_node(code, std::move(fields));
  return decode_message(g);
}

Tree u32(uint32_t value) { return number(value); }
Tree list(const Dims& items) { return numbers(items); }

TEST_CASE("payload: nodes that move dims") {
  CHECK(one_node(5, {{0, u32(3)}, {1, list({2, 0, 1})}}, 2, {4, 2, 3}) == "");
  CHECK(one_node(20, {{0, u32(2)}, {1, list({0, 4})}}, 2, {6, 4}) == "");
  CHECK(one_node(35, {{0, u32(3)}, {1, list({0, 1, 0})}, {2, list({2, 2, 4})}}, 3, {2, 2, 4}) == "");
  CHECK(one_node(10, {{0, list({0, 1, 0})}, {1, list({0, 0, 2})}, {2, number(1.0f)}}, 3, {2, 4, 6}) == "");
}

TEST_CASE("payload refused: transpose that is no permutation") {
  CHECK(contains(one_node(5, {{0, u32(3)}, {1, list({2, 0, 0})}}, 2, {4, 2, 3}),
                 "perm: is [2, 0, 0], expected a permutation"));
  CHECK(contains(one_node(5, {{0, u32(3)}, {1, list({3, 0, 1})}}, 2, {4, 2, 3}), "perm: is [3, 0, 1]"));
}
TEST_CASE("payload refused: transpose of another rank") {
  CHECK(
      contains(one_node(5, {{0, u32(2)}, {1, list({1, 0})}}, 2, {4, 2, 3}), "perm: has 2 items, the input has 3 dims"));
}
TEST_CASE("payload refused: list of another length than num_dims") {
  CHECK(contains(one_node(5, {{0, u32(3)}, {1, list({1, 0})}}, 2, {4, 2, 3}), "perm: has 2 items, num_dims is 3"));
}
TEST_CASE("payload refused: list longer than any rank") {
  CHECK(contains(one_node(20, {{0, u32(9)}, {1, list(Dims(9, 1))}}, 2, {24}), "new_shape: has 9 items, at most 8"));
}
TEST_CASE("payload refused: reshape with two dims to infer") {
  CHECK(contains(one_node(20, {{0, u32(2)}, {1, list({0, 0})}}, 2, {6, 4}), "new_shape: is [0, 0], expected one 0"));
}
TEST_CASE("payload refused: slice beyond the input") {
  CHECK(contains(one_node(35, {{0, u32(3)}, {1, list({0, 1, 0})}, {2, list({2, 3, 4})}}, 3, {2, 3, 4}),
                 "StaticSlice.sizes[1]: 1 + 3 is beyond the input's 3"));
}
TEST_CASE("payload refused: padding of another rank") {
  CHECK(contains(one_node(10, {{0, list({0, 1})}, {1, list({0, 0})}}, 3, {2, 4, 6}), "paddings: have 2 and 2 items"));
}
TEST_CASE("payload refused: negative padding") {
  CHECK(contains(one_node(10, {{0, list({0, ~0u, 0})}, {1, list({0, 0, 0})}}, 3, {2, 4, 6}),
                 "paddings[1]: are 4294967295"));
}
TEST_CASE("payload refused: pooling of a rank other than 4") {
  std::map<uint32_t, Tree> fields;
  for (uint32_t i = 4; i < 10; ++i) fields[i] = u32(1);
  CHECK(contains(one_node(14, fields, 10, {2, 3, 4}), "MaxPooling2d.input_id: dims are [2, 3, 4], expected 4 of them"));
}
TEST_CASE("payload refused: slope that is not finite") {
  CHECK(contains(one_node(25, {{0, number(kNaN)}}, 1, {2, 3, 4}), "LeakyReLU.negative_slope: is nan"));
}

TEST_CASE("payload refused: concatenation along a dim that is not there") {
  GraphTree g;
  g.external(kFp32, {2, 3}, 1);
  g.external(kFp32, {4, 3}, 2);
  g.add_node(32, {{0, u32(2)}, {1, u32(10)}, {2, u32(10)}, {5, u32(11)}});
  CHECK(contains(decode_message(g), "Concatenate.axis: is 2, the output has 2 dims"));
  g.node(0)[0] = u32(0xFFFFFFFE);  // -2
  CHECK(decode_message(g) == "");
}

TEST_CASE("payload refused: concatenation of fewer inputs than its kind has") {
  GraphTree g;
  g.external(kFp32, {2, 3}, 1);
  g.external(kFp32, {6, 3}, 2);
  g.add_node(33, {{0, u32(0)}, {1, u32(10)}, {2, u32(10)}, {3, u32(~0u)}, {5, u32(11)}});
  CHECK(contains(decode_message(g), "input3_id: is 4294967295, which no value has"));
}

}  // namespace
