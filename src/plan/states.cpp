#include "plan/states.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "program/list_items.h"
#include "program/overlap.h"

namespace enr::plan {

namespace {

using program::Tensor;

// Far more than real methods take; bounds what hostile ones do.
constexpr size_t kMaxSteps = 20'000'000;

// Bytes of planned memory, as ranges apart from each other.
class Bytes {
 public:
  void add(const Tensor& tensor) {
    auto& ranges = arenas_[tensor.placement.arena];
    uint64_t begin = tensor.placement.offset, end = begin + tensor.size_bytes;
    auto it = first_behind(ranges, begin);
    while (it != ranges.end() && it->first < end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = ranges.erase(it);
    }
    ranges[begin] = end;
  }

  bool overlap(const Tensor& tensor) {
    auto& ranges = arenas_[tensor.placement.arena];
    const auto it = first_behind(ranges, tensor.placement.offset);
    return it != ranges.end() && it->first < tensor.placement.offset + tensor.size_bytes;
  }

 private:
  using Ranges = std::map<uint64_t, uint64_t>;  // ends by begins

  static Ranges::iterator first_behind(Ranges& ranges, uint64_t begin) {
    auto it = ranges.upper_bound(begin);
    if (it != ranges.begin() && std::prev(it)->second > begin) --it;
    return it;
  }

  std::map<size_t, Ranges> arenas_;
};

class Finder {
 public:
  explicit Finder(MethodPlan& plan)
      : plan_(plan),
        method_(*plan.method),
        is_state_(method_.values.size()),
        is_redirected_(method_.values.size()),
        is_written_(method_.values.size()),
        place_(method_.values.size()) {
    for (const uint32_t v : plan_.redirected) is_redirected_[v] = true;
    std::iota(place_.begin(), place_.end(), uint32_t{0});
  }

  void run() {
    find_declared();
    find_kept();
    std::set<std::string> names;
    size_t next = 0;
    for (uint32_t v = 0; v < method_.values.size(); ++v) {
      if (is_state_[v]) names.insert(tensor(v)->fully_qualified_name);
    }
    for (uint32_t v = 0; v < method_.values.size(); ++v) {
      if (!is_state_[v]) continue;
      const std::string& name = tensor(v)->fully_qualified_name;
      plan_.states.push_back({v, name.empty() ? new_name(names, next) : name});
    }
  }

 private:
  // By position, unless a buffer of the file has that name; none before `next`.
  std::string new_name(const std::set<std::string>& names, size_t& next) const {
    next = std::max(next, plan_.states.size());
    while (names.contains(concat("state_", next))) ++next;
    return concat("state_", next++);
  }

  const Tensor* tensor(uint32_t value) const { return std::get_if<Tensor>(&method_.values[value]); }

  // Exporters name a tensor, or give it a first value, only if it is a buffer of the model. It need not be planned:
  // then it has memory of its own unless instructions give it some.
  void find_declared() {
    for (uint32_t v = 0; v < method_.values.size(); ++v) {
      const Tensor* t = tensor(v);
      if (t == nullptr) continue;
      const bool has_name = !t->fully_qualified_name.empty();
      const bool has_own_memory =
          t->storage == program::Storage::kUnplanned || t->storage == program::Storage::kOwnInitial;
      is_state_[v] = is_placed(*t) ? t->storage != program::Storage::kPlanned || has_name
                                   : has_own_memory && has_name && !is_redirected_[v];
    }
  }

  // By default exporters neither name buffers nor keep their first values. Such a buffer is planned memory that is read
  // before anything in it is written.
  void find_kept() {
    for (uint32_t v = 0; v < method_.values.size(); ++v) {
      if (is_state_[v] && is_placed(*tensor(v))) written_.add(*tensor(v));
    }
    for (const uint32_t input : method_.inputs) for_each_placed(input, [&](uint32_t v) { written_.add(*tensor(v)); });
    for (const Instruction& instruction : plan_.instructions) {
      if (steps_ > kMaxSteps) return;
      step(instruction);
    }
    for (const uint32_t output : method_.outputs) for_each_placed(output, [&](uint32_t v) { read(v); });
    std::set<Place> found;
    // The buffer itself is what is written; what is read may be a view that the exporter dropped.
    for (const bool wants_written : {true, false}) {
      for (uint32_t v = 0; v < method_.values.size(); ++v) {
        const Tensor* t = tensor(v);
        if (t == nullptr || !can_be_kept(v) || is_written_[v] != wants_written) continue;
        // Nobody writes what only this method sees, but perhaps another method what both see.
        if (!wants_written && t->placement.arena == 0) continue;
        if (kept_.contains(place_of(*t)) && found.insert(place_of(*t)).second) is_state_[v] = true;
      }
    }
  }

  void step(const Instruction& instruction) {
    const auto args = plan_.args_of(instruction);
    if (plan_.is_view(instruction)) {
      place_[args[2]] = place_[args[0]];
      return;
    }
    const std::string_view op =
        instruction.kind == InstructionKind::kOperator ? plan_.operators[instruction.callee]->name : std::string_view();
    // These write all they name, or keep only what they have written before.
    const bool begins_first = op == "aten::copy_" || op == "executorch_prim::et_copy_index.tensor";
    for (size_t a = 0; a < args.size(); ++a) {
      if (!plan_.reads(instruction, a) || (begins_first && plan_.writes(instruction, a))) continue;
      for_each_placed(args[a], [&](uint32_t v) { read(v); });
    }
    for (size_t a = 0; a < args.size(); ++a) {
      if (!plan_.writes(instruction, a)) continue;
      for_each_placed(args[a], [&](uint32_t v) {
        is_written_[v] = true;
        written_.add(*tensor(v));
      });
    }
  }

  void read(uint32_t value) {
    if (can_be_kept(value) && !written_.overlap(*tensor(value))) kept_.insert(place_of(*tensor(value)));
  }

  // Where it lies, for each tensor that has planned memory.
  template <class Visit>
  void for_each_placed(uint32_t value, const Visit& visit) {
    program::for_each_item(method_, value, [&](uint32_t item) {
      ++steps_;
      const Tensor* t = tensor(place_[item]);
      if (t != nullptr && is_placed(*t) && t->size_bytes != 0) visit(place_[item]);
    });
  }

  bool can_be_kept(uint32_t value) const {
    const Tensor& t = *tensor(value);
    return t.storage == program::Storage::kPlanned && t.dynamism == program::Dynamism::kStatic &&
           t.fully_qualified_name.empty() && !is_redirected_[value] && t.size_bytes != 0;
  }

  using Place = std::tuple<size_t, uint64_t, uint64_t>;
  static Place place_of(const Tensor& t) { return {t.placement.arena, t.placement.offset, t.size_bytes}; }

  MethodPlan& plan_;
  const program::Method& method_;
  std::vector<bool> is_state_, is_redirected_, is_written_;
  std::vector<uint32_t> place_;  // the value in whose memory each lies: its own, but for views made by instructions
  Bytes written_;                // so far
  std::set<Place> kept_;         // read before anything there was written
  size_t steps_ = 0;
};

}  // namespace

void find_states(MethodPlan& plan) { Finder(plan).run(); }

}  // namespace enr::plan
