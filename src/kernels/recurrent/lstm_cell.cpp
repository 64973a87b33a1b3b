#include "kernels/recurrent/lstm_cell.h"

#include "kernels/isa.h"

namespace enr::kernels {

ENR_SELECT_ISA(LstmKernels, lstm_kernels)

void lstm_cell(size_t batch, size_t hidden, const float* gates, float* cell, float* state) noexcept {
  lstm_kernels().cell(batch, hidden, gates, cell, state);
}

}  // namespace enr::kernels
