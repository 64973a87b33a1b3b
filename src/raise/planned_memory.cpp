#include "raise/planned_memory.h"

#include <algorithm>
#include <map>
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
      : method_(method), instructions_(instructions), is_written_(method.values.size(), false) {
    place_.resize(method.values.size());
    for (uint32_t v = 0; v < place_.size(); ++v) place_[v] = v;
  }

  PlannedMemory run() {
    if (std::any_of(instructions_.begin(), instructions_.end(), [](const Instruction& i) { return i.is_branch; })) {
      return {};
    }
    memory_.knows_views = true;
    memory_.views_of.resize(method_.values.size());
    for (const Instruction& instruction : instructions_) {
      if (is_view(instruction)) continue;
      for (const uint32_t arg : instruction.written) {
        for_each_tensor(arg, [&](uint32_t value) { is_written_[value] = true; });
      }
    }
    for (const uint32_t input : method_.inputs) {
      for_each_tensor(input, [&](uint32_t value) { is_written_[value] = true; });
      for_each_tensor(input, [&](uint32_t value) { write(value); });
    }
    for (const Instruction& instruction : instructions_) {
      if (is_view(instruction)) {
        place_[instruction.args[2]] = place_[instruction.args[0]];
        continue;
      }
      for (const uint32_t arg : instruction.read) for_each_tensor(arg, [&](uint32_t value) { read(value); });
      for (const uint32_t arg : instruction.written) for_each_tensor(arg, [&](uint32_t value) { write(value); });
      if (!memory_.is_plain) break;
    }
    for (const uint32_t output : method_.outputs) for_each_tensor(output, [&](uint32_t value) { read(value); });
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

  void step() { memory_.is_plain &= ++steps_ < kMaxSteps; }

  void read(uint32_t value) {
    step();
    const program::Tensor* tensor = placed(value);
    if (tensor == nullptr || !memory_.is_plain) return;
    const uint64_t begin = tensor->placement.offset, end = begin + tensor->size_bytes;
    Ranges& ranges = arenas_[tensor->placement.arena];
    const auto it = find(ranges, begin);
    if (it == ranges.end() || it->first >= end) return;  // nothing wrote it: a state, or its first content
    const bool is_whole = it->first <= begin && it->second.end >= end;
    const uint32_t writer = it->second.writer;
    if (is_whole && (writer == value || writer == place_[value])) return;
    memory_.is_plain = is_whole && !is_written_[value];
    std::vector<uint32_t>& views = memory_.views_of[writer];
    if (views.empty() || views.back() != value) views.push_back(value);
  }

  void write(uint32_t value) {
    step();
    const program::Tensor* tensor = placed(value);
    if (tensor == nullptr || !memory_.is_plain) return;
    const uint64_t begin = tensor->placement.offset, end = begin + tensor->size_bytes;
    Ranges& ranges = arenas_[tensor->placement.arena];
    for (auto it = find(ranges, begin); it != ranges.end() && it->first < end;) {
      step();
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
  std::vector<bool> is_written_;
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
