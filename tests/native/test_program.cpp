#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>

#include "program/program.h"
#include "program_tree.h"

namespace {

using namespace enr;
using namespace enr::test;
using T = ProgramTree;

std::string load_message(const ByteVector& bytes) {
  return message_of([&] { program::load(Bytes(bytes)); });
}

std::string load_message(const ProgramTree& p) { return load_message(p.bytes()); }

// A test named after what is wrong: `change` breaks the program `p`, loading it then fails with a message that has
// `part`.
#define REFUSED(name, part, change)              \
  TEST_CASE("program refused: " name) {          \
    ProgramTree p;                               \
    change;                                      \
    const std::string message = load_message(p); \
    CAPTURE(message);                            \
    CHECK(contains(message, part));              \
  }

TEST_CASE("program: every kind of value and instruction is decoded") {
  const ByteVector bytes = ProgramTree().bytes();
  const program::Program p = program::load(Bytes(bytes));
  REQUIRE(p.methods.size() == 1);
  const program::Method& m = p.methods[0];
  CHECK(m.name == "forward");
  CHECK(p.find_method("forward") == &m);
  CHECK(p.find_method("backward") == nullptr);
  CHECK(m.inputs == std::vector<uint32_t>{T::kInput});
  CHECK(m.outputs == std::vector<uint32_t>{T::kOutput});
  CHECK(m.operators == std::vector<std::string>{"aten::add.out"});
  CHECK(m.arena_sizes == std::vector<uint64_t>{96});

  const auto& input = std::get<program::Tensor>(m.values[T::kInput]);
  CHECK(input.dtype == DType::kFloat32);
  CHECK(input.sizes == std::vector<int64_t>{2, 3});
  CHECK(input.storage == program::Storage::kPlanned);
  CHECK(input.size_bytes == 24);
  const auto& constant = std::get<program::Tensor>(m.values[T::kConstant]);
  CHECK(constant.storage == program::Storage::kConstant);
  CHECK(constant.bytes.size() == 24);
  const auto& state = std::get<program::Tensor>(m.values[T::kState]);
  CHECK(state.storage == program::Storage::kMutableInitial);
  CHECK(state.placement.offset == 64);
  CHECK(state.fully_qualified_name == "state");
  CHECK(std::get<int64_t>(m.values[T::kOne]) == 1);
  CHECK(std::get<program::IntList>(m.values[T::kInts]).items == std::vector<uint32_t>{T::kOne});
  CHECK(std::get<bool>(m.values[T::kCondition]));
  CHECK(std::get<program::OptionalTensorList>(m.values[T::kOptionals]).items ==
        std::vector<uint32_t>{program::OptionalTensorList::kNone, T::kInput});
  CHECK(std::get<std::string>(m.values[T::kString]) == "linear");
  CHECK(std::get<double>(m.values[T::kDouble]) == 0.5);
  CHECK(std::get<program::TensorList>(m.values[T::kTensors]).items == std::vector<uint32_t>{T::kInput, T::kOutput});
  CHECK(std::holds_alternative<std::monostate>(m.values[T::kNull]));

  REQUIRE(m.chains.size() == 1);
  const auto& instructions = m.chains[0].instructions;
  CHECK(std::get<program::KernelCall>(instructions[T::kKernelCall]).args == std::vector<uint32_t>{0, 1, 3, 2, 2});
  CHECK(std::get<program::DelegateCall>(instructions[T::kDelegateCall]).args == std::vector<uint32_t>{0, 2});
  CHECK(std::get<program::Move>(instructions[T::kMove]).to == T::kOutput);
  CHECK(std::get<program::JumpIfFalse>(instructions[T::kJump]).destination == 5);
  CHECK(std::get<program::Free>(instructions[T::kFree]).value == T::kInput);
  CHECK(m.delegates[0].id == "Backend");
  CHECK(m.delegates[0].processed.size() == 64);
  CHECK(p.find_named_data("weights")->size() == 64);
  CHECK_FALSE(p.find_named_data("biases").has_value());
}

TEST_CASE("program: the shorter header of 0.4 to 0.7 and longer ones of the future") {
  for (const uint32_t length : {24u, 32u, 48u}) {
    ProgramTree p;
    p.header_length = length;
    CHECK(load_message(p) == "");
  }
}

TEST_CASE("program: constants inline in the flatbuffer, without header or segments") {
  ProgramTree p;
  p.root.fields.erase(5);
  p.root.fields.erase(6);
  p.root.fields.erase(7);
  p.root.fields.erase(4);
  p.root[2] = tables({table({}), table({{0, blob(std::vector<float>{1, 2, 3, 4, 5, 6})}})});
  p.root[3] = tables({table({{0, text("payload")}})});
  p.tensor(T::kState).fields.erase(5);
  p.delegate()[1] = table({{0, number(int8_t{0})}, {1, number(uint32_t{0})}});
  const ByteVector bytes = FlatbufferWriter::write(p.root, "ET12");
  const program::Program program = program::load(Bytes(bytes));
  const auto& constant = std::get<program::Tensor>(program.methods[0].values[T::kConstant]);
  CHECK(load_unaligned<float>(constant.bytes, 20) == 6.0f);
  CHECK(as_text(program.methods[0].delegates[0].processed) == "payload");
}

TEST_CASE("program: misaligned constants are copied to aligned memory, once for equal ones") {
  ProgramTree p;
  p.segments[3] = std::byte{7};
  p.root[5] = table({{0, number(uint32_t{T::kConstants})}, {1, numbers<uint64_t>({0, 3})}});
  p.value(T::kOne) = p.value(T::kConstant);
  p.value(T::kInts) = value_node(1, table({}));
  const ByteVector bytes = p.bytes();
  const program::Program program = program::load(Bytes(bytes));
  const auto& a = std::get<program::Tensor>(program.methods[0].values[T::kConstant]);
  const auto& b = std::get<program::Tensor>(program.methods[0].values[T::kOne]);
  CHECK(reinterpret_cast<uintptr_t>(a.bytes.data()) % program::kConstantAlignment == 0);
  CHECK(a.bytes[0] == std::byte{7});
  CHECK(a.bytes.data() == b.bytes.data());
}

TEST_CASE("program: a method of constants only, without chains") {
  ProgramTree p;
  p.plan()[2] = tables({value_node(2, table({{0, number(int64_t{42})}}))});
  p.plan()[3] = numbers<int32_t>({});
  p.plan()[4] = numbers<int32_t>({0});
  for (const uint32_t field : {5, 6, 7, 8}) p.plan().fields.erase(field);
  const ByteVector bytes = p.bytes();
  const program::Program program = program::load(Bytes(bytes));
  CHECK(std::get<int64_t>(program.methods[0].values[program.methods[0].outputs[0]]) == 42);
}

TEST_CASE("program: any byte may be cut off without harm") {
  const ByteVector bytes = ProgramTree().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK(load_message(ByteVector(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size))) != "");
  }
}

TEST_CASE("program: any byte may be anything without harm") {
  const ByteVector bytes = ProgramTree().bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
      ByteVector changed = bytes;
      changed[i] = static_cast<std::byte>(value);
      load_message(changed);  // what it says does not matter here
    }
  }
}

// The container.

TEST_CASE("program refused: truncated") {
  ByteVector bytes = ProgramTree().bytes();
  bytes.pop_back();
  CHECK(contains(load_message(bytes), "file truncated: needs"));
}

TEST_CASE("program refused: header length below 24") {
  ByteVector bytes = ProgramTree().bytes();
  bytes[12] = std::byte{23};
  CHECK(contains(load_message(bytes), "extended header: length is 23, expected 24 or more"));
}

TEST_CASE("program refused: segments inside of the flatbuffer") {
  ByteVector bytes = ProgramTree().bytes();
  bytes[24] = std::byte{8};
  bytes[25] = std::byte{0};
  CHECK(contains(load_message(bytes), "extended header: segments start at byte 8, inside of the program"));
}

TEST_CASE("program refused: program size smaller than the header") {
  ByteVector bytes = ProgramTree().bytes();
  bytes[16] = std::byte{39};
  bytes[17] = std::byte{0};
  CHECK(contains(load_message(bytes), "extended header: program size is 39"));
}

TEST_CASE("program refused: files of other kinds, by name") {
  const auto message = [](std::string_view start) {
    ByteVector bytes(300, std::byte{'x'});
    std::memcpy(bytes.data(), start.data(), start.size());
    return load_message(bytes);
  };
  CHECK(contains(message(std::string_view("PK\x03\x04")), "a zip archive"));
  CHECK(contains(message("\1\2\3\4FT01"), "a tensor data file (.ptd)"));
  CHECK(contains(message("\1\2\3\4BP08"), "a bundled program (.bpte)"));
  CHECK(contains(message("version https://git-lfs.github.com/spec/v1"), "a git-lfs pointer"));
  CHECK(contains(message("\n <!DOCTYPE html>"), "an HTML page"));
  CHECK(contains(message("\1\2\3\4ET13"), "an ExecuTorch program of another format, 'ET13'"));
  CHECK(contains(message("\x80\x02}q"), "a Python pickle"));
  CHECK(contains(message("\xff\xfeP\0K\0"), "UTF-16 text"));
  CHECK(contains(message("\n404: Not Found\nx"),
                 "text, perhaps the answer of a download that failed; it begins with '404: Not Found'"));
  CHECK(contains(message("{\"error\": \"\xc3\xa4\"}\n"), "this looks like text"));
  CHECK(contains(message("ab\1d"), "bytes 4 to 7 are 'xxxx', expected 'ET12'"));
  // the start that is looked at ends within a character
  ByteVector cut(5000, std::byte{'x'});
  for (const size_t offset : {4094, 4095}) {
    cut[offset] = std::byte{0xc3};
    cut[offset + 1] = std::byte{0xa4};
    CHECK(contains(load_message(cut), "this looks like text"));
    cut[offset] = cut[offset + 1] = std::byte{'x'};
  }
  cut[9] = std::byte{0xff};
  CHECK(contains(load_message(cut), "bytes 4 to 7 are 'xxxx'"));
  CHECK(contains(load_message(ByteVector()), "the file is empty"));
  CHECK(contains(load_message(ByteVector(100)), "all zeros"));
  CHECK(contains(load_message(ByteVector(5, std::byte{'x'})), "file truncated: needs 8 bytes at least, has 5"));
}

REFUSED("schema version too new", "version: the program is of schema version 1, this runtime reads versions up to 0",
        p.root[0] = number(uint32_t{1}))
REFUSED("no methods", "execution_plan: the program has no methods", p.root.fields.erase(1))
REFUSED("two methods of one name", "execution_plan[1].name: 'forward' is there twice",
        p.root[1].items.push_back(p.plan()))
REFUSED("method without a name", "execution_plan[0].name: missing", p.plan().fields.erase(0))
REFUSED("segment beyond the file", "segments[3].offset: bytes 192 + 65 do not fit in the 256 bytes",
        p.root[4].at(3)[1] = number(uint64_t{65}))
REFUSED("segment at an offset that overflows", "segments[0].offset:", p.root[4].at(0)[0] = number(~uint64_t{0}))
REFUSED("constant segment that is not there", "constant_segment.segment_index: is 9, expected less than 4",
        p.root[5][0] = number(uint32_t{9}))
REFUSED("mutable segment that is not there", "mutable_data_segments[0].segment_index: is 9",
        p.root[6].at(0)[0] = number(uint32_t{9}))
REFUSED("constants both inline and in a segment", "constant_buffer: has 1 constants next to the 2 of constant_segment",
        p.root[2] = tables({table({})}))
REFUSED("named data twice", "named_data[1].key: 'weights' is there twice", p.root[7].items.push_back(p.root[7].at(0)))
REFUSED("named data in no segment", "named_data[0].segment_index: is 4, the program has 4 segments",
        p.root[7].at(0)[1] = number(uint32_t{4}))
REFUSED("name that is not UTF-8", "named_data[0].key: 'w\\xff' is not valid UTF-8", p.root[7].at(0)[0] = text("w\xff"))

// Tensors.

REFUSED("unknown dtype", "forward.values[0].val.scalar_type: 99 is not a dtype",
        p.tensor(T::kInput)[0] = number(int8_t{99}))
REFUSED("negative size", "forward.values[0].val.sizes[0]: is -2, expected 0 or more",
        p.tensor(T::kInput)[2] = numbers<int32_t>({-2, 3}))
REFUSED("rank above 16", "val.sizes: rank is 17, at most 16",
        p.tensor(T::kInput)[2] = numbers(std::vector<int32_t>(17, 1)))
REFUSED("sizes whose product overflows", "val.sizes: float32 of [2147483647, 2147483647] takes more than",
        p.tensor(T::kInput)[2] = numbers<int32_t>({INT32_MAX, INT32_MAX}))
REFUSED("sizes whose product overflows beside one of 0",
        "val.sizes: float32 of [0, 2147483647, 2147483647] takes more than", {
          p.tensor(T::kInput)[2] = numbers<int32_t>({0, INT32_MAX, INT32_MAX});
          p.tensor(T::kInput)[3] = numbers<uint8_t>({0, 1, 2});
        })
REFUSED("dim order that repeats a dim", "val.dim_order[1]: is 0, expected a permutation of 0 to 1",
        p.tensor(T::kInput)[3] = numbers<uint8_t>({0, 0}))
REFUSED("dim order out of range", "val.dim_order[1]: is 2, expected a permutation",
        p.tensor(T::kInput)[3] = numbers<uint8_t>({0, 2}))
REFUSED("dim order of another rank", "val.dim_order: has 1 dims, the tensor has 2",
        p.tensor(T::kInput)[3] = numbers<uint8_t>({0}))
REFUSED("storage offset", "val.storage_offset: is 4, expected 0", p.tensor(T::kInput)[1] = number(int32_t{4}))
REFUSED("sparse layout", "val.layout: is 1, expected 0", p.tensor(T::kInput)[7] = number(int8_t{1}))
REFUSED("unbounded sizes", "val.shape_dynamism: unbounded sizes", p.tensor(T::kInput)[8] = number(int8_t{2}))
REFUSED("unknown dynamism", "val.shape_dynamism: is 3", p.tensor(T::kInput)[8] = number(int8_t{3}))
REFUSED("arena 0", "val.allocation_info.memory_id: is 0, the method has arenas 1 to 1",
        p.tensor(T::kInput)[6][0] = number(uint32_t{0}))
REFUSED("arena that is not there", "val.allocation_info.memory_id: is 2",
        p.tensor(T::kInput)[6][0] = number(uint32_t{2}))
REFUSED("placement beyond the arena", "val.allocation_info.memory_offset: bytes 80 + 24 do not fit in arena 1 of 96",
        p.tensor(T::kInput)[6][1] = number(uint32_t{80}))
REFUSED("placement whose high half is set", "val.allocation_info.memory_offset: bytes 4294967296 + 24",
        p.tensor(T::kInput)[6][2] = number(uint32_t{1}))
REFUSED("misaligned placement", "val.allocation_info.memory_offset: is 2, expected a multiple of 4",
        p.tensor(T::kInput)[6][1] = number(uint32_t{2}))
REFUSED("constant that is not there", "forward.values[1].val.data_buffer_idx: is 2, the program has 2 constants",
        p.tensor(T::kConstant)[5] = number(uint32_t{2}))
REFUSED("constant smaller than its tensor", "val.data_buffer_idx: constants 1 needs bytes 16 + 400 of a segment of 64",
        p.tensor(T::kConstant)[2] = numbers<int32_t>({10, 10}))
REFUSED("initial state that is not there",
        "forward.values[7].val.data_buffer_idx: is 2, the program has 2 initial states",
        p.tensor(T::kState)[5] = number(uint32_t{2}))
REFUSED("external tensor without a name", "val.extra_tensor_info.fully_qualified_name: missing",
        p.tensor(T::kConstant)[9] = table({{2, number(int8_t{1})}}))
REFUSED("unknown location", "val.extra_tensor_info.location: is 2",
        p.tensor(T::kConstant)[9] = table({{2, number(int8_t{2})}}))
REFUSED("tensor on another device", "val.extra_tensor_info.device_type: is 1",
        p.tensor(T::kConstant)[9] = table({{3, number(int8_t{1})}}))
REFUSED("arena on another device", "forward.non_const_buffer_device[0].device_type: is 1",
        p.plan()[9] = tables({table({{1, number(int8_t{1})}})}))
REFUSED("arena of a size beyond reason", "forward.non_const_buffer_sizes[1]: is 1152921504606846976, expected 0 to",
        p.plan()[8] = numbers<int64_t>({0, int64_t{1} << 60}))
REFUSED("arena of a negative size", "forward.non_const_buffer_sizes[1]: is -1", p.plan()[8] = numbers<int64_t>({0, -1}))

// Other values.

REFUSED("unknown kind of value", "forward.values[3].val_type: is 12, expected 1 to 11",
        p.value(T::kOne)[0] = number(uint8_t{12}))
REFUSED("value without content", "forward.values[3].val: missing", p.value(T::kOne).fields.erase(1))
REFUSED("int list of an index out of range", "forward.values[4].val.items[0]: is 12, the method has 12 values",
        p.value(T::kInts)[1][0] = numbers<int64_t>({12}))
REFUSED("int list of a negative index", "val.items[0]: is -1, expected the index of a value",
        p.value(T::kInts)[1][0] = numbers<int64_t>({-1}))
REFUSED("int list of a tensor", "val.items[0]: value 0 is a tensor, expected an int",
        p.value(T::kInts)[1][0] = numbers<int64_t>({T::kInput}))
REFUSED("tensor list of an int", "forward.values[10].val.items[0]: value 3 is an int, expected a tensor",
        p.value(T::kTensors)[1][0] = numbers<int32_t>({T::kOne}))
REFUSED("tensor list of None", "val.items[0]: is -1", p.value(T::kTensors)[1][0] = numbers<int32_t>({-1}))
REFUSED("optional tensor list of an int",
        "forward.values[6].val.items[0]: value 3 is an int, expected a tensor or None",
        p.value(T::kOptionals)[1][0] = numbers<int32_t>({T::kOne}))
REFUSED("input that is not there", "forward.inputs[0]: is 12, the method has 12 values",
        p.plan()[3] = numbers<int32_t>({12}))
REFUSED("output that is not there", "forward.outputs[0]: is -1", p.plan()[4] = numbers<int32_t>({-1}))
REFUSED("input that is a constant", "forward.inputs[0]: value 1 is a constant",
        p.plan()[3] = numbers<int32_t>({T::kConstant}))
REFUSED("input that is a list", "forward.inputs[0]: value 4 is a list of ints",
        p.plan()[3] = numbers<int32_t>({T::kInts}))

// Operators, delegates, instructions.

REFUSED("operator without a name", "forward.operators[0].name: missing", p.plan()[6].at(0).fields.erase(0))
REFUSED("delegate without an id", "forward.delegates[0].id: missing", p.delegate().fields.erase(0))
REFUSED("delegate without a payload", "forward.delegates[0].processed: missing", p.delegate().fields.erase(1))
REFUSED("payload in no segment", "forward.delegates[0].processed.index: is 4, the program has 4 segments",
        p.delegate()[1][1] = number(uint32_t{4}))
REFUSED("inline payload that is not there", "processed.index: is 2, the program has 0 inline blobs",
        p.delegate()[1][0] = number(int8_t{0}))
REFUSED("payload of an unknown location", "processed.location: is 2", p.delegate()[1][0] = number(int8_t{2}))
REFUSED("unknown instruction", "forward.chains[0].instructions[0].instr_args.type: is 6",
        p.instruction(T::kKernelCall)[0] = number(uint8_t{6}))
REFUSED("instruction without arguments", "instructions[0].instr_args: missing",
        p.instruction(T::kKernelCall).fields.erase(1))
REFUSED("call of an operator that is not there", "instr_args.op_index: is 1, the method has 1 operators",
        p.call(T::kKernelCall)[0] = number(int32_t{1}))
REFUSED("call with an argument that is not there", "instr_args.args: is 12, the method has 12 values",
        p.call(T::kKernelCall)[1] = numbers<int32_t>({12}))
REFUSED("call of a delegate that is not there", "instr_args.delegate_index: is -1, the method has 1 delegates",
        p.call(T::kDelegateCall)[0] = number(int32_t{-1}))
REFUSED("delegate argument that is not there", "instructions[1].instr_args.args: is -1",
        p.call(T::kDelegateCall)[1] = numbers<int32_t>({-1}))
REFUSED("move of a value that is not there", "instr_args.move_from: is 12", p.call(T::kMove)[0] = number(int32_t{12}))
REFUSED("move of a tensor onto an int", "instr_args.move_to: value 3 is an int, move_from 0 is a tensor",
        p.call(T::kMove)[1] = number(int32_t{T::kOne}))
REFUSED("jump out of the chain", "instr_args.destination_instruction: is 6, the chain has 5 instructions",
        p.call(T::kJump)[1] = number(int32_t{6}))
REFUSED("jump to before the chain", "instr_args.destination_instruction: is -1",
        p.call(T::kJump)[1] = number(int32_t{-1}))
REFUSED("jump on a float tensor", "instr_args.cond_value_index: value 0 is a tensor of float32, expected a bool",
        p.call(T::kJump)[0] = number(int32_t{T::kInput}))
REFUSED("free of an int", "instr_args.value_index: frees value 3, which is an int",
        p.call(T::kFree)[0] = number(int32_t{T::kOne}))

TEST_CASE("program refused: offsets that make the file look larger than it is") {
  // All values are the same list of many items: quadratic memory if each were decoded.
  ProgramTree p;
  std::vector<Tree> many(2000, value_node(8, table({{0, numbers<double>({})}})));
  p.plan()[2] = tables(many);
  p.plan()[3] = p.plan()[4] = numbers<int32_t>({});
  for (const uint32_t field : {5, 6, 7}) p.plan().fields.erase(field);
  CHECK(load_message(p) == "");
  p.plan()[2].at(0)[1][0] = numbers(std::vector<double>(4000, 1.0));
  ByteVector bytes = p.bytes();
  // Point all offsets of the vector of values at the first one, which is long.
  const uint32_t count = 2000;
  size_t at = 0;
  while (std::memcmp(bytes.data() + at, &count, 4) != 0) ++at;
  const auto first = load_unaligned<uint32_t>(Bytes(bytes), at + 4);
  for (uint32_t i = 1; i < count; ++i) {
    const uint32_t offset = first - 4 * i;
    std::memcpy(bytes.data() + at + 4 + 4 * i, &offset, 4);
  }
  CHECK(contains(load_message(bytes), "overlap and add up to more than twice"));
}

// Files.

TEST_CASE("file refused: missing, a directory, empty") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path();
  const std::string name = (folder / "enr_no_such_file.pte").string();
  std::filesystem::remove(name);
  CHECK(message_of([&] { program::FileData::open(name); }) == "no such file: '" + name + "'");
  CHECK(contains(message_of([&] { program::FileData::open(folder.string()); }), "is a directory, expected a file"));
  std::fclose(std::fopen(name.c_str(), "wb"));
  CHECK(contains(message_of([&] { program::FileData::open(name); }), "is empty"));
  std::filesystem::remove(name);
}

TEST_CASE("file: a program outlives the handle it was loaded through") {
  const std::string name = (std::filesystem::temp_directory_path() / "enr_program.pte").string();
  const ByteVector bytes = ProgramTree().bytes();
  std::FILE* file = std::fopen(name.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  const program::Program program = program::load(program::FileData::open(name));
  std::filesystem::remove(name);
  const auto& constant = std::get<program::Tensor>(program.methods[0].values[T::kConstant]);
  CHECK(constant.bytes.front() == std::byte{0});
}

TEST_CASE("file: bytes that are aligned are held, others copied") {
  const auto owner = std::make_shared<ByteVector>(64, std::byte{5});
  const Bytes aligned = Bytes(*owner);
  const auto held = program::FileData::hold(aligned, owner);
  CHECK(held->bytes().data() == aligned.data());
  const auto copied = program::FileData::hold(aligned.subspan(1), owner);
  CHECK(copied->bytes().data() != aligned.data() + 1);
  CHECK(copied->bytes().size() == 63);
  CHECK(copied->bytes().front() == std::byte{5});
}

}  // namespace
