#pragma once

// What an operator gets besides its arguments.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "base/random_stream.h"
#include "base/weight_cache.h"
#include "ops/journal.h"
#include "ops/tensor.h"

namespace enr {

// State an operator keeps between the calls of one instruction of one method, e.g. packed weights or a plan for the
// shapes seen last.
class CallSiteState {
 public:
  virtual ~CallSiteState() = default;
};

class OpContext {
 public:
  OpContext(WeightCache& weights, RandomStream& random) : weights_(weights), random_(random) {}

  // Gives `out` these sizes. Throws where the sizes differ in rank, exceed what was planned, or are fixed and differ.
  // `what` names the argument in the message.
  void resize(Tensor& out, Sizes sizes, const char* what = "out");
  void resize(Tensor& out, std::initializer_list<int64_t> sizes, const char* what = "out") {
    resize(out, Sizes(sizes.begin(), sizes.size()), what);
  }

  // Uninitialised memory aligned to a cache line, valid until the operator returns. Each call gives other memory.
  std::byte* scratch(size_t size_bytes);
  template <class T>
  T* scratch_of(size_t count) {
    return reinterpret_cast<T*>(scratch(count * sizeof(T)));
  }

  // What scratch holds between operators.
  size_t scratch_bytes() const noexcept;

  // The state of this instruction, made at its first use. One operator always asks for one type.
  template <class State>
  State& state() {
    if (*state_slot_ == nullptr) *state_slot_ = std::make_unique<State>();
    return static_cast<State&>(**state_slot_);
  }

  // Packed constants, shared by all methods of the program. Only for tensors with is_constant.
  WeightCache& weights() noexcept { return weights_; }

  // The method's random numbers, seeded through the API.
  RandomStream& random() noexcept { return random_; }

  // Operators that write a part of a tensor, and are among announces_writes(), say so before they do it.
  void overwriting(std::byte* data, size_t size_bytes) {
    if (journal_ != nullptr) journal_->keep(data, size_bytes);
  }
  // Whether that matters in this call.
  bool keeps_what_is_overwritten() const noexcept { return journal_ != nullptr; }

  // For the executor: start of an instruction. `journal`: where what the operator overwrites is kept, or null.
  void begin(std::unique_ptr<CallSiteState>& slot, Journal* journal = nullptr) noexcept {
    state_slot_ = &slot;
    journal_ = journal;
    scratch_used_ = 0;
  }

 private:
  WeightCache& weights_;
  RandomStream& random_;
  std::unique_ptr<CallSiteState>* state_slot_ = nullptr;
  Journal* journal_ = nullptr;
  std::vector<AlignedBuffer> scratch_;
  size_t scratch_used_ = 0;
};

}  // namespace enr
