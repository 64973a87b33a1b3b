#include "bindings/loaded_method.h"

#include <chrono>
#include <utility>

#include "bindings/gil.h"
#include "executor/program.h"

namespace nb = nanobind;

namespace enr::bindings {

namespace {

constexpr auto kBrief = std::chrono::microseconds(5);  // handing the GIL over and back takes longer
constexpr int kTrials = 16;                            // the first calls find caches cold and pack weights

std::shared_ptr<executor::Method> load(executor::Program& program, const std::string& name, bool shares) {
  const ReleasedGil release;
  return program.load_method(name, shares);
}

}  // namespace

LoadedMethod::LoadedMethod(executor::Program& program, const std::string& name, bool shares)
    : method_(load(program, name, shares)), trials_(method_->has_fixed_work() ? kTrials : 0) {}

// False with a Python error set where there is not enough memory.
bool LoadedMethod::Buffers::make_arrays(const executor::MethodSpec& spec) {
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const executor::ValueSpec& output = spec.outputs[i];
    if (!output.is_writable_in_place) continue;
    arrays.resize(spec.outputs.size());
    output_memory.resize(spec.outputs.size());
    PyObject* array = new_array(output.dtype, output.sizes);
    if (array == nullptr) return false;
    arrays[i] = nb::steal(array);
    output_memory[i] = static_cast<std::byte*>(array_data(array));
  }
  return true;
}

// A new reference to output i: its array, filled by the call, or a copy of `value`.
PyObject* LoadedMethod::Buffers::take_output(size_t i, const Value& value) {
  return i < arrays.size() && arrays[i].is_valid() ? arrays[i].release().ptr() : to_python(value);
}

void LoadedMethod::Buffers::clear() noexcept {
  inputs.clear();
  arrays.clear();
  output_memory.clear();
}

nb::object LoadedMethod::call(nb::handle inputs, TraceSink* trace) {
  std::unique_ptr<Buffers> buffers = spare_ != nullptr ? std::move(spare_) : std::make_unique<Buffers>();
  if (!buffers->inputs.read(inputs.ptr(), method_->spec()) || !buffers->make_arrays(method_->spec())) {
    throw nb::python_error();
  }
  PyObject* outputs = nullptr;
  const auto collect = [&](std::span<const Value* const> values) {
    outputs = PyList_New(static_cast<Py_ssize_t>(values.size()));
    for (size_t i = 0; outputs != nullptr && i < values.size(); ++i) {
      PyObject* item = buffers->take_output(i, *values[i]);
      if (item == nullptr || PyList_SetItem(outputs, static_cast<Py_ssize_t>(i), item) < 0) Py_CLEAR(outputs);
    }
  };
  // With the GIL one must not wait for a method that another thread is running: that thread will want the GIL.
  const bool is_done =
      is_brief_ && trace == nullptr && method_->try_run(buffers->inputs.items(), collect, buffers->output_memory);
  if (!is_done) run_released(*buffers, collect, trace);
  if (outputs == nullptr) throw nb::python_error();
  nb::object result = nb::steal(outputs);
  buffers->clear();
  spare_ = std::move(buffers);
  return result;
}

void LoadedMethod::run_released(const Buffers& buffers, Collect collect, TraceSink* trace) {
  using Clock = std::chrono::steady_clock;
  const bool is_timed = trials_ > 0;
  Clock::duration duration{};
  ReleasedGil release;
  const Clock::time_point start = is_timed ? Clock::now() : Clock::time_point();
  const auto retake_and_collect = [&](std::span<const Value* const> values) {
    if (is_timed) duration = Clock::now() - start;
    release.take_back();
    collect(values);
  };
  const auto raise_signals = [] {
    const TakenGil acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
  const FunctionRef<void()> interrupt(raise_signals);
  method_->run(buffers.inputs.items(), retake_and_collect, buffers.output_memory, trace, &interrupt);
  if (!is_timed) return;
  --trials_;
  if (duration <= kBrief) {
    is_brief_ = true;
    trials_ = 0;
  }
}

}  // namespace enr::bindings
