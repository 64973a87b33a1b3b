#include "kernels/depthwise/depthwise_kernels.h"

#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(DepthwiseKernels, depthwise_kernels)

}  // namespace enr::kernels
