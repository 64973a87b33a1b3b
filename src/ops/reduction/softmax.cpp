// Softmax and its logarithm.

#include "kernels/softmax/softmax.h"

#include <limits>

#include "ops/families.h"
#include "ops/memory_order.h"

namespace enr::ops {

namespace {

template <bool kLogarithm>
void run(OpContext& context, const Tensor& self, int64_t dim, DType result, Tensor& out) {
  require_floating(result, "self");
  require_same_dtype(out, result, "out");
  const size_t along = normalize_dim(dim, self.rank);
  context.resize(out, self.sizes());
  const void* in = self.data;
  if (self.dtype != result || !same_layout(self, out)) {
    copy_elements(context, self, out);
    in = out.data;
  }
  const AroundDim view(out, along);
  kernels::softmax(kLogarithm, result, in, out.data, view.outer, view.size, view.inner);
}

template <bool kLogarithm>
void softmax_out(OpContext& context, const Tensor& self, int64_t dim, bool half_to_float, Tensor& out) {
  if (half_to_float && self.dtype != DType::kFloat16) {
    fail_execution("self: expected float16 for half_to_float, got ", dtype_name(self.dtype));
  }
  run<kLogarithm>(context, self, dim, half_to_float ? DType::kFloat32 : self.dtype, out);
}

template <bool kLogarithm>
void softmax_int_out(OpContext& context, const Tensor& self, int64_t dim, std::optional<DType> dtype, Tensor& out) {
  run<kLogarithm>(context, self, dim, dtype.value_or(self.dtype), out);
}

// As softmax, but a line of minus infinities gives zeros.
template <class T>
void safe_softmax(OpContext& context, const Tensor& self, size_t along, Tensor& out) {
  constexpr T kNever = -std::numeric_limits<T>::infinity();
  const Tensor in = row_major(context, self, dtype_of<T>);
  Tensor weights = scratch_tensor(context, dtype_of<T>, self.sizes());
  const AroundDim view(in, along);
  kernels::softmax(false, dtype_of<T>, in.data, weights.data, view.outer, view.size, view.inner);
  for (size_t line = 0; line < view.outer * view.inner; ++line) {
    const size_t start = line / view.inner * view.size * view.inner + line % view.inner;
    size_t blank = 0;
    while (blank < view.size && in.as<T>()[start + blank * view.inner] == kNever) ++blank;
    if (blank != view.size) continue;
    for (size_t i = 0; i < view.size; ++i) weights.as<T>()[start + i * view.inner] = 0;
  }
  copy_elements(context, weights, out);
}

void safe_softmax_out(OpContext& context, const Tensor& self, int64_t dim, std::optional<DType> dtype, Tensor& out) {
  const DType result = dtype.value_or(self.dtype);
  require_floating(result, "self");
  require_same_dtype(out, result, "out");
  const size_t along = normalize_dim(dim, self.rank);
  context.resize(out, self.sizes());
  if (out.numel() == 0) return;
  (result == DType::kFloat64 ? &safe_softmax<double> : &safe_softmax<float>)(context, self, along, out);
}

}  // namespace

void register_softmax(OperatorTable& table) {
  table.add<softmax_out<false>>("aten::_softmax.out", "self, dim, half_to_float, out");
  table.add<softmax_out<true>>("aten::_log_softmax.out", "self, dim, half_to_float, out");
  table.add<safe_softmax_out>("aten::_safe_softmax.out", "self, dim, dtype, out");
  table.add<softmax_int_out<false>>("aten::softmax.int_out", "self, dim, dtype, out");
  table.add<softmax_int_out<true>>("aten::log_softmax.int_out", "self, dim, dtype, out");
}

}  // namespace enr::ops
