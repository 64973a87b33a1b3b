#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/classes.h"
#include "bindings/metadata.h"
#include "executor/method.h"
#include "executor/program.h"
#include "program/data_file.h"
#include "program/file_data.h"

namespace nb = nanobind;

namespace enr::bindings {

namespace {

// str: a path. bytes: held, not copied; any other buffer is copied by Python before it comes here.
std::shared_ptr<const program::FileData> file_data(nb::handle source) {
  if (nb::isinstance<nb::str>(source)) {
    const std::string path = nb::cast<std::string>(source);
    const nb::gil_scoped_release release;
    return program::FileData::open(path);
  }
  const nb::bytes bytes = nb::cast<nb::bytes>(source);
  const Bytes view{static_cast<const std::byte*>(bytes.data()), bytes.size()};
  PyObject* object = bytes.inc_ref().ptr();
  const std::shared_ptr<const void> owner(object, [](const void* p) {
    const nb::gil_scoped_acquire acquire;
    Py_DECREF(static_cast<PyObject*>(const_cast<void*>(p)));
  });
  return program::FileData::hold(view, owner);
}

std::shared_ptr<executor::Program> load(nb::handle source, const nb::list& data_files) {
  program::DataMap data;
  for (const nb::handle file : data_files) data.add(file_data(file));
  std::shared_ptr<const program::FileData> file = file_data(source);
  const nb::gil_scoped_release release;
  return executor::Program::load(std::move(file), data);
}

}  // namespace

void bind_program(nb::module_& module) {
  nb::class_<executor::Program>(module, "Program", "A loaded program.")
      .def_static("load", &load, nb::arg("source"), nb::arg("data_files"),
                  nb::sig("def load(source: str | bytes, data_files: list[str | bytes]) -> Program"),
                  "Load a path (str) or a whole file (bytes).")
      .def("method_names", &executor::Program::method_names)
      .def(
          "metadata",
          [](const executor::Program& self, const std::string& name) { return metadata_dict(self.spec(name)); },
          nb::arg("name"), nb::sig("def metadata(self, name: str) -> dict[str, typing.Any]"))
      .def(
          "load_method",
          [](executor::Program& self, const std::string& name, bool shares) {
            const nb::gil_scoped_release release;
            return self.load_method(name, shares);
          },
          nb::arg("name"), nb::arg("shares"))
      .def("seed", &executor::Program::seed, nb::arg("value"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace enr::bindings
