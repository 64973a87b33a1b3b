#pragma once

// Runs a region on the values of a method.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/trace.h"
#include "graph/compiled_graph.h"
#include "ops/context.h"
#include "ops/value.h"
#include "raise/variants.h"

namespace enr::raise {

class RegionRunner {
 public:
  // `values` are the method's, where they stay, as `region` does.
  RegionRunner(const program::Method& method, const Region& region, std::span<Value> values);

  // False, with nothing done, where a tensor is not what the region can be made for: its instructions then say what is
  // wrong, or compute as well.
  bool run(OpContext& context, TraceSink* trace);

 private:
  struct Port {
    Value* value;
    const program::Tensor* declared;
  };
  bool find_key();
  bool find_variant();
  bool size_outputs(OpContext& context);
  void find_staged();

  const Region& region_;
  std::span<Value> values_;
  std::vector<Port> ports_;     // the graph's arguments
  std::vector<Port> measured_;  // tensors that only the sizes of matter
  size_t input_count_;
  Variants::Key key_, key_in_use_;
  std::shared_ptr<const Variant> variant_;  // for key_in_use_
  std::optional<graph::GraphRunner> runner_;
  std::vector<graph::Shape> shapes_;    // of the inputs, in memory order
  std::vector<std::byte*> tensors_;     // where the arguments' memory is
  std::vector<std::byte*> staged_for_;  // tensors_ that staged_ was found for
  std::vector<bool> staged_;            // outputs that are computed elsewhere and then copied
  std::vector<std::byte*> addresses_;
};

}  // namespace enr::raise
