#pragma once

// Shapes of a node's results from those of its inputs.

#include "graph/graph.h"

namespace enr::graph {

// Sets the shapes of the node's outputs. Throws (fail_execution) where the inputs' shapes do not fit the node or each
// other.
void infer_shapes(Graph& graph, const Node& node);

// For all nodes in order.
void infer_shapes(Graph& graph);

}  // namespace enr::graph
