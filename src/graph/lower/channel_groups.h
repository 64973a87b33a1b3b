#pragma once

#include "graph/lower/band_rows.h"
#include "graph/lowering.h"

namespace enr::graph {

// Whether [pointwise] -> depthwise -> [pointwise] is cut by channels rather than into bands of rows.
bool suits_channel_groups(const Lowering& lowering, const BandNodes& nodes);
void lower_channel_groups(Lowering& lowering, const Node& node, const BandNodes& nodes);

}  // namespace enr::graph
