#include "kernels/pool/plane_kernels.h"

#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(PlaneKernels, plane_kernels)

}  // namespace enr::kernels
