#pragma once

// What a method takes and gives, as the file says it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ops/tensor.h"

namespace enr::executor {

enum class ValueKind : uint8_t { kNone, kTensor, kInt, kFloat, kBool, kString, kList };

struct ValueSpec {
  ValueKind kind = ValueKind::kNone;
  // Tensors: sizes are upper bounds where `dynamism` is not static.
  DType dtype = DType::kFloat32;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dim_order;
  Dynamism dynamism = Dynamism::kStatic;
  bool is_memory_planned = false;
  size_t size_bytes = 0;  // at the bound
  // Outputs: large, and Method::run may write it straight into the caller's memory.
  bool is_writable_in_place = false;
  // Other inputs: the value the exporter traced, which is the only one the program is valid for.
  std::variant<std::monostate, int64_t, double, bool, std::string> traced;
};

struct MethodSpec {
  std::string name;
  std::vector<ValueSpec> inputs;
  std::vector<ValueSpec> outputs;
  std::vector<std::string> backends;  // delegates it calls, each once
};

// A named or numbered buffer that keeps its content from call to call.
struct StateSpec {
  std::string name;  // the exporter's qualified name; "state_0", ... where the file has none
  DType dtype = DType::kFloat32;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dim_order;
  bool has_initial_value = false;
};

// Where a method's memory goes.
struct MemoryReport {
  size_t planned_bytes = 0;    // arenas, shared ones included
  size_t constant_bytes = 0;   // in the file, as mapped
  size_t packed_bytes = 0;     // constants in the kernels' own layouts, shared by the program's methods
  size_t workspace_bytes = 0;  // memory for intermediate values of delegates and operators, as of now
};

}  // namespace enr::executor
