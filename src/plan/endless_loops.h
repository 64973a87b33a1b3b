#pragma once

#include "plan/method_plan.h"

namespace enr::plan {

// Marks jumps back that are always taken, with no other jump in their loop: whoever comes there stays for ever.
void find_endless_loops(MethodPlan& plan);

}  // namespace enr::plan
