#include <algorithm>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/resize/filter.h"
#include "kernels/resize/resize.h"

namespace enr::kernels {

namespace {

constexpr size_t kChunk = 256;  // output columns whose sums are kept at once

}  // namespace

template <class T>
void resize_bilinear_antialias_nchw(const ResizeShape& s, bool align_corners, const T* input, T* output) {
  const auto rows = triangle_filter<T>(s.input_height, s.output_height, align_corners, s.scale_height);
  const auto columns = triangle_filter<T>(s.input_width, s.output_width, align_corners, s.scale_width);
  const size_t planes = s.batch * s.channels;
  std::vector<T> narrowed(planes * s.input_height * s.output_width);
  const size_t grain = std::max<size_t>(1, 16384 / (s.input_height * s.output_width * columns.width + 1));
  parallel_ranges(planes, grain, [&](size_t first, size_t last) {
    for (size_t line = first * s.input_height; line < last * s.input_height; ++line) {
      const T* in = input + line * s.input_width;
      T* out = narrowed.data() + line * s.output_width;
      for (size_t x = 0; x < s.output_width; ++x) {
        T sum{0};
        for (size_t j = 0; j < columns.count[x]; ++j) {
          sum += columns.weights[x * columns.width + j] * in[columns.begin[x] + j];
        }
        out[x] = sum;
      }
    }
    for (size_t line = first * s.output_height; line < last * s.output_height; ++line) {
      const size_t y = line % s.output_height;
      const T* in = narrowed.data() + (line / s.output_height * s.input_height + rows.begin[y]) * s.output_width;
      T* out = output + line * s.output_width;
      for (size_t x = 0; x < s.output_width; x += kChunk) {
        const size_t width = std::min(kChunk, s.output_width - x);
        T sum[kChunk] = {};
        for (size_t j = 0; j < rows.count[y]; ++j) {
          const T weight = rows.weights[y * rows.width + j];
          const T* from = in + j * s.output_width + x;
          for (size_t i = 0; i < width; ++i) sum[i] += weight * from[i];
        }
        for (size_t i = 0; i < width; ++i) out[x + i] = sum[i];
      }
    }
  });
}

template void resize_bilinear_antialias_nchw(const ResizeShape&, bool, const float*, float*);
template void resize_bilinear_antialias_nchw(const ResizeShape&, bool, const double*, double*);

}  // namespace enr::kernels
