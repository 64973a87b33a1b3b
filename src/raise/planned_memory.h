#pragma once

// What goes through planned memory: exporters let views, and later values, lie in the same bytes.

#include <span>
#include <vector>

#include "program/program.h"
#include "raise/regions.h"

namespace enr::raise {

struct PlannedMemory {
  // False of methods with loops, and where what is read depends on the branch taken: of them nothing below is known.
  bool is_known = false;
  // False where a method reads as one value what was written as another (but for views, values that nothing writes), or
  // a mixture: no exporter plans so, and regions, which do not write what nobody reads by name, would compute something
  // else.
  bool is_plain = true;
  // For each value the views that are read while it is in their memory.
  std::vector<std::vector<uint32_t>> views_of;
  // By value: whether an instruction writes it, itself or through a view that an instruction made.
  std::vector<bool> is_written;
  // By value: whether others read what was written as this one, or this one is read for what was not.
  std::vector<bool> is_shared;
};

PlannedMemory analyse_memory(const program::Method& method, std::span<const Instruction> instructions);

}  // namespace enr::raise
