#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "bindings/arrays.h"
#include "bindings/classes.h"
#include "bindings/gil.h"
#include "bindings/metadata.h"
#include "executor/program.h"
#include "program/data_file.h"
#include "program/file_data.h"

namespace nb = nanobind;

namespace enr::bindings {

namespace {

// The bytes of the path as the system knows it; text that no path can be spelled with stays as it is.
std::string file_system_path(PyObject* text) {
  PyObject* encoded = PyUnicode_EncodeFSDefault(text);
  if (encoded == nullptr) {
    PyErr_Clear();
    encoded = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
  }
  if (encoded == nullptr) throw nb::python_error();
  const nb::bytes bytes = nb::steal<nb::bytes>(encoded);
  return {static_cast<const char*>(bytes.data()), bytes.size()};
}

// str: a path. bytes: held, not copied; any other buffer is copied by Python before it comes here.
std::shared_ptr<const program::FileData> file_data(nb::handle source) {
  if (nb::isinstance<nb::str>(source)) {
    const std::string path = file_system_path(source.ptr());
    const ReleasedGil release;
    return program::FileData::open(path);
  }
  const nb::bytes bytes = nb::cast<nb::bytes>(source);
  const Bytes view{static_cast<const std::byte*>(bytes.data()), bytes.size()};
  PyObject* object = bytes.inc_ref().ptr();
  const std::shared_ptr<const void> owner(object, [](const void* p) {
    const TakenGil acquire;
    Py_DECREF(static_cast<PyObject*>(const_cast<void*>(p)));
  });
  return program::FileData::hold(view, owner);
}

// What `action` gives; its error gets the prefix.
template <class Action>
auto named(const std::string& prefix, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    if (prefix.empty()) throw;
    fail(error.kind(), prefix, error.what());
  }
}

// "'model.pte': ", to go in front of what is wrong with the file's content; `unnamed` where it has no path.
std::string prefix(nb::handle source, const std::string& unnamed) {
  return nb::isinstance<nb::str>(source) ? quoted(file_system_path(source.ptr())) + ": " : unnamed;
}

std::shared_ptr<executor::Program> load(nb::handle source, const nb::list& data_files) {
  program::DataMap data;
  for (size_t i = 0; i < data_files.size(); ++i) {
    const nb::handle file = data_files[i];
    std::shared_ptr<const program::FileData> bytes = file_data(file);
    named(prefix(file, concat("data[", i, "]: ")), [&] { data.add(std::move(bytes)); });
  }
  std::shared_ptr<const program::FileData> file = file_data(source);
  const std::string name = prefix(source, "");
  const ReleasedGil release;
  return named(name, [&] { return executor::Program::load(std::move(file), data); });
}

nb::object bundled_value(const program::BundledValue& value) {
  if (const auto* tensor = std::get_if<program::BundledTensor>(&value)) {
    // The bytes lie in dim order: an array of the permuted sizes, seen through the inverse permutation.
    std::vector<int64_t> sizes;
    for (const uint8_t d : tensor->dim_order) sizes.push_back(tensor->sizes[d]);
    nb::object array = nb::steal(new_array(tensor->dtype, sizes));
    if (!array.is_valid()) throw nb::python_error();
    if (!tensor->bytes.empty()) std::memcpy(array_data(array.ptr()), tensor->bytes.data(), tensor->bytes.size());
    std::vector<int64_t> inverse(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) inverse[tensor->dim_order[i]] = static_cast<int64_t>(i);
    nb::list axes;
    for (const int64_t axis : inverse) axes.append(axis);
    return array.attr("transpose")(axes);
  }
  if (const auto* i = std::get_if<int64_t>(&value)) return nb::int_(*i);
  if (const auto* b = std::get_if<bool>(&value)) return nb::bool_(*b);
  if (const auto* d = std::get_if<double>(&value)) return nb::float_(*d);
  return nb::none();
}

// {method: [(inputs, expected outputs), ...]}
nb::dict bundled_cases(const executor::Program& self) {
  const auto values = [](const std::vector<program::BundledValue>& items) {
    nb::list list;
    for (const program::BundledValue& item : items) list.append(bundled_value(item));
    return list;
  };
  nb::dict dict;
  for (const program::BundledMethod& method : self.bundled()) {
    nb::list cases;
    for (const program::BundledCase& bundled : method.cases) {
      cases.append(nb::make_tuple(values(bundled.inputs), values(bundled.expected_outputs)));
    }
    dict[method.name.c_str()] = cases;
  }
  return dict;
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
      .def("bundled_cases", &bundled_cases,
           nb::sig("def bundled_cases(self) -> dict[str, list[tuple[list[typing.Any], list[typing.Any]]]]"))
      .def("seed", &executor::Program::seed, nb::arg("value"), nb::call_guard<ReleasedGil>());
}

}  // namespace enr::bindings
