#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <vector>

#include "base/error.h"
#include "bindings/arrays.h"
#include "bindings/classes.h"
#include "bindings/gil.h"
#include "bindings/metadata.h"
#include "executor/method.h"

namespace nb = nanobind;

namespace enr::bindings {

namespace {

// Fresh arrays for the outputs that a call can write in place; null for the others.
class OutputArrays {
 public:
  // False with a Python error set where there is not enough memory.
  bool make(const executor::MethodSpec& spec) {
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      const executor::ValueSpec& output = spec.outputs[i];
      if (!output.is_writable_in_place) continue;
      arrays_.resize(spec.outputs.size());
      memory_.resize(spec.outputs.size());
      PyObject* array = new_array(output.dtype, output.sizes);
      if (array == nullptr) return false;
      arrays_[i] = nb::steal(array);
      memory_[i] = static_cast<std::byte*>(array_data(array));
    }
    return true;
  }
  std::span<std::byte* const> memory() const noexcept { return memory_; }
  // A new reference to output i: its array, filled by the call, or a copy of `value`.
  PyObject* take(size_t i, const Value& value) {
    return i < arrays_.size() && arrays_[i].is_valid() ? arrays_[i].release().ptr() : to_python(value);
  }

 private:
  std::vector<nb::object> arrays_;
  std::vector<std::byte*> memory_;
};

// Runs the method on a sequence of inputs and gives the list of outputs. The GIL is released while it computes.
nb::object call(executor::Method& self, nb::handle sequence, TraceSink* trace) {
  Inputs inputs;
  OutputArrays arrays;
  if (!inputs.read(sequence.ptr(), self.spec()) || !arrays.make(self.spec())) throw nb::python_error();
  PyObject* outputs = nullptr;
  {
    const ReleasedGil release;
    const auto consume = [&](std::span<const Value* const> values) {
      const TakenGil acquire;
      outputs = PyList_New(static_cast<Py_ssize_t>(values.size()));
      for (size_t i = 0; outputs != nullptr && i < values.size(); ++i) {
        PyObject* item = arrays.take(i, *values[i]);
        if (item == nullptr || PyList_SetItem(outputs, static_cast<Py_ssize_t>(i), item) < 0) Py_CLEAR(outputs);
      }
    };
    self.run(inputs.items(), consume, arrays.memory(), trace);
  }
  if (outputs == nullptr) throw nb::python_error();
  return nb::steal(outputs);
}

nb::object run(executor::Method& self, nb::handle sequence) { return call(self, sequence, nullptr); }

nb::list states(executor::Method& self) {
  nb::list list;
  for (const executor::StateSpec& spec : self.states()) list.append(state_dict(spec));
  return list;
}

const executor::StateSpec& state(executor::Method& self, size_t index) {
  if (index >= self.states().size()) throw nb::index_error("no such state");
  return self.states()[index];
}

nb::object get_state(executor::Method& self, size_t index) {
  const executor::StateSpec& spec = state(self, index);
  PyObject* array = new_array(spec.dtype, spec.sizes);
  if (array == nullptr) throw nb::python_error();
  nb::object result = nb::steal(array);
  size_t size_bytes = dtype_size(spec.dtype);
  for (const int64_t size : spec.sizes) size_bytes *= static_cast<size_t>(size);
  auto* data = static_cast<std::byte*>(array_data(array));
  const ReleasedGil release;
  self.get_state(index, data, size_bytes);
  return result;
}

// `bytes`: the elements in row-major order, checked by the caller in Python.
void set_state(executor::Method& self, size_t index, const nb::bytes& bytes) {
  state(self, index);
  const auto* data = static_cast<const std::byte*>(bytes.data());
  const size_t size = bytes.size();
  const ReleasedGil release;
  self.set_state(index, data, size);
}

nb::dict memory(executor::Method& self) {
  const executor::MemoryReport report = [&] {
    const ReleasedGil release;
    return self.memory();
  }();
  nb::dict dict;
  dict["planned"] = report.planned_bytes;
  dict["constant"] = report.constant_bytes;
  dict["packed"] = report.packed_bytes;
  dict["workspace"] = report.workspace_bytes;
  return dict;
}

// Collects events for Python.
class Recorder final : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    events_.push_back({std::string(event.kind), std::string(event.name), event.detail, event.instruction,
                       event.start_ns, event.duration_ns});
  }

  nb::list take() {
    nb::list list;
    for (const Event& event : events_) {
      nb::dict dict;
      dict["kind"] = event.kind;
      dict["name"] = event.name;
      dict["detail"] = event.detail;
      dict["instruction"] = event.instruction;
      dict["start_ns"] = event.start_ns;
      dict["duration_ns"] = event.duration_ns;
      list.append(dict);
    }
    events_.clear();
    return list;
  }

 private:
  struct Event {
    std::string kind, name, detail;
    int64_t instruction;
    uint64_t start_ns, duration_ns;
  };
  std::vector<Event> events_;
};

// One run with every instruction recorded: (outputs, events).
nb::tuple profile(executor::Method& self, nb::handle sequence) {
  Recorder recorder;
  nb::object outputs = call(self, sequence, &recorder);
  return nb::make_tuple(outputs, recorder.take());
}

}  // namespace

void bind_method(nb::module_& module) {
  nb::class_<executor::Method>(module, "Method", "A loaded method.")
      .def("run", &run, nb::arg("inputs").none(),
           nb::sig("def run(self, inputs: collections.abc.Sequence[typing.Any]) -> list[typing.Any]"))
      .def(
          "metadata", [](executor::Method& self) { return metadata_dict(self.spec()); },
          nb::sig("def metadata(self) -> dict[str, typing.Any]"))
      .def("states", &states, nb::sig("def states(self) -> list[dict[str, typing.Any]]"))
      .def("get_state", &get_state, nb::arg("index"), nb::sig("def get_state(self, index: int) -> typing.Any"))
      .def("set_state", &set_state, nb::arg("index"), nb::arg("data"))
      .def("reset", &executor::Method::reset, nb::call_guard<ReleasedGil>())
      .def("memory", &memory, nb::sig("def memory(self) -> dict[str, int]"))
      .def("profile", &profile, nb::arg("inputs"),
           nb::sig("def profile(self, inputs: collections.abc.Sequence[typing.Any])"
                   " -> tuple[list[typing.Any], list[dict[str, typing.Any]]]"));
}

}  // namespace enr::bindings
