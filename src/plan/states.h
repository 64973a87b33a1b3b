#pragma once

#include "plan/method_plan.h"

namespace enr::plan {

// Fills in MethodPlan::states; needs its instructions and redirected values.
void find_states(MethodPlan& plan);

}  // namespace enr::plan
