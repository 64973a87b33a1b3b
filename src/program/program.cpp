#include "program/program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "program/constants.h"
#include "program/container.h"
#include "program/data_file.h"
#include "program/method_decoder.h"

namespace enr::program {

namespace {

using flatbuffer::for_each_table;
using flatbuffer::Table;

// Identical payloads are stored once for all delegates that have them, but not for thousands.
constexpr uint64_t kMaxPayloadReuse = 64;

void check_version(const Table& program) {
  const auto version = program.scalar<uint32_t>({0, "version"});
  if (version > 0) {
    fail_load("version: the program is of schema version ", version,
              ", this runtime reads versions up to 0: it was "
              "exported by an ExecuTorch that is too new");
  }
}

void decode_named_data(const Table& table, const DataTables& data, Program& program) {
  for_each_table(table, {7, "named_data"}, [&](const Table& entry, size_t) {
    const std::string_view key = entry.string({0, "key"});
    const auto segment = entry.scalar<uint32_t>({1, "segment_index"});
    if (segment >= data.segments.size()) {
      fail_load("segment_index: is ", segment, ", the program has ", data.segments.size(), " segments");
    }
    if (!program.named_data.emplace(key, data.segments[segment]).second)
      fail_load("key: ", quoted(key), " is there twice");
  });
}

void check_payload_sizes(const Program& program, size_t file_size) {
  uint64_t left = kMaxPayloadReuse * file_size;
  for (const Method& method : program.methods) {
    for (const Delegate& delegate : method.delegates) {
      if (delegate.processed.size() > left) {
        fail_load(method.name, ".delegates: refer to more than ", kMaxPayloadReuse, " times the ", file_size,
                  " bytes of the file");
      }
      left -= delegate.processed.size();
    }
  }
}

void decode_methods(const Table& table, DataTables& data, Program& program) {
  std::set<std::string, std::less<>> names;
  const auto plans = table.tables({1, "execution_plan"});
  if (plans.size() == 0) fail_load("execution_plan: the program has no methods");
  for (uint32_t i = 0; i < plans.size(); ++i) {
    const Table plan = flatbuffer::in_item("execution_plan", i, [&] { return plans[i]; });
    const std::string name = flatbuffer::in_item("execution_plan", i, [&] {
      std::string given(plan.string({0, "name"}));
      if (given.empty()) fail_load("name: missing");
      // Every message about the method starts with it.
      if (has_control_characters(given)) fail_load("name: ", quoted(given), " has control characters");
      if (!names.insert(given).second) fail_load("name: ", quoted(given), " is there twice");
      return given;
    });
    flatbuffer::in_field(name, [&] { program.methods.push_back(decode_method(plan, data, name)); });
  }
}

Program decode(Bytes file) {
  const Container container = read_container(file);
  const flatbuffer::Buffer buffer(container.flatbuffer, "program");
  const Table root = buffer.root();
  check_version(root);
  DataTables data = read_data_tables(root, file, container);
  Program program;
  decode_methods(root, data, program);
  decode_named_data(root, data, program);
  check_payload_sizes(program, file.size());
  program.keep_alive = data.aligned.keep_alive();
  return program;
}

void check_layout(const Tensor& tensor, const std::string& key, const DataEntry& entry) {
  if (!entry.layout) fail_load("data file: ", quoted(key), " has no dtype and sizes, but is used as a tensor");
  const DataLayout& layout = *entry.layout;
  if (layout.dtype != tensor.dtype || layout.sizes != tensor.sizes || layout.dim_order != tensor.dim_order) {
    fail_load("data file: ", quoted(key), " is ", dtype_name(layout.dtype), layout.sizes, " in dim order ",
              layout.dim_order, ", the program expects ", dtype_name(tensor.dtype), tensor.sizes, " in dim order ",
              tensor.dim_order);
  }
}

void attach_tensor(Tensor& tensor, const DataMap& data, AlignedViews& aligned) {
  const bool is_constant = tensor.storage == Storage::kExternalConstant;
  if (!is_constant && tensor.storage != Storage::kExternalMutable) return;
  const auto found = data.entries.find(tensor.fully_qualified_name);
  if (found == data.entries.end()) return;
  check_layout(tensor, found->first, found->second);
  const Bytes bytes = found->second.bytes.first(tensor.size_bytes);
  tensor.bytes = is_constant ? aligned.align(bytes) : bytes;
  tensor.storage = is_constant ? Storage::kConstant : Storage::kMutableInitial;
}

}  // namespace

const char* kind_name(const Value& value) noexcept {
  static constexpr const char* kNames[] = {"None",
                                           "an int",
                                           "a bool",
                                           "a float",
                                           "a tensor",
                                           "a string",
                                           "a list of ints",
                                           "a list of floats",
                                           "a list of bools",
                                           "a list of tensors",
                                           "a list of optional tensors"};
  static_assert(std::size(kNames) == std::variant_size_v<Value>);
  return kNames[value.index()];
}

const Method* Program::find_method(std::string_view name) const noexcept {
  for (const Method& method : methods) {
    if (method.name == name) return &method;
  }
  return nullptr;
}

std::optional<Bytes> Program::find_named_data(std::string_view key) const noexcept {
  const auto found = named_data.find(key);
  if (found == named_data.end()) return std::nullopt;
  return found->second;
}

Program load(Bytes bytes) { return decode(bytes); }

Program load(std::shared_ptr<const FileData> file) {
  Program program = decode(file->bytes());
  program.keep_alive.push_back(std::move(file));
  return program;
}

void attach(Program& program, const DataMap& data) {
  uint64_t total_bytes = 0;
  for (const auto& [key, entry] : data.entries) {
    if (program.named_data.contains(key)) fail_load("data file: ", quoted(key), " is in the program as well");
    total_bytes += entry.bytes.size();
  }
  AlignedViews aligned(kConstantAlignment, total_bytes);
  for (Method& method : program.methods) {
    for (Value& value : method.values) {
      if (Tensor* tensor = std::get_if<Tensor>(&value)) attach_tensor(*tensor, data, aligned);
    }
  }
  for (const auto& [key, entry] : data.entries) program.named_data.emplace(key, entry.bytes);
  program.keep_alive.insert(program.keep_alive.end(), aligned.keep_alive().begin(), aligned.keep_alive().end());
  program.keep_alive.insert(program.keep_alive.end(), data.keep_alive.begin(), data.keep_alive.end());
}

std::vector<std::string> missing_data(const Method& method) {
  std::set<std::string> names;
  for (const Value& value : method.values) {
    const Tensor* tensor = std::get_if<Tensor>(&value);
    if (tensor != nullptr &&
        (tensor->storage == Storage::kExternalConstant || tensor->storage == Storage::kExternalMutable)) {
      names.insert(tensor->fully_qualified_name);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace enr::program
