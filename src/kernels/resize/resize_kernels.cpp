#include "kernels/resize/resize_kernels.h"

#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(ResizeKernels, resize_kernels)

}  // namespace enr::kernels
