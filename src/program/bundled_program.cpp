#include "program/bundled_program.h"

#include <utility>

#include "base/error.h"
#include "base/flatbuffer.h"
#include "program/file_kind.h"
#include "program/tensor_decoder.h"

namespace enr::program {

namespace {

using flatbuffer::for_each_table;
using flatbuffer::in_field;
using flatbuffer::Table;

// Codes of the value union.
enum : uint8_t { kNoneCode = 0, kTensorCode, kIntCode, kBoolCode, kDoubleCode };

BundledTensor decode_bundled_tensor(const Table& table) {
  BundledTensor tensor;
  tensor.dtype = decode_dtype(table.scalar<int8_t>({0, "scalar_type"}));
  tensor.sizes = decode_sizes(table.vector<int32_t>({1, "sizes"}));
  tensor.dim_order = decode_dim_order(table.vector<uint8_t>({3, "dim_order"}), tensor.sizes.size());
  tensor.bytes = table.bytes({2, "data"});
  const uint64_t expected = dense_size_bytes(tensor.dtype, tensor.sizes);
  if (tensor.bytes.size() != expected) {
    fail_load("data: has ", tensor.bytes.size(), " bytes, ", dtype_name(tensor.dtype), tensor.sizes, " takes ",
              expected);
  }
  return tensor;
}

BundledValue decode_bundled_value(const Table& table) {
  const auto type = table.scalar<uint8_t>({0, "val_type"});
  if (type == kNoneCode) return std::monostate{};
  if (type > kDoubleCode) fail_load("val_type: is ", +type, ", expected 0 to ", +kDoubleCode);
  const Table value = table.required_table({1, "val"});
  return in_field("val", [&]() -> BundledValue {
    switch (type) {
      case kTensorCode:
        return decode_bundled_tensor(value);
      case kIntCode:
        return value.scalar<int64_t>({0, "int_val"});
      case kBoolCode:
        return value.scalar<bool>({0, "bool_val"});
      default:
        return value.scalar<double>({0, "double_val"});
    }
  });
}

std::vector<BundledValue> decode_bundled_values(const Table& table, flatbuffer::Field field) {
  std::vector<BundledValue> values;
  for_each_table(table, field, [&](const Table& value, size_t) { values.push_back(decode_bundled_value(value)); });
  return values;
}

}  // namespace

bool is_bundled_program(Bytes bytes) noexcept { return bytes.size() >= 8 && as_text(bytes.subspan(4, 4)) == "BP08"; }

BundledProgram load_bundled(std::shared_ptr<const FileData> file) {
  const Bytes bytes = file->bytes();
  if (!is_bundled_program(bytes)) fail_wrong_file(bytes, "a bundled program (.bpte)", "BP08");
  const flatbuffer::Buffer buffer(bytes, "bundled program");
  const Table root = buffer.root();
  BundledProgram bundle;
  for_each_table(root, {1, "method_test_suites"}, [&](const Table& suite, size_t) {
    BundledMethod& method = bundle.methods.emplace_back();
    method.name = suite.string({0, "method_name"});
    for_each_table(suite, {1, "test_cases"}, [&](const Table& test, size_t) {
      method.cases.push_back(
          {decode_bundled_values(test, {0, "inputs"}), decode_bundled_values(test, {1, "expected_outputs"})});
    });
  });
  const Bytes program = root.bytes({2, "program"});
  if (program.empty()) fail_load("program: missing in the bundled program");
  bundle.program = FileData::hold(program, file);
  return bundle;
}

}  // namespace enr::program
