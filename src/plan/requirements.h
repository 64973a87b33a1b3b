#pragma once

// Whether this build has all that a program calls for.

#include "program/program.h"

namespace enr::plan {

// Throws kBackendNotAvailable or kOperatorNotFound where `method` needs something missing. The message lists everything
// missing, each once, with the number of calls and the methods of the program that make them.
void check_requirements(const program::Program& program, const program::Method& method);

}  // namespace enr::plan
