#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/resize/coordinates.h"
#include "kernels/resize/resize.h"

namespace enr::kernels {

namespace {

constexpr size_t kChunk = 256;  // output columns whose sums are kept at once

// The triangle filter's taps of every output position of one axis: `begin` is the first input position, the weights lie
// `width` apart and add to one.
template <class Real>
struct Filter {
  size_t width;
  std::vector<size_t> begin, count;
  std::vector<Real> weights;

  Filter(size_t input, size_t output, bool align_corners, std::optional<double> scale)
      : width(0), begin(output), count(output) {
    const Real step = resize_step<Real>(input, output, align_corners, scale);
    const Real support = std::max(step, Real{1});  // shrinking widens the filter
    width = static_cast<size_t>(std::ceil(support)) * 2 + 1;
    weights.resize(output * width);
    for (size_t i = 0; i < output; ++i) {
      const Real centre = step * (static_cast<Real>(i) + Real(0.5));
      const auto low = std::max<ptrdiff_t>(static_cast<ptrdiff_t>(centre - support + Real(0.5)), 0);
      const auto high = std::min(static_cast<ptrdiff_t>(centre + support + Real(0.5)), static_cast<ptrdiff_t>(input));
      begin[i] = static_cast<size_t>(low);
      count[i] = std::min(static_cast<size_t>(std::max<ptrdiff_t>(high - low, 0)), width);
      Real total{0};
      Real* w = weights.data() + i * width;
      for (size_t j = 0; j < count[i]; ++j) {
        const Real distance = std::abs((static_cast<Real>(begin[i] + j) - centre + Real(0.5)) / support);
        w[j] = distance < Real{1} ? Real{1} - distance : Real{0};
        total += w[j];
      }
      for (size_t j = 0; j < count[i] && total != Real{0}; ++j) w[j] /= total;
    }
  }
};

}  // namespace

template <class T>
void resize_bilinear_antialias_nchw(const ResizeShape& s, bool align_corners, const T* input, T* output) {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Filter<Real> rows(s.input_height, s.output_height, align_corners, s.scale_height);
  const Filter<Real> columns(s.input_width, s.output_width, align_corners, s.scale_width);
  const size_t planes = s.batch * s.channels;
  std::vector<Real> narrowed(planes * s.input_height * s.output_width);
  const size_t grain = std::max<size_t>(1, 16384 / (s.input_height * s.output_width * columns.width + 1));
  parallel_ranges(planes, grain, [&](size_t first, size_t last) {
    for (size_t line = first * s.input_height; line < last * s.input_height; ++line) {
      const T* in = input + line * s.input_width;
      Real* out = narrowed.data() + line * s.output_width;
      for (size_t x = 0; x < s.output_width; ++x) {
        Real sum{0};
        for (size_t j = 0; j < columns.count[x]; ++j) {
          sum += columns.weights[x * columns.width + j] * static_cast<Real>(in[columns.begin[x] + j]);
        }
        // Eager keeps the image's own type between the two passes.
        out[x] = std::is_integral_v<T> ? std::nearbyint(sum) : sum;
      }
    }
    for (size_t line = first * s.output_height; line < last * s.output_height; ++line) {
      const size_t y = line % s.output_height;
      const Real* in = narrowed.data() + (line / s.output_height * s.input_height + rows.begin[y]) * s.output_width;
      T* out = output + line * s.output_width;
      for (size_t x = 0; x < s.output_width; x += kChunk) {
        const size_t width = std::min(kChunk, s.output_width - x);
        Real sum[kChunk] = {};
        for (size_t j = 0; j < rows.count[y]; ++j) {
          const Real weight = rows.weights[y * rows.width + j];
          const Real* from = in + j * s.output_width + x;
          for (size_t i = 0; i < width; ++i) sum[i] += weight * from[i];
        }
        for (size_t i = 0; i < width; ++i) {
          if constexpr (std::is_integral_v<T>) {
            out[x + i] = static_cast<T>(std::clamp(std::nearbyint(sum[i]), Real{0}, Real{255}));
          } else {
            out[x + i] = sum[i];
          }
        }
      }
    }
  });
}

template void resize_bilinear_antialias_nchw(const ResizeShape&, bool, const float*, float*);
template void resize_bilinear_antialias_nchw(const ResizeShape&, bool, const double*, double*);
template void resize_bilinear_antialias_nchw(const ResizeShape&, bool, const uint8_t*, uint8_t*);

}  // namespace enr::kernels
