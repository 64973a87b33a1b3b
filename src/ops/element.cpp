#include "ops/element.h"

#include <cmath>
#include <limits>

namespace enr::ops {

namespace {

[[noreturn]] void fail_range(const Scalar& value, DType dtype, const char* what) {
  if (value.is_double())
    fail_execution(what, ": expected a number of ", dtype_name(dtype), ", got ", value.to<double>());
  fail_execution(what, ": expected a number of ", dtype_name(dtype), ", got ", value.to<int64_t>());
}

template <class T>
Element integer_element(const Scalar& value, DType dtype, const char* what) {
  using Limits = std::numeric_limits<T>;
  if (value.is_double()) {
    const double number = value.to<double>();
    constexpr auto kLow = static_cast<double>(Limits::lowest());
    // Of 64 bits, the first double past the type's maximum.
    constexpr auto kHigh = static_cast<double>(Limits::max());
    if (!(number >= kLow && (sizeof(T) == 8 ? number < kHigh : number <= kHigh))) fail_range(value, dtype, what);
    return Element::of(static_cast<T>(number));
  }
  const int64_t number = value.to<int64_t>();
  if constexpr (sizeof(T) < 8) {
    const auto high = static_cast<int64_t>(Limits::max());
    const int64_t low = std::is_signed_v<T> ? static_cast<int64_t>(Limits::lowest()) : -high;
    if (number < low || number > high) fail_range(value, dtype, what);
  }
  return Element::of(static_cast<T>(number));
}

constexpr double kHalfMax = 65504;
constexpr double kBFloat16Max = 0x1.fep127;
constexpr double kFloatMax = std::numeric_limits<float>::max();

template <class T>
Element floating_element(const Scalar& value, DType dtype, const char* what, double highest) {
  const double number = value.to<double>();
  if (std::isfinite(number) && std::fabs(number) > highest) fail_range(value, dtype, what);
  return Element::of(static_cast<T>(static_cast<float>(number)));
}

}  // namespace

Element element_of(const Scalar& value, DType dtype, const char* what) {
  switch (dtype) {
    case DType::kBool:
      return Element::of(value.is_double() ? value.to<double>() != 0 : value.to<int64_t>() != 0);
    case DType::kUInt8:
    case DType::kQUInt8:
      return integer_element<uint8_t>(value, dtype, what);
    case DType::kInt8:
    case DType::kQInt8:
      return integer_element<int8_t>(value, dtype, what);
    case DType::kInt16:
      return integer_element<int16_t>(value, dtype, what);
    case DType::kInt32:
    case DType::kQInt32:
      return integer_element<int32_t>(value, dtype, what);
    case DType::kInt64:
      return integer_element<int64_t>(value, dtype, what);
    case DType::kUInt16:
    case DType::kBits16:
      return integer_element<uint16_t>(value, dtype, what);
    case DType::kUInt32:
      return integer_element<uint32_t>(value, dtype, what);
    case DType::kUInt64:
      return integer_element<uint64_t>(value, dtype, what);
    case DType::kFloat16:
      return floating_element<Half>(value, dtype, what, kHalfMax);
    case DType::kBFloat16:
      return floating_element<BFloat16>(value, dtype, what, kBFloat16Max);
    case DType::kFloat32:
      return floating_element<float>(value, dtype, what, kFloatMax);
    case DType::kFloat64:
      return Element::of(value.to<double>());
    case DType::kComplex32:  // a pair of halves with imaginary part 0
      return floating_element<Half>(value, dtype, what, kHalfMax);
    case DType::kComplex64:
      return floating_element<std::complex<float>>(value, dtype, what, kFloatMax);
    case DType::kComplex128:
      return Element::of(std::complex<double>(value.to<double>()));
    default:
      fail_execution(what, ": expected a dtype that takes numbers, got ", dtype_name(dtype));
  }
}

Element saturated_element_of(const Scalar& value, DType dtype, const char* what) {
  const double number = value.to<double>();
  const double highest = dtype == DType::kFloat16 ? kHalfMax : dtype == DType::kBFloat16 ? kBFloat16Max : HUGE_VAL;
  if (std::isfinite(number) && std::fabs(number) > highest) {
    return element_of(Scalar(std::copysign(HUGE_VAL, number)), dtype, what);
  }
  return element_of(value, dtype, what);
}

}  // namespace enr::ops
