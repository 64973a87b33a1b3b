#pragma once

// Where an output position lies in the input, as PyTorch eager computes it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/resize/resize_kernels.h"

namespace enr::kernels {

// Input positions for each output position.
template <class Real>
Real resize_step(size_t input, size_t output, bool align_corners, std::optional<double> scale) noexcept {
  if (align_corners) return output > 1 ? static_cast<Real>(input - 1) / static_cast<Real>(output - 1) : Real{0};
  if (scale && *scale > 0) return static_cast<Real>(1.0 / *scale);
  return static_cast<Real>(input) / static_cast<Real>(output);
}

// The two neighbours of an output position and the weight of the second.
template <class Real>
struct LinearSource {
  int32_t low, high;
  Real weight;
};

template <class Real>
struct LinearAxis {
  size_t input, output;
  bool align_corners;
  Real step;

  LinearAxis(size_t input_size, size_t output_size, bool aligned, std::optional<double> scale) noexcept
      : input(input_size),
        output(output_size),
        align_corners(aligned),
        step(resize_step<Real>(input_size, output_size, aligned, scale)) {}

  LinearSource<Real> operator[](size_t position) const noexcept {
    if (input == output) return {static_cast<int32_t>(position), static_cast<int32_t>(position), Real{0}};
    const Real p = static_cast<Real>(position);
    const Real source = align_corners ? step * p : std::max(step * (p + Real(0.5)) - Real(0.5), Real{0});
    const auto last = static_cast<int32_t>(input - 1);
    const int32_t low = std::min(static_cast<int32_t>(source), last);
    const Real weight = std::clamp(source - static_cast<Real>(low), Real{0}, Real{1});
    return {low, low < last ? low + 1 : low, weight};
  }
};

// Sources of output columns [first, first + count), count up to kResizeChunk.
inline void fill_columns(const LinearAxis<float>& axis, size_t first, size_t count, LinearColumns& columns) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const LinearSource<float> source = axis[first + i];
    columns.low[i] = source.low;
    columns.high[i] = source.high;
    columns.weight[i] = source.weight;
  }
}

struct NearestAxis {
  size_t input, output;
  float step;

  NearestAxis(size_t input_size, size_t output_size, std::optional<double> scale) noexcept
      : input(input_size), output(output_size), step(resize_step<float>(input_size, output_size, false, scale)) {}

  size_t operator[](size_t position) const noexcept {
    if (input == output) return position;
    if (output == 2 * input) return position / 2;
    return std::min(static_cast<size_t>(static_cast<float>(position) * step), input - 1);
  }
};

}  // namespace enr::kernels
