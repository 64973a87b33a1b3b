#include "delegates/xnnpack/declared_shapes.h"

#include <algorithm>

#include "base/error.h"
#include "graph/infer.h"

namespace enr::delegates::xnnpack {

void find_shapes(const Payload& payload, graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes) {
    graph::infer_shapes(graph, node);
    for (const graph::ValueId id : node.outputs) {
      if (id >= payload.values.size()) continue;  // inside of a node that became several
      const std::vector<int64_t>& declared = payload.values[id].dims;
      const auto inferred = graph.values[id].shape.dims();
      const bool agree = graph.values[id].is_output ? std::ranges::equal(inferred, declared)
                                                    : std::ranges::is_permutation(inferred, declared);
      if (!agree) {
        fail_load("xnodes[", node.origin, "].", node_type_name(payload.nodes[node.origin].type), ": gives value ", id,
                  " the shape ", inferred, ", declared is ", declared);
      }
    }
  }
}

}  // namespace enr::delegates::xnnpack
