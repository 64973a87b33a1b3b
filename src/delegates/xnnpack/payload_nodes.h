#pragma once

// Nodes of a payload.

#include "base/flatbuffer.h"
#include "delegates/xnnpack/payload.h"
#include "delegates/xnnpack/payload_values.h"

namespace enr::delegates::xnnpack {

// Reads one node: ids become indices, parameters are copied. Nothing is compared with the values yet.
Node decode_node(const flatbuffer::Table& entry, const DecodedValues& values);

// Whether the parameters fit each other and the ranks and channels of the values.
void check_node(const Node& node, const std::vector<Value>& values);

}  // namespace enr::delegates::xnnpack
