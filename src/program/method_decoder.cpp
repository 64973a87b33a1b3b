#include "program/method_decoder.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "program/tensor_decoder.h"

namespace enr::program {

namespace {

using flatbuffer::for_each_table;
using flatbuffer::in_field;
using flatbuffer::in_item;
using flatbuffer::Table;
using flatbuffer::Vector;

// Codes of the value union.
enum : uint8_t {
  kNullCode = 1,
  kIntCode,
  kBoolCode,
  kDoubleCode,
  kTensorCode,
  kStringCode,
  kIntListCode,
  kDoubleListCode,
  kBoolListCode,
  kTensorListCode,
  kOptionalTensorListCode
};

constexpr flatbuffer::Field kItems{0, "items"};

// Items are checked against the values later, when all of those are known.
template <class T>
std::vector<uint32_t> decode_index_list(const Table& list, bool is_optional) {
  const Vector<T> items = list.vector<T>(kItems);
  std::vector<uint32_t> result;
  result.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const int64_t item = items[i];
    if (item >= 0 && item < OptionalTensorList::kNone) {
      result.push_back(static_cast<uint32_t>(item));
    } else if (item == -1 && is_optional) {
      result.push_back(OptionalTensorList::kNone);
    } else {
      fail_load("items[", i, "]: is ", item, ", expected the index of a value");
    }
  }
  return result;
}

template <class T, class Stored>
std::vector<Stored> decode_literal_list(const Table& list) {
  const Vector<T> items = list.vector<T>(kItems);
  std::vector<Stored> result;
  result.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) result.push_back(items[i]);
  return result;
}

Value decode_value(const Table& table, DataTables& data, const std::vector<uint64_t>& arena_sizes) {
  const auto type = table.scalar<uint8_t>({0, "val_type"});
  if (type == kNullCode) return std::monostate{};
  if (type < kNullCode || type > kOptionalTensorListCode) {
    fail_load("val_type: is ", +type, ", expected ", +kNullCode, " to ", +kOptionalTensorListCode);
  }
  const Table value = table.required_table({1, "val"});
  return in_field("val", [&]() -> Value {
    switch (type) {
      case kIntCode:
        return value.scalar<int64_t>({0, "int_val"});
      case kBoolCode:
        return value.scalar<bool>({0, "bool_val"});
      case kDoubleCode:
        return value.scalar<double>({0, "double_val"});
      case kTensorCode:
        return decode_tensor(value, data, arena_sizes);
      case kStringCode:
        return std::string(value.string({0, "string_val"}));
      case kIntListCode:
        return IntList{decode_index_list<int64_t>(value, false)};
      case kDoubleListCode:
        return DoubleList{decode_literal_list<double, double>(value)};
      case kBoolListCode: {
        BoolList list{decode_literal_list<uint8_t, uint8_t>(value)};
        for (uint8_t& item : list.items) item = item != 0;
        return list;
      }
      case kTensorListCode:
        return TensorList{decode_index_list<int32_t>(value, false)};
      default:
        return OptionalTensorList{decode_index_list<int32_t>(value, true)};
    }
  });
}

void check_list_items(const std::vector<uint32_t>& items, const std::vector<Value>& values, const char* expected,
                      bool (*is_expected)(const Value&)) {
  for (size_t i = 0; i < items.size(); ++i) {
    const uint32_t item = items[i];
    if (item == OptionalTensorList::kNone) continue;
    if (item >= values.size())
      fail_load("val.items[", i, "]: is ", item, ", the method has ", values.size(), " values");
    if (!is_expected(values[item])) {
      fail_load("val.items[", i, "]: value ", item, " is ", kind_name(values[item]), ", expected ", expected);
    }
  }
}

void check_list(const Value& value, const std::vector<Value>& values) {
  const auto is_tensor = [](const Value& item) { return std::holds_alternative<Tensor>(item); };
  if (const auto* list = std::get_if<IntList>(&value)) {
    check_list_items(list->items, values, "an int",
                     [](const Value& item) { return std::holds_alternative<int64_t>(item); });
  } else if (const auto* tensors = std::get_if<TensorList>(&value)) {
    check_list_items(tensors->items, values, "a tensor", is_tensor);
  } else if (const auto* optionals = std::get_if<OptionalTensorList>(&value)) {
    check_list_items(optionals->items, values, "a tensor or None", [](const Value& item) {
      return std::holds_alternative<Tensor>(item) || std::holds_alternative<std::monostate>(item);
    });
  }
}

std::vector<uint64_t> decode_arena_sizes(const Table& plan) {
  // Entry 0 is a placeholder.
  const Vector<int64_t> sizes = plan.vector<int64_t>({8, "non_const_buffer_sizes"});
  std::vector<uint64_t> result;
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || static_cast<uint64_t>(sizes[i]) > kMaxBufferBytes) {
      fail_load("non_const_buffer_sizes[", i, "]: is ", sizes[i], ", expected 0 to ", kMaxBufferBytes);
    }
    result.push_back(static_cast<uint64_t>(sizes[i]));
  }
  return result;
}

void check_devices(const Table& plan) {
  for_each_table(plan, {9, "non_const_buffer_device"}, [&](const Table& device, size_t) {
    const auto type = device.scalar<int8_t>({1, "device_type"});
    if (type != 0) fail_load("device_type: is ", +type, ", this runtime has the CPU (0) only");
  });
}

std::vector<uint32_t> decode_io(const Table& plan, flatbuffer::Field field, const std::vector<Value>& values) {
  const Vector<int32_t> indices = plan.vector<int32_t>(field);
  std::vector<uint32_t> result;
  result.reserve(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || static_cast<size_t>(indices[i]) >= values.size()) {
      fail_load(field.name, "[", i, "]: is ", indices[i], ", the method has ", values.size(), " values");
    }
    result.push_back(static_cast<uint32_t>(indices[i]));
  }
  return result;
}

void check_inputs(const Method& method) {
  for (size_t i = 0; i < method.inputs.size(); ++i) {
    const Value& value = method.values[method.inputs[i]];
    const Tensor* tensor = std::get_if<Tensor>(&value);
    if (tensor != nullptr && (tensor->storage == Storage::kConstant || tensor->storage == Storage::kOwnInitial ||
                              tensor->storage == Storage::kExternalConstant)) {
      fail_load("inputs[", i, "]: value ", method.inputs[i], " is a constant, which no input can be written to");
    }
    if (std::holds_alternative<IntList>(value) || std::holds_alternative<TensorList>(value) ||
        std::holds_alternative<OptionalTensorList>(value)) {
      fail_load("inputs[", i, "]: value ", method.inputs[i], " is ", kind_name(value),
                ", expected a tensor or a scalar");
    }
  }
}

std::string decode_operator(const Table& table) {
  std::string name(table.string({0, "name"}));
  const std::string_view overload = table.string({1, "overload"});
  if (name.empty()) fail_load("name: missing");
  if (!overload.empty()) name.append(".").append(overload);
  if (has_control_characters(name)) fail_load("name: ", quoted(name), " has control characters");
  return name;
}

Bytes decode_processed(const Table& delegate, const DataTables& data) {
  const Table reference = delegate.required_table({1, "processed"});
  return in_field("processed", [&] {
    const auto location = reference.scalar<int8_t>({0, "location"});
    const auto index = reference.scalar<uint32_t>({1, "index"});
    if (location != 0 && location != 1) fail_load("location: is ", +location, ", expected 0 (inline) or 1 (segment)");
    const std::vector<Bytes>& sources = location == 0 ? data.inline_delegates : data.segments;
    if (index >= sources.size()) {
      fail_load("index: is ", index, ", the program has ", sources.size(),
                location == 0 ? " inline blobs" : " segments");
    }
    return sources[index];
  });
}

Delegate decode_delegate(const Table& table, const DataTables& data) {
  Delegate delegate;
  delegate.id = table.string({0, "id"});
  if (delegate.id.empty()) fail_load("id: missing");
  if (has_control_characters(delegate.id)) fail_load("id: ", quoted(delegate.id), " has control characters");
  delegate.processed = decode_processed(table, data);
  for_each_table(table, {2, "compile_specs"}, [&](const Table& spec, size_t) {
    delegate.compile_specs.push_back({std::string(spec.string({0, "key"})), spec.bytes({1, "value"})});
  });
  return delegate;
}

}  // namespace

Method decode_method(const Table& plan, DataTables& data, std::string name) {
  Method method;
  method.name = std::move(name);
  method.arena_sizes = decode_arena_sizes(plan);
  check_devices(plan);
  for_each_table(plan, {2, "values"}, [&](const Table& value, size_t) {
    method.values.push_back(decode_value(value, data, method.arena_sizes));
  });
  for (size_t i = 0; i < method.values.size(); ++i) {
    in_item("values", i, [&] { check_list(method.values[i], method.values); });
  }
  method.inputs = decode_io(plan, {3, "inputs"}, method.values);
  method.outputs = decode_io(plan, {4, "outputs"}, method.values);
  check_inputs(method);
  for_each_table(plan, {6, "operators"},
                 [&](const Table& table, size_t) { method.operators.push_back(decode_operator(table)); });
  for_each_table(plan, {7, "delegates"},
                 [&](const Table& table, size_t) { method.delegates.push_back(decode_delegate(table, data)); });
  for_each_table(plan, {5, "chains"},
                 [&](const Table& table, size_t) { method.chains.push_back(decode_chain(table, method)); });
  if (const auto container = plan.table({1, "container_meta_type"})) {
    method.input_structure = container->string({0, "encoded_inp_str"});
    method.output_structure = container->string({1, "encoded_out_str"});
  }
  return method;
}

}  // namespace enr::program
