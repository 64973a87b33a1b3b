#pragma once

// One step of long short-term memory.

#include <stddef.h>

namespace enr::kernels {

// gates: [batch, 4 * hidden], the sums in front of a row's input, forget, cell and output gates. Updates `cell` and
// writes `state`, both [batch, hidden]. On the calling thread.
void lstm_cell(size_t batch, size_t hidden, const float* gates, float* cell, float* state) noexcept;

// What an instruction set offers.
struct LstmKernels {
  void (*cell)(size_t batch, size_t hidden, const float* gates, float* cell, float* state) noexcept;
};
const LstmKernels& lstm_kernels();

}  // namespace enr::kernels
