#pragma once

// The core's errors as the package's Python exceptions.

namespace enr::bindings {

// Registers the translation with nanobind. The Python classes are looked up when the first error is raised.
void register_errors();

// Inside a catch block: sets the Python exception for what was caught. For functions that nanobind does not wrap.
void set_python_error();

}  // namespace enr::bindings
