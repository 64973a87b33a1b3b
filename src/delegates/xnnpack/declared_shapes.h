#pragma once

#include "delegates/xnnpack/payload.h"
#include "graph/graph.h"

namespace enr::delegates::xnnpack {

// Gives the values of a graph, made from this payload, the shapes they have at the declared inputs. Throws where these
// are not what the payload declares; inside the graph exporters may declare the dims in the order of another layout. It
// is what bounds a workspace: declared shapes are bounded by the reader.
void find_shapes(const Payload& payload, graph::Graph& graph);

}  // namespace enr::delegates::xnnpack
