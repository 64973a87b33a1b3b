#include "kernels/ternary/ternary.h"

#include <bit>

#include "base/dtype.h"
#include "kernels/isa.h"
#include "kernels/ternary/ternary_table.h"

namespace enr::kernels {

ENR_SELECT_ISA(TernaryTable, ternary_table)

namespace {

#define ENR_ENTRY(name, cost) cost,
constexpr uint8_t kCosts[] = {ENR_TERNARY_OPS(ENR_ENTRY)};
#undef ENR_ENTRY

}  // namespace

Loop ternary_loop(Ternary op, DType dtype) noexcept {
  const int index = static_cast<int>(op);
  const TernaryTable& table = ternary_table();
  Loop loop;
  loop.run = dtype == DType::kFloat32   ? table.f32[index]
             : dtype == DType::kFloat64 ? table.f64[index]
             : dtype == DType::kInt64   ? table.i64[index]
                                        : nullptr;
  loop.out = loop.in[0] = loop.in[1] = loop.in[2] = dtype;
  loop.inputs = 3;
  loop.cost = kCosts[index];
  return loop;
}

Loop where_loop(DType dtype) noexcept {
  Loop loop;
  const size_t size = dtype_size(dtype);
  loop.run = size == 0 ? nullptr : ternary_table().where[std::bit_width(size) - 1];
  loop.out = loop.in[1] = loop.in[2] = dtype;
  loop.in[0] = DType::kBool;
  loop.inputs = 3;
  return loop;
}

}  // namespace enr::kernels
