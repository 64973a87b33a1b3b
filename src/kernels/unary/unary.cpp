#include "kernels/unary/unary.h"

#include "base/dtype.h"
#include "kernels/isa.h"
#include "kernels/unary/unary_table.h"

namespace enr::kernels {

ENR_SELECT_ISA(UnaryTable, unary_table)

namespace {

struct Entry {
  const char* name;
  uint8_t cost;
};

constexpr Entry kUnaryEntries[] = {
#define ENR_ENTRY(name, cost) {#name, cost},
    ENR_UNARY_OPS(ENR_ENTRY)};
constexpr Entry kPredicateEntries[] = {ENR_PREDICATES(ENR_ENTRY)};
#undef ENR_ENTRY

Loop make_loop(LoopFn run, DType in, DType out, uint8_t cost) noexcept {
  Loop loop;
  loop.run = run;
  loop.out = out;
  loop.in[0] = in;
  loop.inputs = 1;
  loop.cost = cost;
  return loop;
}

}  // namespace

Loop unary_loop(Unary op, DType dtype) noexcept {
  const int index = static_cast<int>(op);
  const UnaryTable& table = unary_table();
  const auto run_of = [&]() -> LoopFn {
    switch (dtype) {
      case DType::kFloat32:
        return table.f32[index];
      case DType::kFloat64:
        return table.f64[index];
      case DType::kFloat16:
      case DType::kBFloat16:
        return table.halves[index];
      case DType::kInt64:
        return table.i64[index];
      case DType::kInt32:
        return table.i32[index];
      case DType::kInt16:
        return table.i16[index];
      case DType::kInt8:
        return table.i8[index];
      case DType::kUInt8:
        return table.u8[index];
      case DType::kBool:
        return table.b8[index];
      default:
        return nullptr;
    }
  };
  return make_loop(run_of(), dtype, dtype, kUnaryEntries[index].cost);
}

Loop predicate_loop(Predicate op, DType dtype) noexcept {
  const int index = static_cast<int>(op);
  const UnaryTable& table = unary_table();
  const auto run_of = [&]() -> LoopFn {
    switch (dtype) {
      case DType::kFloat32:
        return table.predicate_f32[index];
      case DType::kFloat64:
        return table.predicate_f64[index];
      case DType::kInt64:
        return table.predicate_i64[index];
      case DType::kInt32:
        return table.predicate_i32[index];
      case DType::kInt16:
        return table.predicate_i16[index];
      case DType::kInt8:
      case DType::kUInt8:
        return table.predicate_i8[index];
      case DType::kBool:
        return table.predicate_b8[index];
      default:
        return nullptr;
    }
  };
  return make_loop(run_of(), dtype, DType::kBool, kPredicateEntries[index].cost);
}

ActivationFn activation_fn(Unary op) noexcept { return unary_table().activations[static_cast<int>(op)]; }

const char* unary_name(Unary op) noexcept { return kUnaryEntries[static_cast<int>(op)].name; }

}  // namespace enr::kernels
