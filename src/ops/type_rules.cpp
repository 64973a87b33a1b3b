#include "ops/type_rules.h"

#include "base/error.h"
#include "kernels/convert/convert.h"

namespace enr::ops {

void ResultType::Level::add(DType other) noexcept {
  dtype = is_set ? promote(dtype, other) : other;
  is_set = true;
}

ResultType& ResultType::add(const Tensor& tensor) noexcept {
  (tensor.rank == 0 ? rank0_ : dims_).add(tensor.dtype);
  return *this;
}

ResultType& ResultType::add(const Scalar& number) noexcept {
  numbers_.add(number.dtype());
  return *this;
}

namespace {

DType complex_for(DType floating) noexcept { return promote(floating, DType::kComplex32); }

DType combine(DType higher, DType lower) noexcept {
  if (is_complex(higher)) return higher;
  if (is_floating(higher)) return is_complex(lower) ? complex_for(higher) : higher;
  if (is_bool(higher) || is_floating(lower) || is_complex(lower)) return promote(higher, lower);
  return higher;
}

}  // namespace

DType ResultType::get() const noexcept {
  DType result = DType::kBool;
  bool is_set = false;
  for (const Level* level : {&dims_, &rank0_, &numbers_}) {
    if (!level->is_set) continue;
    result = is_set ? combine(result, level->dtype) : level->dtype;
    is_set = true;
  }
  return result;
}

void require_castable(DType result, const Tensor& out, const char* what) {
  const bool loses_imaginary = is_complex(result) && !is_complex(out.dtype);
  const bool loses_fraction = is_floating(result) && is_integral_or_bool(out.dtype);
  const bool loses_value = !is_bool(result) && is_bool(out.dtype);
  if (loses_imaginary || loses_fraction || loses_value) {
    fail_execution(what, ": expected a dtype that takes ", dtype_name(result), " results, got ", dtype_name(out.dtype));
  }
}

namespace {

[[noreturn]] void fail_dtype(const char* what, const char* expected, DType got) {
  fail_execution(what, ": expected ", expected, ", got ", dtype_name(got));
}

}  // namespace

void require_not_bool(DType dtype, const char* what) {
  if (is_bool(dtype)) fail_dtype(what, "a number dtype", dtype);
}

void require_real(DType dtype, const char* what) {
  if (is_complex(dtype)) fail_dtype(what, "a real dtype", dtype);
  require_convertible(dtype, what);
}

void require_convertible(DType dtype, const char* what) {
  const bool reads = kernels::convert_fn(dtype, DType::kFloat32) != nullptr;
  const bool writes = kernels::convert_fn(DType::kFloat32, dtype) != nullptr;
  if (!reads || !writes) fail_dtype(what, "a dtype to compute with", dtype);
}

void require_floating(DType dtype, const char* what) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      return;
    default:
      fail_dtype(what, "a floating dtype", dtype);
  }
}

void require_floating_or_complex(DType dtype, const char* what) {
  if (!is_complex(dtype)) require_floating(dtype, what);
}

void require_integral_or_bool(DType dtype, const char* what) {
  if (!is_integral_or_bool(dtype)) fail_dtype(what, "an integer dtype or bool", dtype);
}

void require_parameter_dtype(const Tensor& parameter, const Tensor& input, const char* what) {
  if (parameter.dtype == input.dtype) return;
  if (parameter.dtype == DType::kFloat32 && is_half_kind(input.dtype)) return;
  fail_execution(what, ": expected ", dtype_name(input.dtype), is_half_kind(input.dtype) ? " or float32" : "", ", got ",
                 dtype_name(parameter.dtype));
}

void require_same_dtype(const Tensor& tensor, DType expected, const char* what) {
  if (tensor.dtype != expected) fail_dtype(what, dtype_name(expected), tensor.dtype);
}

}  // namespace enr::ops
