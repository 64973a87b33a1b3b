#include "bindings/errors.h"

#include <nanobind/nanobind.h>

#include <exception>
#include <new>

#include "base/error.h"

namespace enr::bindings {

namespace {

const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kProgramLoad:
      return "ProgramLoadError";
    case ErrorKind::kBackendNotAvailable:
      return "BackendNotAvailable";
    case ErrorKind::kOperatorNotFound:
      return "OperatorNotFound";
    case ErrorKind::kExecution:
      return "ExecutionError";
  }
  return "ExecuTorchError";
}

// File contents may be quoted in a message: what is not UTF-8 is replaced.
void raise(const Error& error) {
  PyObject* module = PyImport_ImportModule("executorch_numpy_runtime.errors");
  if (module == nullptr) {  // the interpreter shuts down and imports no more
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return;
  }
  PyObject* type = PyObject_GetAttrString(module, class_name(error.kind()));
  Py_DECREF(module);
  if (type == nullptr) return;
  const char* text = error.what();
  PyObject* message = PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(__builtin_strlen(text)), "replace");
  if (message != nullptr) {
    PyErr_SetObject(type, message);
    Py_DECREF(message);
  }
  Py_DECREF(type);
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (nanobind::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    raise(error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void register_errors() {
  nanobind::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      raise(error);
    }
  });
}

}  // namespace enr::bindings
