#include "kernels/sort/sort_lines.h"

#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(SortKernels, sort_kernels)

}  // namespace enr::kernels
