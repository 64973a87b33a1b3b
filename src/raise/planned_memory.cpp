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
    for (uint32_t i = 0; i < instructions_.size(); ++i) {
      if (is_unforeseeable(i)) return {};
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
    for (uint32_t i = 0; i < instructions_.size() && steps_ <= kMaxSteps; ++i) {
      meet(i);
      if (is_reached_) step(i);
    }
    meet(static_cast<uint32_t>(instructions_.size()));
    for (const uint32_t output : method_.outputs) for_each_tensor(output, [&](uint32_t value) { read(value); });
    if (reads_mixtures_) return {};
    memory_.is_known = steps_ <= kMaxSteps;
    memory_.is_plain &= memory_.is_known;
    return std::move(memory_);
  }

 private:
  struct Range {
    uint64_t end = 0;
    uint32_t writer = 0;
    bool is_certain = true;  // else only on some of the ways here

    bool holds_the_same(const Range& other) const { return writer == other.writer && is_certain == other.is_certain; }
  };
  using Ranges = std::map<uint64_t, Range>;  // by begin, apart from each other
  using Arenas = std::map<uint32_t, Ranges>;
  // Of bytes that came to hold different values on the ways to an instruction.
  static constexpr uint32_t kMixture = 0xFFFFFFFF;

  // Loops, and moves that may not copy elements.
  bool is_unforeseeable(uint32_t index) const {
    const Instruction& instruction = instructions_[index];
    if (instruction.jump) return *instruction.jump <= index;
    if (!instruction.is_move) return false;
    const program::Value &from = method_.values[instruction.args[0]], &to = method_.values[instruction.args[1]];
    const auto is_list = [](const program::Value& value) { return std::holds_alternative<program::TensorList>(value); };
    if (instruction.stays || is_list(from) || is_list(to)) return true;
    const auto *source = std::get_if<program::Tensor>(&from), *target = std::get_if<program::Tensor>(&to);
    if (source == nullptr && target == nullptr) return false;
    return source == nullptr || target == nullptr || !program::is_placed(*target) ||
           (!program::is_placed(*source) && source->storage != program::Storage::kConstant);
  }

  void step(uint32_t index) {
    const Instruction& instruction = instructions_[index];
    if (is_view(instruction)) {
      place_[instruction.args[2]] = place_[instruction.args[0]];
      return;
    }
    for (const uint32_t arg : instruction.read) for_each_tensor(arg, [&](uint32_t value) { read(value); });
    for (const uint32_t arg : instruction.written) for_each_tensor(arg, [&](uint32_t value) { write(value); });
    if (!instruction.jump) return;
    const auto [known, is_first] = waiting_.try_emplace(*instruction.jump, arenas_);
    if (!is_first) merge(known->second, arenas_);
    for (const auto& [arena, ranges] : arenas_) steps_ += ranges.size();
    is_reached_ = !instruction.always_jumps;
  }

  // What jumps bring to the instruction.
  void meet(uint32_t index) {
    const auto known = waiting_.find(index);
    if (known == waiting_.end()) return;
    if (is_reached_) {
      merge(arenas_, known->second);
    } else {
      arenas_ = std::move(known->second);
    }
    waiting_.erase(known);
    is_reached_ = true;
  }

  void merge(Arenas& into, const Arenas& from) {
    for (const auto& [arena, ranges] : from) into[arena];
    for (auto& [arena, ranges] : into) {
      const auto other = from.find(arena);
      ranges = merged(ranges, other != from.end() ? other->second : Ranges());
    }
  }

  Ranges merged(const Ranges& a, const Ranges& b) {
    std::vector<uint64_t> bounds;
    for (const Ranges* ranges : {&a, &b}) {
      for (const auto& [begin, range] : *ranges) bounds.insert(bounds.end(), {begin, range.end});
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    steps_ += bounds.size();
    Ranges result;
    for (size_t i = 0; i + 1 < bounds.size(); ++i) {
      const Range *left = range_at(a, bounds[i]), *right = range_at(b, bounds[i]);
      if (left == nullptr && right == nullptr) continue;
      Range range = left != nullptr ? *left : *right;
      range.end = bounds[i + 1];
      range.is_certain = left != nullptr && right != nullptr && left->is_certain && right->is_certain;
      if (left != nullptr && right != nullptr && left->writer != right->writer) range.writer = kMixture;
      Range* last = result.empty() ? nullptr : &std::prev(result.end())->second;
      if (last != nullptr && last->end == bounds[i] && last->holds_the_same(range)) {
        last->end = range.end;
      } else {
        result[bounds[i]] = range;
      }
    }
    return result;
  }

  static const Range* range_at(const Ranges& ranges, uint64_t offset) {
    auto it = ranges.upper_bound(offset);
    return it == ranges.begin() || (--it)->second.end <= offset ? nullptr : &it->second;
  }

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
    if (is_whole && (it->second.writer == value || it->second.writer == place)) {
      if (!it->second.is_certain) memory_.is_shared[place] = true;
      return;
    }
    memory_.is_shared[place] = true;
    if (it == ranges.end() || it->first >= end) return;  // nothing wrote it: a state, or its first content
    for (auto part = it; part != ranges.end() && part->first < end; ++part)
      reads_mixtures_ |= part->second.writer == kMixture || !part->second.is_certain;
    if (reads_mixtures_) return;
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
      if (old_begin < begin) {
        ranges[old_begin] = old;
        ranges[old_begin].end = begin;
      }
      if (old.end > end) ranges[end] = old;
    }
    ranges[begin] = {end, value, true};
  }

  const program::Method& method_;
  std::span<const Instruction> instructions_;
  std::vector<bool> has_writer_;
  std::vector<uint32_t> place_;  // the value whose memory each has: its own, but for views made by instructions
  Arenas arenas_;
  std::map<uint32_t, Arenas> waiting_;  // what jumps bring, by the instruction they go to
  bool is_reached_ = true, reads_mixtures_ = false;
  size_t steps_ = 0;
  PlannedMemory memory_;
};

}  // namespace

PlannedMemory analyse_memory(const program::Method& method, std::span<const Instruction> instructions) {
  return Analysis(method, instructions).run();
}

}  // namespace enr::raise
