#pragma once

#include "plan/method_plan.h"

namespace enr::plan {

// Loops begin with copy_ into the tensor that they carry. Where that one's sizes vary, nothing has given it any before:
// it takes those of what is copied, by another operator than copy_, which keeps sizes.
void find_first_copies(MethodPlan& plan);

}  // namespace enr::plan
