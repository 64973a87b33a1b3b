#include "ops/registry.h"

#include <stdexcept>

#include "base/error.h"

namespace enr {

bool Operator::reads(size_t argument) const noexcept {
  if (argument >= arity) return false;
  size_t results = arity;
  while (results > 0 && writes(results - 1)) --results;
  return results == 0 || argument < results;
}

namespace detail {

[[noreturn]] static void fail_argument(size_t index, const char* expected, const Value& got) {
  fail_execution("argument ", index, ": expected ", expected, ", got ", got.kind_name());
}

int64_t unbox_int(const Value& value, size_t index) {
  if (const auto* i = value.get<int64_t>()) return *i;
  if (const auto* b = value.get<bool>()) return *b ? 1 : 0;
  fail_argument(index, "an int", value);
}

double unbox_double(const Value& value, size_t index) {
  if (const auto* d = value.get<double>()) return *d;
  if (const auto* i = value.get<int64_t>()) return static_cast<double>(*i);
  if (const auto* b = value.get<bool>()) return *b ? 1 : 0;
  fail_argument(index, "a float", value);
}

bool unbox_bool(const Value& value, size_t index) {
  if (const auto* b = value.get<bool>()) return *b;
  if (const auto* i = value.get<int64_t>()) return *i != 0;
  fail_argument(index, "a bool", value);
}

Scalar unbox_scalar(const Value& value, size_t index) {
  if (const auto* i = value.get<int64_t>()) return Scalar(*i);
  if (const auto* d = value.get<double>()) return Scalar(*d);
  if (const auto* b = value.get<bool>()) return Scalar(*b);
  fail_argument(index, "a number", value);
}

Tensor& unbox_tensor(Value& value, size_t index) {
  auto* tensor = value.get<Tensor>();
  if (tensor == nullptr) fail_argument(index, "a tensor", value);
  if (tensor->data == nullptr && tensor->numel() != 0) {
    fail_execution("argument ", index, ": the tensor has no memory: nothing has been written to it yet");
  }
  return *tensor;
}

Tensor& unbox_written_tensor(Value& value, size_t index) {
  auto* tensor = value.get<Tensor>();
  if (tensor == nullptr) fail_argument(index, "a tensor", value);
  if (tensor->is_constant) fail_execution("argument ", index, ": a constant cannot be written");
  return *tensor;
}

Sizes unbox_ints(Value& value, size_t index) {
  auto* list = value.get<IntList>();
  if (list == nullptr) fail_argument(index, "a list of ints", value);
  list->unboxed.resize(list->items.size());
  for (size_t i = 0; i < list->items.size(); ++i) list->unboxed[i] = unbox_int(*list->items[i], index);
  return list->unboxed;
}

std::span<const double> unbox_doubles(const Value& value, size_t index) {
  if (const auto* list = value.get<DoubleList>()) return list->items;
  fail_argument(index, "a list of floats", value);
}

std::span<const uint8_t> unbox_bools(const Value& value, size_t index) {
  if (const auto* list = value.get<BoolList>()) return list->items;
  fail_argument(index, "a list of bools", value);
}

std::span<Tensor* const> unbox_tensors(Value& value, size_t index, bool optional) {
  auto* list = value.get<TensorList>();
  if (list == nullptr) fail_argument(index, "a list of tensors", value);
  list->unboxed.resize(list->items.size());
  for (size_t i = 0; i < list->items.size(); ++i) {
    Value* item = list->items[i];
    const bool is_none = item == nullptr || item->is_none();
    if (is_none && !optional) fail_execution("argument ", index, ": expected tensors only, got None as item ", i);
    list->unboxed[i] = is_none ? nullptr : &unbox_tensor(*item, index);
  }
  return list->unboxed;
}

std::string_view unbox_string(const Value& value, size_t index) {
  if (const auto* text = value.get<std::string>()) return *text;
  fail_argument(index, "a string", value);
}

DType unbox_dtype(const Value& value, size_t index) {
  const int64_t code = unbox_int(value, index);
  if (code < 0 || code > 127 || dtype_size(static_cast<DType>(code)) == 0) {
    fail_execution("argument ", index, ": expected the code of a dtype, got ", code);
  }
  return static_cast<DType>(code);
}

}  // namespace detail

const char* Value::kind_name() const noexcept {
  static constexpr const char* kNames[] = {
      "None",     "an int",         "a float",          "a bool",          "a tensor",
      "a string", "a list of ints", "a list of floats", "a list of bools", "a list of tensors"};
  return kNames[data.index()];
}

DType promote_with_scalar(DType tensor, const Scalar& scalar) noexcept {
  if (is_complex(tensor) || scalar.is_bool()) return tensor;
  if (scalar.is_int()) return is_bool(tensor) ? DType::kInt64 : tensor;
  return is_floating(tensor) ? tensor : DType::kFloat32;
}

void OperatorTable::add(Operator entry) {
  std::string name = entry.name;
  if (!entries_.emplace(name, std::move(entry)).second) throw std::logic_error("operator registered twice: " + name);
}

const Operator* OperatorTable::find(std::string_view name) const noexcept {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::string> OperatorTable::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace enr
