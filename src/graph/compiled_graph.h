#pragma once

// A graph optimised once and planned for each set of input shapes it meets. A CompiledGraph is shared by threads; a
// GraphRunner belongs to one caller.

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/weight_cache.h"
#include "graph/graph.h"
#include "graph/plan.h"

namespace enr::graph {

class CompiledGraph {
 public:
  enum class Shapes { kVary, kStay };

  // Plans for the shapes the graph declares, so that what does not fit together fails here. `weights` must outlive
  // this. Where shapes stay as declared, constants that passes made are freed as soon as they are packed.
  CompiledGraph(Graph graph, WeightCache& weights, Shapes shapes = Shapes::kVary)
      : CompiledGraph(std::move(graph), std::make_shared<PlanContext>(weights), shapes) {}
  // Graphs of one context share what is packed of constants they share.
  CompiledGraph(Graph graph, std::shared_ptr<PlanContext> context, Shapes shapes);

  const Graph& graph() const noexcept { return graph_; }

  // The plan for these input shapes, made if it is not among the ones used last. Thread-safe; throws fail_execution
  // where the shapes do not fit.
  std::shared_ptr<const Plan> plan_for(std::span<const Shape> inputs) const;

  // The most that any plan made so far needs; the declared shapes have one from the start. Thread-safe.
  size_t workspace_bytes() const noexcept;

 private:
  void let_go_of_packed_constants();

  Graph graph_;
  std::shared_ptr<PlanContext> context_;
  mutable std::mutex mutex_;
  mutable std::list<std::shared_ptr<const Plan>> plans_;  // the one used last in front
};

class GraphRunner {
 public:
  explicit GraphRunner(std::shared_ptr<const CompiledGraph> compiled) : compiled_(std::move(compiled)) {}

  // Prepares for these input shapes; the result's outputs() are the shapes of what run will write.
  const Plan& prepare(std::span<const Shape> inputs);

  // `arguments`: an address for each of the graph's arguments, in order. `workspace`: workspace_bytes() of the prepared
  // plan, aligned to a cache line; nothing is kept there between runs.
  void run(std::span<std::byte* const> arguments, std::byte* workspace, TraceSink* trace = nullptr);

 private:
  std::shared_ptr<const CompiledGraph> compiled_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::byte*> pointers_;
  std::vector<std::byte*> arguments_;  // that pointers_ was made for
  std::byte* workspace_ = nullptr;     // likewise
};

}  // namespace enr::graph
