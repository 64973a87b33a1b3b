#pragma once

// A .pte program as checked plain structs. load() verifies everything once: every index below is in range, every span
// lies in the file, every placement in its arena. Later layers only assert.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/limits.h"
#include "program/file_data.h"

namespace enr::program {

inline constexpr size_t kMaxTensorRank = 16;

// Constants start at addresses that are multiples of this (spans in the file that do not are copied).
inline constexpr size_t kConstantAlignment = 16;

enum class Dynamism : uint8_t {
  kStatic,   // the sizes never change
  kBounded,  // the sizes are upper bounds
};

// Where a tensor's elements come from.
enum class Storage : uint8_t {
  kUnplanned,         // nowhere yet: memory is the runtime's or the caller's to provide
  kPlanned,           // `placement`, uninitialised
  kConstant,          // `bytes`, aligned to kConstantAlignment
  kMutableInitial,    // `placement`, starting with `bytes` (of any alignment)
  kOwnInitial,        // as kUnplanned, starting with `bytes`
  kExternalConstant,  // a data file, under `fully_qualified_name`; attach() turns it into kConstant
  kExternalMutable,   // `placement`, starting with that of a data file; attach() turns it into kMutableInitial
};

struct Placement {
  uint32_t arena = 0;  // index into Method::arena_sizes
  uint64_t offset = 0;
};

struct Tensor {
  DType dtype = DType::kFloat32;
  Dynamism dynamism = Dynamism::kStatic;
  Storage storage = Storage::kUnplanned;
  std::vector<int64_t> sizes;        // bounds where dynamic
  std::vector<uint8_t> dim_order;    // a permutation, outermost in memory first
  uint64_t size_bytes = 0;           // of the sizes above, at most kMaxBufferBytes
  Bytes bytes;                       // exactly size_bytes; empty unless kConstant, kMutableInitial or kOwnInitial
  Placement placement;               // meaningful for kPlanned, kMutableInitial, kExternalMutable
  std::string fully_qualified_name;  // e.g. "layers.0.weight"; empty where the file has none

  // Whether the memory planner gave it memory (the official API's is_memory_planned).
  bool is_memory_planned() const noexcept { return storage != Storage::kUnplanned; }
};

// Value indices; each refers to an int64_t value, to be read anew for every instruction.
struct IntList {
  std::vector<uint32_t> items;
};
struct DoubleList {
  std::vector<double> items;
};
struct BoolList {
  std::vector<uint8_t> items;
};
// Value indices of tensors.
struct TensorList {
  std::vector<uint32_t> items;
};
// Value indices of tensors (or of None values); kNone for None.
struct OptionalTensorList {
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  std::vector<uint32_t> items;
};

// std::monostate is None.
using Value = std::variant<std::monostate, int64_t, bool, double, Tensor, std::string, IntList, DoubleList, BoolList,
                           TensorList, OptionalTensorList>;

// "a tensor", "an int", "None", ... for messages.
const char* kind_name(const Value& value) noexcept;

struct KernelCall {
  uint32_t operator_index = 0;
  std::vector<uint32_t> args;  // value indices: inputs, out arguments, then the outs once more as results
};
struct DelegateCall {
  uint32_t delegate_index = 0;
  std::vector<uint32_t> args;  // value indices: the delegate's inputs, then its outputs
};
// Both values are of one kind, or both are scalars (None, int, bool, double).
struct Move {
  uint32_t from = 0;
  uint32_t to = 0;
};
struct JumpIfFalse {
  uint32_t condition = 0;    // value index of a bool or of a bool tensor
  uint32_t destination = 0;  // instruction of the same chain; its count means the end
};
struct Free {
  uint32_t value = 0;  // value index of a tensor
};
using Instruction = std::variant<KernelCall, DelegateCall, Move, JumpIfFalse, Free>;

struct Chain {
  std::vector<Instruction> instructions;
};

struct CompileSpec {
  std::string key;
  Bytes value;
};

struct Delegate {
  std::string id;  // e.g. "XnnpackBackend"
  std::vector<CompileSpec> compile_specs;
  Bytes processed;  // the backend's own payload
};

struct Method {
  std::string name;
  std::vector<Value> values;
  std::vector<uint32_t> inputs;        // value indices
  std::vector<uint32_t> outputs;       // value indices
  std::vector<Chain> chains;           // run one after the other; may be empty
  std::vector<std::string> operators;  // with overload: "aten::add.out"
  std::vector<Delegate> delegates;
  std::vector<uint64_t> arena_sizes;  // in bytes; arena i is the file's memory_id i + 1
  std::string input_structure;        // the exporter's encoded container of inputs; may be empty
  std::string output_structure;
};

struct Program {
  std::vector<Method> methods;
  // Constants that delegates ask for by name; attach() adds those of data files.
  std::map<std::string, Bytes, std::less<>> named_data;

  // What the spans above refer to.
  std::vector<std::shared_ptr<const void>> keep_alive;

  const Method* find_method(std::string_view name) const noexcept;
  std::optional<Bytes> find_named_data(std::string_view key) const noexcept;
};

// Decodes and checks a whole .pte. Throws kProgramLoad naming the field, its value and its limit. A file that is
// something else (zip, .ptd, bundled program, HTML, ...) is refused by saying what it looks like. The program keeps
// `file` alive.
Program load(std::shared_ptr<const FileData> file);

// The same for bytes that the caller keeps alive as long as the program.
Program load(Bytes bytes);

struct DataMap;

// Gives external tensors of all methods their data and adds the map's entries to named_data. Tensors whose name is not
// in the map stay external. Throws kProgramLoad where dtype, sizes or dim order differ, or where a key is in both.
void attach(Program& program, const DataMap& data);

// Names of the external tensors that still have no data, sorted.
std::vector<std::string> missing_data(const Method& method);

}  // namespace enr::program
