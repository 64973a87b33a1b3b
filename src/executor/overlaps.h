#pragma once

// Arguments that share memory only when an instruction runs, because views, moves and frees point them there.

#include <span>
#include <vector>

#include "ops/value.h"
#include "plan/method_plan.h"

namespace enr::executor {

// What an instruction with these tensors reads where it writes. Throws kExecution where two tensors that it writes
// overlap. `values`: the method's.
std::vector<plan::OverlappedRead> find_overlapped_reads(std::span<const plan::TensorUse> uses,
                                                        std::span<const Value> values);

}  // namespace enr::executor
