#pragma once

// What a method takes and gives, as the dictionaries of the public API.

#include <nanobind/nanobind.h>

#include "executor/spec.h"

namespace enr::bindings {

nanobind::dict metadata_dict(const executor::MethodSpec& spec);
nanobind::dict state_dict(const executor::StateSpec& spec);

}  // namespace enr::bindings
