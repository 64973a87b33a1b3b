#pragma once

// Shapes of a node's results from those of its inputs.

#include "graph/graph.h"

namespace enr::graph {

// Sets the shapes of the node's outputs. Throws (fail_execution) where the inputs' shapes do not fit the node or each
// other.
void infer_shapes(Graph& graph, const Node& node);

// The second operand of a batch matmul as it multiplies: with a dim of 1 where it lacks the last batch dim.
Shape matmul_operand(const Node& node, const Shape& b);

// For all nodes in order.
void infer_shapes(Graph& graph);

}  // namespace enr::graph
