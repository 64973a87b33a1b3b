#pragma once

// Exporters turn a quantised image to planes (NCHW) where it leaves the graph in floats. Nodes that read the same
// floats are given the planes too, although all else in them - dims, axes, the way back to planes - speaks of pixels
// (NHWC).

#include "delegates/xnnpack/payload.h"

namespace enr::delegates::xnnpack {

// Gives such nodes the image in pixels, by a conversion of its own. Whether there were any. What the graph then
// computes has the declared shapes, or else it was meant as it was.
bool read_outputs_as_pixels(Payload& payload);

}  // namespace enr::delegates::xnnpack
