#include "raise/regions.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <optional>

#include "base/error.h"
#include "program/list_items.h"
#include "program/overlap.h"
#include "raise/planned_memory.h"
#include "raise/region_builder.h"
#include "raise/translate.h"
#include "raise/variants.h"

namespace enr::raise {

namespace {

// Limits on the time and memory that hostile programs can ask for. Real methods are far from them.
constexpr size_t kMaxRegionLength = 2000;
constexpr size_t kMaxReads = 4'000'000;         // of tensors, by all instructions
constexpr size_t kMaxComparisons = 50'000'000;  // of values with views
constexpr uint64_t kMaxAppended = 1'000'000;    // values and nodes of delegates
constexpr size_t kMaxAttempts = 16;             // to find where a region ends
// Constants are copied once into the graph's layout, and once more where a batch norm is folded into them.
constexpr uint64_t kCopiesOfConstants = 3;

class Search {
 public:
  Search(const program::Method& method, std::span<const Instruction> instructions, const PlannedMemory& memory,
         WeightCache& weights)
      : method_(method),
        instructions_(instructions),
        memory_(memory),
        readers_(method.values.size()),
        writers_(method.values.size(), 0),
        is_output_(method.values.size(), false),
        source_(make_source(weights)),
        integers_(method, source_->varies) {
    find_readers();
    if (!memory_.is_known) find_views();
  }

  std::vector<Region> run() {
    std::vector<Region> regions;
    if (!memory_.is_plain) return regions;
    if (reads_ > kMaxReads || views_.size() > kMaxComparisons / (method_.values.size() + 1)) return regions;
    blocked_.resize(instructions_.size(), false);
    size_t attempts = 0;
    for (uint32_t i = 0; i < instructions_.size();) {
      if (computes_number(instructions_[i].op)) {
        if (!counts(instructions_[i])) compute_number(i);
        ++i;
        continue;
      }
      RegionBuilder builder(method_, constant_bytes_, appended_, source_->context.get());
      integers_.begin_region();
      const uint32_t end = translate_from(i, builder);
      // A condition that others need has to be computed: its operator stays.
      if (const auto writer = find_needed_condition(i, end, builder); writer && attempts++ < kMaxAttempts) {
        blocked_[*writer] = true;
        continue;
      }
      attempts = 0;
      // One operator alone gains nothing.
      const auto is_number = [](const Instruction& instruction) { return computes_number(instruction.op); };
      if (end - i >= 2 + std::count_if(&instructions_[i], &instructions_[i] + (end - i), is_number)) {
        if (auto region = make_region(i, end, builder)) regions.push_back(std::move(*region));
      }
      i = std::max(end, i + 1);
    }
    return regions;
  }

 private:
  void find_readers() {
    for (uint32_t i = 0; i < instructions_.size(); ++i) {
      for (const uint32_t arg : instructions_[i].args) {
        program::for_each_item(method_, arg, [&](uint32_t value) {
          if (++reads_ <= kMaxReads) readers_[value].push_back(i);
        });
        if (reads_ > kMaxReads) return;
      }
    }
    for (const uint32_t output : method_.outputs) {
      program::for_each_item(method_, output, [&](uint32_t value) { is_output_[value] = true; });
    }
  }

  std::shared_ptr<const Source> make_source(WeightCache& weights) {
    auto source = std::make_shared<Source>(Source{method_, weights, {}, 0, nullptr});
    source->varies.resize(method_.values.size(), false);
    for (const uint32_t input : method_.inputs) source->varies[input] = true;
    for (const Instruction& instruction : instructions_) {
      for (const uint32_t arg : instruction.written) {
        source->varies[arg] = true;
        ++writers_[arg];
      }
    }
    std::map<const void*, uint64_t> constants;
    for (const program::Value& value : method_.values) {
      const auto* tensor = std::get_if<program::Tensor>(&value);
      if (tensor == nullptr || tensor->storage != program::Storage::kConstant) continue;
      const bool is_byte = dtype_size(tensor->dtype) == 1;  // may stand for a float
      uint64_t& size_bytes = constants[tensor->bytes.data()];
      size_bytes = std::max(size_bytes, is_byte ? tensor->size_bytes * sizeof(float) : tensor->size_bytes);
    }
    constant_bytes_ = uint64_t{1} << 20;
    for (const auto& [data, size_bytes] : constants) constant_bytes_ += size_bytes * kCopiesOfConstants;
    source->constant_bytes = constant_bytes_;
    const bool has_sizes_that_vary = std::any_of(method_.values.begin(), method_.values.end(), [](const auto& value) {
      const auto* tensor = std::get_if<program::Tensor>(&value);
      return tensor != nullptr && tensor->dynamism != program::Dynamism::kStatic;
    });
    if (has_sizes_that_vary) source->context = std::make_shared<graph::PlanContext>(weights);
    return source;
  }

  // Outside of regions, for what is computed from it inside.
  void compute_number(uint32_t i) {
    RegionBuilder outside(method_, constant_bytes_, appended_, nullptr);
    try {
      translate(outside, method_, integers_, instructions_[i]);
    } catch (const Error&) {
      // What needs it stays an operator.
    }
  }

  // Appends instructions while they translate; gives the first that does not.
  uint32_t translate_from(uint32_t begin, RegionBuilder& builder) {
    uint32_t i = begin;
    const size_t limit = std::min<size_t>(instructions_.size(), size_t{begin} + kMaxRegionLength);
    for (; i < limit; ++i) {
      const Instruction& instruction = instructions_[i];
      const bool is_known = instruction.delegate != nullptr || find_translation(instruction.op) != nullptr;
      if (!is_known || instruction.stays || instruction.writes_state || blocked_[i] ||
          (instruction.is_target && i != begin) || counts(instruction)) {
        break;
      }
      builder.begin(i);
      try {
        translate(builder, method_, integers_, instruction);
      } catch (const Error&) {
        builder.roll_back();
        break;
      }
      if (!defines_what_is_read(i, builder)) {
        builder.roll_back();
        break;
      }
    }
    return i;
  }

  // Whether the instruction writes a number that it or another changes as well, as loops count. Regions are built for
  // the numbers they read: each turn would be another region.
  bool counts(const Instruction& instruction) const {
    return computes_number(instruction.op) &&
           std::any_of(instruction.written.begin(), instruction.written.end(), [&](uint32_t value) {
             return writers_[value] > 1 || std::ranges::find(instruction.read, value) != instruction.read.end();
           });
  }

  // Second results (indices, statistics) are not computed: nobody may ask for them.
  bool defines_what_is_read(uint32_t index, const RegionBuilder& builder) const {
    if (computes_number(instructions_[index].op)) return true;
    const auto defined = builder.newly_defined();
    bool fits = true;
    for (const uint32_t arg : instructions_[index].written) {
      program::for_each_item(method_, arg, [&](uint32_t value) {
        fits &= std::find(defined.begin(), defined.end(), value) != defined.end() ||
                !is_used_outside(value, index, index + 1);
      });
    }
    return fits;
  }

  // Values in planned memory that nothing writes: views that exporters dropped the instructions of. For methods whose
  // memory was not analysed.
  void find_views() {
    std::vector<bool> is_written(method_.values.size(), false);
    for (const uint32_t input : method_.inputs) is_written[input] = true;
    for (const Instruction& instruction : instructions_) {
      for (const uint32_t arg : instruction.written) {
        program::for_each_item(method_, arg, [&](uint32_t value) { is_written[value] = true; });
      }
    }
    for (uint32_t v = 0; v < method_.values.size(); ++v) {
      const program::Tensor* tensor = placed(v);
      if (tensor != nullptr && !is_written[v] && (is_output_[v] || !readers_[v].empty())) views_.push_back(v);
    }
  }

  const program::Tensor* placed(uint32_t value) const {
    const auto* tensor = std::get_if<program::Tensor>(&method_.values[value]);
    return tensor != nullptr && program::is_placed(*tensor) ? tensor : nullptr;
  }

  // Whether the method returns the value, or an instruction outside of [begin, end) has it as an argument, or a view of
  // it.
  bool is_used_outside(uint32_t value, uint32_t begin, uint32_t end) const {
    const auto is_used = [&](uint32_t v) {
      return is_output_[v] || std::any_of(readers_[v].begin(), readers_[v].end(),
                                          [&](uint32_t reader) { return reader < begin || reader >= end; });
    };
    if (is_used(value)) return true;
    if (memory_.is_known) {
      const std::vector<uint32_t>& views = memory_.views_of[value];
      return std::any_of(views.begin(), views.end(), is_used);
    }
    return any_view(value, is_used);
  }

  // Whether one of views_ that lies in the value's memory fulfils the condition.
  template <class Condition>
  bool any_view(uint32_t value, const Condition& condition) const {
    const program::Tensor* tensor = placed(value);
    return tensor != nullptr && std::any_of(views_.begin(), views_.end(), [&](uint32_t view) {
             return program::overlap(*tensor, *placed(view)) && condition(view);
           });
  }

  // Whether a region that computes the value reads it, or a view of it, from memory: it belongs to a loop.
  bool is_read_by_next_turn(uint32_t value, const RegionBuilder& builder) const {
    const auto is_read = [&](uint32_t v) { return builder.reads_input(v); };
    return is_read(value) || any_view(value, is_read);  // of methods without loops views_ is empty
  }

  std::optional<uint32_t> find_needed_condition(uint32_t begin, uint32_t end, const RegionBuilder& builder) const {
    for (const uint32_t value : builder.defined()) {
      if (!builder.is_condition(value) || !is_used_outside(value, begin, end)) continue;
      for (uint32_t i = begin; i < end; ++i) {
        const auto& written = instructions_[i].written;
        if (std::find(written.begin(), written.end(), value) != written.end()) return i;
      }
    }
    return std::nullopt;
  }

  std::optional<Region> make_region(uint32_t begin, uint32_t end, RegionBuilder& builder) {
    std::vector<uint32_t> outputs = builder.defined();
    std::sort(outputs.begin(), outputs.end());
    outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
    std::erase_if(outputs, [&](uint32_t value) {
      return !is_used_outside(value, begin, end) && !is_read_by_next_turn(value, builder);
    });
    Region region{begin,
                  end,
                  {},
                  std::move(outputs),
                  builder.measured(),
                  integers_.asked(),
                  integers_.computed(),
                  std::make_shared<Variants>(source_, instructions_.subspan(begin, end - begin))};
    try {
      Variant variant = compile(*source_, region, builder, integers_);
      for (const Port& port : builder.inputs) region.inputs.push_back(port.value);
      region.outputs.clear();
      for (const Port& port : builder.outputs) region.outputs.push_back(port.value);
      region.variants->add(declared_key(region), std::move(variant));
    } catch (const Error&) {
      return std::nullopt;  // the operators themselves will say what is wrong
    } catch (const std::bad_alloc&) {
      return std::nullopt;  // they may need less
    }
    return region;
  }

  Variants::Key declared_key(const Region& region) {
    Variants::Key key;
    for (const auto* values : {&region.inputs, &region.measured}) {
      for (const uint32_t value : *values) {
        const auto& tensor = std::get<program::Tensor>(method_.values[value]);
        if (tensor.dynamism != program::Dynamism::kStatic)
          key.insert(key.end(), tensor.sizes.begin(), tensor.sizes.end());
      }
    }
    for (const uint32_t value : region.integers) key.push_back(integers_.at(value));
    return key;
  }

  const program::Method& method_;
  std::span<const Instruction> instructions_;
  const PlannedMemory& memory_;
  std::vector<std::vector<uint32_t>> readers_;  // for each value the instructions that have it as an argument
  std::vector<uint32_t> writers_;               // for each value how many instructions write it
  std::vector<bool> is_output_;                 // of the method
  std::vector<bool> blocked_;                   // instructions that stay
  std::vector<uint32_t> views_;
  size_t reads_ = 0;
  uint64_t constant_bytes_ = 0, appended_ = kMaxAppended;
  std::shared_ptr<const Source> source_;
  Integers integers_;
};

}  // namespace

bool is_enabled() {
  const char* text = std::getenv("ENR_RAISE");
  return text == nullptr || std::strcmp(text, "0") != 0;
}

std::vector<Region> find_regions(const program::Method& method, std::span<const Instruction> instructions,
                                 const PlannedMemory& memory, WeightCache& weights) {
  return Search(method, instructions, memory, weights).run();
}

}  // namespace enr::raise
