#include "plan/caller_memory.h"

#include <algorithm>

#include "program/list_items.h"
#include "program/overlap.h"

namespace enr::plan {

namespace {

// More than any real method needs; it bounds the time that a hostile file can take.
constexpr size_t kMaxWork = 20'000'000;

class Finder {
 public:
  Finder(MethodPlan& plan, const raise::PlannedMemory& memory)
      : plan_(plan), method_(*plan.method), memory_(memory), is_redirected_(method_.values.size()) {
    for (const uint32_t v : plan_.redirected) is_redirected_[v] = true;
  }

  void run() {
    plan_.readable_in_place.assign(method_.inputs.size(), 0);
    plan_.writable_in_place.assign(method_.outputs.size(), 0);
    const size_t ends = method_.inputs.size() + method_.outputs.size();
    if (!memory_.is_known || ends * (plan_.states.size() + ends) > kMaxWork) return;
    find_normal();
    for (size_t i = 0; i < method_.inputs.size(); ++i) {
      const uint32_t value = method_.inputs[i];
      plan_.readable_in_place[i] = is_candidate(value) && !memory_.is_written[value] && !needs_normal(value) ? 1 : 0;
    }
    for (size_t i = 0; i < method_.outputs.size(); ++i) plan_.writable_in_place[i] = is_result(method_.outputs[i]);
  }

 private:
  const program::Tensor* tensor(uint32_t value) const { return std::get_if<program::Tensor>(&method_.values[value]); }

  // Callers' truth values may be any bytes: those are only for operators that take them. (Regions read no bools.)
  bool needs_normal(uint32_t value) const {
    return tensor(value) != nullptr && tensor(value)->dtype == DType::kBool && is_normal_[value];
  }

  void find_normal() {
    is_normal_.assign(method_.values.size(), false);
    for (const Instruction& instruction : plan_.instructions) {
      const auto args = plan_.args_of(instruction);
      const Operator* op =
          instruction.kind == InstructionKind::kOperator ? plan_.operators[instruction.callee] : nullptr;
      for (size_t a = 0; a < args.size(); ++a) {
        if (op == nullptr || !op->takes_any_truth(a)) is_normal_[args[a]] = true;
      }
    }
    for (const uint32_t output : method_.outputs) is_normal_[output] = true;
    for (uint32_t v = 0; v < method_.values.size(); ++v) {
      if (is_normal_[v]) program::for_each_item(method_, v, [&](uint32_t item) { is_normal_[item] = true; });
    }
  }

  bool is_candidate(uint32_t value) const {
    const program::Tensor* t = tensor(value);
    if (t == nullptr || is_redirected_[value] || memory_.is_shared[value]) return false;
    // The next call may read through the state what this one leaves there.
    const bool is_placed = t->storage != program::Storage::kUnplanned;
    const bool is_state = std::any_of(plan_.states.begin(), plan_.states.end(), [&](const State& state) {
      const program::Tensor& other = *tensor(state.value);
      return state.value == value ||
             (is_placed && other.storage != program::Storage::kUnplanned && program::overlap(*t, other));
    });
    return !is_state && (!is_placed || (t->storage == program::Storage::kPlanned && t->placement.arena == 0));
  }

  // Written by an instruction, of known size, in the layout of a fresh array, and given once.
  bool is_result(uint32_t value) const {
    if (!is_candidate(value) || std::count(method_.outputs.begin(), method_.outputs.end(), value) != 1 ||
        std::find(method_.inputs.begin(), method_.inputs.end(), value) != method_.inputs.end()) {
      return false;
    }
    const program::Tensor& t = *tensor(value);
    return memory_.is_written[value] && t.dynamism == program::Dynamism::kStatic &&
           std::is_sorted(t.dim_order.begin(), t.dim_order.end());
  }

  MethodPlan& plan_;
  const program::Method& method_;
  const raise::PlannedMemory& memory_;
  std::vector<bool> is_redirected_;
  std::vector<bool> is_normal_;  // by value: whether something reads it that takes truth values as 0 and 1 only
};

}  // namespace

void find_caller_memory(MethodPlan& plan, const raise::PlannedMemory& memory) { Finder(plan, memory).run(); }

}  // namespace enr::plan
