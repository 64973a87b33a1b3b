#pragma once

// A loaded method: the plan, its own memory and state, and the loop that runs it.

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/random_stream.h"
#include "base/trace.h"
#include "executor/call_lock.h"
#include "executor/inputs.h"
#include "executor/program.h"
#include "executor/spec.h"
#include "ops/context.h"
#include "ops/value.h"
#include "plan/method_plan.h"
#include "raise/region_runner.h"

namespace enr::executor {

class Method {
 public:
  Method(std::shared_ptr<Program> program, std::shared_ptr<const plan::MethodPlan> plan, bool shares);
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  const MethodSpec& spec() const noexcept { return spec_; }

  // Checks every input, runs the method, and shows the outputs to `consume` before anybody else can run it. Throws
  // without having changed anything if an input is wrong, and with the states restored if an instruction fails.
  // Thread-safe: calls of one method wait for each other, and so do methods that share state.
  // Large inputs are read where they are. `output_memory`: empty, or for each output null or, where its spec says
  // is_writable_in_place, size_bytes for the call to write it to. `trace`: where the call's events go, null for
  // nowhere. `interrupt`: called now and then while the program loops, null for nothing; what it throws ends the call.
  void run(std::span<const Input> inputs, FunctionRef<void(std::span<const Value* const>)> consume,
           std::span<std::byte* const> output_memory = {}, TraceSink* trace = nullptr,
           const FunctionRef<void()>* interrupt = nullptr);

  // The same, but only if nobody else is running it; false where somebody is.
  bool try_run(std::span<const Input> inputs, FunctionRef<void(std::span<const Value* const>)> consume,
               std::span<std::byte* const> output_memory = {});
  // Whether every call does the same work: without branches, and with sizes that are fixed.
  bool has_fixed_work() const noexcept;

  // The buffers that outlive a call.
  const std::vector<StateSpec>& states() const noexcept { return states_; }
  // Copies one buffer out or in, in row-major order; `size_bytes` must be the buffer's.
  void get_state(size_t index, std::byte* out, size_t size_bytes);
  void set_state(size_t index, const std::byte* in, size_t size_bytes);
  // Puts every buffer back to its value at load.
  void reset();

  MemoryReport memory();
  const std::shared_ptr<Program>& program() const noexcept { return program_; }

 private:
  // Smaller inputs and outputs are copied: that costs less than what moving addresses makes delegates look up anew.
  static constexpr size_t kLargeBytes = 16 << 10;

  void run_locked(std::span<const Input> inputs, FunctionRef<void(std::span<const Value* const>)> consume,
                  std::span<std::byte* const> output_memory, TraceSink* trace, const FunctionRef<void()>* interrupt);
  CallLock& lock() noexcept { return shares_ && uses_shared_arena_ ? program_->shared_lock() : own_lock_; }
  std::byte* arena(size_t index);
  void place_values();
  void place_tensor(const program::Tensor& source, bool is_input, Tensor& tensor);
  void make_value(const program::Value& source, bool is_input, Value& value);
  void write_initial_values(bool all);
  void use_caller_memory(std::span<const Input> inputs, std::span<std::byte* const> output_memory);
  void use_own_memory() noexcept;
  void seed_if_changed();
  void execute(const FunctionRef<void()>* interrupt);
  void check_outputs() const;
  size_t step(size_t index);
  class ReadCopies;
  void give_memory(size_t index);
  void call_operator(const plan::Instruction& instruction, size_t index);
  bool run_region(uint32_t region, size_t index);
  void call_delegate(const plan::Instruction& instruction, size_t index);
  void move(Value& from, Value& to);
  bool is_true(const Value& condition) const;
  void save_states(size_t index);
  void restore_states() noexcept;
  void forget_saved_states() noexcept;
  std::string describe(size_t index) const;

  std::shared_ptr<Program> program_;
  std::shared_ptr<const plan::MethodPlan> plan_;
  MethodSpec spec_;
  std::vector<StateSpec> states_;
  bool shares_;
  bool uses_shared_arena_ = false;
  CallLock own_lock_;
  std::vector<AlignedBuffer> own_arenas_;
  std::vector<Value> values_;
  std::vector<Value*> arguments_;  // parallel to plan_->args
  std::vector<const Value*> outputs_;
  std::vector<Tensor> redirected_;                         // as placed; parallel to plan_->redirected
  std::vector<std::pair<Tensor*, std::byte*>> displaced_;  // tensors in the caller's memory, and where their own is
  std::vector<std::unique_ptr<delegates::DelegateInstance>> delegates_;
  std::vector<raise::RegionRunner> regions_;
  std::vector<std::unique_ptr<CallSiteState>> call_sites_;
  std::vector<Tensor> state_tensors_;  // as placed, wherever instructions point them; parallel to plan_->states
  std::vector<uint8_t> is_saved_;      // whole, in this call; parallel to plan_->states
  Journal journal_;
  std::vector<Tensor*> delegate_arguments_;
  RandomStream random_;
  size_t number_;  // among the program's methods: their random numbers differ
  uint64_t seed_changes_ = 0;
  OpContext context_;
  TraceSink* trace_ = nullptr;
};

}  // namespace enr::executor
