#pragma once

// Which layout the exporter took the images of a delegate call's arguments for.

#include <span>

#include "delegates/xnnpack/payload.h"
#include "program/program.h"

namespace enr::delegates::xnnpack {

// `arguments` are those of the call by position, as the program declares them; null for what is no tensor.
void set_layouts(Payload& payload, std::span<const program::Tensor* const> arguments);

// Exporters that look for the layout of a quantised argument do not find it: to nodes that take any layout, an argument
// in pixels (NHWC) is one in planes. They are written for planes, and their results are turned to pixels for who needs
// these. Turns the quantised image to planes for them. Whether it was so: other exporters find the layout. What nodes,
// dims and results say about it decides.
bool turn_quantised_arguments(Payload& payload);

}  // namespace enr::delegates::xnnpack
