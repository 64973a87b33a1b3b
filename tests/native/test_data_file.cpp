#include <doctest/doctest.h>

#include "program/bundled_program.h"
#include "program/data_file.h"
#include "program/program.h"
#include "program_tree.h"

namespace {

using namespace enr;
using namespace enr::test;
using T = ProgramTree;

// A data file with a tensor "weight", float32[2, 3], and a blob "packed".
struct DataTree {
  Tree root = table({{0, number(uint32_t{0})},
                     {1, tables({table({{0, number(uint64_t{0})}, {1, number(uint64_t{24})}}),
                                 table({{0, number(uint64_t{32})}, {1, number(uint64_t{4})}})})},
                     {2, tables({table({{0, text("weight")},
                                        {1, number(uint32_t{0})},
                                        {2, table({{0, number(int8_t{6})},
                                                   {1, numbers<int32_t>({2, 3})},
                                                   {2, numbers<uint8_t>({0, 1})}})}}),
                                 table({{0, text("packed")}, {1, number(uint32_t{1})}})})}});
  ByteVector segments = ByteVector(36, std::byte{7});

  Tree& entry(size_t i) { return root[2].at(i); }

  ByteVector bytes() const {
    ByteVector out = FlatbufferWriter::write(root, "FT01", 56);
    const uint64_t size = out.size();
    const uint64_t base = (size + 127) / 128 * 128;
    ByteVector header;
    for (const char c : std::string_view("FH01")) header.push_back(static_cast<std::byte>(c));
    append_number(header, uint32_t{40});
    for (const uint64_t field : {uint64_t{0}, size, base, uint64_t{segments.size()}}) append_number(header, field);
    std::memcpy(out.data() + 8, header.data(), header.size());
    out.resize(base);
    out.insert(out.end(), segments.begin(), segments.end());
    return out;
  }
};

program::DataMap data_map(const ByteVector& bytes) {
  program::DataMap map;
  map.add(program::FileData::copy(bytes));
  return map;
}

std::string data_message(const DataTree& d) {
  return message_of([&] { data_map(d.bytes()); });
}

#define REFUSED(name, part, change)              \
  TEST_CASE("data file refused: " name) {        \
    DataTree d;                                  \
    change;                                      \
    const std::string message = data_message(d); \
    CAPTURE(message);                            \
    CHECK(contains(message, part));              \
  }

TEST_CASE("data file: tensors and blobs by name") {
  const program::DataMap map = data_map(DataTree().bytes());
  REQUIRE(map.entries.size() == 2);
  const program::DataEntry& weight = map.entries.find("weight")->second;
  CHECK(weight.bytes.size() == 24);
  CHECK(weight.layout->sizes == std::vector<int64_t>{2, 3});
  CHECK(map.entries.find("packed")->second.bytes.size() == 4);
  CHECK_FALSE(map.entries.find("packed")->second.layout.has_value());
}

TEST_CASE("data file: one that is given twice is taken once") {
  program::DataMap map = data_map(DataTree().bytes());
  const size_t count = map.entries.size();
  map.add(program::FileData::copy(DataTree().bytes()));
  CHECK(map.entries.size() == count);
}

TEST_CASE("data file refused: two with the same key and other data, the first is kept") {
  program::DataMap map = data_map(DataTree().bytes());
  DataTree other;
  other.entry(0)[0] = text("new");
  other.segments.back() = std::byte{8};
  const std::string message = message_of([&] { map.add(program::FileData::copy(other.bytes())); });
  CHECK(contains(message, "named_data[1].key: 'packed' is in another data file as well, with other data"));
  CHECK(map.entries.size() == 2);
}

TEST_CASE("data file refused: truncated") {
  ByteVector bytes = DataTree().bytes();
  bytes.pop_back();
  CHECK(contains(message_of([&] { data_map(bytes); }), "data file truncated: needs"));
  bytes.resize(40);
  CHECK(contains(message_of([&] { data_map(bytes); }), "data file truncated: needs 48 bytes for its header, has 40"));
}

TEST_CASE("data file refused: a program") {
  CHECK(contains(message_of([&] { data_map(ProgramTree().bytes()); }),
                 "not a tensor data file (.ptd): this looks like an ExecuTorch program (.pte)"));
}

TEST_CASE("data file: any byte may be anything without harm") {
  const ByteVector bytes = DataTree().bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
      ByteVector changed = bytes;
      changed[i] = static_cast<std::byte>(value);
      message_of([&] { data_map(changed); });
    }
  }
}

REFUSED("the layout of ExecuTorch 0.6", "is of the layout that ExecuTorch 0.6 wrote",
        (d.root[1] = number(uint32_t{16}), d.root[3] = tables({})))
REFUSED("version too new", "data file version: is 1, this runtime reads versions up to 0",
        d.root[0] = number(uint32_t{1}))
REFUSED("segment beyond the file", "segments[1].offset: bytes 32 + 5 do not fit in the 36 bytes",
        d.root[1].at(1)[1] = number(uint64_t{5}))
REFUSED("segment that is not there", "named_data[1].segment_index: is 2, the file has 2 segments",
        d.entry(1)[1] = number(uint32_t{2}))
REFUSED("key twice", "named_data[1].key: 'weight' is there twice", d.entry(1)[0] = text("weight"))
REFUSED("tensor of another size than its segment",
        "named_data[0].tensor_layout.sizes: float32[2, 4] takes 32 bytes, segment 0 has 24",
        d.entry(0)[2][1] = numbers<int32_t>({2, 4}))
REFUSED("unknown dtype", "tensor_layout.scalar_type: 99", d.entry(0)[2][0] = number(int8_t{99}))
REFUSED("dim order that is no permutation", "tensor_layout.dim_order[1]: is 0",
        d.entry(0)[2][2] = numbers<uint8_t>({0, 0}))

// Programs whose constant 1 and state 7 are in data files.
struct ExternalTree : ProgramTree {
  ExternalTree() {
    tensor(kConstant)[9] = table({{1, text("weight")}, {2, number(int8_t{1})}});
    tensor(kState)[9] = table({{1, text("state")}, {2, number(int8_t{1})}});
  }
};

TEST_CASE("attach: constants and states get their data, blobs become named data, the rest stays missing") {
  const ByteVector bytes = ExternalTree().bytes();
  program::Program p = program::load(Bytes(bytes));
  CHECK(program::missing_data(p.methods[0]) == std::vector<std::string>{"state", "weight"});
  program::attach(p, data_map(DataTree().bytes()));
  CHECK(program::missing_data(p.methods[0]) == std::vector<std::string>{"state"});
  const auto& weight = std::get<program::Tensor>(p.methods[0].values[T::kConstant]);
  CHECK(weight.storage == program::Storage::kConstant);
  CHECK(weight.bytes.front() == std::byte{7});
  CHECK(p.find_named_data("packed")->size() == 4);

  DataTree states;
  states.entry(0)[0] = text("state");
  states.entry(1)[0] = text("other");
  program::attach(p, data_map(states.bytes()));
  CHECK(std::get<program::Tensor>(p.methods[0].values[T::kState]).storage == program::Storage::kMutableInitial);
  CHECK(program::missing_data(p.methods[0]).empty());
}

TEST_CASE("attach refused: dtype, sizes or dim order that differ") {
  const auto message = [](auto&& change) {
    DataTree d;
    change(d);
    const ByteVector bytes = ExternalTree().bytes();
    program::Program p = program::load(Bytes(bytes));
    return message_of([&] { program::attach(p, data_map(d.bytes())); });
  };
  CHECK(contains(message([](DataTree& d) { d.entry(0)[2][0] = number(int8_t{3}); }),
                 "data file: 'weight' is int32[2, 3] in dim order [0, 1], the program expects float32[2, 3]"));
  CHECK(contains(message([](DataTree& d) { d.entry(0)[2][1] = numbers<int32_t>({3, 2}); }), "is float32[3, 2]"));
  CHECK(contains(message([](DataTree& d) { d.entry(0)[2][2] = numbers<uint8_t>({1, 0}); }), "in dim order [1, 0]"));
  CHECK(contains(message([](DataTree& d) { d.entry(0).fields.erase(2); }), "'weight' has no dtype and sizes"));
}

TEST_CASE("attach refused: a key that the program has as well") {
  DataTree d;
  d.entry(1)[0] = text("weights");
  const ByteVector bytes = ProgramTree().bytes();
  program::Program p = program::load(Bytes(bytes));
  CHECK(contains(message_of([&] { program::attach(p, data_map(d.bytes())); }), "'weights' is in the program as well"));
}

// Bundled programs.

Tree bundle_tree() {
  const Tree tensor = table({{0, number(int8_t{6})},
                             {1, numbers<int32_t>({2})},
                             {2, blob(std::vector<float>{1, 2})},
                             {3, numbers<uint8_t>({0})}});
  Tree inputs =
      tables({value_node(1, tensor), value_node(2, table({{0, number(int64_t{3})}})),
              value_node(3, table({{0, number(uint8_t{1})}})), value_node(4, table({{0, number(0.5)}})), table({})});
  Tree test = table({{0, std::move(inputs)}, {1, tables({value_node(1, tensor)})}});
  const ByteVector program = ProgramTree().bytes();
  return table({{1, tables({table({{0, text("forward")}, {1, tables({std::move(test)})}})})}, {2, blob(program)}});
}

program::BundledProgram load_bundle(const Tree& root) {
  return program::load_bundled(program::FileData::copy(FlatbufferWriter::write(root, "BP08")));
}

TEST_CASE("bundled program: the program and its cases") {
  const program::BundledProgram bundle = load_bundle(bundle_tree());
  CHECK(program::load(bundle.program).methods.size() == 1);
  REQUIRE(bundle.methods.size() == 1);
  CHECK(bundle.methods[0].name == "forward");
  const program::BundledCase& test = bundle.methods[0].cases.at(0);
  REQUIRE(test.inputs.size() == 5);
  const auto& tensor = std::get<program::BundledTensor>(test.inputs[0]);
  CHECK(tensor.sizes == std::vector<int64_t>{2});
  CHECK(load_unaligned<float>(tensor.bytes, 4) == 2.0f);
  CHECK(std::get<int64_t>(test.inputs[1]) == 3);
  CHECK(std::get<bool>(test.inputs[2]));
  CHECK(std::get<double>(test.inputs[3]) == 0.5);
  CHECK(std::holds_alternative<std::monostate>(test.inputs[4]));
  CHECK(test.expected_outputs.size() == 1);
}

TEST_CASE("bundled program refused: a tensor of another size than its data") {
  Tree root = bundle_tree();
  root[1].at(0)[1].at(0)[0].at(0)[1][1] = numbers<int32_t>({3});
  CHECK(contains(message_of([&] { load_bundle(root); }),
                 "method_test_suites[0].test_cases[0].inputs[0].val.data: has 8 bytes, float32[3] takes 12"));
}
TEST_CASE("bundled program refused: an unknown kind of value") {
  Tree root = bundle_tree();
  root[1].at(0)[1].at(0)[0].at(0)[0] = number(uint8_t{5});
  CHECK(contains(message_of([&] { load_bundle(root); }), "inputs[0].val_type: is 5"));
}
TEST_CASE("bundled program refused: without a program") {
  Tree root = bundle_tree();
  root.fields.erase(2);
  CHECK(contains(message_of([&] { load_bundle(root); }), "program: missing"));
}
TEST_CASE("bundled program refused: a program that is not bundled") {
  CHECK(contains(message_of([] { program::load_bundled(program::FileData::copy(ProgramTree().bytes())); }),
                 "not a bundled program (.bpte): this looks like an ExecuTorch program (.pte)"));
}

}  // namespace
