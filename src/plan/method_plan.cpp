#include "plan/method_plan.h"

#include <algorithm>

#include "base/error.h"
#include "plan/caller_memory.h"
#include "plan/endless_loops.h"
#include "plan/first_copies.h"
#include "plan/in_place_updates.h"
#include "plan/lost_outputs.h"
#include "plan/overlaps.h"
#include "plan/requirements.h"
#include "plan/states.h"
#include "program/list_items.h"
#include "program/overlap.h"

namespace enr::plan {

namespace {

const program::Tensor* tensor_of(const program::Method& method, uint32_t value) {
  return std::get_if<program::Tensor>(&method.values[value]);
}

// More than any real method needs; they bound the time and memory that a hostile file can take.
constexpr size_t kMaxUses = 20'000'000;
constexpr size_t kMaxStatePairs = 200'000'000;
constexpr size_t kMaxStateUses = 5'000'000;

class Builder {
 public:
  Builder(const program::Program& program, const program::Method& method, WeightCache& weights)
      : program_(program), method_(method), weights_(weights), plan_(std::make_shared<MethodPlan>()) {
    plan_->method = &method;
  }

  std::shared_ptr<const MethodPlan> build() {
    check_requirements(program_, method_);
    for (const std::string& name : method_.operators) plan_->operators.push_back(operator_table().find(name));
    compile_delegates();
    for (const program::Chain& chain : method_.chains) flatten(chain);
    check_uses();
    check_conditions();
    check_lost_outputs(*plan_);
    find_first_copies(*plan_);
    find_redirected();
    find_states(*plan_);
    auto states_of = states_of_values();
    find_overlaps(*plan_);
    find_endless_loops(*plan_);
    std::vector<raise::Instruction> instructions = describe(states_of);
    const raise::PlannedMemory memory = raise::analyse_memory(method_, instructions);
    find_in_place_updates(*plan_, memory, states_of);
    if (!plan_->in_place_updates.empty()) instructions = describe(states_of);
    find_state_writes(states_of);
    save_in_place_updates();
    find_caller_memory(*plan_, memory);
    if (raise::is_enabled()) find_regions(instructions, memory);
    return plan_;
  }

 private:
  void compile_delegates() {
    const std::vector<const program::DelegateCall*> calls = first_calls();
    for (size_t i = 0; i < method_.delegates.size(); ++i) {
      const program::Delegate& delegate = method_.delegates[i];
      try {
        const delegates::Backend& backend = *delegates::find_backend(delegate.id);
        plan_->delegates.push_back(backend.compile(program_, delegate, arguments_of(calls[i]), weights_));
      } catch (const Error& error) {
        throw Error(error.kind(), concat(method_.name, ".delegates[", i, "] ", delegate.id, ": ", error.what()));
      }
    }
  }

  // Of each delegate, null where there is none. Exporters write a delegate for each call.
  std::vector<const program::DelegateCall*> first_calls() const {
    std::vector<const program::DelegateCall*> calls(method_.delegates.size());
    for (const program::Chain& chain : method_.chains) {
      for (const program::Instruction& instruction : chain.instructions) {
        const auto* call = std::get_if<program::DelegateCall>(&instruction);
        if (call != nullptr && calls[call->delegate_index] == nullptr) calls[call->delegate_index] = call;
      }
    }
    return calls;
  }

  std::vector<const program::Tensor*> arguments_of(const program::DelegateCall* call) const {
    std::vector<const program::Tensor*> arguments;
    if (call == nullptr) return arguments;
    for (const uint32_t arg : call->args) arguments.push_back(tensor_of(method_, arg));
    return arguments;
  }

  void flatten(const program::Chain& chain) {
    const auto start = static_cast<uint32_t>(plan_->instructions.size());
    for (const program::Instruction& instruction : chain.instructions) {
      Instruction flat;
      flat.first_arg = static_cast<uint32_t>(plan_->args.size());
      if (const auto* kernel = std::get_if<program::KernelCall>(&instruction)) {
        add_operator(*kernel, flat);
      } else if (const auto* delegate = std::get_if<program::DelegateCall>(&instruction)) {
        flat.kind = InstructionKind::kDelegate;
        flat.callee = delegate->delegate_index;
        add_args(delegate->args);
        check_delegate_args(*delegate);
      } else if (const auto* move = std::get_if<program::Move>(&instruction)) {
        flat.kind = InstructionKind::kMove;
        add_args({move->from, move->to});
      } else if (const auto* jump = std::get_if<program::JumpIfFalse>(&instruction)) {
        flat.kind = InstructionKind::kJumpIfFalse;
        flat.destination = start + jump->destination;
        add_args({jump->condition});
      } else {
        flat.kind = InstructionKind::kFree;
        add_args({std::get<program::Free>(instruction).value});
      }
      flat.arg_count = static_cast<uint32_t>(plan_->args.size()) - flat.first_arg;
      plan_->instructions.push_back(flat);
    }
  }

  void add_args(const std::vector<uint32_t>& args) { plan_->args.insert(plan_->args.end(), args.begin(), args.end()); }

  void add_operator(const program::KernelCall& call, Instruction& flat) {
    flat.kind = InstructionKind::kOperator;
    flat.callee = call.operator_index;
    const Operator& op = *plan_->operators[call.operator_index];
    if (call.args.size() < op.arity) {
      fail_load(method_.name, "[", plan_->instructions.size(), "] ", op.name, ": expected at least ", op.arity,
                " arguments (", op.argument_names, "), got ", call.args.size());
    }
    add_args(call.args);
  }

  void check_delegate_args(const program::DelegateCall& call) {
    const auto& delegate = *plan_->delegates[call.delegate_index];
    const size_t expected = delegate.input_count() + delegate.output_count();
    if (call.args.size() != expected) {
      fail_load(method_.name, "[", plan_->instructions.size(), "] ", method_.delegates[call.delegate_index].id,
                ": the payload has ", delegate.input_count(), " inputs and ", delegate.output_count(),
                " outputs, the call passes ", call.args.size(), " arguments");
    }
    // Exporters pass sizes too, which the payload has no use for.
    for (const uint32_t position : delegate.positions()) {
      const uint32_t arg = call.args[position];
      if (tensor_of(method_, arg) == nullptr) {
        fail_load(method_.name, "[", plan_->instructions.size(), "] ", method_.delegates[call.delegate_index].id,
                  ": argument value ", arg, ": expected a tensor, got ", program::kind_name(method_.values[arg]));
      }
    }
  }

  // Passes over the plan look at every item of every list that an instruction names, or the method.
  void check_uses() const {
    size_t uses = 0;
    const auto add = [&](const std::vector<uint32_t>& values) {
      for (const uint32_t value : values) uses += 1 + program::count_items(method_, value);
    };
    add(plan_->args);
    add(method_.inputs);
    add(method_.outputs);
    if (uses > kMaxUses) fail_load(method_.name, ": the instructions take more than ", kMaxUses, " tensors");
  }

  // An int is no condition, but what is to be computed may be declared as one.
  void check_conditions() const {
    std::vector<bool> is_written(method_.values.size());
    for (const Instruction& instruction : plan_->instructions) {
      const auto args = plan_->args_of(instruction);
      for (size_t a = 0; a < args.size(); ++a) {
        if (plan_->writes(instruction, a)) is_written[args[a]] = true;
      }
    }
    for (size_t i = 0; i < plan_->instructions.size(); ++i) {
      if (plan_->instructions[i].kind != InstructionKind::kJumpIfFalse) continue;
      const uint32_t condition = plan_->args_of(plan_->instructions[i])[0];
      if (!is_written[condition] && std::holds_alternative<int64_t>(method_.values[condition])) {
        fail_load(method_.name, "[", i, "] cond_value_index: value ", condition,
                  " is an int that nothing writes, expected a bool or a bool tensor");
      }
    }
  }

  void find_redirected() {
    std::vector<bool> seen(method_.values.size());
    const auto add = [&](uint32_t value) {
      if (tensor_of(method_, value) != nullptr && !seen[value]) plan_->redirected.push_back(value);
      seen[value] = true;
    };
    for (const Instruction& instruction : plan_->instructions) {
      const auto args = plan_->args_of(instruction);
      if (instruction.kind == InstructionKind::kMove) add(args[1]);
      if (instruction.kind == InstructionKind::kFree) add(args[0]);
      if (plan_->is_view(instruction)) add(args[2]);
    }
  }

  // A copy whose outcome the file already decides.
  bool cannot_fail(const Instruction& instruction) const {
    if (instruction.kind != InstructionKind::kOperator || plan_->operators[instruction.callee]->name != "aten::copy_") {
      return false;
    }
    const auto args = plan_->args_of(instruction);
    const program::Tensor* to = tensor_of(method_, args[0]);
    const program::Tensor* from = tensor_of(method_, args[1]);
    return to != nullptr && from != nullptr && to->dtype == from->dtype && to->sizes == from->sizes &&
           to->dynamism == program::Dynamism::kStatic && from->dynamism == program::Dynamism::kStatic;
  }

  // The states whose memory each value may refer to, through planned overlap, views, moves and lists.
  std::vector<std::vector<uint32_t>> states_of_values() const {
    std::vector<std::vector<uint32_t>> refer(method_.values.size());  // which values may refer to what a value does
    for (const Instruction& instruction : plan_->instructions) {
      const auto args = plan_->args_of(instruction);
      if (instruction.kind == InstructionKind::kMove) refer[args[0]].push_back(args[1]);
      if (plan_->is_view(instruction)) refer[args[0]].push_back(args[2]);
    }
    for (uint32_t v = 0; v < method_.values.size(); ++v) {
      const auto* list = std::get_if<program::TensorList>(&method_.values[v]);
      if (list == nullptr) continue;
      for (const uint32_t item : list->items) refer[item].push_back(v);
    }
    if (method_.values.size() * plan_->states.size() > kMaxStatePairs)
      fail_load(method_.name, ": too many states: ", plan_->states.size(), " among ", method_.values.size(), " values");
    std::vector<std::vector<uint32_t>> of(method_.values.size());
    std::vector<uint32_t> reached;
    size_t found = 0;
    for (uint32_t s = 0; s < plan_->states.size(); ++s) {
      const auto reach = [&](uint32_t v) {
        if (!of[v].empty() && of[v].back() == s) return;
        of[v].push_back(s);
        reached.push_back(v);
        if (++found > kMaxStateUses)
          fail_load(method_.name, ": more than ", kMaxStateUses, " tensors lie in the memory of states");
      };
      const program::Tensor& state = *tensor_of(method_, plan_->states[s].value);
      for (uint32_t v = 0; v < of.size(); ++v) {
        const program::Tensor* tensor = tensor_of(method_, v);
        if (tensor == nullptr) continue;
        if (tensor == &state || (is_placed(*tensor) && is_placed(state) && overlap(*tensor, state))) reach(v);
      }
      while (!reached.empty()) {
        const uint32_t v = reached.back();
        reached.pop_back();
        for (const uint32_t to : refer[v]) reach(to);
      }
    }
    return of;
  }

  void find_state_writes(const std::vector<std::vector<uint32_t>>& states_of) {
    plan_->state_writes.resize(plan_->instructions.size());
    if (plan_->states.empty()) return;
    // A jump back may run anything again, so with loops every write is followed by something that can fail.
    const bool has_loops = std::any_of(plan_->instructions.begin(), plan_->instructions.end(), [&](const auto& i) {
      return i.kind == InstructionKind::kJumpIfFalse &&
             i.destination <= static_cast<size_t>(&i - plan_->instructions.data());
    });
    bool fallible_later = has_loops;
    for (size_t i = plan_->instructions.size(); i-- > 0;) {
      Instruction& instruction = plan_->instructions[i];
      if (fallible_later) {
        std::vector<uint32_t>& writes = plan_->state_writes[i];
        const auto args = plan_->args_of(instruction);
        for (size_t a = 0; a < args.size(); ++a) {
          if (plan_->writes(instruction, a))
            writes.insert(writes.end(), states_of[args[a]].begin(), states_of[args[a]].end());
        }
        instruction.saves_state = !writes.empty();
        instruction.announces_writes = !has_loops && announces_writes(instruction, states_of);  // else it grows
      }
      fallible_later |= !cannot_fail(instruction);
    }
  }

  // What an update overwrites is saved like a state's, whether exporters call the target one or not. Nothing is left to
  // be copied back.
  void save_in_place_updates() {
    size_t last_fallible = 0;
    for (size_t i = 0; i < plan_->instructions.size(); ++i) {
      if (!cannot_fail(plan_->instructions[i])) last_fallible = i;
    }
    for (const InPlaceUpdate& update : plan_->in_place_updates) {
      Instruction& instruction = plan_->instructions[update.update];
      instruction.saves_state = instruction.announces_writes = update.update < last_fallible;
      plan_->instructions[update.back].saves_state = false;
    }
  }

  // Whether the operator says itself what it overwrites: that is only of arguments it updates, not of its results.
  bool announces_writes(const Instruction& instruction, const std::vector<std::vector<uint32_t>>& states_of) const {
    if (instruction.kind != InstructionKind::kOperator ||
        !enr::announces_writes(plan_->operators[instruction.callee]->name)) {
      return false;
    }
    const auto args = plan_->args_of(instruction);
    for (size_t a = 0; a < args.size(); ++a) {
      if (plan_->writes(instruction, a) && !plan_->reads(instruction, a) && !states_of[args[a]].empty()) return false;
    }
    return true;
  }

  // Values that views and moves may point to memory which is not the planned one, as exporters never do.
  std::vector<bool> find_misplaced() const {
    std::vector<std::vector<uint32_t>> refer(method_.values.size());
    std::vector<bool> is_misplaced(method_.values.size());
    std::vector<uint32_t> found;
    const auto add = [&](uint32_t value) {
      if (is_misplaced[value]) return;
      is_misplaced[value] = true;
      found.push_back(value);
    };
    for (const Instruction& instruction : plan_->instructions) {
      const bool is_move = instruction.kind == InstructionKind::kMove;
      if (!is_move && !plan_->is_view(instruction)) continue;
      const auto args = plan_->args_of(instruction);
      const uint32_t from = args[0], to = args[is_move ? 1 : 2];
      const program::Tensor *source = tensor_of(method_, from), *target = tensor_of(method_, to);
      if (source == nullptr || target == nullptr) continue;
      refer[from].push_back(to);
      const bool fits = source->dtype == target->dtype && is_placed(*target);
      if (is_move ? !fits || source->sizes.size() != target->sizes.size() || source->size_bytes > target->size_bytes
                  : !fits || !is_placed(*source) || source->placement.arena != target->placement.arena ||
                        source->placement.offset != target->placement.offset) {
        add(to);
      }
    }
    while (!found.empty()) {
      const uint32_t value = found.back();
      found.pop_back();
      for (const uint32_t to : refer[value]) add(to);
    }
    for (uint32_t v = 0; v < method_.values.size(); ++v) {
      program::for_each_item(method_, v,
                             [&](uint32_t item) { is_misplaced[v] = is_misplaced[v] || is_misplaced[item]; });
    }
    return is_misplaced;
  }

  // The instructions as far as memory and regions are concerned.
  std::vector<raise::Instruction> describe(const std::vector<std::vector<uint32_t>>& states_of) const {
    const std::vector<bool> is_misplaced = find_misplaced();
    std::vector<raise::Instruction> instructions;
    for (const Instruction& instruction : plan_->instructions) {
      raise::Instruction& added = instructions.emplace_back();
      added.args = plan_->args_of(instruction);
      added.is_move = instruction.kind == InstructionKind::kMove;
      for (size_t a = 0; a < added.args.size(); ++a) {
        if (plan_->reads(instruction, a)) added.read.push_back(added.args[a]);
        if (!plan_->writes(instruction, a)) continue;
        added.written.push_back(added.args[a]);
        added.writes_state |= !states_of[added.args[a]].empty();
      }
      // Regions rely on the plan of memory.
      added.stays = std::any_of(added.args.begin(), added.args.end(), [&](uint32_t v) { return is_misplaced[v]; });
      if (instruction.kind == InstructionKind::kOperator) added.op = plan_->operators[instruction.callee]->name;
      if (instruction.kind == InstructionKind::kDelegate) {
        const delegates::CompiledDelegate& delegate = *plan_->delegates[instruction.callee];
        added.delegate = &delegate.graph();
        for (const uint32_t position : delegate.positions()) added.delegate_args.push_back(added.args[position]);
      }
    }
    std::vector<bool> is_fixed(method_.values.size(), true);
    for (const uint32_t input : method_.inputs) is_fixed[input] = false;
    for (const raise::Instruction& instruction : instructions) {
      for (const uint32_t arg : instruction.written) is_fixed[arg] = false;
    }
    for (size_t i = 0; i < instructions.size(); ++i) {
      const Instruction& jump = plan_->instructions[i];
      if (jump.kind != InstructionKind::kJumpIfFalse) continue;
      instructions[i].jump = jump.destination;
      const uint32_t condition = plan_->args_of(jump)[0];
      const auto* flag = std::get_if<bool>(&method_.values[condition]);
      instructions[i].always_jumps = flag != nullptr && !*flag && is_fixed[condition];
      if (jump.destination < instructions.size()) instructions[jump.destination].is_target = true;
    }
    return instructions;
  }

  void find_regions(const std::vector<raise::Instruction>& instructions, const raise::PlannedMemory& memory) {
    plan_->regions = raise::find_regions(method_, instructions, memory, weights_);
    for (uint32_t r = 0; r < plan_->regions.size(); ++r) plan_->instructions[plan_->regions[r].begin].region = r;
  }

  const program::Program& program_;
  const program::Method& method_;
  WeightCache& weights_;
  std::shared_ptr<MethodPlan> plan_;
};

}  // namespace

bool MethodPlan::is_view(const Instruction& instruction) const noexcept {
  return instruction.kind == InstructionKind::kOperator &&
         operators[instruction.callee]->name == "executorch_prim::et_view.default";
}

bool MethodPlan::reads(const Instruction& instruction, size_t arg) const noexcept {
  switch (instruction.kind) {
    case InstructionKind::kOperator:
      return operators[instruction.callee]->reads(arg);
    case InstructionKind::kFree:
      return false;
    default:
      return !writes(instruction, arg);
  }
}

std::string MethodPlan::argument_name(const Instruction& instruction, size_t arg) const {
  if (instruction.kind != InstructionKind::kOperator) return concat("argument ", arg);
  return std::string(operators[instruction.callee]->argument_name(arg));
}

bool MethodPlan::writes(const Instruction& instruction, size_t arg) const noexcept {
  switch (instruction.kind) {
    case InstructionKind::kOperator:
      return operators[instruction.callee]->writes(arg);
    case InstructionKind::kDelegate:
      return arg >= delegates[instruction.callee]->input_count();
    case InstructionKind::kMove:
      return arg == 1;
    default:
      return false;
  }
}

std::shared_ptr<const MethodPlan> make_plan(const program::Program& program, const program::Method& method,
                                            WeightCache& weights) {
  return Builder(program, method, weights).build();
}

}  // namespace enr::plan
