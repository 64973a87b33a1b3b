#pragma once

// A slot of a method while it runs: what an instruction's argument refers to.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ops/tensor.h"

namespace enr {

struct Value;

// Integers are boxed: each is another slot, read anew for every instruction, since symbolic sizes change.
struct IntList {
  std::vector<const Value*> items;
  std::vector<int64_t> unboxed;  // room for the ints of the last read
};
struct DoubleList {
  std::vector<double> items;
};
struct BoolList {
  std::vector<uint8_t> items;
};
// Tensor slots; null for None (lists of optional tensors only).
struct TensorList {
  std::vector<Value*> items;
  std::vector<Tensor*> unboxed;
};

struct Value {
  std::variant<std::monostate, int64_t, double, bool, Tensor, std::string, IntList, DoubleList, BoolList, TensorList>
      data;

  template <class T>
  T* get() noexcept {
    return std::get_if<T>(&data);
  }
  template <class T>
  const T* get() const noexcept {
    return std::get_if<T>(&data);
  }
  bool is_none() const noexcept { return std::holds_alternative<std::monostate>(data); }

  // "a tensor", "an int", ... for messages.
  const char* kind_name() const noexcept;
};

}  // namespace enr
