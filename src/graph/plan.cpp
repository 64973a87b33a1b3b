#include "graph/plan.h"

#include <chrono>
#include <cmath>

#include "base/error.h"
#include "graph/infer.h"
#include "graph/layout.h"
#include "graph/lowering.h"
#include "graph/passes.h"

namespace enr::graph {

namespace {

uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// When the values that share a root are first written and last read.
std::vector<Block> find_lifetimes(const Graph& graph, const Layouts& layouts) {
  std::vector<Block> blocks(graph.values.size());
  std::vector<bool> seen(graph.values.size(), false);
  const auto touch = [&](ValueId id, uint32_t node) {
    if (id == kNoValue) return;
    const ValueId root = layouts.views[id].root;
    Block& block = blocks[root];
    if (!seen[root]) block.first = node;
    seen[root] = true;
    block.last = node;
    block.size_bytes = value_bytes(graph.values[root]);
  };
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const ValueId id : node.inputs) touch(id, n);
    touch(node.post.residual, n);
    for (const ValueId id : node.outputs) touch(id, n);
  }
  return blocks;
}

}  // namespace

Plan::Plan(const Graph& source, std::span<const Shape> inputs, PlanContext& context)
    : inputs_(inputs.begin(), inputs.end()) {
  Graph graph = source;
  size_t next_input = 0;
  for (const ValueId id : graph.arguments) {
    if (graph.values[id].is_input) graph.values[id].shape = inputs_[next_input++];
  }
  infer_shapes(graph);
  simplify_movement(graph);
  quantize_in_transposes(graph);
  read_planes(graph);
  fuse_residuals(graph);
  fuse_depthwise(graph);
  read_parts(graph, context);

  const Layouts layouts = choose_layouts(graph);
  Lowering lowering(graph, layouts, context);
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    lowering.current_node = n;
    if (!layouts.is_view(graph.nodes[n])) lower(lowering, graph.nodes[n]);
  }
  steps_ = std::move(lowering.steps);

  // Roots that are neither arguments nor constants, and scratch, share the workspace.
  std::vector<Block> blocks = find_lifetimes(graph, layouts);
  const size_t values = graph.values.size();
  std::vector<Block> needed;
  std::vector<size_t> block_of(values + lowering.scratches.size(), SIZE_MAX);
  for (ValueId v = 0; v < values; ++v) {
    const Value& value = graph.values[v];
    if (layouts.views[v].root != v || value.is_external() || value.is_constant() || blocks[v].size_bytes == 0) continue;
    block_of[v] = needed.size();
    needed.push_back(blocks[v]);
  }
  for (size_t s = 0; s < lowering.scratches.size(); ++s) {
    block_of[values + s] = needed.size();
    needed.push_back({lowering.scratches[s].size_bytes, lowering.scratches[s].node, lowering.scratches[s].node, 0});
  }
  workspace_bytes_ = place_blocks(needed);

  locations_.resize(block_of.size());
  for (size_t i = 0; i < locations_.size(); ++i) {
    const ValueId root = i < values ? layouts.views[i].root : static_cast<ValueId>(i);
    Location& location = locations_[i];
    location.offset = i < values ? layouts.views[i].offset_bytes : 0;
    if (block_of[root] != SIZE_MAX) {
      location.base = Location::Base::kWorkspace;
      location.offset += needed[block_of[root]].offset;
    } else if (graph.values[root].is_external()) {
      location.base = Location::Base::kArgument;
      location.argument = graph.values[root].argument;
    } else if (graph.values[root].is_constant()) {
      location.base = Location::Base::kConstant;
      location.constant = graph.values[root].data + location.offset;
    }
  }
  for (const ValueId id : graph.arguments) {
    if (graph.values[id].is_output) outputs_.push_back(graph.values[id].shape);
  }
}

void Plan::run(const Frame& frame, TraceSink* trace) const {
  if (trace == nullptr) {
    for (const auto& step : steps_) step->run(frame);
    return;
  }
  for (const auto& step : steps_) {
    const uint64_t start = now_ns();
    step->run(frame);
    const uint64_t duration = now_ns() - start;
    std::string detail = concat("node ", step->origin, ' ', step->shape.dims());
    if (step->operations > 0 && duration > 0) {
      detail += concat(' ', std::lround(step->operations / static_cast<double>(duration)), " GFLOP/s");
    }
    trace->record({"step", step->name, -1, start, duration, std::move(detail)});
  }
}

}  // namespace enr::graph
