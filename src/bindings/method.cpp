#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <vector>

#include "base/error.h"
#include "bindings/arrays.h"
#include "bindings/classes.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/loaded_method.h"
#include "bindings/metadata.h"

namespace nb = nanobind;

namespace enr::bindings {

namespace {

// The one argument of a call, `inputs`; null with an error set.
PyObject* call_argument(PyObject* args, PyObject* kwargs) {
  const Py_ssize_t named = kwargs != nullptr ? PyDict_Size(kwargs) : 0;
  if (PyTuple_Size(args) == 1 && named == 0) return PyTuple_GetItem(args, 0);
  PyObject* inputs = named == 1 && PyTuple_Size(args) == 0 ? PyDict_GetItemString(kwargs, "inputs") : nullptr;
  if (inputs == nullptr) PyErr_SetString(PyExc_TypeError, "a method takes one argument, inputs: a sequence of arrays");
  return inputs;
}

// The type's tp_call: the shortest way from Python.
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_TypeError, "the method was not loaded");
    return nullptr;
  }
  PyObject* inputs = call_argument(args, kwargs);
  if (inputs == nullptr) return nullptr;
  try {
    return nb::inst_ptr<LoadedMethod>(self)->call(inputs).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

nb::list states(LoadedMethod& self) {
  nb::list list;
  for (const executor::StateSpec& spec : self.core().states()) list.append(state_dict(spec));
  return list;
}

const executor::StateSpec& state(LoadedMethod& self, size_t index) {
  if (index >= self.core().states().size()) throw nb::index_error("no such state");
  return self.core().states()[index];
}

nb::object get_state(LoadedMethod& self, size_t index) {
  const executor::StateSpec& spec = state(self, index);
  PyObject* array = new_array(spec.dtype, spec.sizes);
  if (array == nullptr) throw nb::python_error();
  nb::object result = nb::steal(array);
  size_t size_bytes = dtype_size(spec.dtype);
  for (const int64_t size : spec.sizes) size_bytes *= static_cast<size_t>(size);
  auto* data = static_cast<std::byte*>(array_data(array));
  const ReleasedGil release;
  self.core().get_state(index, data, size_bytes);
  return result;
}

// `bytes`: the elements in row-major order, checked by the caller in Python.
void set_state(LoadedMethod& self, size_t index, const nb::bytes& bytes) {
  state(self, index);
  const auto* data = static_cast<const std::byte*>(bytes.data());
  const size_t size = bytes.size();
  const ReleasedGil release;
  self.core().set_state(index, data, size);
}

void reset(LoadedMethod& self) {
  const ReleasedGil release;
  self.core().reset();
}

nb::dict memory(LoadedMethod& self) {
  const executor::MemoryReport report = [&] {
    const ReleasedGil release;
    return self.core().memory();
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
nb::tuple profile(LoadedMethod& self, nb::handle inputs) {
  Recorder recorder;
  nb::object outputs = self.call(inputs, &recorder);
  return nb::make_tuple(outputs, recorder.take());
}

}  // namespace

void bind_method(nb::module_& module) {
  static const PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call)}, {0, nullptr}};
  nb::class_<LoadedMethod>(module, "Method", nb::type_slots(slots), "A loaded method.")
      .def(nb::init<executor::Program&, const std::string&, bool>(), nb::arg("program"), nb::arg("name"),
           nb::arg("shares"))
      .def(
          "describe", [](LoadedMethod& self) { return metadata_dict(self.core().spec()); },
          nb::sig("def describe(self) -> dict[str, typing.Any]"))
      .def("states", &states, nb::sig("def states(self) -> list[dict[str, typing.Any]]"))
      .def("get_state", &get_state, nb::arg("index"), nb::sig("def get_state(self, index: int) -> typing.Any"))
      .def("set_state", &set_state, nb::arg("index"), nb::arg("data"))
      .def("reset", &reset)
      .def("memory_report", &memory, nb::sig("def memory_report(self) -> dict[str, int]"))
      .def("profile", &profile, nb::arg("inputs"),
           nb::sig("def profile(self, inputs: collections.abc.Sequence[typing.Any])"
                   " -> tuple[list[typing.Any], list[dict[str, typing.Any]]]"));
}

}  // namespace enr::bindings
