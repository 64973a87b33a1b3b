#pragma once

// A loaded method as Python calls it.

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "bindings/arrays.h"
#include "executor/method.h"

namespace enr::bindings {

class LoadedMethod {
 public:
  LoadedMethod(executor::Program& program, const std::string& name, bool shares);

  executor::Method& core() noexcept { return *method_; }

  // Runs the method on a sequence of inputs and gives the list of outputs. The GIL is released while it computes, but
  // for calls that are over sooner than another thread could take it.
  nanobind::object call(nanobind::handle inputs, TraceSink* trace = nullptr);

 private:
  // What a call needs, kept for the next one.
  struct Buffers {
    Inputs inputs;
    std::vector<nanobind::object> arrays;   // for the outputs that the call can write in place; null for the others
    std::vector<std::byte*> output_memory;  // theirs

    bool make_arrays(const executor::MethodSpec& spec);
    PyObject* take_output(size_t i, const Value& value);
    void clear() noexcept;
  };
  using Collect = FunctionRef<void(std::span<const Value* const>)>;
  void run_released(const Buffers& buffers, Collect collect, TraceSink* trace);

  std::shared_ptr<executor::Method> method_;
  std::unique_ptr<Buffers> spare_;  // null while a call uses them
  // A method that always does the same work is brief once one of its first calls was.
  int trials_ = 0;
  bool is_brief_ = false;
};

}  // namespace enr::bindings
