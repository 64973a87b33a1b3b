#pragma once

#include <cstdint>

namespace enr {

// No arena and no tensor may be larger: what a program may ask for has to stop somewhere.
inline constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 36;

}  // namespace enr
