#pragma once

// What a backend must provide to run the parts of a program that were lowered to it.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace.h"
#include "base/weight_cache.h"
#include "graph/graph.h"
#include "ops/context.h"
#include "program/program.h"

namespace enr::delegates {

// The memory one method needs to run one compiled payload. Used by one thread at a time.
class DelegateInstance {
 public:
  virtual ~DelegateInstance() = default;

  // Runs the payload: the inputs, then the outputs, in the order of the call's arguments. Checks dtypes, ranks and
  // sizes before it writes; gives outputs their sizes through context.resize. Throws kExecution. `trace` may be null.
  virtual void run(std::span<Tensor* const> arguments, OpContext& context, TraceSink* trace) = 0;

  // Bytes of the context's scratch that runs need: those of the declared shapes, and of others that were run lately.
  virtual size_t workspace_bytes() const noexcept = 0;
};

// A payload, checked and compiled once. Immutable; its instances may run in parallel.
class CompiledDelegate {
 public:
  virtual ~CompiledDelegate() = default;
  virtual size_t input_count() const noexcept = 0;
  virtual size_t output_count() const noexcept = 0;
  virtual std::unique_ptr<DelegateInstance> instantiate() const = 0;

  // What the payload computes, so that it can be compiled together with what is around the call, and where the graph's
  // arguments are among the call's, in order.
  virtual const graph::Graph& graph() const noexcept = 0;
  virtual std::span<const uint32_t> positions() const noexcept = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Throws kProgramLoad with node and reason for a payload that is wrong. `program` outlives the result. `arguments`
  // are those of the call as the program declares them, null for what is no tensor; empty where nothing calls the
  // payload.
  virtual std::shared_ptr<const CompiledDelegate> compile(const program::Program& program,
                                                          const program::Delegate& delegate,
                                                          std::span<const program::Tensor* const> arguments,
                                                          WeightCache& weights) const = 0;
};

// Null where this build has no backend of that name ("XnnpackBackend").
const Backend* find_backend(std::string_view name) noexcept;

std::vector<std::string> backend_names();

}  // namespace enr::delegates
