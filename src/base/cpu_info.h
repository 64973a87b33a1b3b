#pragma once

// Which instruction sets this processor runs, and which one the kernels use.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace enr {

// Bundles, not single features. Ordered: a later one of the same architecture may use everything before it, except that
// kX86AvxVnni adds dot products to kX86Avx2 only.
enum class Isa { kBaseline, kX86Avx2, kX86AvxVnni, kX86Avx512, kX86Avx512Vnni, kX86Amx, kArm64DotProd };

std::string_view isa_name(Isa isa) noexcept;

// The bundles this processor and this build can run, worst first; always holds kBaseline.
const std::vector<Isa>& available_isas();

// The bundle in use: the best available one, or the one the environment variable ENR_ISA names (an unknown or
// unavailable name throws at first use). Constant for the life of the process.
Isa active_isa();

// Whether AMD made this processor. For tuning only: what has to run is asked of available_isas().
bool is_amd() noexcept;

// Processors this process may use: the affinity mask, cut to the cgroup's CPU quota; at least 1.
size_t usable_processors();

}  // namespace enr
