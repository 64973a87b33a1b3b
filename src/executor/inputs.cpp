#include "executor/inputs.h"

#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "base/error.h"
#include "kernels/convert/convert.h"
#include "kernels/transpose/strided_copy.h"

namespace enr::executor {

namespace {

const char* kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNone:
      return "None";
    case ValueKind::kTensor:
      return "an array";
    case ValueKind::kInt:
      return "an int";
    case ValueKind::kFloat:
      return "a float";
    case ValueKind::kBool:
      return "a bool";
    case ValueKind::kString:
      return "a string";
    case ValueKind::kList:
      return "a list";
  }
  return "something else";
}

struct Got {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(const TensorInput& t) const {
    if (t.sizes == nullptr) return concat("an array of rank ", t.rank);
    return concat("an array of ", dtype_name(t.dtype), " ", Sizes(t.sizes, t.rank));
  }
  std::string operator()(int64_t v) const { return concat("the int ", v); }
  std::string operator()(double v) const { return concat("the float ", v); }
  std::string operator()(bool v) const { return v ? "True" : "False"; }
  std::string operator()(std::string_view v) const { return concat("the string '", v, "'"); }
  std::string operator()(const UnknownInput& v) const { return v.type; }
};

std::string got(const Input& input) { return std::visit(Got{}, input); }

std::string expected_tensor(const ValueSpec& spec) {
  return concat("an array of ", dtype_name(spec.dtype), " ", spec.sizes,
                spec.dynamism == Dynamism::kStatic ? "" : " at most (every dim may be smaller)");
}

void check_tensor(const MethodSpec& method, size_t index, const ValueSpec& spec, const Input& input) {
  const auto* tensor = std::get_if<TensorInput>(&input);
  const auto refuse = [&](const auto&... why) {
    fail_execution(method.name, ": input ", index, ": ", why..., "expected ", expected_tensor(spec), ", got ",
                   got(input));
  };
  if (tensor == nullptr) refuse();
  if (tensor->dtype != spec.dtype) refuse("wrong dtype: ");
  if (tensor->rank != spec.sizes.size()) refuse("wrong rank: ");
  for (size_t d = 0; d < tensor->rank; ++d) {
    const int64_t size = tensor->sizes[d];
    if (spec.dynamism == Dynamism::kStatic ? size != spec.sizes[d] : size > spec.sizes[d]) {
      refuse("wrong size in dim ", d, ": ");
    }
  }
}

bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-4 + 1e-5 * std::abs(b);
}

// Whether the caller's value is the one the program was traced with; numbers compare by value, whatever their type.
bool matches_traced(const ValueSpec& spec, const Input& input) {
  const auto number = [](const auto& v) -> const double* {
    static thread_local double value;
    if (const auto* i = std::get_if<int64_t>(&v)) return &(value = static_cast<double>(*i));
    if (const auto* b = std::get_if<bool>(&v)) return &(value = *b);
    if (const auto* d = std::get_if<double>(&v)) return &(value = *d);
    return nullptr;
  };
  switch (spec.kind) {
    case ValueKind::kNone:
      return std::holds_alternative<std::monostate>(input);
    case ValueKind::kString: {
      const auto* text = std::get_if<std::string_view>(&input);
      return text != nullptr && *text == std::get<std::string>(spec.traced);
    }
    case ValueKind::kInt: {
      if (const auto* i = std::get_if<int64_t>(&input)) return *i == std::get<int64_t>(spec.traced);
      if (const auto* b = std::get_if<bool>(&input)) return int64_t{*b} == std::get<int64_t>(spec.traced);
      return false;
    }
    case ValueKind::kBool: {
      if (const auto* i = std::get_if<int64_t>(&input)) return *i == int64_t{std::get<bool>(spec.traced)};
      if (const auto* b = std::get_if<bool>(&input)) return *b == std::get<bool>(spec.traced);
      return false;
    }
    case ValueKind::kFloat: {
      const double* given = number(input);
      if (given == nullptr) return false;
      return same_number(*given, std::get<double>(spec.traced));
    }
    default:
      return false;
  }
}

// numpy takes any byte but 0 for true (a mask of 0 and 255 viewed as bool); kernels compute with 0 and 1.
void copy_truth(const void* from, Tensor& to) noexcept {
  kernels::convert(DType::kUInt8, from, DType::kBool, to.data, static_cast<size_t>(to.numel()));
}

std::string expected_plain(const ValueSpec& spec) {
  struct Text {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(int64_t v) const { return concat(" ", v); }
    std::string operator()(double v) const { return concat(" ", v); }
    std::string operator()(bool v) const { return v ? " True" : " False"; }
    std::string operator()(const std::string& v) const { return concat(" '", v, "'"); }
  };
  const std::string value = std::visit(Text{}, spec.traced);
  return kind_name(spec.kind) + value;
}

}  // namespace

void fail_input_count(const MethodSpec& spec, size_t count, bool or_more) {
  const size_t expected = spec.inputs.size();
  std::string rest = or_more ? " or more" : "";
  if (count < expected) {
    const ValueSpec& first = spec.inputs[count];
    rest = concat("; the first that is missing is ",
                  first.kind == ValueKind::kTensor ? expected_tensor(first) : expected_plain(first));
  }
  fail_execution(spec.name, ": expected ", expected, expected == 1 ? " input" : " inputs", ", got ", count, rest);
}

void check_inputs(const MethodSpec& spec, std::span<const Input> inputs) {
  if (inputs.size() != spec.inputs.size()) fail_input_count(spec, inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueSpec& expected = spec.inputs[i];
    if (expected.kind == ValueKind::kTensor) {
      check_tensor(spec, i, expected, inputs[i]);
    } else if (!matches_traced(expected, inputs[i])) {
      fail_execution(spec.name, ": input ", i, ": the program was exported for ", expected_plain(expected),
                     " only, got ", got(inputs[i]));
    }
  }
}

bool has_layout_of(const TensorInput& input, const Tensor& to) noexcept {
  int64_t stride = static_cast<int64_t>(dtype_size(to.dtype));
  for (size_t i = to.rank; i-- > 0;) {
    const size_t d = to.dim_order()[i];
    if (input.sizes[d] != 1 && input.strides_bytes[d] != stride) return false;
    stride *= input.sizes[d];
  }
  return true;
}

void copy_input(const TensorInput& input, Tensor& to) noexcept {
  to.set_sizes(Sizes(input.sizes, input.rank));
  const size_t element = dtype_size(to.dtype);
  const size_t size_bytes = to.size_bytes();
  if (size_bytes == 0) return;
  if (has_layout_of(input, to)) {
    if (to.dtype == DType::kBool) return copy_truth(input.data, to);
    std::memcpy(to.data, input.data, size_bytes);
    return;
  }
  std::array<int64_t, kMaxRank> to_strides_bytes;
  for (size_t d = 0; d < input.rank; ++d) to_strides_bytes[d] = to.stride(d) * static_cast<int64_t>(element);
  kernels::strided_copy(to.data, {to_strides_bytes.data(), input.rank}, input.data, {input.strides_bytes, input.rank},
                        to.sizes(), element);
  if (to.dtype == DType::kBool) copy_truth(to.data, to);
}

}  // namespace enr::executor
