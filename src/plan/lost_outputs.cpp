#include "plan/lost_outputs.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "program/list_items.h"
#include "program/overlap.h"

namespace enr::plan {

namespace {

using program::Tensor;

bool knows(const MethodPlan& plan, const Instruction& instruction, size_t arg) {
  if (instruction.kind != InstructionKind::kDelegate) return true;
  const auto positions = plan.delegates[instruction.callee]->positions();
  return std::ranges::binary_search(positions, arg);
}

// Exporters drop views: such a tensor lies where the one lies that it views.
auto place_of(const Tensor& tensor) {
  return std::tuple(tensor.placement.arena, tensor.placement.offset, tensor.size_bytes);
}

}  // namespace

void check_lost_outputs(const MethodPlan& plan) {
  struct Unknown {
    size_t instruction, arg;
    uint32_t value;
  };
  const program::Method& method = *plan.method;
  std::vector<Unknown> unknown;
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    if (plan.instructions[i].kind != InstructionKind::kDelegate) continue;
    const auto args = plan.args_of(plan.instructions[i]);
    for (size_t a = 0; a < args.size(); ++a) {
      const auto* tensor = std::get_if<Tensor>(&method.values[args[a]]);
      const bool has_content = tensor == nullptr || (tensor->storage != program::Storage::kPlanned &&
                                                     tensor->storage != program::Storage::kUnplanned);
      if (!has_content && !knows(plan, plan.instructions[i], a)) unknown.push_back({i, a, args[a]});
    }
  }
  if (unknown.empty()) return;

  std::vector<bool> is_read(method.values.size()), is_written(method.values.size());
  const auto mark = [&](std::vector<bool>& marks, uint32_t value) {
    program::for_each_item(method, value, [&](uint32_t item) { marks[item] = true; });
  };
  for (const uint32_t value : method.inputs) is_written[value] = true;
  for (const uint32_t value : method.outputs) is_read[value] = true;
  for (const Instruction& instruction : plan.instructions) {
    const auto args = plan.args_of(instruction);
    for (size_t a = 0; a < args.size(); ++a) {
      if (!knows(plan, instruction, a)) continue;
      const bool writes = plan.writes(instruction, a);
      if (writes || plan.is_view(instruction)) mark(is_written, args[a]);
      if (!writes) mark(is_read, args[a]);
    }
  }
  std::set<decltype(place_of(Tensor{}))> written_places;
  for (uint32_t v = 0; v < method.values.size(); ++v) {
    const auto* tensor = std::get_if<Tensor>(&method.values[v]);
    if (tensor != nullptr && is_written[v] && program::is_placed(*tensor)) written_places.insert(place_of(*tensor));
  }
  for (const auto& [instruction, arg, value] : unknown) {
    if (is_written[value] || !is_read[value]) continue;
    const Tensor& tensor = std::get<Tensor>(method.values[value]);
    if (program::is_placed(tensor) && written_places.contains(place_of(tensor))) continue;
    fail_load(method.name, "[", instruction, "] ", method.delegates[plan.instructions[instruction].callee].id,
              ": argument ", arg,
              " is read by others, but nothing writes it; the exporter lost what does (of an operator ",
              "that was quantised, but not delegated: leave it unquantised)");
  }
}

}  // namespace enr::plan
