#include "kernels/unary/loops.h"

namespace enr::kernels::ENR_ISA {

void fill_unary_f64(UnaryTable& table) {
#define ENR_ROW(name, cost) table.f64[static_cast<int>(Unary::k##name)] = &run_unary<double, name>;
  ENR_FLOATING_UNARY_OPS(ENR_ROW)
#undef ENR_ROW
}

}  // namespace enr::kernels::ENR_ISA
