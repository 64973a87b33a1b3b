#pragma once

// Checks a call's inputs completely before anything is written, then copies them in.

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "executor/spec.h"
#include "ops/value.h"

namespace enr::executor {

// An array the caller holds. Strides are in bytes and may be zero or negative.
struct TensorInput {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
  size_t rank = 0;
  const int64_t* sizes = nullptr;  // may be null above kMaxRank
  const int64_t* strides_bytes = nullptr;
};

// What no program takes: the name of its type, for the message.
struct UnknownInput {
  std::string type;
};

using Input = std::variant<std::monostate, TensorInput, int64_t, double, bool, std::string_view, UnknownInput>;

// Throws kExecution for a number of inputs that is not the method's: `count`, or more.
[[noreturn]] void fail_input_count(const MethodSpec& spec, size_t count, bool or_more = false);

// Throws kExecution naming the method, the input, what was expected and what was given.
void check_inputs(const MethodSpec& spec, std::span<const Input> inputs);

// For inputs that check_inputs let pass. Truth values become 0 or 1, whatever bytes stand for them.
void copy_input(const TensorInput& input, Tensor& to) noexcept;

// Whether the elements lie as `to` would have them once it has the input's sizes.
bool has_layout_of(const TensorInput& input, const Tensor& to) noexcept;

}  // namespace enr::executor
