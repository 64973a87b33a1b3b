#pragma once

// The graphs of one region. Where sizes vary, there is one for each set of sizes it meets: its instructions are
// translated anew, as if the program had been exported for these sizes.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "graph/compiled_graph.h"
#include "raise/integers.h"
#include "raise/region_builder.h"
#include "raise/regions.h"

namespace enr::raise {

// What the regions of one method are made from.
struct Source {
  const program::Method& method;
  WeightCache& weights;
  std::vector<bool> varies;     // by value: whether an instruction may change it
  uint64_t constant_bytes = 0;  // that a graph's constants in other layouts may take
  // Shared by all graphs where sizes vary, so that they share weights; null where each region has one graph.
  std::shared_ptr<graph::PlanContext> context;
};

struct Variant {
  std::shared_ptr<const graph::CompiledGraph> graph;  // null where the instructions have to run
  std::vector<std::vector<int64_t>> outputs;          // sizes
  std::vector<int64_t> computed;                      // parallel to Region::computed
};

// The graph of what `builder` has translated, for the region it has become. Throws where something does not fit.
Variant compile(const Source& source, const Region& region, RegionBuilder& builder, Integers& integers);

class Variants {
 public:
  // What the instructions' spans refer to must outlive this.
  Variants(std::shared_ptr<const Source> source, std::span<const Instruction> instructions)
      : source_(std::move(source)), instructions_(instructions.begin(), instructions.end()) {}

  // Sizes of the inputs that vary, sizes of what is measured, integers: one after the other.
  using Key = std::vector<int64_t>;

  // The graph for the sizes that the program declares.
  void add(Key key, Variant variant) {
    kept_.push_front({std::move(key), std::make_shared<const Variant>(std::move(variant))});
  }
  // That of other sizes, made if it is not among the ones used last. Thread-safe.
  std::shared_ptr<const Variant> get(const Region& region, const Key& key);

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Variant> variant;
  };
  Variant make(const Region& region, const Key& key) const;

  std::shared_ptr<const Source> source_;
  std::vector<Instruction> instructions_;
  std::mutex mutex_;
  std::list<Entry> kept_;  // the one used last in front
};

}  // namespace enr::raise
