#pragma once

// The taps of every output position of one axis.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/resize/coordinates.h"
#include "kernels/resize/resize.h"

namespace enr::kernels {

// `begin` is the first input position, the weights lie `width` apart and add to one.
template <class Real>
struct Filter {
  size_t width;
  std::vector<size_t> begin, count;
  std::vector<Real> weights;

  Filter(size_t output, size_t taps) : width(taps), begin(output), count(output), weights(output * taps) {}
};

// The antialiased linear filter: a triangle that shrinking widens.
template <class Real>
Filter<Real> triangle_filter(size_t input, size_t output, bool align_corners, std::optional<double> scale) {
  const Real step = resize_step<Real>(input, output, align_corners, scale);
  const Real support = std::max(step, Real{1});
  Filter<Real> filter(output, static_cast<size_t>(std::ceil(support)) * 2 + 1);
  for (size_t i = 0; i < output; ++i) {
    const Real centre = step * (static_cast<Real>(i) + Real(0.5));
    const auto low = std::max<ptrdiff_t>(static_cast<ptrdiff_t>(centre - support + Real(0.5)), 0);
    const auto high = std::min(static_cast<ptrdiff_t>(centre + support + Real(0.5)), static_cast<ptrdiff_t>(input));
    filter.begin[i] = static_cast<size_t>(low);
    filter.count[i] = std::min(static_cast<size_t>(std::max<ptrdiff_t>(high - low, 0)), filter.width);
    Real total{0};
    Real* w = filter.weights.data() + i * filter.width;
    for (size_t j = 0; j < filter.count[i]; ++j) {
      const Real distance = std::abs((static_cast<Real>(filter.begin[i] + j) - centre + Real(0.5)) / support);
      w[j] = distance < Real{1} ? Real{1} - distance : Real{0};
      total += w[j];
    }
    for (size_t j = 0; j < filter.count[i] && total != Real{0}; ++j) w[j] /= total;
  }
  return filter;
}

// Resizes planes of bytes (NCHW) as eager does: columns first, with 16-bit weights, rounding to bytes after each axis.
void resize_bytes_nchw(const ResizeShape& shape, const Filter<double>& rows, const Filter<double>& columns,
                       const uint8_t* input, uint8_t* output);

}  // namespace enr::kernels
