#pragma once

// Definitions that quantised kernels are compared with.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "base/half.h"
#include "kernels/qgemm/qgemm.h"
#include "numbers.h"

namespace qreference {

inline std::vector<uint8_t> random_bytes(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<uint8_t> result(count);
  // Extremes are common, so that sums that would saturate do.
  for (uint8_t& v : result) {
    const uint32_t draw = engine();
    v = static_cast<uint8_t>(draw % 4 == 0 ? (draw & 16 ? 0x80 : 0x7f) : draw >> 8);
  }
  return result;
}

using enr::test::random_floats;

inline std::vector<int32_t> random_ints(size_t count, unsigned seed, int32_t low, int32_t high) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int32_t> values(low, high);
  std::vector<int32_t> result(count);
  for (int32_t& v : result) v = values(engine);
  return result;
}

inline int32_t number(uint8_t byte, bool is_unsigned) { return is_unsigned ? byte : static_cast<int8_t>(byte); }

inline uint8_t requantize(int64_t sum, float scale, float offset, const enr::kernels::QOutput& output) {
  const double quanta = std::nearbyint(static_cast<float>(sum) * scale + offset);
  const double value =
      std::clamp(quanta + output.zero_point, static_cast<double>(output.min), static_cast<double>(output.max));
  return static_cast<uint8_t>(static_cast<int32_t>(value));
}

// Weight [output][input] less its zero point.
inline int32_t weight(const enr::kernels::QWeights& w, size_t j, size_t p) {
  const bool output_major = w.layout == enr::kernels::WeightLayout::kOutputMajor;
  const size_t row = output_major ? j : p, column = output_major ? p : j;
  const uint8_t* bytes = static_cast<const uint8_t*>(w.data) + row * w.row_bytes;
  if (w.type == enr::kernels::QWeightType::kInt4) {
    return (column % 2 == 0 ? bytes[column / 2] & 15 : bytes[column / 2] >> 4) - w.zero_point;
  }
  return number(bytes[column], w.type == enr::kernels::QWeightType::kUInt8) - w.zero_point;
}

}  // namespace qreference
