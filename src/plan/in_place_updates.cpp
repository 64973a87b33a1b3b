#include "plan/in_place_updates.h"

#include <algorithm>
#include <string_view>

#include "program/list_items.h"
#include "program/overlap.h"

namespace enr::plan {

namespace {

// More than any real method needs; it bounds the time that a hostile file can take.
constexpr size_t kMaxWork = 100'000'000;

// Operators that copy the first argument to the last one, but not onto itself, and then write parts of that, which they
// announce (OpContext::overwriting).
bool changes_a_copy(std::string_view name) {
  constexpr std::string_view kNames[] = {"aten::index_put.out", "aten::index_copy.out", "aten::slice_scatter.out",
                                         "aten::select_scatter.out"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

class Finder {
 public:
  Finder(MethodPlan& plan, const raise::PlannedMemory& memory, std::vector<std::vector<uint32_t>>& states_of)
      : plan_(plan), method_(*plan.method), memory_(memory), states_of_(states_of) {}

  void run() {
    if (!memory_.is_known) return;
    const bool is_straight = std::ranges::none_of(plan_.instructions, [](const Instruction& i) {
      return i.kind == InstructionKind::kJumpIfFalse || i.kind == InstructionKind::kMove;
    });
    if (!is_straight) return;
    std::vector<uint32_t> updates;
    for (uint32_t i = 0; i < plan_.instructions.size(); ++i) {
      if (is_operator(i) && changes_a_copy(name(i))) updates.push_back(i);
    }
    if (updates.size() * work() > kMaxWork) return;
    for (const uint32_t update : updates) consider(update);
  }

 private:
  // Of one update: all arguments are looked at.
  size_t work() const {
    size_t total = method_.values.size() + method_.inputs.size() + method_.outputs.size();
    for (const uint32_t arg : plan_.args) total += 1 + program::count_items(method_, arg);
    return total;
  }

  bool is_operator(size_t i) const { return plan_.instructions[i].kind == InstructionKind::kOperator; }
  const std::string& name(size_t i) const { return plan_.operators[plan_.instructions[i].callee]->name; }
  size_t out_of(size_t i) const { return plan_.operators[plan_.instructions[i].callee]->arity - 1; }
  const program::Tensor* tensor(uint32_t value) const { return std::get_if<program::Tensor>(&method_.values[value]); }

  void consider(uint32_t update) {
    const auto args = plan_.args_of(plan_.instructions[update]);
    const uint32_t target = args[0], copy = args[out_of(update)];
    if (!fit(target, copy)) return;
    const uint32_t back = find_copy_back(update, target, copy);
    if (back == plan_.instructions.size() || !is_unseen(update, back, target, copy)) return;
    plan_.in_place_updates.push_back({copy, target, update, back});
    states_of_[copy] = states_of_[target];
  }

  // Whether the copy may lie in the target as far as the two themselves are concerned.
  bool fit(uint32_t target, uint32_t copy) const {
    const program::Tensor *to = tensor(target), *from = tensor(copy);
    if (to == nullptr || from == nullptr || !program::is_placed(*to) || from->storage != program::Storage::kPlanned ||
        memory_.is_shared[copy]) {
      return false;
    }
    const auto contains = [](const std::vector<uint32_t>& values, uint32_t value) {
      return std::ranges::find(values, value) != values.end();
    };
    for (const uint32_t value : {target, copy}) {
      if (contains(method_.inputs, value) || contains(method_.outputs, value) || contains(plan_.redirected, value) ||
          tensor(value)->dynamism != program::Dynamism::kStatic) {
        return false;
      }
    }
    return !overlap(*to, *from) && to->dtype == from->dtype && to->sizes == from->sizes &&
           to->dim_order == from->dim_order;
  }

  // The next instruction that does it; the number of instructions where there is none.
  uint32_t find_copy_back(uint32_t update, uint32_t target, uint32_t copy) const {
    uint32_t i = update + 1;
    for (; i < plan_.instructions.size(); ++i) {
      if (!is_operator(i) || name(i) != "aten::copy_") continue;
      const auto args = plan_.args_of(plan_.instructions[i]);
      if (args[0] == target && args[1] == copy) break;
    }
    return i;
  }

  // Whether the method computes the same where the copy lies in the target.
  bool is_unseen(uint32_t update, uint32_t back, uint32_t target, uint32_t copy) const {
    const program::Tensor& place = *tensor(target);
    // By value: the target, what shares memory with it, and views of these; and the same of the copy.
    std::vector<bool> is_target(method_.values.size()), is_copy(method_.values.size());
    for (uint32_t v = 0; v < method_.values.size(); ++v) {
      const program::Tensor* other = tensor(v);
      is_target[v] = other != nullptr && program::is_placed(*other) && overlap(*other, place);
    }
    is_copy[copy] = true;
    const auto is_one_of = [&](uint32_t value, const std::vector<bool>& chosen) {
      bool found = false;
      program::for_each_item(method_, value, [&](uint32_t item) { found = found || chosen[item]; });
      return found;
    };
    if (std::ranges::any_of(method_.inputs, [&](uint32_t value) { return is_one_of(value, is_target); })) return false;
    for (uint32_t i = 0; i < plan_.instructions.size(); ++i) {
      const Instruction& instruction = plan_.instructions[i];
      const auto args = plan_.args_of(instruction);
      if (plan_.is_view(instruction)) {
        is_target[args[2]] = is_target[args[2]] || is_target[args[0]];
        is_copy[args[2]] = is_copy[args[2]] || is_copy[args[0]];
        continue;
      }
      for (size_t a = 0; a < args.size(); ++a) {
        if (i == update && (a == 0 || a >= out_of(i))) continue;
        const bool writes = plan_.writes(instruction, a);
        if ((writes || i <= update) && is_one_of(args[a], is_copy)) return false;
        if (i >= update && i != back && (writes || i < back) && is_one_of(args[a], is_target)) return false;
      }
    }
    return true;
  }

  MethodPlan& plan_;
  const program::Method& method_;
  const raise::PlannedMemory& memory_;
  std::vector<std::vector<uint32_t>>& states_of_;
};

}  // namespace

void find_in_place_updates(MethodPlan& plan, const raise::PlannedMemory& memory,
                           std::vector<std::vector<uint32_t>>& states_of) {
  Finder(plan, memory, states_of).run();
}

}  // namespace enr::plan
