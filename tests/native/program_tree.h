#pragma once

// A small valid program as a tree that tests break in one place.

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "flatbuffer_writer.h"

namespace enr::test {

struct ProgramTree {
  // What the values of the method are.
  enum : size_t {
    kInput,
    kConstant,
    kOutput,
    kOne,
    kInts,
    kCondition,
    kOptionals,
    kState,
    kString,
    kDouble,
    kTensors,
    kNull
  };
  // Segments.
  enum : uint32_t { kConstants, kStates, kPayload, kNamed };
  enum : size_t { kKernelCall, kDelegateCall, kMove, kJump, kFree };

  Tree root;
  ByteVector segments = ByteVector(256);  // four of 64 bytes
  uint32_t header_length = 32;

  ProgramTree();

  Tree& plan() { return root[1].at(0); }
  Tree& value(size_t i) { return plan()[2].at(i); }
  Tree& tensor(size_t i) { return value(i)[1]; }
  Tree& instruction(size_t i) { return plan()[5].at(0)[2].at(i); }
  Tree& call(size_t i) { return instruction(i)[1]; }
  Tree& delegate() { return plan()[7].at(0); }

  ByteVector bytes() const;
};

inline Tree planned_tensor(uint32_t offset) {
  return table({{0, number(int8_t{6})},
                {2, numbers<int32_t>({2, 3})},
                {3, numbers<uint8_t>({0, 1})},
                {6, table({{0, number(uint32_t{1})}, {1, number(offset)}})}});
}

inline Tree constant_tensor(uint32_t index) {
  return table(
      {{0, number(int8_t{6})}, {2, numbers<int32_t>({2, 3})}, {3, numbers<uint8_t>({0, 1})}, {5, number(index)}});
}

inline Tree value_node(uint8_t code, Tree content) { return table({{0, number(code)}, {1, std::move(content)}}); }

inline ProgramTree::ProgramTree() {
  Tree state = planned_tensor(64);
  state[5] = number(uint32_t{1});
  state[9] = table({{1, text("state")}});
  Tree values = tables({value_node(5, planned_tensor(0)),                                   //
                        value_node(5, constant_tensor(1)),                                  //
                        value_node(5, planned_tensor(32)),                                  //
                        value_node(2, table({{0, number(int64_t{1})}})),                    //
                        value_node(7, table({{0, numbers<int64_t>({kOne})}})),              //
                        value_node(3, table({{0, number(uint8_t{1})}})),                    //
                        value_node(11, table({{0, numbers<int32_t>({-1, kInput})}})),       //
                        value_node(5, std::move(state)),                                    //
                        value_node(6, table({{0, text("linear")}})),                        //
                        value_node(4, table({{0, number(0.5)}})),                           //
                        value_node(10, table({{0, numbers<int32_t>({kInput, kOutput})}})),  //
                        table({{0, number(uint8_t{1})}})});
  Tree instructions = tables({value_node(1, table({{0, number(int32_t{0})}, {1, numbers<int32_t>({0, 1, 3, 2, 2})}})),
                              value_node(2, table({{0, number(int32_t{0})}, {1, numbers<int32_t>({0, 2})}})),
                              value_node(3, table({{0, number(int32_t{kInput})}, {1, number(int32_t{kOutput})}})),
                              value_node(4, table({{0, number(int32_t{kCondition})}, {1, number(int32_t{5})}})),
                              value_node(5, table({{0, number(int32_t{kInput})}}))});
  Tree processed = table({{0, number(int8_t{1})}, {1, number(uint32_t{kPayload})}});
  Tree plan_node = table({{0, text("forward")},
                          {2, std::move(values)},
                          {3, numbers<int32_t>({kInput})},
                          {4, numbers<int32_t>({kOutput})},
                          {5, tables({table({{2, std::move(instructions)}})})},
                          {6, tables({table({{0, text("aten::add")}, {1, text("out")}})})},
                          {7, tables({table({{0, text("Backend")}, {1, std::move(processed)}})})},
                          {8, numbers<int64_t>({0, 96})}});
  std::vector<Tree> segment_tables;
  for (uint64_t i = 0; i < 4; ++i) segment_tables.push_back(table({{0, number(64 * i)}, {1, number(uint64_t{64})}}));
  root = table({{0, number(uint32_t{0})},
                {1, tables({std::move(plan_node)})},
                {4, tables(std::move(segment_tables))},
                {5, table({{0, number(uint32_t{kConstants})}, {1, numbers<uint64_t>({0, 16})}})},
                {6, tables({table({{0, number(uint32_t{kStates})}, {1, numbers<uint64_t>({0, 8})}})})},
                {7, tables({table({{0, text("weights")}, {1, number(uint32_t{kNamed})}})})}});
}

inline ByteVector ProgramTree::bytes() const {
  ByteVector out = FlatbufferWriter::write(root, "ET12", header_length);
  const uint64_t program_size = out.size();
  const uint64_t base = (program_size + 127) / 128 * 128;
  ByteVector header;
  for (const char c : std::string_view("eh00")) header.push_back(static_cast<std::byte>(c));
  append_number(header, header_length);
  append_number(header, program_size);
  append_number(header, base);
  if (header_length >= 32) append_number(header, uint64_t{segments.size()});
  std::memcpy(out.data() + 8, header.data(), header.size());
  out.resize(base);
  out.insert(out.end(), segments.begin(), segments.end());
  return out;
}

// The message of the enr::Error that f throws; "" where it throws none.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kProgramLoad ? error.what() : std::string("another kind: ") + error.what();
  }
  return "";
}

inline bool contains(std::string_view message, std::string_view part) {
  return message.find(part) != std::string_view::npos;
}

}  // namespace enr::test
