#include "kernels/pool/pool_kernels.h"

#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(PoolKernels, pool_kernels)

}  // namespace enr::kernels
