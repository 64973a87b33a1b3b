#pragma once

// Runs a region on the values of a method.

#include <span>
#include <vector>

#include "base/trace.h"
#include "graph/compiled_graph.h"
#include "ops/context.h"
#include "ops/value.h"
#include "raise/regions.h"

namespace enr::raise {

class RegionRunner {
 public:
  // `values` are the method's, where they stay.
  RegionRunner(const program::Method& method, const Region& region, std::span<Value> values);

  // False, with nothing done, where a tensor is not what the region was made for: its instructions then say what is
  // wrong, or compute as well.
  bool run(OpContext& context, TraceSink* trace);

 private:
  struct Port {
    Value* value;
    const program::Tensor* declared;
  };
  static bool fits(const Port& port, bool is_output);
  void find_staged();

  graph::GraphRunner runner_;
  std::vector<Port> ports_;  // the graph's arguments
  size_t input_count_;
  std::vector<graph::Shape> shapes_;    // of the inputs
  std::vector<std::byte*> tensors_;     // where the arguments' memory is
  std::vector<std::byte*> staged_for_;  // tensors_ that staged_ was found for
  std::vector<bool> staged_;            // outputs that are computed elsewhere and then copied
  std::vector<std::byte*> addresses_;
};

}  // namespace enr::raise
