#pragma once

#include "delegates/xnnpack/payload.h"
#include "graph/graph.h"

namespace enr::delegates::xnnpack {

// Throws where the nodes of a graph, made from this payload, give values other shapes at the declared inputs than the
// payload declares. It is what bounds a workspace: declared shapes are bounded by the reader.
void check_declared_shapes(const Payload& payload, graph::Graph graph);

}  // namespace enr::delegates::xnnpack
