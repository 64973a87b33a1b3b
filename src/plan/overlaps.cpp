#include "plan/overlaps.h"

#include <algorithm>

#include "base/error.h"
#include "program/list_items.h"
#include "program/overlap.h"

namespace enr::plan {

namespace {

// More than any real method needs; it bounds the time that a hostile file can take.
constexpr size_t kMaxPairs = 4'000'000;

class Finder {
 public:
  explicit Finder(MethodPlan& plan) : plan_(plan), method_(*plan.method), is_redirected_(method_.values.size()) {
    for (const uint32_t v : plan_.redirected) is_redirected_[v] = true;
  }

  void run() {
    plan_.overlapped_reads.resize(plan_.instructions.size());
    plan_.movable_uses.resize(plan_.instructions.size());
    for (size_t i = 0; i < plan_.instructions.size(); ++i) {
      const InstructionKind kind = plan_.instructions[i].kind;
      if (kind == InstructionKind::kOperator || kind == InstructionKind::kDelegate) check(i);
    }
  }

 private:
  const program::Tensor* tensor(uint32_t value) const { return std::get_if<program::Tensor>(&method_.values[value]); }

  bool is_placed(uint32_t value) const {
    const program::Tensor& t = *tensor(value);
    return t.size_bytes != 0 && program::is_placed(t);
  }

  uint64_t begin(const TensorUse& use) const { return tensor(use.value)->placement.offset; }
  uint64_t end(const TensorUse& use) const { return begin(use) + tensor(use.value)->size_bytes; }
  size_t arena(const TensorUse& use) const { return tensor(use.value)->placement.arena; }

  std::vector<TensorUse> uses_of(const Instruction& instruction) {
    std::vector<TensorUse> uses;
    const auto args = plan_.args_of(instruction);
    const bool is_operator = instruction.kind == InstructionKind::kOperator;
    // Programs append the results once more.
    const size_t count = is_operator ? plan_.operators[instruction.callee]->arity : args.size();
    for (size_t a = 0; a < std::min(count, args.size()); ++a) {
      program::for_each_item(method_, args[a], [&](uint32_t value) {
        if (tensor(value) == nullptr) return;
        uses.push_back({value, static_cast<uint32_t>(a), plan_.writes(instruction, a), value != args[a]});
      });
    }
    return uses;
  }

  std::string name_of(const Instruction& instruction) const {
    return instruction.kind == InstructionKind::kOperator ? plan_.operators[instruction.callee]->name
                                                          : method_.delegates[instruction.callee].id;
  }

  void check(size_t index) {
    Instruction& instruction = plan_.instructions[index];
    if (plan_.is_view(instruction)) return;
    std::vector<TensorUse> uses = uses_of(instruction);
    const auto is_written = [](const TensorUse& use) { return use.is_written; };
    const auto writes = static_cast<size_t>(std::count_if(uses.begin(), uses.end(), is_written));
    if (writes == 0) return;
    find_reads(index, uses);
    if (std::any_of(uses.begin(), uses.end(), [&](const TensorUse& use) { return is_redirected_[use.value]; })) {
      if (writes * uses.size() > kMaxPairs) {
        fail_load(method_.name, "[", index, "] ", name_of(instruction), ": writes ", writes, " of ", uses.size(),
                  " tensors, too many to compare");
      }
      plan_.movable_uses[index] = std::move(uses);
      instruction.reads_overlapped = true;
    }
  }

  void find_reads(size_t index, const std::vector<TensorUse>& uses) {
    Instruction& instruction = plan_.instructions[index];
    std::vector<const TensorUse*> written;  // by place
    for (const TensorUse& use : uses) {
      if (use.is_written && is_placed(use.value)) written.push_back(&use);
    }
    std::sort(written.begin(), written.end(), [&](const TensorUse* a, const TensorUse* b) {
      return arena(*a) != arena(*b) ? arena(*a) < arena(*b) : begin(*a) < begin(*b);
    });
    for (size_t i = 1; i < written.size(); ++i) {
      const TensorUse &a = *written[i - 1], &b = *written[i];
      if (arena(a) != arena(b) || begin(b) >= end(a)) continue;
      fail_load(method_.name, "[", index, "] ", name_of(instruction), ": ",
                plan_.argument_name(instruction, std::min(a.argument, b.argument)), " and ",
                plan_.argument_name(instruction, std::max(a.argument, b.argument)),
                " are both written, but their memory overlaps");
    }
    std::vector<OverlappedRead>& reads = plan_.overlapped_reads[index];
    for (const TensorUse& use : uses) {
      if (use.is_written || !is_placed(use.value)) continue;
      // The first that ends behind where the use begins.
      const auto found = std::partition_point(written.begin(), written.end(), [&](const TensorUse* w) {
        return arena(*w) != arena(use) ? arena(*w) < arena(use) : end(*w) <= begin(use);
      });
      if (found == written.end() || arena(**found) != arena(use) || begin(**found) >= end(use)) continue;
      OverlappedRead read{use.value, std::nullopt};
      if ((*found)->value == use.value) {
        if (use.is_item) {
          fail_load(method_.name, "[", index, "] ", name_of(instruction), ": ",
                    plan_.argument_name(instruction, (*found)->argument), " is written, but is an item of ",
                    plan_.argument_name(instruction, use.argument), " as well");
        }
        read.own_argument = use.argument;
      }
      reads.push_back(read);
      instruction.reads_overlapped = true;
    }
    const auto key = [](const OverlappedRead& read) { return std::pair(read.value, read.own_argument); };
    std::sort(reads.begin(), reads.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    reads.erase(std::unique(reads.begin(), reads.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
                reads.end());
  }

  MethodPlan& plan_;
  const program::Method& method_;
  std::vector<bool> is_redirected_;
};

}  // namespace

void find_overlaps(MethodPlan& plan) { Finder(plan).run(); }

}  // namespace enr::plan
