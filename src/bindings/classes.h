#pragma once

// One function for each Python class; module.cpp calls them.

#include <nanobind/nanobind.h>

namespace enr::bindings {

void bind_program(nanobind::module_& module);
void bind_method(nanobind::module_& module);
void bind_runtime(nanobind::module_& module);

}  // namespace enr::bindings
