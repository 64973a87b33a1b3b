#pragma once

// The complex loops that differ by instruction set; complex.h is the family's public face.

#include "kernels/elementwise/loop.h"

namespace enr::kernels {

struct ComplexKernels {
  LoopFn add, sub, mul, neg, conjugate, square, abs;
};

struct ComplexTable {
  ComplexKernels f32;
  ComplexKernels f64;
};

const ComplexTable& complex_table();

}  // namespace enr::kernels
