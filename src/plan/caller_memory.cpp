#include "plan/caller_memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "program/list_items.h"

namespace enr::plan {

namespace {

// More than any real method needs; they bound the time and memory that a hostile file can take.
constexpr size_t kMaxWork = 20'000'000;
constexpr size_t kMaxAccesses = 4'000'000;

struct Range {
  uint64_t begin = 0, end = 0;
  bool overlaps(const Range& other) const noexcept { return begin < other.end && other.begin < end; }
  bool covers(const Range& other) const noexcept { return begin <= other.begin && other.end <= end; }
};

struct Access {
  uint32_t value = 0;
  bool writes = false;
};

class Finder {
 public:
  explicit Finder(MethodPlan& plan) : plan_(plan), method_(*plan.method) {}

  void run() {
    plan_.readable_in_place.assign(method_.inputs.size(), 0);
    plan_.writable_in_place.assign(method_.outputs.size(), 0);
    if (!collect()) return;
    const size_t ends = method_.inputs.size() + method_.outputs.size();
    if (ends * (accesses_.size() + plan_.states.size() + ends) > kMaxWork) return;
    for (size_t i = 0; i < method_.inputs.size(); ++i) {
      plan_.readable_in_place[i] = is_read_only(method_.inputs[i]) && is_alone(method_.inputs[i], true) ? 1 : 0;
    }
    for (size_t i = 0; i < method_.outputs.size(); ++i) {
      plan_.writable_in_place[i] = is_result(method_.outputs[i]) && is_alone(method_.outputs[i], false) ? 1 : 0;
    }
  }

 private:
  const program::Tensor* tensor(uint32_t value) const { return std::get_if<program::Tensor>(&method_.values[value]); }

  // What every instruction reads and writes, in order; false where the order is not known.
  bool collect() {
    is_redirected_.resize(method_.values.size());
    for (const uint32_t v : plan_.redirected) is_redirected_[v] = 1;
    roots_.resize(method_.values.size());
    std::iota(roots_.begin(), roots_.end(), uint32_t{0});
    is_written_through_.resize(method_.values.size());
    for (const Instruction& instruction : plan_.instructions) {
      const auto args = plan_.args_of(instruction);
      switch (instruction.kind) {
        case InstructionKind::kOperator:
          add_operator(*plan_.operators[instruction.callee], args);
          break;
        case InstructionKind::kDelegate: {
          const size_t inputs = plan_.delegates[instruction.callee]->input_count();
          for (size_t a = 0; a < inputs; ++a) add(args[a], false);
          for (size_t a = inputs; a < args.size(); ++a) add(args[a], true);
          break;
        }
        case InstructionKind::kFree:
          break;
        default:
          return false;
      }
      if (accesses_.size() > kMaxAccesses) return false;
    }
    for (const uint32_t v : method_.outputs) add(v, false);
    return true;
  }

  void add_operator(const Operator& op, std::span<const uint32_t> args) {
    if (op.name == "executorch_prim::et_view.default") {
      // From here on the view's accesses are its base's.
      roots_[args[2]] = roots_[args[0]];
      return;
    }
    // What is written and not among the trailing out arguments is updated in place.
    size_t outs = op.arity;
    while (outs > 0 && is_written(op, outs - 1)) --outs;
    for (size_t a = 0; a < op.arity; ++a) {
      if (a < outs || outs == 0) add(args[a], false);
    }
    for (size_t a = 0; a < op.arity; ++a) {
      if (is_written(op, a)) add(args[a], true);
    }
    // Operators that take whole values may do anything with tensors among them.
    if (op.written_args == 0) {
      for (size_t a = 0; a < op.arity; ++a) add(args[a], true);
    }
  }

  static bool is_written(const Operator& op, size_t arg) { return arg < 64 && (op.written_args >> arg & 1) != 0; }

  void add(uint32_t value, bool writes) {
    program::for_each_item(method_, value, [&](uint32_t item) {
      if (tensor(item) == nullptr) return;
      const uint32_t root = roots_[item];
      if (writes && root != item) is_written_through_[root] = 1;
      accesses_.push_back({root, writes});
    });
  }

  static Range range(const program::Tensor& t) { return {t.placement.offset, t.placement.offset + t.size_bytes}; }

  bool is_candidate(uint32_t value) const {
    const program::Tensor* t = tensor(value);
    if (t == nullptr || is_redirected_[value] != 0) return false;
    if (is_written_through_[value] != 0) return false;
    // The next call may read through the state what this one leaves there.
    for (const State& state : plan_.states) {
      const program::Tensor& other = *tensor(state.value);
      if (state.value == value) return false;
      if (t->storage != program::Storage::kUnplanned && other.placement.arena == 0 && range(*t).overlaps(range(other)))
        return false;
    }
    if (t->storage == program::Storage::kUnplanned) return true;
    return t->storage == program::Storage::kPlanned && t->placement.arena == 0;
  }

  bool is_read_only(uint32_t value) const {
    return is_candidate(value) && std::none_of(accesses_.begin(), accesses_.end(),
                                               [&](const Access& a) { return a.value == value && a.writes; });
  }

  // Written by an instruction, of known size, in the layout of a fresh array, and given once.
  bool is_result(uint32_t value) const {
    if (!is_candidate(value) || std::count(method_.outputs.begin(), method_.outputs.end(), value) != 1 ||
        std::find(method_.inputs.begin(), method_.inputs.end(), value) != method_.inputs.end()) {
      return false;
    }
    const program::Tensor& t = *tensor(value);
    return t.dynamism == program::Dynamism::kStatic && std::is_sorted(t.dim_order.begin(), t.dim_order.end()) &&
           std::any_of(accesses_.begin(), accesses_.end(),
                       [&](const Access& a) { return a.value == value && a.writes; });
  }

  // Whether the elements of `value` are only read as `value`, and what it is read for was written as `value`.
  bool is_alone(uint32_t value, bool starts_written) const {
    const program::Tensor& self = *tensor(value);
    if (self.storage == program::Storage::kUnplanned) return true;
    const Range own = range(self);
    bool is_written = starts_written, is_overwritten = false;
    std::vector<Range> others;  // written by others since
    for (const Access& access : accesses_) {
      if (access.value == value) {
        if (access.writes) {
          is_written = true;
          is_overwritten = false;
          others.clear();
        } else if (!is_written || is_overwritten) {
          return false;
        }
        continue;
      }
      const program::Tensor& other = *tensor(access.value);
      if (other.placement.arena != 0 || other.storage == program::Storage::kUnplanned ||
          other.storage == program::Storage::kConstant) {
        continue;
      }
      Range touched = range(other);
      if (!touched.overlaps(own)) continue;
      if (access.writes) {
        is_overwritten = true;
        others.push_back(touched);
      } else if (is_written) {
        touched = {std::max(touched.begin, own.begin), std::min(touched.end, own.end)};
        if (std::none_of(others.begin(), others.end(), [&](const Range& r) { return r.covers(touched); })) return false;
      }
    }
    return true;
  }

  MethodPlan& plan_;
  const program::Method& method_;
  std::vector<Access> accesses_;
  std::vector<uint8_t> is_redirected_;
  std::vector<uint32_t> roots_;              // of views: the value whose memory they refer to; of others: themselves
  std::vector<uint8_t> is_written_through_;  // by value: through a view
};

}  // namespace

void find_caller_memory(MethodPlan& plan) { Finder(plan).run(); }

}  // namespace enr::plan
