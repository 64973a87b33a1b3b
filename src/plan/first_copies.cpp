#include "plan/first_copies.h"

#include <optional>
#include <vector>

#include "program/list_items.h"

namespace enr::plan {

void find_first_copies(MethodPlan& plan) {
  const program::Method& method = *plan.method;
  std::vector<bool> is_known(method.values.size());
  for (const uint32_t input : method.inputs) is_known[input] = true;
  const auto tensor = [&](uint32_t value) { return std::get_if<program::Tensor>(&method.values[value]); };
  const auto has_no_sizes = [&](uint32_t value) {
    const program::Tensor* t = tensor(value);
    return t != nullptr && !is_known[value] && t->dynamism != program::Dynamism::kStatic &&
           t->storage == program::Storage::kPlanned && t->fully_qualified_name.empty();
  };
  std::optional<uint32_t> sizing_copy;
  for (Instruction& instruction : plan.instructions) {
    const auto args = plan.args_of(instruction);
    if (instruction.kind == InstructionKind::kOperator && plan.operators[instruction.callee]->name == "aten::copy_" &&
        has_no_sizes(args[0])) {
      const uint32_t to = args[0], from = args[1];
      const program::Tensor* source = tensor(from);
      if (from != to && source != nullptr && source->dtype == tensor(to)->dtype &&
          source->sizes.size() == tensor(to)->sizes.size()) {
        if (!sizing_copy) {
          sizing_copy = static_cast<uint32_t>(plan.operators.size());
          plan.operators.push_back(operator_table().find("aten::alias_copy.out"));
        }
        instruction.callee = *sizing_copy;
        instruction.first_arg = static_cast<uint32_t>(plan.args.size());
        instruction.arg_count = 2;
        plan.args.insert(plan.args.end(), {from, to});
      }
    }
    for (const uint32_t arg : plan.args_of(instruction)) {
      program::for_each_item(method, arg, [&](uint32_t item) { is_known[item] = true; });
    }
  }
}

}  // namespace enr::plan
