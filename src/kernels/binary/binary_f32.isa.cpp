#include "kernels/binary/functions.h"
#include "kernels/binary/loops.h"

namespace enr::kernels::ENR_ISA {
namespace {

BinaryTable make_table() {
  BinaryTable table{};
#define ENR_ROW(name, cost) table.binary[kBinF32][static_cast<int>(Binary::k##name)] = &run_vectors<float, name>;
  ENR_FLOATING_BINARY_OPS(ENR_ROW)
#undef ENR_ROW
  table.binary[kBinF32][static_cast<int>(Binary::kPow)] = &run_pow<float, Pow>;
  fill_binary_f64(table.binary[kBinF64]);
  fill_binary_integer(table);
  fill_comparisons(table);
  return table;
}

}  // namespace

const BinaryTable& binary_table() {
  static const BinaryTable table = make_table();
  return table;
}

}  // namespace enr::kernels::ENR_ISA
