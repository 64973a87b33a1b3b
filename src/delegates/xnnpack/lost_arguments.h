#pragma once

#include <span>
#include <vector>

#include "delegates/xnnpack/payload.h"
#include "program/program.h"

namespace enr::delegates::xnnpack {

// Ends messages about arguments of which nothing is left.
inline constexpr const char* kLostArguments =
    "; the exporter lost what writes the other arguments (of an operator that was quantised, but not delegated: leave "
    "it unquantised)";

// Exporters lose an argument with which a delegate does nothing but quantise and dequantise it: of the two conversions
// only one becomes a node, and the integers are of no argument. Where the positions that are missing are as many as
// such integers, the arguments are added to the values, in the order of both.
struct LostConversions {
  std::vector<Node> before, after;  // to be run around the nodes
};
LostConversions restore_lost_arguments(uint32_t argument_count, const std::vector<Node>& nodes,
                                       std::vector<Value>& values);

// A delegate that does nothing else has lost both conversions, and with them all it says about its arguments: lets it
// pass the argument on. `arguments` are the call's, as the program declares them. Throws where it has other arguments
// than floats and their result.
void restore_lost_graph(Payload& payload, std::span<const program::Tensor* const> arguments);

}  // namespace enr::delegates::xnnpack
