#pragma once

// Loops over the functions of functions.h, and what fills a table with them.

#include "kernels/simd/partial.h"
#include "kernels/unary/functions.h"
#include "kernels/unary/unary_table.h"

namespace enr::kernels::ENR_ISA {

template <class T, template <class> class F>
void run_unary(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  const bool repeats = step[0] == 0;
  map_vectors(x, y, repeats && n != 0 ? 1 : n, F<Vec<T>>(params));
  for (size_t i = 1; repeats && i < n; ++i) y[i] = y[0];
}

void fill_unary_f64(UnaryTable& table);
void fill_unary_integer(UnaryTable& table);

}  // namespace enr::kernels::ENR_ISA
