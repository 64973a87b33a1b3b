#pragma once

// A graph optimised once and planned for each set of input shapes it meets. A CompiledGraph is shared by threads; a
// GraphRunner is one caller's workspace.

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/weight_cache.h"
#include "graph/graph.h"
#include "graph/plan.h"

namespace enr::graph {

class CompiledGraph {
 public:
  // Plans for the shapes the graph declares, so that what does not fit together fails here. `weights` must outlive
  // this.
  CompiledGraph(Graph graph, WeightCache& weights);

  const Graph& graph() const noexcept { return graph_; }

  // The plan for these input shapes, made if it is not among the ones used last. Thread-safe; throws fail_execution
  // where the shapes do not fit.
  std::shared_ptr<const Plan> plan_for(std::span<const Shape> inputs) const;

 private:
  Graph graph_;
  mutable PlanContext context_;
  mutable std::mutex mutex_;
  mutable std::list<std::shared_ptr<const Plan>> plans_;  // the one used last in front
};

class GraphRunner {
 public:
  explicit GraphRunner(std::shared_ptr<const CompiledGraph> compiled) : compiled_(std::move(compiled)) {}

  // Prepares for these input shapes; the result's outputs() are the shapes of what run will write.
  const Plan& prepare(std::span<const Shape> inputs);

  // `arguments`: an address for each of the graph's arguments, in order. After prepare.
  void run(std::span<std::byte* const> arguments, TraceSink* trace = nullptr);

  size_t workspace_bytes() const noexcept { return workspace_.size_bytes(); }

 private:
  std::shared_ptr<const CompiledGraph> compiled_;
  std::shared_ptr<const Plan> plan_;
  AlignedBuffer workspace_;
  std::vector<std::byte*> pointers_;
  std::vector<std::byte*> arguments_;  // that pointers_ was made for
};

}  // namespace enr::graph
