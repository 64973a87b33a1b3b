#include "kernels/recurrent/lstm_cell.h"

#include "kernels/simd/math.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {
namespace {

// The new content of cells, and their new state.
ENR_INLINE F32 next_cell(F32 input, F32 forget, F32 candidate, F32 cell) {
  return sigmoid(forget) * cell + sigmoid(input) * tanh(candidate);
}
ENR_INLINE F32 next_state(F32 output, F32 cell) { return sigmoid(output) * tanh(cell); }

void lstm_cell(size_t batch, size_t hidden, const float* gates, float* cell, float* state) noexcept {
  for (size_t row = 0; row < batch; ++row, gates += 4 * hidden, cell += hidden, state += hidden) {
    size_t i = 0;
    for (; i + kLanes<float> <= hidden; i += kLanes<float>) {
      const float* gate = gates + i;
      const F32 next = next_cell(load(gate), load(gate + hidden), load(gate + 2 * hidden), load(cell + i));
      store(state + i, next_state(load(gate + 3 * hidden), next));
      store(cell + i, next);
    }
    if (i < hidden) {
      const size_t rest = hidden - i;
      const float* gate = gates + i;
      const F32 next = next_cell(load_first(gate, rest), load_first(gate + hidden, rest),
                                 load_first(gate + 2 * hidden, rest), load_first(cell + i, rest));
      store_first(state + i, next_state(load_first(gate + 3 * hidden, rest), next), rest);
      store_first(cell + i, next, rest);
    }
  }
}

}  // namespace

const LstmKernels& lstm_kernels() {
  static const LstmKernels kernels{&lstm_cell};
  return kernels;
}

}  // namespace enr::kernels::ENR_ISA
