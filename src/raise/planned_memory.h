#pragma once

// Whether values can be told apart by their index although they share planned memory.

#include <span>

#include "program/program.h"
#include "raise/regions.h"

namespace enr::raise {

// Memory planning lets values share memory when one is needed no more. False where a method reads as one value what was
// written as another (but for views, values that nothing writes), or a mixture: no exporter plans so, and regions,
// which do not write what nobody reads by name, would compute something else. Methods that branch are not looked at.
bool is_plainly_planned(const program::Method& method, std::span<const Instruction> instructions);

}  // namespace enr::raise
