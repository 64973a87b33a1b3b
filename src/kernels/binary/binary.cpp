#include "kernels/binary/binary.h"

#include "base/dtype.h"
#include "kernels/binary/binary_table.h"
#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(BinaryTable, binary_table)

namespace {

struct Entry {
  const char* name;
  uint8_t cost;
};

#define ENR_ENTRY(name, cost) {#name, cost},
constexpr Entry kBinaryEntries[] = {ENR_BINARY_OPS(ENR_ENTRY)};
constexpr Entry kComparisonEntries[] = {ENR_COMPARISONS(ENR_ENTRY)};
#undef ENR_ENTRY

int type_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kFloat32:
      return kBinF32;
    case DType::kFloat64:
      return kBinF64;
    case DType::kInt64:
      return kBinI64;
    case DType::kInt32:
      return kBinI32;
    case DType::kInt16:
      return kBinI16;
    case DType::kInt8:
      return kBinI8;
    case DType::kUInt8:
      return kBinU8;
    case DType::kUInt64:
      return kBinU64;
    case DType::kBool:
      return kBinBool;
    default:
      return -1;
  }
}

Loop make_loop(LoopFn run, DType in, DType out, uint8_t cost) noexcept {
  Loop loop;
  loop.run = run;
  loop.out = out;
  loop.in[0] = loop.in[1] = in;
  loop.inputs = 2;
  loop.cost = cost;
  return loop;
}

}  // namespace

Loop binary_loop(Binary op, DType dtype) noexcept {
  const int type = type_of(dtype);
  const int index = static_cast<int>(op);
  return make_loop(type < 0 ? nullptr : binary_table().binary[type][index], dtype, dtype, kBinaryEntries[index].cost);
}

Loop comparison_loop(Comparison op, DType dtype) noexcept {
  const int type = type_of(dtype);
  const int index = static_cast<int>(op);
  return make_loop(type < 0 ? nullptr : binary_table().comparison[type][index], dtype, DType::kBool,
                   kComparisonEntries[index].cost);
}

const char* binary_name(Binary op) noexcept { return kBinaryEntries[static_cast<int>(op)].name; }
const char* comparison_name(Comparison op) noexcept { return kComparisonEntries[static_cast<int>(op)].name; }

}  // namespace enr::kernels
