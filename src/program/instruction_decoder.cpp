#include <array>

#include "base/error.h"
#include "program/method_decoder.h"

namespace enr::program {

namespace {

using flatbuffer::for_each_table;
using flatbuffer::in_field;
using flatbuffer::Table;
using flatbuffer::Vector;

uint32_t checked_index(int64_t index, size_t count, const char* field, const char* of) {
  if (index < 0 || static_cast<uint64_t>(index) >= count) {
    fail_load(field, ": is ", index, ", the method has ", count, " ", of);
  }
  return static_cast<uint32_t>(index);
}

uint32_t value_index(int64_t index, const Method& method, const char* field) {
  return checked_index(index, method.values.size(), field, "values");
}

std::vector<uint32_t> decode_args(const Table& call, const Method& method) {
  const Vector<int32_t> args = call.vector<int32_t>({1, "args"});
  std::vector<uint32_t> result;
  result.reserve(args.size());
  for (size_t i = 0; i < args.size(); ++i) result.push_back(value_index(args[i], method, "args"));
  return result;
}

bool is_scalar(const Value& value) {
  return std::holds_alternative<std::monostate>(value) || std::holds_alternative<int64_t>(value) ||
         std::holds_alternative<bool>(value) || std::holds_alternative<double>(value);
}

Instruction decode_kernel_call(const Table& call, const Method& method) {
  const auto index = call.scalar<int32_t>({0, "op_index"});
  return KernelCall{checked_index(index, method.operators.size(), "op_index", "operators"), decode_args(call, method)};
}

Instruction decode_delegate_call(const Table& call, const Method& method) {
  const auto index = call.scalar<int32_t>({0, "delegate_index"});
  return DelegateCall{checked_index(index, method.delegates.size(), "delegate_index", "delegates"),
                      decode_args(call, method)};
}

Instruction decode_move(const Table& call, const Method& method) {
  const uint32_t from = value_index(call.scalar<int32_t>({0, "move_from"}), method, "move_from");
  const uint32_t to = value_index(call.scalar<int32_t>({1, "move_to"}), method, "move_to");
  const Value& source = method.values[from];
  const Value& target = method.values[to];
  if (source.index() != target.index() && !(is_scalar(source) && is_scalar(target))) {
    fail_load("move_to: value ", to, " is ", kind_name(target), ", move_from ", from, " is ", kind_name(source));
  }
  return Move{from, to};
}

Instruction decode_jump(const Table& call, const Method& method, size_t instruction_count) {
  const uint32_t condition = value_index(call.scalar<int32_t>({0, "cond_value_index"}), method, "cond_value_index");
  const Value& value = method.values[condition];
  const Tensor* tensor = std::get_if<Tensor>(&value);
  // Exporters write an int for what an instruction computes: a comparison makes it a bool.
  const bool may_be_bool = std::holds_alternative<bool>(value) || std::holds_alternative<int64_t>(value);
  if (tensor != nullptr ? tensor->dtype != DType::kBool : !may_be_bool) {
    fail_load("cond_value_index: value ", condition, " is ", kind_name(value),
              tensor != nullptr ? concat(" of ", dtype_name(tensor->dtype)) : "", ", expected a bool or a bool tensor");
  }
  const auto destination = call.scalar<int32_t>({1, "destination_instruction"});
  if (destination < 0 || static_cast<size_t>(destination) > instruction_count) {
    fail_load("destination_instruction: is ", destination, ", the chain has ", instruction_count, " instructions");
  }
  return JumpIfFalse{condition, static_cast<uint32_t>(destination)};
}

Instruction decode_free(const Table& call, const Method& method) {
  const uint32_t value = value_index(call.scalar<int32_t>({0, "value_index"}), method, "value_index");
  if (!std::holds_alternative<Tensor>(method.values[value])) {
    fail_load("value_index: frees value ", value, ", which is ", kind_name(method.values[value]),
              ", expected a tensor");
  }
  return Free{value};
}

Instruction decode_instruction(const Table& instruction, const Method& method, size_t instruction_count) {
  const auto type = instruction.scalar<uint8_t>({0, "instr_args_type"});
  const Table call = instruction.required_table({1, "instr_args"});
  return in_field("instr_args", [&]() -> Instruction {
    switch (type) {
      case 1:
        return decode_kernel_call(call, method);
      case 2:
        return decode_delegate_call(call, method);
      case 3:
        return decode_move(call, method);
      case 4:
        return decode_jump(call, method, instruction_count);
      case 5:
        return decode_free(call, method);
      default:
        fail_load("type: is ", +type, ", expected 1 (kernel call) to 5 (free)");
    }
  });
}

}  // namespace

Chain decode_chain(const Table& table, const Method& method) {
  Chain chain;
  const size_t count = table.tables({2, "instructions"}).size();
  chain.instructions.reserve(count);
  for_each_table(table, {2, "instructions"}, [&](const Table& instruction, size_t) {
    chain.instructions.push_back(decode_instruction(instruction, method, count));
  });
  return chain;
}

}  // namespace enr::program
