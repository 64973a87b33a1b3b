#include "base/thread_pool.h"
#include "kernels/resize/coordinates.h"
#include "kernels/resize/resize.h"

namespace enr::kernels {

void resize_bilinear_nhwc(const ResizeShape& s, bool align_corners, const float* input, float* output) noexcept {
  const size_t in_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels;
  const size_t out_stride = s.output_pixel_stride != 0 ? s.output_pixel_stride : s.channels;
  const LinearAxis<float> rows(s.input_height, s.output_height, align_corners, s.scale_height);
  const LinearAxis<float> columns(s.input_width, s.output_width, align_corners, s.scale_width);
  const size_t grain = std::max<size_t>(1, 16384 / (s.output_width * s.channels + 1));
  parallel_ranges(s.batch * s.output_height, grain, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const auto y = rows[row % s.output_height];
      const float* image = input + row / s.output_height * s.input_height * s.input_width * in_stride;
      const float* top = image + static_cast<size_t>(y.low) * s.input_width * in_stride;
      const float* bottom = image + static_cast<size_t>(y.high) * s.input_width * in_stride;
      for (size_t column = 0; column < s.output_width; ++column) {
        const auto x = columns[column];
        const size_t left = static_cast<size_t>(x.low) * in_stride, right = static_cast<size_t>(x.high) * in_stride;
        float* out = output + (row * s.output_width + column) * out_stride;
        for (size_t c = 0; c < s.channels; ++c) {
          const float upper = top[left + c] + x.weight * (top[right + c] - top[left + c]);
          const float lower = bottom[left + c] + x.weight * (bottom[right + c] - bottom[left + c]);
          out[c] = upper + y.weight * (lower - upper);
        }
      }
    }
  });
}

}  // namespace enr::kernels
