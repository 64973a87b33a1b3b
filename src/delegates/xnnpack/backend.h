#pragma once

// The "XnnpackBackend" of a program, computed by the graph compiler.

#include "delegates/delegate.h"

namespace enr::delegates::xnnpack {

const Backend& backend();

}  // namespace enr::delegates::xnnpack
