#pragma once

// Scaled dot-product attention as the nodes it is made of.

#include "delegates/xnnpack/payload.h"
#include "graph/graph.h"

namespace enr::delegates::xnnpack {

// Appends softmax(q * scale . k^T + mask) . v to the graph, whose first values are the payload's. Exporters have not
// written this node yet; the meaning is XNNPACK's.
void translate_attention(const Node& from, uint32_t origin, graph::Graph& to);

}  // namespace enr::delegates::xnnpack
