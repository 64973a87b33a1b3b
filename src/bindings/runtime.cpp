#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "bindings/classes.h"
#include "delegates/delegate.h"
#include "ops/registry.h"

namespace nb = nanobind;

namespace enr::bindings {

void bind_runtime(nb::module_& module) {
  module.def("operator_names", [] { return operator_table().names(); });
  module.def("backend_names", &delegates::backend_names);
  module.def("isa", [] { return std::string(isa_name(active_isa())); });
  module.def("isas", [] {
    std::vector<std::string> names;
    for (const Isa isa : available_isas()) names.emplace_back(isa_name(isa));
    return names;
  });
  module.def("num_threads", [] { return num_threads(); });
  module.def("set_num_threads", &set_num_threads, nb::arg("count"));
}

}  // namespace enr::bindings
