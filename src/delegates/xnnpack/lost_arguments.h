#pragma once

#include <vector>

#include "delegates/xnnpack/payload.h"

namespace enr::delegates::xnnpack {

// Exporters lose an argument with which a delegate does nothing but quantise and dequantise it: of the two conversions
// only one becomes a node, and the integers are of no argument. Where the positions that are missing are as many as
// such integers, the arguments are added to the values, in the order of both.
struct LostConversions {
  std::vector<Node> before, after;  // to be run around the nodes
};
LostConversions restore_lost_arguments(uint32_t argument_count, const std::vector<Node>& nodes,
                                       std::vector<Value>& values);

}  // namespace enr::delegates::xnnpack
