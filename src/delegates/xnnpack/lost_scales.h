#pragma once

#include <span>

#include "delegates/xnnpack/payload.h"
#include "program/program.h"

namespace enr::delegates::xnnpack {

// Of linear layers whose weights alone are quantised, exporters write the integers as float weights, and pass scales,
// zero points and some biases as arguments that no node reads. Gives the layers their weights and biases. `arguments`
// are the call's by position, as the program declares them; null for what is no tensor. Arguments are in the order of
// the program's layers, nodes need not be: layers of equally many outputs have to read each other's results, one after
// the other, or it throws, as whose is whose is not told.
void restore_lost_scales(Payload& payload, std::span<const program::Tensor* const> arguments);

}  // namespace enr::delegates::xnnpack
