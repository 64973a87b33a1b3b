#pragma once

// One method of a .pte: values, then the instructions that refer to them.

#include <string>

#include "base/flatbuffer.h"
#include "program/constants.h"
#include "program/program.h"

namespace enr::program {

Method decode_method(const flatbuffer::Table& plan, DataTables& data, std::string name);

// Checks indices and kinds of what the instructions of a chain refer to; `method` has its values, operators and
// delegates.
Chain decode_chain(const flatbuffer::Table& chain, const Method& method);

}  // namespace enr::program
