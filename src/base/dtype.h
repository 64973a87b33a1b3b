#pragma once

// Element types, with the codes the .pte schema gives them.

#include <complex>
#include <cstddef>
#include <cstdint>

#include "base/half.h"

namespace enr {

enum class DType : int8_t {
  kUInt8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
  kComplex32 = 8,
  kComplex64 = 9,
  kComplex128 = 10,
  kBool = 11,
  kQInt8 = 12,
  kQUInt8 = 13,
  kQInt32 = 14,
  kBFloat16 = 15,
  kQUInt4x2 = 16,
  kQUInt2x4 = 17,
  kBits16 = 22,
  kFloat8E5M2 = 23,
  kFloat8E4M3FN = 24,
  kFloat8E5M2FNUZ = 25,
  kFloat8E4M3FNUZ = 26,
  kUInt16 = 27,
  kUInt32 = 28,
  kUInt64 = 29,
};

// The name users know ("float32", "bfloat16"); "dtype code N" has no fixed text and is the caller's to say.
const char* dtype_name(DType dtype) noexcept;

// Bytes an element takes; 0 for a code this runtime does not know.
size_t dtype_size(DType dtype) noexcept;

constexpr bool is_bool(DType d) noexcept { return d == DType::kBool; }
constexpr bool is_half_kind(DType d) noexcept { return d == DType::kFloat16 || d == DType::kBFloat16; }
constexpr bool is_floating(DType d) noexcept {
  return d == DType::kFloat16 || d == DType::kFloat32 || d == DType::kFloat64 || d == DType::kBFloat16 ||
         (d >= DType::kFloat8E5M2 && d <= DType::kFloat8E4M3FNUZ);
}
constexpr bool is_complex(DType d) noexcept { return d >= DType::kComplex32 && d <= DType::kComplex128; }
constexpr bool is_unsigned(DType d) noexcept {
  return d == DType::kUInt8 || d == DType::kUInt16 || d == DType::kUInt32 || d == DType::kUInt64;
}
// Integers proper, bool excluded; the quantised storage types count as their integers.
constexpr bool is_integer(DType d) noexcept {
  return d <= DType::kInt64 || is_unsigned(d) || (d >= DType::kQInt8 && d <= DType::kQInt32);
}

// The dtype that PyTorch's torch.promote_types gives; kFloat32 for pairs eager refuses (the caller checks those first).
DType promote(DType a, DType b) noexcept;

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kUInt8;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kInt8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::kInt16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::kUInt16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::kUInt32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::kUInt64;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::kFloat16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBFloat16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct DTypeOf<std::complex<float>> {
  static constexpr DType value = DType::kComplex64;
};
template <>
struct DTypeOf<std::complex<double>> {
  static constexpr DType value = DType::kComplex128;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace enr
