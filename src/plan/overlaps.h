#pragma once

// Instructions whose arguments share memory.

#include "plan/method_plan.h"

namespace enr::plan {

// Fills plan.overlapped_reads: what an operator or delegate reads where it writes is to be read from a copy. Throws
// kProgramLoad where two tensors that one instruction writes overlap.
void find_overlaps(MethodPlan& plan);

}  // namespace enr::plan
