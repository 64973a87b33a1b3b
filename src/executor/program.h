#pragma once

// A loaded program: the checked structs, what its methods share, and the methods themselves.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/weight_cache.h"
#include "executor/call_lock.h"
#include "executor/spec.h"
#include "plan/method_plan.h"
#include "program/bundled_program.h"
#include "program/data_file.h"
#include "program/program.h"

namespace enr::executor {

class Method;

class Program : public std::enable_shared_from_this<Program> {
 public:
  // A .pte, or a bundled program that holds one. Throws kProgramLoad.
  static std::shared_ptr<Program> load(std::shared_ptr<const program::FileData> file, const program::DataMap& data);

  explicit Program(program::Program decoded) : program_(std::move(decoded)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::vector<std::string> method_names() const;

  // What the method takes and gives. Throws kProgramLoad, listing the names, where there is none of that name.
  MethodSpec spec(std::string_view name) const;

  // A method with memory of its own. Arenas beyond the first are how an export shares buffers between methods: `shares`
  // says whether to use the program's (as exported) or private ones (an independent copy).
  // Throws kProgramLoad, kOperatorNotFound, kBackendNotAvailable.
  std::shared_ptr<Method> load_method(std::string_view name, bool shares = true);

  const program::Program& decoded() const noexcept { return program_; }

  // Example inputs and expected outputs, where the file was a bundled program.
  const std::vector<program::BundledMethod>& bundled() const noexcept { return bundled_; }
  WeightCache& weights() noexcept { return weights_; }

  // Every method starts a stream of random numbers of its own from the program's seed, 0 at first.
  void seed(uint64_t value) noexcept;
  uint64_t current_seed() const noexcept { return seed_; }
  uint64_t seed_changes() const noexcept { return seed_changes_; }
  size_t next_method_number() noexcept { return method_count_++; }

  // For methods: the shared arena of that index, large enough for any method, zeroed when made; and the lock that goes
  // with all of them.
  AlignedBuffer& shared_arena(size_t index);
  CallLock& shared_lock() noexcept { return shared_lock_; }
  // True for the first caller that asks for a placement: the one to write its initial value.
  bool claim_initial_value(size_t arena, size_t offset);

 private:
  const program::Method& find(std::string_view name) const;
  std::shared_ptr<const plan::MethodPlan> plan_of(const program::Method& method);

  program::Program program_;
  std::vector<program::BundledMethod> bundled_;
  std::shared_ptr<const program::FileData> bundled_file_;  // that the above refers to
  WeightCache weights_;
  std::mutex plan_lock_;
  std::map<const program::Method*, std::shared_ptr<const plan::MethodPlan>> plans_;
  CallLock shared_lock_;
  std::map<size_t, AlignedBuffer> shared_arenas_;
  std::map<std::pair<size_t, size_t>, bool> claimed_;
  std::atomic<uint64_t> seed_ = 0, seed_changes_ = 1;
  std::atomic<size_t> method_count_ = 0;
};

// The sizes, dtypes and traced values of a method's inputs and outputs.
MethodSpec method_spec(const program::Method& method);

}  // namespace enr::executor
