#include "kernels/binary/functions.h"
#include "kernels/binary/loops.h"

namespace enr::kernels::ENR_ISA {

void fill_binary_f64(LoopFn* rows) {
#define ENR_ROW(name, cost) rows[static_cast<int>(Binary::k##name)] = &run_vectors<double, name>;
  ENR_FLOATING_BINARY_OPS(ENR_ROW)
#undef ENR_ROW
  rows[static_cast<int>(Binary::kPow)] = &run_pow<double, Pow>;
}

}  // namespace enr::kernels::ENR_ISA
