#include "raise/variants.h"

#include <algorithm>
#include <new>

#include "base/error.h"
#include "graph/passes.h"
#include "raise/translate.h"

namespace enr::raise {

namespace {

// Enough for a caller that alternates between a few sizes.
constexpr size_t kMaxVariants = 16;

bool varies(const program::Tensor& tensor) { return tensor.dynamism != program::Dynamism::kStatic; }

bool is_same(const std::vector<Port>& ports, const std::vector<uint32_t>& values) {
  return std::equal(ports.begin(), ports.end(), values.begin(), values.end(),
                    [](const Port& port, uint32_t value) { return port.value == value; });
}

}  // namespace

Variant compile(const Source& source, const Region& region, RegionBuilder& builder, Integers& integers) {
  builder.finish(region.outputs);
  graph::compute_in_integers(builder.graph);
  Variant variant;
  for (const Port& port : builder.outputs) variant.outputs.push_back(builder.sizes_of(port.value));
  for (const uint32_t value : region.computed) variant.computed.push_back(integers.at(value));
  using graph::CompiledGraph;
  variant.graph = source.context != nullptr
                      ? std::make_shared<const CompiledGraph>(std::move(builder.graph), source.context,
                                                              CompiledGraph::Shapes::kVary)
                      : std::make_shared<const CompiledGraph>(std::move(builder.graph), source.weights,
                                                              CompiledGraph::Shapes::kStay);
  return variant;
}

std::shared_ptr<const Variant> Variants::get(const Region& region, const Key& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found == kept_.end()) {
    Variant variant;
    try {
      variant = make(region, key);
    } catch (const Error&) {
      // The operators themselves will say what is wrong, or compute as well.
    } catch (const std::bad_alloc&) {
      // They may need less.
    }
    add(key, std::move(variant));
    if (kept_.size() > kMaxVariants) kept_.pop_back();
    found = kept_.begin();
  }
  kept_.splice(kept_.begin(), kept_, found);
  return kept_.front().variant;
}

Variant Variants::make(const Region& region, const Key& key) const {
  const program::Method& method = source_->method;
  RegionBuilder::Sizes sizes;
  auto next = key.begin();
  for (const auto* values : {&region.inputs, &region.measured}) {
    for (const uint32_t value : *values) {
      const auto& tensor = std::get<program::Tensor>(method.values[value]);
      if (!varies(tensor)) continue;
      const auto rank = static_cast<ptrdiff_t>(tensor.sizes.size());
      sizes[value].assign(next, next + rank);
      next += rank;
    }
  }
  Integers integers(method, source_->varies);
  for (const uint32_t value : region.integers) integers.set(value, *next++);
  uint64_t constant_bytes = source_->constant_bytes, appended = UINT64_MAX;  // no more than for the declared sizes
  RegionBuilder builder(method, constant_bytes, appended, source_->context.get(), &sizes);
  for (size_t i = 0; i < instructions_.size(); ++i) {
    builder.begin(region.begin + static_cast<uint32_t>(i));
    translate(builder, method, integers, instructions_[i]);
  }
  Variant variant = compile(*source_, region, builder, integers);
  if (!is_same(builder.inputs, region.inputs) || !is_same(builder.outputs, region.outputs)) {
    fail_execution("other arguments than for the declared sizes");
  }
  return variant;
}

}  // namespace enr::raise
