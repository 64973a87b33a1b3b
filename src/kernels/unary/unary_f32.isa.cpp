#include "kernels/unary/loops.h"

namespace enr::kernels::ENR_ISA {
namespace {

template <template <class> class F>
void activate(float* data, size_t n, const void* params) noexcept {
  const void* in = data;
  const uint8_t step = 1;
  run_unary<float, F>(data, &in, &step, n, *static_cast<const LoopParams*>(params));
}

UnaryTable make_table() {
  UnaryTable table{};
#define ENR_ROW(name, cost)                                              \
  table.f32[static_cast<int>(Unary::k##name)] = &run_unary<float, name>; \
  table.activations[static_cast<int>(Unary::k##name)] = &activate<name>;
  ENR_FLOATING_UNARY_OPS(ENR_ROW)
#undef ENR_ROW
  fill_unary_f64(table);
  fill_unary_integer(table);
  return table;
}

}  // namespace

const UnaryTable& unary_table() {
  static const UnaryTable table = make_table();
  return table;
}

}  // namespace enr::kernels::ENR_ISA
