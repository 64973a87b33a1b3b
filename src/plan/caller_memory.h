#pragma once

// Which inputs can be read, and which outputs written, directly in the caller's arrays.

#include "plan/method_plan.h"

namespace enr::plan {

// Fills plan.readable_in_place and plan.writable_in_place. A tensor qualifies if nothing else passes elements through
// its planned memory: exporters let views, and later values, lie in the same bytes. Methods with branches do not
// qualify.
void find_caller_memory(MethodPlan& plan);

}  // namespace enr::plan
