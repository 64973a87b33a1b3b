// Matrix products: mm, bmm, addmm, baddbmm, linear.

#include <algorithm>
#include <complex>
#include <string>
#include <type_traits>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_f64.h"
#include "kernels/gemm/gemm_integer.h"
#include "ops/families.h"
#include "ops/matrix/matmul.h"
#include "ops/pointwise/elementwise.h"
#include "ops/scratch_tensor.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// The addend in row-major order of the full result; null where nothing is added.
std::byte* full_addend(OpContext& context, const Product& p, DType dtype, Sizes sizes) {
  if (p.addend == nullptr) return nullptr;
  StridedView view(*p.addend);
  view.expand(sizes);
  std::byte* data = context.scratch(p.batch * p.m * p.n * dtype_size(dtype));
  copy_view(context, StridedView(data, dtype, sizes), view);
  return data;
}

// Complex numbers, where a rearranged B would not be used often.
void multiply_few_complex(OpContext& context, const Product& p, Tensor& out) {
  using T = std::complex<double>;
  const T* a = row_major_as<T>(context, *p.a);
  const T* b = row_major_as<T>(context, *p.b);
  const T* addend = reinterpret_cast<const T*>(full_addend(context, p, dtype_of<T>, out.sizes()));
  const T alpha = p.alpha.to<T>();
  const T beta = p.beta.to<T>();
  RowMajorOut result(context, out, dtype_of<T>);
  T* c = result.as<T>();
  for (size_t i = 0; i < p.batch * p.m; ++i) {
    const T* right = b + i / p.m * p.k * p.n;
    T* row = c + i * p.n;
    std::fill(row, row + p.n, T{});
    for (size_t k = 0; k < p.k; ++k) {
      const double re = a[i * p.k + k].real(), im = a[i * p.k + k].imag();
      const T* column = p.b_transposed ? right + k : right + k * p.n;
      const size_t step = p.b_transposed ? p.k : 1;
      for (size_t j = 0; j < p.n; ++j) {
        const T v = column[j * step];
        row[j] += T(re * v.real() - im * v.imag(), re * v.imag() + im * v.real());
      }
    }
    for (size_t j = 0; j < p.n; ++j) row[j] = alpha * row[j] + (addend != nullptr ? beta * addend[i * p.n + j] : T{});
  }
  result.commit();
}

// Complex numbers, as one product of real ones: [re A, -im A; im A, re A] [re B; im B] = [re C; im C].
void multiply_complex(OpContext& context, const Product& p, Tensor& out) {
  using T = std::complex<double>;
  const T* a = row_major_as<T>(context, *p.a);
  const T* b = row_major_as<T>(context, *p.b);
  const T* addend = reinterpret_cast<const T*>(full_addend(context, p, dtype_of<T>, out.sizes()));
  kernels::MatmulF64 call;
  call.batch = p.batch;
  call.m = 2 * p.m;
  call.n = p.n;
  call.k = 2 * p.k;
  call.b_transposed = p.b_transposed;
  double* left = context.scratch_of<double>(p.batch * call.m * call.k);
  double* right = context.scratch_of<double>(p.batch * call.k * call.n);
  call.a = left;
  call.b = right;
  call.c = context.scratch_of<double>(p.batch * call.m * call.n);
  for (size_t i = 0; i < p.batch * p.m; ++i) {
    double* upper = left + (i / p.m * call.m + i % p.m) * call.k;
    double* lower = upper + p.m * call.k;
    for (size_t k = 0; k < p.k; ++k) {
      const T value = a[i * p.k + k];
      upper[k] = lower[p.k + k] = value.real();
      lower[k] = value.imag();
      upper[p.k + k] = -value.imag();
    }
  }
  // Runs of numbers whose imaginary parts lie behind their real ones: B's rows, or, as a whole, its matrices.
  const size_t run = p.b_transposed ? p.k : p.k * p.n;
  for (size_t i = 0; i < p.batch * p.k * p.n; ++i) {
    double* to = right + i / run * 2 * run + i % run;
    to[0] = b[i].real();
    to[run] = b[i].imag();
  }
  const size_t slots = kernels::matmul_f64_slots(p.batch);
  kernels::matmul_f64(call, slots, context.scratch(kernels::matmul_f64_workspace_bytes(slots, call.n, call.k)));
  const T alpha = p.alpha.to<T>();
  const T beta = p.beta.to<T>();
  RowMajorOut result(context, out, dtype_of<T>);
  T* c = result.as<T>();
  for (size_t i = 0; i < p.batch * p.m * p.n; ++i) {
    const double* from = call.c + (i / (p.m * p.n) * 2 * p.m * p.n + i % (p.m * p.n));
    c[i] = T(from[0], from[p.m * p.n]);
    if (alpha != 1.0) c[i] *= alpha;
    if (addend != nullptr) c[i] += beta * addend[i];
  }
  result.commit();
}

// B as [k, n] in row-major order.
template <class T>
const T* right_hand_side(OpContext& context, const Product& p) {
  const T* b = row_major_as<T>(context, *p.b);
  if (!p.b_transposed) return b;
  const std::array<int64_t, 3> sizes{static_cast<int64_t>(p.batch), static_cast<int64_t>(p.k),
                                     static_cast<int64_t>(p.n)};
  std::byte* copy = context.scratch(p.batch * p.k * p.n * sizeof(T));
  const std::array<int64_t, 3> as_given{sizes[0], sizes[2], sizes[1]};
  StridedView view(reinterpret_cast<std::byte*>(const_cast<T*>(b)), dtype_of<T>, as_given);
  view.swap(1, 2);
  copy_view(context, StridedView(copy, dtype_of<T>, sizes), view);
  return reinterpret_cast<const T*>(copy);
}

// Integers wrap: T is int32_t for all of up to 32 bits, else int64_t.
template <class T>
void multiply_integers(OpContext& context, const Product& p, Tensor& out) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto* a = reinterpret_cast<const Unsigned*>(row_major_as<T>(context, *p.a));
  const auto* b = reinterpret_cast<const Unsigned*>(right_hand_side<T>(context, p));
  const auto* addend = reinterpret_cast<const Unsigned*>(full_addend(context, p, dtype_of<T>, out.sizes()));
  const auto alpha = static_cast<Unsigned>(p.alpha.to<int64_t>()), beta = static_cast<Unsigned>(p.beta.to<int64_t>());
  // In-place planning may give the result the memory of an operand.
  const bool aliases = overlaps(out, *p.a) || overlaps(out, *p.b);
  RowMajorOut result(context, out, dtype_of<T>);
  const size_t count = p.batch * p.m * p.n;
  auto* c = aliases ? context.scratch_of<Unsigned>(count) : result.as<Unsigned>();
  for (size_t i = 0; i < p.batch; ++i) {
    kernels::matmul_integer(a + i * p.m * p.k, b + i * p.k * p.n, c + i * p.m * p.n, p.m, p.n, p.k);
  }
  if (alpha != 1 || addend != nullptr) {
    for (size_t i = 0; i < count; ++i) c[i] = alpha * c[i] + (addend != nullptr ? beta * addend[i] : 0);
  }
  if (aliases) std::copy(c, c + count, result.as<Unsigned>());
  result.commit();
}

void multiply_f64(OpContext& context, const Product& p, Tensor& out) {
  kernels::MatmulF64 call;
  call.batch = p.batch;
  call.m = p.m;
  call.n = p.n;
  call.k = p.k;
  call.a = row_major_as<double>(context, *p.a);
  call.b = row_major_as<double>(context, *p.b);
  call.b_transposed = p.b_transposed;
  call.alpha = p.alpha.to<double>();
  call.addend = reinterpret_cast<const double*>(full_addend(context, p, DType::kFloat64, out.sizes()));
  call.beta = p.beta.to<double>();
  // In-place planning may give the result the memory of an operand.
  const bool aliases = overlaps(out, *p.a) || overlaps(out, *p.b);
  RowMajorOut result(context, out, DType::kFloat64);
  const size_t count = p.batch * p.m * p.n;
  call.c = aliases ? context.scratch_of<double>(count) : result.as<double>();
  const size_t slots = kernels::matmul_f64_slots(p.batch);
  kernels::matmul_f64(call, slots, context.scratch(kernels::matmul_f64_workspace_bytes(slots, p.n, p.k)));
  if (aliases) std::copy(call.c, call.c + count, result.as<double>());
  result.commit();
}

std::shared_ptr<const AlignedBuffer> packed_weights(OpContext& context, const Product& p) {
  const std::string packing = concat("gemm ", p.b_transposed ? "nk " : "kn ", p.n, "x", p.k, " ", p.b->dim_order(), " ",
                                     dtype_name(p.b->dtype));
  return context.weights().get(p.b->data, packing, [&] {
    AlignedBuffer packed(kernels::gemm_packed_bytes(p.n, p.k));
    const auto layout = p.b_transposed ? kernels::WeightLayout::kOutputMajor : kernels::WeightLayout::kInputMajor;
    const auto* weights = reinterpret_cast<const float*>(row_major_as(context, *p.b, DType::kFloat32));
    kernels::gemm_pack(layout, p.n, p.k, weights, p.b_transposed ? p.k : p.n, nullptr, packed.data());
    return packed;
  });
}

// Whether the addend is one row that all rows share.
bool is_shared_row(const Product& p) {
  const Tensor& t = *p.addend;
  return t.rank > 0 && static_cast<size_t>(t.numel()) == p.n && static_cast<size_t>(t.size(t.rank - 1u)) == p.n;
}

void multiply_float(OpContext& context, const Product& p, Tensor& out) {
  const auto* a = row_major_as<float>(context, *p.a);
  const float* addend = nullptr;
  size_t addend_stride = p.n;
  if (p.addend != nullptr) {
    if (is_shared_row(p)) {
      addend = row_major_as<float>(context, *p.addend);
      addend_stride = 0;
    } else {
      addend = reinterpret_cast<const float*>(full_addend(context, p, DType::kFloat32, out.sizes()));
    }
  }
  // In-place planning may give the result the memory of an operand.
  const bool aliases = overlaps(out, *p.a) || overlaps(out, *p.b) || (p.addend != nullptr && overlaps(out, *p.addend));
  RowMajorOut result(context, out, DType::kFloat32);
  const size_t count = p.batch * p.m * p.n;
  float* c = aliases ? context.scratch_of<float>(count) : result.as<float>();
  if (p.batch == 1 && p.b->is_constant && p.alpha.to<double>() == 1) {
    kernels::GemmEpilogue epilogue;
    epilogue.residual = addend;
    epilogue.residual_stride = addend_stride;
    epilogue.residual_scale = p.beta.to<float>();
    const auto packed = packed_weights(context, p);
    kernels::gemm(p.m, p.n, p.k, a, p.k, packed->data(), c, p.n, epilogue);
  } else {
    kernels::BatchMatmul call;
    call.batch_inner = p.batch;
    call.m = p.m;
    call.n = p.n;
    call.k = p.k;
    call.b_transposed = p.b_transposed;
    call.a = a;
    call.a_stride = p.k;
    call.a_inner_stride = p.m * p.k;
    call.b = row_major_as<float>(context, *p.b);
    call.b_stride = p.b_transposed ? p.k : p.n;
    call.b_inner_stride = p.k * p.n;
    call.c = c;
    call.c_stride = p.n;
    call.c_inner_stride = p.m * p.n;
    call.alpha = p.alpha.to<float>();
    call.addend = addend;
    call.addend_stride = addend_stride;
    call.addend_inner_stride = addend_stride == 0 ? 0 : p.m * p.n;
    call.beta = p.beta.to<float>();
    kernels::batch_matmul(call, context.scratch(kernels::batch_matmul_workspace_bytes(p.batch, p.m, p.n, p.k)));
  }
  if (aliases) std::copy(c, c + count, result.as<float>());
  result.commit();
}

}  // namespace

void multiply(OpContext& context, Product p, Tensor& out) {
  if (p.addend != nullptr && p.beta.to<double>() == 0) p.addend = nullptr;  // eager then ignores even a NaN
  if (out.numel() == 0) return;
  switch (out.dtype) {
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
      return multiply_float(context, p, out);
    case DType::kFloat64:
      return multiply_f64(context, p, out);
    case DType::kComplex64:
    case DType::kComplex128:
      return (p.m < 4 ? &multiply_few_complex : &multiply_complex)(context, p, out);
    default:
      if (dtype_size(out.dtype) <= 4 && !is_bool(out.dtype)) return multiply_integers<int32_t>(context, p, out);
      return multiply_integers<int64_t>(context, p, out);
  }
}

namespace {

void require_same_dtype(const Tensor& a, const Tensor& b, const char* what) {
  if (a.dtype != b.dtype) fail_execution(what, ": expected ", dtype_name(a.dtype), ", got ", dtype_name(b.dtype));
}

size_t count(int64_t size) { return static_cast<size_t>(size); }

// The result may have another dtype than the operands: float32 of halves, int32 of int8.
Product product_2d(const Tensor& a, const Tensor& b, const char* a_name, const char* b_name, Tensor& out,
                   std::optional<DType> result = std::nullopt) {
  require_rank(a, 2, a_name);
  require_rank(b, 2, b_name);
  require_same_dtype(a, b, b_name);
  require_dtype(out, result.value_or(a.dtype), "out");
  if (a.size(1) != b.size(0)) {
    fail_execution(b_name, ": expected sizes to multiply with ", a.sizes(), ", got ", b.sizes());
  }
  Product p;
  p.m = count(a.size(0));
  p.k = count(a.size(1));
  p.n = count(b.size(1));
  p.a = &a;
  p.b = &b;
  return p;
}

Product product_3d(const Tensor& a, const Tensor& b, const char* a_name, const char* b_name, Tensor& out,
                   std::optional<DType> result = std::nullopt) {
  require_rank(a, 3, a_name);
  require_rank(b, 3, b_name);
  require_same_dtype(a, b, b_name);
  require_dtype(out, result.value_or(a.dtype), "out");
  if (a.size(0) != b.size(0) || a.size(2) != b.size(1)) {
    fail_execution(b_name, ": expected sizes to multiply with ", a.sizes(), ", got ", b.sizes());
  }
  Product p;
  p.batch = count(a.size(0));
  p.m = count(a.size(1));
  p.k = count(a.size(2));
  p.n = count(b.size(2));
  p.a = &a;
  p.b = &b;
  return p;
}

void add_term(Product& p, const Tensor& self, const Scalar& beta, const Scalar& alpha, Sizes sizes, const Tensor& out) {
  if (self.dtype != out.dtype) require_same_dtype(*p.a, self, "self");
  require_broadcasts(self, sizes, "self");
  p.addend = &self;
  p.beta = beta;
  p.alpha = alpha;
}

void mm_out(OpContext& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  const Product p = product_2d(self, mat2, "self", "mat2", out);
  context.resize(out, {self.size(0), mat2.size(1)});
  multiply(context, p, out);
}

// Halves may be multiplied to float32.
void require_wider(const Tensor& operand, DType result) {
  if (result == operand.dtype || (is_half_kind(operand.dtype) && result == DType::kFloat32)) return;
  fail_execution("out_dtype: expected ", dtype_name(operand.dtype), " or float32 for half kinds, got ",
                 dtype_name(result));
}

void mm_dtype_out(OpContext& context, const Tensor& self, const Tensor& mat2, DType out_dtype, Tensor& out) {
  require_wider(self, out_dtype);
  const Product p = product_2d(self, mat2, "self", "mat2", out, out_dtype);
  context.resize(out, {self.size(0), mat2.size(1)});
  multiply(context, p, out);
}

void int_mm_out(OpContext& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  if (self.dtype == DType::kUInt8 && mat2.dtype == DType::kInt8) {
    Tensor a = scratch_tensor(context, DType::kInt32, self.sizes());
    Tensor b = scratch_tensor(context, DType::kInt32, mat2.sizes());
    copy_elements(context, self, a);
    copy_elements(context, mat2, b);
    return mm_out(context, a, b, out);
  }
  require_dtype(self, DType::kInt8, "self");
  const Product p = product_2d(self, mat2, "self", "mat2", out, DType::kInt32);
  context.resize(out, {self.size(0), mat2.size(1)});
  multiply(context, p, out);
}

void addmm(OpContext& context, const Tensor& self, const Tensor& mat1, const Tensor& mat2, DType result,
           const Scalar& beta, const Scalar& alpha, Tensor& out) {
  Product p = product_2d(mat1, mat2, "mat1", "mat2", out, result);
  const std::array<int64_t, 2> sizes{mat1.size(0), mat2.size(1)};
  add_term(p, self, beta, alpha, sizes, out);
  context.resize(out, Sizes(sizes));
  multiply(context, p, out);
}

void addmm_out(OpContext& context, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
               const Scalar& alpha, Tensor& out) {
  addmm(context, self, mat1, mat2, mat1.dtype, beta, alpha, out);
}
void addmm_dtype_out(OpContext& context, const Tensor& self, const Tensor& mat1, const Tensor& mat2, DType out_dtype,
                     const Scalar& beta, const Scalar& alpha, Tensor& out) {
  require_wider(mat1, out_dtype);
  addmm(context, self, mat1, mat2, out_dtype, beta, alpha, out);
}

void addmm_activation_out(OpContext& context, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                          const Scalar& beta, const Scalar& alpha, bool use_gelu, Tensor& out) {
  addmm_out(context, self, mat1, mat2, beta, alpha, out);
  if (use_gelu) require_floating(out.dtype, "mat1");
  if (is_integer(out.dtype)) {
    const Number zero(int64_t{0}, out.dtype);
    return run_loop(context, loop_for(kernels::Binary::kMaximum, out.dtype), {}, {out, zero}, out);
  }
  require_floating(out.dtype, "mat1");
  run_loop(context, loop_for(use_gelu ? kernels::Unary::kGelu : kernels::Unary::kRelu, out.dtype), {}, {out}, out);
}

void bmm_out(OpContext& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  const Product p = product_3d(self, mat2, "self", "mat2", out);
  context.resize(out, {self.size(0), self.size(1), mat2.size(2)});
  multiply(context, p, out);
}

void bmm_dtype_out(OpContext& context, const Tensor& self, const Tensor& mat2, DType out_dtype, Tensor& out) {
  require_wider(self, out_dtype);
  const Product p = product_3d(self, mat2, "self", "mat2", out, out_dtype);
  context.resize(out, {self.size(0), self.size(1), mat2.size(2)});
  multiply(context, p, out);
}

void baddbmm(OpContext& context, const Tensor& self, const Tensor& batch1, const Tensor& batch2, DType result,
             const Scalar& beta, const Scalar& alpha, Tensor& out) {
  Product p = product_3d(batch1, batch2, "batch1", "batch2", out, result);
  const std::array<int64_t, 3> sizes{batch1.size(0), batch1.size(1), batch2.size(2)};
  add_term(p, self, beta, alpha, sizes, out);
  context.resize(out, Sizes(sizes));
  multiply(context, p, out);
}

void baddbmm_out(OpContext& context, const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                 const Scalar& alpha, Tensor& out) {
  baddbmm(context, self, batch1, batch2, batch1.dtype, beta, alpha, out);
}
void baddbmm_dtype_out(OpContext& context, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                       DType out_dtype, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  require_wider(batch1, out_dtype);
  baddbmm(context, self, batch1, batch2, out_dtype, beta, alpha, out);
}

void linear_out(OpContext& context, const Tensor& input, const Tensor& weight, const Tensor* bias, Tensor& out) {
  // A weight of rank 1 is a row, and the results have no dim for it.
  const bool is_row = weight.rank == 1 && bias == nullptr;
  if (!is_row) require_rank(weight, 2, "weight");
  require_same_dtype(input, weight, "weight");
  require_dtype(out, input.dtype, "out");
  const int64_t inputs = weight.size(weight.rank - 1u), outputs = is_row ? 1 : weight.size(0);
  if (input.rank == 0 || input.size(input.rank - 1u) != inputs) {
    fail_execution("input: expected a last size of ", inputs, ", as of weight ", weight.sizes(), ", got ",
                   input.sizes());
  }
  Product p;
  p.k = count(inputs);
  p.n = count(outputs);
  p.m = count(product(input.sizes(), 0, input.rank - 1u));
  p.a = &input;
  p.b = &weight;
  p.b_transposed = true;
  Shape shape(input.sizes());
  if (is_row) --shape.rank;
  if (!is_row) shape[shape.rank - 1] = outputs;
  Tensor row;
  if (bias != nullptr) {
    require_same_dtype(input, *bias, "bias");
    if (shape.rank == 1 && bias->rank == 2 && bias->size(0) == 1) {  // what eager computes has one row
      row = row_major_tensor(bias->data, bias->dtype, bias->sizes().subspan(1));
      bias = &row;
    }
    require_broadcasts(*bias, shape, "bias");
    p.addend = bias;
  }
  context.resize(out, shape);
  multiply(context, p, out);
}

}  // namespace

void register_matmul(OperatorTable& table) {
  table.add<mm_out>("aten::mm.out", "self, mat2, out");
  table.add<addmm_out>("aten::addmm.out", "self, mat1, mat2, beta, alpha, out");
  table.add<bmm_out>("aten::bmm.out", "self, mat2, out");
  table.add<baddbmm_out>("aten::baddbmm.out", "self, batch1, batch2, beta, alpha, out");
  table.add<linear_out>("aten::linear.out", "input, weight, bias, out");
  table.add<mm_dtype_out>("aten::mm.dtype_out", "self, mat2, out_dtype, out");
  table.add<addmm_dtype_out>("aten::addmm.dtype_out", "self, mat1, mat2, out_dtype, beta, alpha, out");
  table.add<bmm_dtype_out>("aten::bmm.dtype_out", "self, mat2, out_dtype, out");
  table.add<baddbmm_dtype_out>("aten::baddbmm.dtype_out", "self, batch1, batch2, out_dtype, beta, alpha, out");
  table.add<int_mm_out>("aten::_int_mm.out", "self, mat2, out");
  table.add<addmm_activation_out>("aten::_addmm_activation.out", "self, mat1, mat2, beta, alpha, use_gelu, out");
}

}  // namespace enr::ops
