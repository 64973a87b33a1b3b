#include "ops/registry.h"

#include <stdexcept>

#include "base/error.h"

namespace enr {

namespace {

// The argument's name is known to the operator's entry, not to the function that unboxes the argument.
class ArgumentError : public Error {
 public:
  ArgumentError(size_t index, const std::string& message) : Error(ErrorKind::kExecution, message), index_(index) {}
  size_t index() const noexcept { return index_; }

 private:
  size_t index_;
};

template <class... Parts>
[[noreturn]] void fail_argument(size_t index, const Parts&... parts) {
  throw ArgumentError(index, concat(parts...));
}

[[noreturn]] void fail_kind(size_t index, const char* expected, const Value& got) {
  fail_argument(index, "expected ", expected, ", got ", got.kind_name());
}

std::optional<int64_t> as_int(const Value& value) {
  if (const auto* i = value.get<int64_t>()) return *i;
  if (const auto* b = value.get<bool>()) return *b ? 1 : 0;
  return std::nullopt;
}

}  // namespace

void Operator::call(OpContext& context, Arguments arguments) const {
  try {
    run(context, arguments);
  } catch (const ArgumentError& error) {
    fail_execution(argument_name(error.index()), ": ", error.what());
  }
}

std::string_view Operator::argument_name(size_t argument) const noexcept {
  std::string_view names = argument_names;
  for (; argument > 0; --argument) names.remove_prefix(names.find(", ") + 2);
  return names.substr(0, names.find(','));
}

bool Operator::reads(size_t argument) const noexcept {
  if (argument >= arity) return false;
  size_t results = arity;
  while (results > 0 && writes(results - 1)) --results;
  return results == 0 || argument < results;
}

namespace detail {

int64_t unbox_int(const Value& value, size_t index) {
  if (const auto i = as_int(value)) return *i;
  fail_kind(index, "an int", value);
}

double unbox_double(const Value& value, size_t index) {
  if (const auto* d = value.get<double>()) return *d;
  if (const auto i = as_int(value)) return static_cast<double>(*i);
  fail_kind(index, "a float", value);
}

bool unbox_bool(const Value& value, size_t index) {
  if (const auto* b = value.get<bool>()) return *b;
  if (const auto* i = value.get<int64_t>()) return *i != 0;
  fail_kind(index, "a bool", value);
}

Scalar unbox_scalar(const Value& value, size_t index) {
  if (const auto* i = value.get<int64_t>()) return Scalar(*i);
  if (const auto* d = value.get<double>()) return Scalar(*d);
  if (const auto* b = value.get<bool>()) return Scalar(*b);
  fail_kind(index, "a number", value);
}

Tensor& unbox_tensor(Value& value, size_t index) {
  auto* tensor = value.get<Tensor>();
  if (tensor == nullptr) fail_kind(index, "a tensor", value);
  if (tensor->data == nullptr && tensor->numel() != 0) {
    fail_argument(index, "the tensor has no memory: nothing has been written to it yet");
  }
  return *tensor;
}

Tensor& unbox_written_tensor(Value& value, size_t index) {
  auto* tensor = value.get<Tensor>();
  if (tensor == nullptr) fail_kind(index, "a tensor", value);
  if (tensor->is_constant) fail_argument(index, "a constant cannot be written");
  return *tensor;
}

Sizes unbox_ints(Value& value, size_t index) {
  auto* list = value.get<IntList>();
  if (list == nullptr) fail_kind(index, "a list of ints", value);
  list->unboxed.resize(list->items.size());
  for (size_t i = 0; i < list->items.size(); ++i) {
    const auto item = as_int(*list->items[i]);
    if (!item) fail_argument(index, "expected ints only, got ", list->items[i]->kind_name(), " as item ", i);
    list->unboxed[i] = *item;
  }
  return list->unboxed;
}

std::span<const double> unbox_doubles(const Value& value, size_t index) {
  if (const auto* list = value.get<DoubleList>()) return list->items;
  fail_kind(index, "a list of floats", value);
}

std::span<const uint8_t> unbox_bools(const Value& value, size_t index) {
  if (const auto* list = value.get<BoolList>()) return list->items;
  fail_kind(index, "a list of bools", value);
}

std::span<Tensor* const> unbox_tensors(Value& value, size_t index, bool optional) {
  auto* list = value.get<TensorList>();
  if (list == nullptr) fail_kind(index, "a list of tensors", value);
  list->unboxed.resize(list->items.size());
  for (size_t i = 0; i < list->items.size(); ++i) {
    Value* item = list->items[i];
    const bool is_none = item == nullptr || item->is_none();
    if (is_none && !optional) fail_argument(index, "expected tensors only, got None as item ", i);
    list->unboxed[i] = is_none ? nullptr : &unbox_tensor(*item, index);
  }
  return list->unboxed;
}

std::string_view unbox_string(const Value& value, size_t index) {
  if (const auto* text = value.get<std::string>()) return *text;
  fail_kind(index, "a string", value);
}

DType unbox_dtype(const Value& value, size_t index) {
  const int64_t code = unbox_int(value, index);
  if (code < 0 || code > 127 || dtype_size(static_cast<DType>(code)) == 0) {
    fail_argument(index, "expected the code of a dtype, got ", code);
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
