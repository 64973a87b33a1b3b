#include "plan/endless_loops.h"

#include <variant>
#include <vector>

namespace enr::plan {

void find_endless_loops(MethodPlan& plan) {
  std::vector<bool> is_always_false(plan.method->values.size());
  for (size_t v = 0; v < is_always_false.size(); ++v) {
    const auto* flag = std::get_if<bool>(&plan.method->values[v]);
    is_always_false[v] = flag != nullptr && !*flag;
  }
  for (const Instruction& instruction : plan.instructions) {
    const auto args = plan.args_of(instruction);
    for (size_t a = 0; a < args.size(); ++a) {
      if (plan.writes(instruction, a)) is_always_false[args[a]] = false;
    }
  }
  size_t after_last_jump = 0;
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    Instruction& jump = plan.instructions[i];
    if (jump.kind != InstructionKind::kJumpIfFalse) continue;
    jump.never_ends =
        jump.destination >= after_last_jump && jump.destination <= i && is_always_false[plan.args_of(jump)[0]];
    after_last_jump = i + 1;
  }
}

}  // namespace enr::plan
