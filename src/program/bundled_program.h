#pragma once

// .bpte files: a program with example inputs and the outputs expected for them.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "program/file_data.h"

namespace enr::program {

struct BundledTensor {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dim_order;
  Bytes bytes;  // exactly as many as the sizes take; of any alignment
};

using BundledValue = std::variant<std::monostate, BundledTensor, int64_t, bool, double>;

struct BundledCase {
  std::vector<BundledValue> inputs;
  std::vector<BundledValue> expected_outputs;
};

struct BundledMethod {
  std::string name;
  std::vector<BundledCase> cases;
};

struct BundledProgram {
  std::shared_ptr<const FileData> program;  // the complete .pte inside, for load()
  std::vector<BundledMethod> methods;
};

// Whether the bytes carry the mark of a bundled program.
bool is_bundled_program(Bytes bytes) noexcept;

BundledProgram load_bundled(std::shared_ptr<const FileData> file);

}  // namespace enr::program
