#pragma once

// Loops over the functions of functions.h, and what fills a table with them.

#include "kernels/simd/partial.h"
#include "kernels/unary/functions.h"
#include "kernels/unary/unary_table.h"

namespace enr::kernels::ENR_ISA {

template <class T, template <class> class F>
void run_unary(void* out, const void* const* in, const uint8_t* step, size_t n, const LoopParams& params) noexcept {
  const F<Vec<T>> f(params);
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  if (step[0] == 0) {
    const T value = f(splat<T>(*x))[0];
    for (size_t i = 0; i < n; ++i) y[i] = value;
  } else {
    map_vectors(x, y, n, f);
  }
}

void fill_unary_f64(UnaryTable& table);
void fill_unary_integer(UnaryTable& table);

}  // namespace enr::kernels::ENR_ISA
