#pragma once

// One element's bytes, and the C++ types behind dtypes.

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/scalar.h"

namespace enr::ops {

struct Element {
  alignas(16) std::array<std::byte, 16> bytes{};

  template <class T>
  static Element of(T value) noexcept {
    Element element;
    std::memcpy(element.bytes.data(), &value, sizeof(T));
    return element;
  }
};

// The number as an element of the dtype. Throws, naming the argument, where it is out of the dtype's range; fractions
// of integers are cut off, negative integers (but not fractions) wrap in unsigned types, as in eager.
Element element_of(const Scalar& value, DType dtype, const char* what);

// The same where eager lets numbers out of a half kind's range become infinite: in tensors of one element.
Element saturated_element_of(const Scalar& value, DType dtype, const char* what);

// Integers wrap around, bool is "or".
template <class T>
T wrapping_add(T a, T b) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(a + b);
  }
}

template <class T>
T wrapping_multiply(T a, T b) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

// Calls body.template operator()<T>() with the type of a real dtype's elements (bool included); throws for others.
template <class Body>
void with_real_type(DType dtype, const char* what, const Body& body) {
  switch (dtype) {
    case DType::kBool:
      return body.template operator()<bool>();
    case DType::kUInt8:
      return body.template operator()<uint8_t>();
    case DType::kInt8:
      return body.template operator()<int8_t>();
    case DType::kInt16:
      return body.template operator()<int16_t>();
    case DType::kInt32:
      return body.template operator()<int32_t>();
    case DType::kInt64:
      return body.template operator()<int64_t>();
    case DType::kUInt16:
      return body.template operator()<uint16_t>();
    case DType::kUInt32:
      return body.template operator()<uint32_t>();
    case DType::kUInt64:
      return body.template operator()<uint64_t>();
    case DType::kFloat16:
      return body.template operator()<Half>();
    case DType::kBFloat16:
      return body.template operator()<BFloat16>();
    case DType::kFloat32:
      return body.template operator()<float>();
    case DType::kFloat64:
      return body.template operator()<double>();
    default:
      fail_execution(what, ": expected a dtype that it takes, got ", dtype_name(dtype));
  }
}

// The same with complex dtypes.
template <class Body>
void with_number_type(DType dtype, const char* what, const Body& body) {
  if (dtype == DType::kComplex64) return body.template operator()<std::complex<float>>();
  if (dtype == DType::kComplex128) return body.template operator()<std::complex<double>>();
  with_real_type(dtype, what, body);
}

}  // namespace enr::ops
