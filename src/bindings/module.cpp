#include <nanobind/nanobind.h>

#include "bindings/arrays.h"
#include "bindings/classes.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "executor/call_lock.h"

NB_MODULE(_core, module) {
  nanobind::set_leak_warnings(false);  // a thread that runs on at exit is no leak
  module.doc() = "The native engine. Private: use executorch_numpy_runtime.";
  if (enr::bindings::import_numpy() < 0) throw nanobind::python_error();
  module.def("version", [] { return ENR_VERSION; });
  enr::executor::CallLock::set_is_ending(enr::bindings::is_interpreter_ending);
  enr::bindings::register_errors();
  enr::bindings::bind_runtime(module);
  enr::bindings::bind_program(module);
  enr::bindings::bind_method(module);
}
