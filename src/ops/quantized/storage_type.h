#pragma once

// What quantised tensors are stored as, and numbers rounded to it.

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "ops/shapes.h"
#include "ops/tensor.h"

namespace enr::ops {

struct QuantizedRange {
  int64_t min = 0, max = 0;
};

// Throws unless [min, max] lies within the limits of the storage type.
template <class T>
void check_range(const QuantizedRange& range) {
  const int64_t low = std::numeric_limits<T>::min();
  const int64_t high = static_cast<int64_t>(std::numeric_limits<T>::max());
  if (range.min < low || range.max > high || range.min > range.max) {
    fail_execution("quant_min: expected a range up to quant_max within [", low, ", ", high, "], got [", range.min, ", ",
                   range.max, "]");
  }
}

// Calls body<T>() with the storage type of a dtype.
template <class Body>
void with_storage_type(DType dtype, const char* what, const Body& body) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kQInt8:
      return body.template operator()<int8_t>();
    case DType::kUInt8:
    case DType::kQUInt8:
      return body.template operator()<uint8_t>();
    case DType::kInt16:
      return body.template operator()<int16_t>();
    case DType::kUInt16:
    case DType::kBits16:
      return body.template operator()<uint16_t>();
    case DType::kInt32:
    case DType::kQInt32:
      return body.template operator()<int32_t>();
    default:
      fail_execution(what, ": expected an integer dtype of at most 32 bits, got ", dtype_name(dtype));
  }
}

// Rounds half to even within the range, which T holds; a NaN gives the minimum. Free of calls and branches, so that
// loops of it are vectorised: adding and subtracting kShift drops the fraction of every number below 2^51.
template <class T>
T round_to_range(double value, const QuantizedRange& range) noexcept {
  constexpr double kShift = 0x1.8p52;
  const auto low = static_cast<double>(range.min), high = static_cast<double>(range.max);
  value = value > low ? value : low;
  value = value < high ? value : high;
  return static_cast<T>(static_cast<int32_t>((value + kShift) - kShift));
}

inline void require_positive_scale(double scale, const char* what) {
  if (!(scale > 0) || !std::isfinite(scale)) fail_execution(what, ": expected a positive number, got ", scale);
}

}  // namespace enr::ops
