#pragma once

// Runs of operators, and of delegates among them, as compiled graphs: what is planned for a region instead of its
// instructions, which stay in the method for everything the graph was not made for.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/weight_cache.h"
#include "graph/compiled_graph.h"
#include "program/program.h"

namespace enr::raise {

// One instruction of a method, as far as regions are concerned.
struct Instruction {
  std::string_view op;                     // empty where it is no operator
  const graph::Graph* delegate = nullptr;  // what a delegate computes
  std::vector<uint32_t> delegate_args;     // values, in the order of its graph's arguments
  std::span<const uint32_t> args;
  std::vector<uint32_t> read, written;  // arguments among them that it may read, and write
  bool writes_state = false;
  bool stays = false;            // an operator that is not to be raised
  bool is_target = false;        // of a jump
  bool is_move = false;          // of the first argument to the second
  std::optional<uint32_t> jump;  // where it may go on instead of at the next instruction
  bool always_jumps = false;
};

class Variants;

struct Region {
  uint32_t begin = 0, end = 0;            // instructions
  std::vector<uint32_t> inputs, outputs;  // values; the graph's arguments, in order
  // What else the graph depends on where sizes vary: tensors that are only measured, and integers. Then integers that
  // the region computes for others.
  std::vector<uint32_t> measured, integers, computed;
  std::shared_ptr<Variants> variants;
};

struct PlannedMemory;

// Whether programs are raised at all: not with ENR_RAISE=0 in the environment.
bool is_enabled();

// `weights` must outlive the regions.
std::vector<Region> find_regions(const program::Method& method, std::span<const Instruction> instructions,
                                 const PlannedMemory& memory, WeightCache& weights);

}  // namespace enr::raise
