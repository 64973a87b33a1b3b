#include "graph/compiled_graph.h"

#include <algorithm>

#include "graph/passes.h"

namespace enr::graph {

namespace {

// Enough for a caller that alternates between a few shapes; plans of static graphs need one.
constexpr size_t kMaxPlans = 16;

std::vector<Shape> declared_inputs(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const ValueId id : graph.arguments) {
    if (graph.values[id].is_input) shapes.push_back(graph.values[id].shape);
  }
  return shapes;
}

}  // namespace

CompiledGraph::CompiledGraph(Graph graph, std::shared_ptr<PlanContext> context, Shapes shapes)
    : graph_(std::move(graph)), context_(std::move(context)) {
  optimize(graph_);
  if (shapes == Shapes::kStay) let_go_of_packed_constants();
  plans_.push_back(std::make_shared<const Plan>(graph_, declared_inputs(graph_), *context_));
  context_->until_packed.clear();
}

// Filters that one node reads, and reads when it is planned only, and what is not read at all.
void CompiledGraph::let_go_of_packed_constants() {
  const auto readers = find_readers(graph_);
  for (ValueId id = 0; id < graph_.values.size(); ++id) {
    Value& value = graph_.values[id];
    if (!readers[id].empty() || value.is_external()) continue;
    value.data = nullptr;
    value.owner.reset();
  }
  for (const Node& node : graph_.nodes) {
    if (!is_product(node.op)) continue;
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
    if (node.op == Op::kFullyConnected && has_bias && !graph_.values[node.inputs[2]].is_constant()) continue;
    Value& filter = graph_.values[node.inputs[1]];
    if (filter.owner == nullptr || readers[node.inputs[1]].size() != 1) continue;
    context_->until_packed[filter.data] = std::move(filter.owner);
    filter.owner = std::shared_ptr<const void>(filter.data, [](const void*) {});  // says that a pass made it
  }
}

std::shared_ptr<const Plan> CompiledGraph::plan_for(std::span<const Shape> inputs) const {
  const auto fits = [&](const std::shared_ptr<const Plan>& plan) { return std::ranges::equal(plan->inputs(), inputs); };
  const auto find = [&]() -> std::shared_ptr<const Plan> {
    const auto found = std::find_if(plans_.begin(), plans_.end(), fits);
    if (found == plans_.end()) return nullptr;
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front();
  };
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (auto plan = find()) return plan;
  }
  auto made = std::make_shared<const Plan>(graph_, inputs, *context_);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (auto plan = find()) return plan;
  plans_.push_front(std::move(made));
  if (plans_.size() > kMaxPlans) plans_.pop_back();
  return plans_.front();
}

size_t CompiledGraph::workspace_bytes() const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t bytes = 0;
  for (const auto& plan : plans_) bytes = std::max(bytes, plan->workspace_bytes());
  return bytes;
}

const Plan& GraphRunner::prepare(std::span<const Shape> inputs) {
  if (plan_ == nullptr || !std::ranges::equal(plan_->inputs(), inputs)) {
    plan_ = compiled_->plan_for(inputs);
    pointers_.clear();
  }
  return *plan_;
}

void GraphRunner::run(std::span<std::byte* const> arguments, std::byte* workspace, TraceSink* trace) {
  if (pointers_.empty() || workspace_ != workspace || !std::ranges::equal(arguments_, arguments)) {
    workspace_ = workspace;
    arguments_.assign(arguments.begin(), arguments.end());
    pointers_.clear();
    for (const Location& location : plan_->locations()) {
      std::byte* address = nullptr;
      switch (location.base) {
        case Location::Base::kUnused:
          break;
        // Steps only read constants; the frame has one kind of pointer for all.
        case Location::Base::kConstant:
          address = const_cast<std::byte*>(location.constant);
          break;
        case Location::Base::kWorkspace:
          address = workspace + location.offset;
          break;
        case Location::Base::kArgument:
          address = arguments[location.argument] + location.offset;
          break;
      }
      pointers_.push_back(address);
    }
  }
  plan_->run(Frame{pointers_.data()}, trace);
}

}  // namespace enr::graph
