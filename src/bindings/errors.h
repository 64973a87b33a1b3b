#pragma once

// The core's errors as the package's Python exceptions.

namespace enr::bindings {

// Registers the translation with nanobind. The Python classes are looked up when the first error is raised.
void register_errors();

}  // namespace enr::bindings
