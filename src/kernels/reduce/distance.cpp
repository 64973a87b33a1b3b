#include "kernels/reduce/distance.h"

#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(DistanceTable, distance_table)

}  // namespace enr::kernels
