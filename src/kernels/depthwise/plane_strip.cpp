#include "kernels/depthwise/plane_strip.h"

#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(PlaneStripKernels, plane_strip_kernels)

}  // namespace enr::kernels
