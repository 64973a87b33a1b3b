// Images of bytes: as eager does, one axis after the other with 16-bit weights, rounding to bytes between the two.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/resize/coordinates.h"
#include "kernels/resize/filter.h"
#include "kernels/resize/resize.h"

namespace enr::kernels {

namespace {

// A filter's weights as 16-bit integers, scaled by the largest power of two at which they fit.
struct ByteFilter {
  const Filter<double>& taps;
  std::vector<int32_t> weights;
  int precision = 0;

  explicit ByteFilter(const Filter<double>& filter) : taps(filter), weights(taps.weights.size()) {
    const double largest = *std::max_element(taps.weights.begin(), taps.weights.end());
    while (precision < 22 && 0.5 + std::ldexp(largest, precision + 1) < 32768) ++precision;
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<int32_t>(std::round(std::ldexp(taps.weights[i], precision)));
    }
  }

  // The output position's sum over elements that lie `stride` apart.
  uint8_t operator()(size_t position, const uint8_t* in, size_t stride) const noexcept {
    const int32_t* w = weights.data() + position * taps.width;
    const uint8_t* from = in + taps.begin[position] * stride;
    int32_t sum = int32_t{1} << (precision - 1);
    for (size_t j = 0; j < taps.count[position]; ++j) sum += w[j] * from[j * stride];
    return static_cast<uint8_t>(std::clamp(sum >> precision, 0, 255));
  }
};

Filter<double> linear_filter(size_t input, size_t output, bool align_corners, std::optional<double> scale) {
  const LinearAxis<double> axis(input, output, align_corners, scale);
  Filter<double> filter(output, 2);
  for (size_t i = 0; i < output; ++i) {
    const LinearSource<double> source = axis[i];
    filter.begin[i] = static_cast<size_t>(source.low);
    filter.count[i] = source.high == source.low ? 1 : 2;
    filter.weights[2 * i] = source.high == source.low ? 1 : 1 - source.weight;
    filter.weights[2 * i + 1] = source.high == source.low ? 0 : source.weight;
  }
  return filter;
}

}  // namespace

void resize_bytes_nchw(const ResizeShape& s, const Filter<double>& row_taps, const Filter<double>& column_taps,
                       const uint8_t* input, uint8_t* output) {
  const ByteFilter rows(row_taps), columns(column_taps);
  std::vector<uint8_t> narrowed(s.batch * s.channels * s.input_height * s.output_width);
  const size_t grain = std::max<size_t>(1, 16384 / (s.input_height * s.output_width * columns.taps.width + 1));
  parallel_ranges(s.batch * s.channels, grain, [&](size_t first, size_t last) {
    for (size_t line = first * s.input_height; line < last * s.input_height; ++line) {
      for (size_t x = 0; x < s.output_width; ++x) {
        narrowed[line * s.output_width + x] = columns(x, input + line * s.input_width, 1);
      }
    }
    for (size_t line = first * s.output_height; line < last * s.output_height; ++line) {
      const uint8_t* plane = narrowed.data() + line / s.output_height * s.input_height * s.output_width;
      for (size_t x = 0; x < s.output_width; ++x) {
        output[line * s.output_width + x] = rows(line % s.output_height, plane + x, s.output_width);
      }
    }
  });
}

void resize_bilinear_bytes_nchw(const ResizeShape& s, bool align_corners, const uint8_t* input, uint8_t* output) {
  const auto rows = linear_filter(s.input_height, s.output_height, align_corners, s.scale_height);
  const auto columns = linear_filter(s.input_width, s.output_width, align_corners, s.scale_width);
  resize_bytes_nchw(s, rows, columns, input, output);
}

void resize_bilinear_antialias_bytes_nchw(const ResizeShape& s, bool align_corners, const uint8_t* input,
                                          uint8_t* output) {
  const auto rows = triangle_filter<double>(s.input_height, s.output_height, align_corners, s.scale_height);
  const auto columns = triangle_filter<double>(s.input_width, s.output_width, align_corners, s.scale_width);
  resize_bytes_nchw(s, rows, columns, input, output);
}

}  // namespace enr::kernels
