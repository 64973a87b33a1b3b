#pragma once

// Values of a payload: shapes, constants and quantisation parameters.

#include <unordered_map>
#include <vector>

#include "base/flatbuffer.h"
#include "delegates/xnnpack/payload.h"
#include "delegates/xnnpack/payload_constants.h"

namespace enr::delegates::xnnpack {

struct DecodedValues {
  std::vector<Value> values;
  std::unordered_map<uint32_t, uint32_t> index_of_id;
  // External inputs that graphs of the first format (XN00) want quantised at run time before any node reads them.
  std::vector<uint32_t> to_quantise;
};

DecodedValues decode_values(const flatbuffer::Table& graph, Constants& constants);

}  // namespace enr::delegates::xnnpack
