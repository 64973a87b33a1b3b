#pragma once

// Which inputs can be read, and which outputs written, directly in the caller's arrays.

#include "plan/method_plan.h"
#include "raise/planned_memory.h"

namespace enr::plan {

// Fills plan.readable_in_place and plan.writable_in_place. A tensor qualifies if nothing else passes elements through
// its planned memory. Methods with branches do not qualify.
void find_caller_memory(MethodPlan& plan, const raise::PlannedMemory& memory);

}  // namespace enr::plan
