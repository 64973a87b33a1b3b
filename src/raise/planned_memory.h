#pragma once

// Whether values can be told apart by their index although they share planned memory.

#include <span>
#include <vector>

#include "program/program.h"
#include "raise/regions.h"

namespace enr::raise {

struct PlannedMemory {
  // False where a method reads as one value what was written as another (but for views, values that nothing writes), or
  // a mixture: no exporter plans so, and regions, which do not write what nobody reads by name, would compute something
  // else.
  bool is_plain = true;
  // Whether the views are known: methods that branch are not looked at.
  bool knows_views = false;
  // For each value the views that are read while it is in their memory.
  std::vector<std::vector<uint32_t>> views_of;
};

PlannedMemory analyse_memory(const program::Method& method, std::span<const Instruction> instructions);

}  // namespace enr::raise
