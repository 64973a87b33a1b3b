#pragma once

// A number argument of an operator, with the category that decides type promotion.

#include <cstdint>
#include <type_traits>
#include <variant>

#include "base/dtype.h"

namespace enr {

class Scalar {
 public:
  Scalar(int64_t value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor)
  Scalar(double value) noexcept : value_(value) {}   // NOLINT(google-explicit-constructor)
  Scalar(bool value) noexcept : value_(value) {}     // NOLINT(google-explicit-constructor)

  bool is_bool() const noexcept { return std::holds_alternative<bool>(value_); }
  bool is_int() const noexcept { return std::holds_alternative<int64_t>(value_); }
  bool is_double() const noexcept { return std::holds_alternative<double>(value_); }

  // Numeric conversion. A double outside int64's range is clamped to it, NaN gives 0.
  template <class T>
  T to() const noexcept {
    return std::visit(
        [](auto v) -> T {
          if constexpr (std::is_same_v<T, bool>) {
            return v != 0;
          } else if constexpr (std::is_integral_v<T> && std::is_same_v<decltype(v), double>) {
            if (v != v) return 0;
            if (v >= 0x1p63) return static_cast<T>(INT64_MAX);
            if (v <= -0x1p63) return static_cast<T>(INT64_MIN);
            return static_cast<T>(static_cast<int64_t>(v));
          } else {
            return static_cast<T>(v);
          }
        },
        value_);
  }

  // The dtype a bare number stands for: bool, int64 or float32 (the default dtype).
  DType dtype() const noexcept { return is_bool() ? DType::kBool : is_int() ? DType::kInt64 : DType::kFloat32; }

 private:
  std::variant<int64_t, double, bool> value_;
};

// PyTorch's result_type(tensor, scalar): the scalar counts only if its category is higher than the tensor's.
DType promote_with_scalar(DType tensor, const Scalar& scalar) noexcept;

}  // namespace enr
