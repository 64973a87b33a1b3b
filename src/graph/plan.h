#pragma once

// A graph made ready to run for one set of input shapes: steps, and where each value lies. Immutable.

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/trace.h"
#include "base/weight_cache.h"
#include "graph/graph.h"
#include "graph/step.h"
#include "kernels/conv/conv.h"

namespace enr::graph {

// What plans of one graph share: packed weights and the choices that decide how they are packed.
struct PlanContext {
  explicit PlanContext(WeightCache& program_weights) : weights(program_weights), own_weights(&program_weights) {}

  WeightCache& weights;     // of the program's constants
  WeightCache own_weights;  // of constants that passes made: their addresses mean nothing to others
  // The weight format of a convolution, by filter: chosen by the first plan and kept by later ones, which would else
  // pack the weights again for another input size.
  std::mutex mutex;
  std::map<const void*, kernels::ConvWeights> conv_formats;
  // Constants, by their elements, that nobody needs once they are packed.
  std::map<const void*, std::shared_ptr<const void>> until_packed;
};

// An operand's place: bytes from one of the frame's bases.
struct Location {
  enum class Base : uint8_t { kUnused, kConstant, kWorkspace, kArgument };
  Base base = Base::kUnused;
  uint32_t argument = 0;
  size_t offset = 0;
  const std::byte* constant = nullptr;
};

class Plan {
 public:
  // `graph` has its passes behind it; `inputs` are the shapes of its input arguments, in order. Throws fail_execution
  // where they do not fit. `context` must outlive the constructor only.
  Plan(const Graph& graph, std::span<const Shape> inputs, PlanContext& context);

  std::span<const Shape> inputs() const noexcept { return inputs_; }
  // Of the arguments that are outputs, in order.
  std::span<const Shape> outputs() const noexcept { return outputs_; }
  std::span<const std::unique_ptr<Step>> steps() const noexcept { return steps_; }
  std::span<const Location> locations() const noexcept { return locations_; }
  size_t workspace_bytes() const noexcept { return workspace_bytes_; }

  // `frame` holds an address for each location.
  void run(const Frame& frame, TraceSink* trace) const;

 private:
  std::vector<Shape> inputs_, outputs_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Location> locations_;
  size_t workspace_bytes_ = 0;
};

}  // namespace enr::graph
