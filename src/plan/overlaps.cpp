#include "plan/overlaps.h"

#include <algorithm>

#include "base/error.h"

namespace enr::plan {

namespace {

// A tensor of an instruction: an argument itself, or an item of a list.
struct Use {
  uint32_t value;
  uint32_t argument;
  bool is_written;
  bool is_item;
};

class Finder {
 public:
  explicit Finder(MethodPlan& plan) : plan_(plan), method_(*plan.method) {}

  void run() {
    plan_.overlapped_reads.resize(plan_.instructions.size());
    for (size_t i = 0; i < plan_.instructions.size(); ++i) {
      const InstructionKind kind = plan_.instructions[i].kind;
      if (kind == InstructionKind::kOperator || kind == InstructionKind::kDelegate) check(i);
    }
  }

 private:
  const program::Tensor* placed(uint32_t value) const {
    const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
    if (tensor == nullptr || tensor->size_bytes == 0) return nullptr;
    const bool has_place = tensor->storage == program::Storage::kPlanned ||
                           tensor->storage == program::Storage::kMutableInitial ||
                           tensor->storage == program::Storage::kExternalMutable;
    return has_place ? tensor : nullptr;
  }

  bool overlap(uint32_t a, uint32_t b) const {
    const program::Tensor &x = *placed(a), &y = *placed(b);
    return x.placement.arena == y.placement.arena && x.placement.offset < y.placement.offset + y.size_bytes &&
           y.placement.offset < x.placement.offset + x.size_bytes;
  }

  std::vector<Use> uses_of(const Instruction& instruction) const {
    std::vector<Use> uses;
    const auto args = plan_.args_of(instruction);
    const bool is_operator = instruction.kind == InstructionKind::kOperator;
    // Programs append the results once more.
    const size_t count = is_operator ? plan_.operators[instruction.callee]->arity : args.size();
    const auto is_written = [&](size_t a) {
      if (!is_operator) return a >= plan_.delegates[instruction.callee]->input_count();
      return a < 64 && (plan_.operators[instruction.callee]->written_args >> a & 1) != 0;
    };
    const auto add = [&](uint32_t value, size_t a, bool is_item) {
      if (value >= method_.values.size() || placed(value) == nullptr) return;
      uses.push_back({value, static_cast<uint32_t>(a), is_written(a), is_item});
    };
    for (size_t a = 0; a < std::min(count, args.size()); ++a) {
      const program::Value& value = method_.values[args[a]];
      if (const auto* list = std::get_if<program::TensorList>(&value)) {
        for (const uint32_t item : list->items) add(item, a, true);
      } else if (const auto* optional = std::get_if<program::OptionalTensorList>(&value)) {
        for (const uint32_t item : optional->items) add(item, a, true);
      } else {
        add(args[a], a, false);
      }
    }
    return uses;
  }

  std::string name_of(const Instruction& instruction) const {
    return instruction.kind == InstructionKind::kOperator ? plan_.operators[instruction.callee]->name
                                                          : method_.delegates[instruction.callee].id;
  }

  void check(size_t index) {
    Instruction& instruction = plan_.instructions[index];
    if (instruction.kind == InstructionKind::kOperator &&
        plan_.operators[instruction.callee]->name == "executorch_prim::et_view.default") {
      return;
    }
    const std::vector<Use> uses = uses_of(instruction);
    for (const Use& written : uses) {
      if (!written.is_written) continue;
      for (const Use& other : uses) {
        if (&other == &written || !overlap(written.value, other.value)) continue;
        if (other.is_written) {
          if (&other < &written) continue;
          fail_load(method_.name, "[", index, "] ", name_of(instruction), ": arguments ", written.argument, " and ",
                    other.argument, " are both written, but their memory overlaps");
        }
        if (other.value == written.value && other.is_item) {
          fail_load(method_.name, "[", index, "] ", name_of(instruction), ": argument ", written.argument,
                    " is written, but is an item of argument ", other.argument, " as well");
        }
        OverlappedRead read{other.value, std::nullopt};
        if (other.value == written.value) read.own_argument = other.argument;
        auto& reads = plan_.overlapped_reads[index];
        const bool is_known = std::any_of(reads.begin(), reads.end(), [&](const OverlappedRead& known) {
          return known.value == read.value && known.own_argument == read.own_argument;
        });
        if (!is_known) reads.push_back(read);
        instruction.reads_overlapped = true;
      }
    }
  }

  MethodPlan& plan_;
  const program::Method& method_;
};

}  // namespace

void find_overlaps(MethodPlan& plan) { Finder(plan).run(); }

}  // namespace enr::plan
