#pragma once

// From a checked payload to the graph that computes it.

#include "delegates/xnnpack/payload.h"
#include "graph/graph.h"

namespace enr::delegates::xnnpack {

// The graph's constants refer to the payload's data. Throws kProgramLoad where the delegate has no such computation.
graph::Graph translate(const Payload& payload);

}  // namespace enr::delegates::xnnpack
