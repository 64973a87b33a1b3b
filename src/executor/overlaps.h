#pragma once

// Arguments that share memory only when an instruction runs, because views, moves and frees point them there.

#include <span>
#include <vector>

#include "ops/value.h"
#include "plan/method_plan.h"

namespace enr::executor {

// What the instruction, whose tensors `uses` are, reads where it writes. Throws kExecution where two tensors that it
// writes overlap. `values`: the method's.
std::vector<plan::OverlappedRead> find_overlapped_reads(const plan::MethodPlan& plan,
                                                        const plan::Instruction& instruction,
                                                        std::span<const plan::TensorUse> uses,
                                                        std::span<const Value> values);

}  // namespace enr::executor
