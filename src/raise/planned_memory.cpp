#include "raise/planned_memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "program/list_items.h"
#include "program/overlap.h"

namespace enr::raise {

namespace {

constexpr size_t kMaxSteps = 20'000'000;  // far more than real methods take; bounds what hostile ones do

class Analysis {
 public:
  Analysis(const program::Method& method, std::span<const Instruction> instructions)
      : method_(method), instructions_(instructions), has_writer_(method.values.size(), false) {
    place_.resize(method.values.size());
    std::iota(place_.begin(), place_.end(), uint32_t{0});
  }

  PlannedMemory run() {
    if (std::any_of(instructions_.begin(), instructions_.end(), [](const Instruction& i) { return i.is_branch; })) {
      return {};
    }
    memory_.views_of.resize(method_.values.size());
    memory_.is_written.resize(method_.values.size(), false);
    memory_.is_shared.resize(method_.values.size(), false);
    for (const Instruction& instruction : instructions_) {
      if (is_view(instruction)) continue;
      for (const uint32_t arg : instruction.written) {
        for_each_tensor(arg, [&](uint32_t value) { has_writer_[value] = true; });
      }
    }
    for (const uint32_t input : method_.inputs) {
      for_each_tensor(input, [&](uint32_t value) { has_writer_[value] = true; });
      for_each_tensor(input, [&](uint32_t value) { write(value); });
    }
    memory_.is_written.assign(method_.values.size(), false);  // inputs are not written by instructions
    for (const Instruction& instruction : instructions_) {
      if (is_view(instruction)) {
        place_[instruction.args[2]] = place_[instruction.args[0]];
        continue;
      }
      for (const uint32_t arg : instruction.read) for_each_tensor(arg, [&](uint32_t value) { read(value); });
      for (const uint32_t arg : instruction.written) for_each_tensor(arg, [&](uint32_t value) { write(value); });
      if (steps_ > kMaxSteps) break;
    }
    for (const uint32_t output : method_.outputs) for_each_tensor(output, [&](uint32_t value) { read(value); });
    memory_.is_known = steps_ <= kMaxSteps;
    memory_.is_plain &= memory_.is_known;
    return std::move(memory_);
  }

 private:
  struct Range {
    uint64_t end = 0;
    uint32_t writer = 0;
  };
  using Ranges = std::map<uint64_t, Range>;  // by begin, apart from each other

  static bool is_view(const Instruction& instruction) {
    return instruction.op == "executorch_prim::et_view.default" && instruction.args.size() > 2;
  }

  template <class Visit>
  void for_each_tensor(uint32_t value, const Visit& visit) {
    program::for_each_item(method_, value, [&](uint32_t item) {
      if (std::holds_alternative<program::Tensor>(method_.values[item])) visit(item);
    });
  }

  // Where the value lies; null where it has no planned memory.
  const program::Tensor* placed(uint32_t value) const {
    const auto* tensor = std::get_if<program::Tensor>(&method_.values[place_[value]]);
    return tensor != nullptr && program::is_placed(*tensor) && tensor->size_bytes != 0 ? tensor : nullptr;
  }

  // The first range that ends behind `begin`.
  static Ranges::iterator find(Ranges& ranges, uint64_t begin) {
    auto it = ranges.upper_bound(begin);
    if (it != ranges.begin() && std::prev(it)->second.end > begin) --it;
    return it;
  }

  void read(uint32_t value) {
    ++steps_;
    const program::Tensor* tensor = placed(value);
    if (tensor == nullptr || steps_ > kMaxSteps) return;
    const uint32_t place = place_[value];
    const uint64_t begin = tensor->placement.offset, end = begin + tensor->size_bytes;
    Ranges& ranges = arenas_[tensor->placement.arena];
    auto it = find(ranges, begin);
    const bool is_whole = it != ranges.end() && it->first <= begin && it->second.end >= end;
    if (is_whole && (it->second.writer == value || it->second.writer == place)) return;
    memory_.is_shared[place] = true;
    if (it == ranges.end() || it->first >= end) return;  // nothing wrote it: a state, or its first content
    memory_.is_plain &= is_whole && !has_writer_[value];
    std::vector<uint32_t>& views = memory_.views_of[it->second.writer];
    if (views.empty() || views.back() != value) views.push_back(value);
    for (; it != ranges.end() && it->first < end; ++it, ++steps_) memory_.is_shared[it->second.writer] = true;
  }

  void write(uint32_t value) {
    ++steps_;
    memory_.is_written[place_[value]] = true;
    const program::Tensor* tensor = placed(value);
    if (tensor == nullptr || steps_ > kMaxSteps) return;
    const uint64_t begin = tensor->placement.offset, end = begin + tensor->size_bytes;
    Ranges& ranges = arenas_[tensor->placement.arena];
    for (auto it = find(ranges, begin); it != ranges.end() && it->first < end;) {
      ++steps_;
      const uint64_t old_begin = it->first;
      const Range old = it->second;
      it = ranges.erase(it);
      if (old_begin < begin) ranges[old_begin] = {begin, old.writer};
      if (old.end > end) ranges[end] = old;
    }
    ranges[begin] = {end, value};
  }

  const program::Method& method_;
  std::span<const Instruction> instructions_;
  std::vector<bool> has_writer_;
  std::vector<uint32_t> place_;  // the value whose memory each has: its own, but for views made by instructions
  std::map<uint32_t, Ranges> arenas_;
  size_t steps_ = 0;
  PlannedMemory memory_;
};

}  // namespace

PlannedMemory analyse_memory(const program::Method& method, std::span<const Instruction> instructions) {
  return Analysis(method, instructions).run();
}

}  // namespace enr::raise
