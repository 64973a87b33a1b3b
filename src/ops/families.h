#pragma once

// One register function for each family file; operator_table.cpp calls them all.

#include "ops/registry.h"

namespace enr::ops {

void register_prim(OperatorTable& table);

}  // namespace enr::ops
