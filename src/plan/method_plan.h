#pragma once

// What a method needs to run, decided once: operators found, delegates compiled, instructions flattened. Immutable, and
// shared by everything that runs the method.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "delegates/delegate.h"
#include "ops/registry.h"
#include "program/program.h"
#include "raise/regions.h"

namespace enr::plan {

enum class InstructionKind : uint8_t { kOperator, kDelegate, kMove, kJumpIfFalse, kFree };

inline constexpr uint32_t kNoRegion = 0xFFFFFFFF;

struct Instruction {
  InstructionKind kind = InstructionKind::kFree;
  // A failure later in the call would leave states half updated: save those this instruction writes first.
  bool saves_state = false;
  bool never_ends = false;        // kJumpIfFalse: the loop that it closes; always taken
  bool announces_writes = false;  // of these states: only what it overwrites has to be saved
  uint32_t callee = 0;            // operator or delegate
  uint32_t first_arg = 0;         // into MethodPlan::args
  uint32_t arg_count = 0;         // kMove: from, to; kJumpIfFalse: condition; kFree: value
  // Some of what it reads lies, or may lie, where it writes: MethodPlan::overlapped_reads, movable_uses.
  bool reads_overlapped = false;
  uint32_t destination = 0;     // kJumpIfFalse: the next instruction where the condition is false
  uint32_t region = kNoRegion;  // the region that starts here
};

// A tensor whose content outlives a call.
struct State {
  uint32_t value = 0;
  std::string name;
};

// A tensor of an instruction: an argument itself, or an item of a list.
struct TensorUse {
  uint32_t value = 0;
  uint32_t argument = 0;
  bool is_written = false;
  bool is_item = false;
};

// A tensor that an instruction reads although it lies where the instruction writes.
struct OverlappedRead {
  uint32_t value = 0;
  std::optional<uint32_t> own_argument;  // set where the value itself is written too: the argument that reads it
};

// Instruction `update` makes a changed copy of the target, which instruction `back` copies back: the copy lies in the
// target.
struct InPlaceUpdate {
  uint32_t copy = 0, target = 0;  // values
  uint32_t update = 0, back = 0;
};

struct MethodPlan {
  const program::Method* method = nullptr;  // of the program the plan was made from, which outlives it
  std::vector<Instruction> instructions;
  std::vector<uint32_t> args;
  std::vector<const Operator*> operators;
  std::vector<std::shared_ptr<const delegates::CompiledDelegate>> delegates;
  std::vector<raise::Region> regions;
  std::vector<State> states;
  std::vector<InPlaceUpdate> in_place_updates;
  std::vector<std::vector<uint32_t>> state_writes;  // per instruction with saves_state, else empty: indices into states
  // Per instruction with reads_overlapped, else empty: what has to be read from copies. No exporter plans memory so.
  std::vector<std::vector<OverlappedRead>> overlapped_reads;
  // Per instruction that writes and has tensors among its arguments that instructions point elsewhere, else empty: all
  // its tensors. Whether they overlap shows only when it runs.
  std::vector<std::vector<TensorUse>> movable_uses;
  // Tensor values that instructions point elsewhere (views, moves, frees): put back at the start of a call.
  std::vector<uint32_t> redirected;
  // Per input and per output of the method: whether a call may use the caller's memory for it (caller_memory.h).
  std::vector<uint8_t> readable_in_place, writable_in_place;

  std::span<const uint32_t> args_of(const Instruction& instruction) const noexcept {
    return std::span(args).subspan(instruction.first_arg, instruction.arg_count);
  }
  // Whether the instruction makes one tensor a view of another: neither is read or written.
  bool is_view(const Instruction& instruction) const noexcept;
  // Whether it may read, or write, its argument `arg`, or tensors in it.
  bool reads(const Instruction& instruction, size_t arg) const noexcept;
  bool writes(const Instruction& instruction, size_t arg) const noexcept;
  // For messages: an operator's arguments have names.
  std::string argument_name(const Instruction& instruction, size_t arg) const;
};

// Throws kOperatorNotFound, kBackendNotAvailable or, for a payload its delegate refuses, kProgramLoad.
std::shared_ptr<const MethodPlan> make_plan(const program::Program& program, const program::Method& method,
                                            WeightCache& weights);

}  // namespace enr::plan
