#pragma once

// Outputs filled with random numbers.

#include "ops/context.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

// Random bits that a number in [0, 1) of the dtype holds, so that rounding never gives 1.
int mantissa_bits(DType dtype) noexcept;

// Fills `out`, which has its final sizes, with whole numbers from low to last, each as likely.
void fill_integers(OpContext& context, Tensor& out, int64_t low, int64_t last);

// Calls draw(float* or double*, count) for memory of out's elements in row-major order, those of complex numbers as two
// parts; halves are drawn as floats. `out` must be floating or complex.
template <class Draw>
void fill_parts(OpContext& context, Tensor& out, const Draw& draw) {
  const auto count = static_cast<size_t>(out.numel());
  if (is_complex(out.dtype)) {
    RowMajorOut to(context, out, DType::kComplex128);
    draw(to.as<double>(), 2 * count);
    return to.commit();
  }
  require_floating(out.dtype, "out");
  if (out.dtype == DType::kFloat64) {
    RowMajorOut to(context, out);
    draw(to.as<double>(), count);
    return to.commit();
  }
  RowMajorOut to(context, out, DType::kFloat32);
  draw(to.as<float>(), count);
  to.commit();
}

}  // namespace enr::ops
