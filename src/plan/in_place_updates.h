#pragma once

// Updates of tensors that exporters write as a changed copy and, later, a copy back.

#include <cstdint>
#include <vector>

#include "plan/method_plan.h"
#include "raise/planned_memory.h"

namespace enr::plan {

// Fills plan.in_place_updates. Where an operator changes parts of a copy (index_put.out and the like) and copy_ puts
// the copy back, as exporters do with caches, the copy can lie in the tensor itself if nobody can tell: nothing reads
// the tensor in between, and nothing else writes it from there on. states_of: by value, the states whose memory it may
// refer to; to which the copies are added.
void find_in_place_updates(MethodPlan& plan, const raise::PlannedMemory& memory,
                           std::vector<std::vector<uint32_t>>& states_of);

}  // namespace enr::plan
