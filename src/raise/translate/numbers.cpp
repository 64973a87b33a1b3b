// Sizes of tensors, and what is computed from them: exporters write these between the operators where sizes vary.

#include <array>

#include "base/error.h"
#include "base/random_stream.h"
#include "ops/registry.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

void sym_size(RegionBuilder& region, const Call& call) {
  const std::vector<int64_t> sizes = region.sizes_of(call.value(0));
  call.compute(2, sizes[call.dim(1, sizes.size())]);
}

void sym_numel(RegionBuilder& region, const Call& call) {
  int64_t count = 1;
  for (const int64_t size : region.sizes_of(call.value(0))) count *= size;
  call.compute(1, count);
}

// The operator itself computes.
void compute(RegionBuilder&, const Call& call) {
  const Operator* op = operator_table().find(call.name());
  std::array<enr::Value, 3> values;
  std::array<enr::Value*, 3> arguments{};
  if (op == nullptr || op->arity < 2 || op->arity > values.size()) fail_execution(call.name(), ": not of two numbers");
  const size_t out = op->arity - 1;
  for (size_t i = 0; i <= out; ++i) {
    arguments[i] = &values[i];
    if (i < out) values[i].data = call.integer(i);
  }
  WeightCache weights;
  RandomStream random;
  OpContext context(weights, random);
  op->call(context, Arguments(arguments.data(), op->arity));
  const auto* result = values[out].get<int64_t>();
  if (result == nullptr) fail_execution(call.name(), ": not an int");
  call.compute(out, *result);
}

constexpr NamedTranslation kRows[] = {
    {"aten::sym_size.int", sym_size},
    {"aten::sym_numel", sym_numel},
    {"executorch_prim::add.Scalar", compute},
    {"executorch_prim::sub.Scalar", compute},
    {"executorch_prim::mul.Scalar", compute},
    {"executorch_prim::floordiv.Scalar", compute},
    {"executorch_prim::floordiv.int", compute},
    {"executorch_prim::mod.Scalar", compute},
    {"executorch_prim::mod.int", compute},
    {"executorch_prim::sym_max.Scalar", compute},
    {"executorch_prim::sym_min.Scalar", compute},
    {"executorch_prim::neg.Scalar", compute},
};

}  // namespace

Translation find_numbers(std::string_view name) noexcept { return find_in(kRows, name); }

bool computes_number(std::string_view name) noexcept { return find_numbers(name) != nullptr; }

}  // namespace enr::raise
