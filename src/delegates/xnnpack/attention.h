#pragma once

// Scaled dot-product attention as the nodes it is made of.

#include "delegates/xnnpack/payload.h"
#include "graph/graph.h"

namespace enr::delegates::xnnpack {

// Appends softmax(q * scale . k^T + mask) . v to the graph, whose first values are the payload's. Exporters have not
// written this node yet; the meaning is XNNPACK's.
// one_head: keys and values have no dim of heads, one head of them serves all (multi-query attention).
void translate_attention(const Node& from, uint32_t origin, bool one_head, graph::Graph& to);

}  // namespace enr::delegates::xnnpack
