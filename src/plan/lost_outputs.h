#pragma once

#include "plan/method_plan.h"

namespace enr::plan {

// Exporters lose outputs of delegates that were to dequantise the weights of an operator that stays outside, and a
// payload does not tell lost outputs from inputs that it does not read. Throws kProgramLoad for a delegate's argument
// that the payload does not know and that others read, but nothing writes.
void check_lost_outputs(const MethodPlan& plan);

}  // namespace enr::plan
