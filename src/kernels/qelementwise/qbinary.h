#pragma once

// Sums, differences and products of 8-bit numbers with different parameters.

#include <stdint.h>

namespace enr::kernels {

enum class QBinary : uint8_t { kAdd, kSubtract, kMultiply };

// What an operation with certain quantisations computes; made once, by make_qbinary.
// Sums: ((bias + a * a_multiplier + b * b_multiplier) >> shift), products: round((a - zero point) * (b - zero point) *
// scale); then the output's zero point and the clamp.
struct QBinaryParams {
  QBinary op = QBinary::kAdd;
  int32_t bias = 0, a_multiplier = 0, b_multiplier = 0;
  uint32_t shift = 0;
  int32_t a_zero_point = 0, b_zero_point = 0, output_zero_point = 0;
  float scale = 0;
  int32_t min = 0, max = 0;
};

}  // namespace enr::kernels
