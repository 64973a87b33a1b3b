// Complex numbers from and to their parts.

#include <cmath>

#include "ops/families.h"
#include "ops/pointwise/scalar_loop.h"
#include "ops/scratch_tensor.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

DType complex_of(DType part, const char* what) {
  switch (part) {
    case DType::kFloat16:
      return DType::kComplex32;
    case DType::kFloat32:
      return DType::kComplex64;
    case DType::kFloat64:
      return DType::kComplex128;
    default:
      fail_execution(what, ": expected float16, float32 or float64, got ", dtype_name(part));
  }
}

// The real or imaginary parts of a complex tensor's elements.
StridedView parts_of(const Tensor& tensor, DType part, int64_t which) {
  StridedView view(tensor);
  view.dtype = part;
  for (size_t d = 0; d < view.rank; ++d) view.stride_array[d] *= 2;
  view.advance(which);
  return view;
}

void complex_out(OpContext& context, const Tensor& real, const Tensor& imag, Tensor& out) {
  require_same_dtype(imag, real.dtype, "imag");
  require_same_dtype(out, complex_of(real.dtype, "real"), "out");
  const Shape shape = broadcast(real.sizes(), imag.sizes(), "imag");
  context.resize(out, shape);
  copy_view(context, parts_of(out, real.dtype, 0), expanded(real, shape));
  copy_view(context, parts_of(out, real.dtype, 1), expanded(imag, shape));
}

struct PolarReal {
  template <class T>
  T operator()(T length, T angle, const LoopParams&) const {
    return length * std::cos(angle);
  }
};
struct PolarImaginary {
  template <class T>
  T operator()(T length, T angle, const LoopParams&) const {
    return length * std::sin(angle);
  }
};

void polar_out(OpContext& context, const Tensor& abs, const Tensor& angle, Tensor& out) {
  require_same_dtype(angle, abs.dtype, "angle");
  require_same_dtype(out, complex_of(abs.dtype, "abs"), "out");
  const Shape shape = broadcast(abs.sizes(), angle.sizes(), "angle");
  Tensor real = scratch_tensor(context, abs.dtype, shape), imaginary = scratch_tensor(context, abs.dtype, shape);
  run_loop(context, scalar_binary_loop<PolarReal>(abs.dtype), {}, {abs, angle}, real);
  run_loop(context, scalar_binary_loop<PolarImaginary>(abs.dtype), {}, {abs, angle}, imaginary);
  context.resize(out, shape);
  copy_view(context, parts_of(out, abs.dtype, 0), StridedView(real));
  copy_view(context, parts_of(out, abs.dtype, 1), StridedView(imaginary));
}

// Of a real number: 0, or pi below zero.
struct RealAngle {
  template <class T>
  T operator()(T x, const LoopParams&) const {
    return x != x ? x : x < 0 ? static_cast<T>(3.14159265358979323846) : T{0};
  }
};

void angle_out(OpContext& context, const Tensor& self, Tensor& out) {
  if (!is_complex(self.dtype)) {
    const DType common = floating_for(self.dtype);
    require_castable(common, out);
    return run_loop(context, scalar_unary_loop<RealAngle>(common), {}, {self}, out);
  }
  const DType part = self.dtype == DType::kComplex128  ? DType::kFloat64
                     : self.dtype == DType::kComplex64 ? DType::kFloat32
                                                       : DType::kFloat16;
  require_castable(part, out);
  Tensor real = scratch_tensor(context, part, self.sizes()), imaginary = scratch_tensor(context, part, self.sizes());
  copy_view(context, StridedView(real), parts_of(self, part, 0));
  copy_view(context, StridedView(imaginary), parts_of(self, part, 1));
  run_loop(context, loop_for(kernels::Binary::kAtan2, part), {}, {imaginary, real}, out);
}

}  // namespace

void register_complex_parts(OperatorTable& table) {
  table.add<complex_out>("aten::complex.out", "real, imag, out");
  table.add<polar_out>("aten::polar.out", "abs, angle, out");
  table.add<angle_out>("aten::angle.out", "self, out");
}

}  // namespace enr::ops
