#include "kernels/transpose/transpose_kernels.h"

#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(TransposeKernels, transpose_kernels)

}  // namespace enr::kernels
