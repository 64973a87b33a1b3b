#include "base/thread_pool.h"
#include "kernels/resize/coordinates.h"
#include "kernels/resize/resize.h"
#include "kernels/resize/resize_kernels.h"

namespace enr::kernels {

namespace {

// Bytes written in about 10 us: the least to give to another thread.
constexpr size_t kGrainBytes = size_t{1} << 17;

}  // namespace

void resize_bilinear_nhwc(const ResizeShape& s, bool align_corners, const float* input, float* output) noexcept {
  const size_t in_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels;
  const size_t out_stride = s.output_pixel_stride != 0 ? s.output_pixel_stride : s.channels;
  const LinearAxis<float> rows(s.input_height, s.output_height, align_corners, s.scale_height);
  const LinearAxis<float> columns(s.input_width, s.output_width, align_corners, s.scale_width);
  const size_t grain = std::max<size_t>(1, kGrainBytes / (4 * s.output_width * s.channels + 1));
  parallel_ranges(s.batch * s.output_height, grain, [&](size_t begin, size_t end) {
    LinearColumns sources;
    for (size_t first = 0; first < s.output_width; first += kResizeChunk) {
      const size_t count = std::min(kResizeChunk, s.output_width - first);
      fill_columns(columns, first, count, sources);
      for (size_t row = begin; row < end; ++row) {
        const auto y = rows[row % s.output_height];
        const float* image = input + row / s.output_height * s.input_height * s.input_width * in_stride;
        const float* top = image + static_cast<size_t>(y.low) * s.input_width * in_stride;
        const float* bottom = image + static_cast<size_t>(y.high) * s.input_width * in_stride;
        resize_kernels().bilinear_nhwc(sources, count, s.channels, top, bottom, y.weight, in_stride,
                                       output + (row * s.output_width + first) * out_stride, out_stride);
      }
    }
  });
}

void resize_nearest_nhwc(const ResizeShape& s, const void* input, void* output, size_t element_size) noexcept {
  const size_t in_stride = (s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels) * element_size;
  const size_t out_stride = (s.output_pixel_stride != 0 ? s.output_pixel_stride : s.channels) * element_size;
  const size_t pixel_bytes = s.channels * element_size;
  const NearestAxis rows(s.input_height, s.output_height, s.scale_height);
  const NearestAxis columns(s.input_width, s.output_width, s.scale_width);
  const size_t grain = std::max<size_t>(1, kGrainBytes / (s.output_width * pixel_bytes + 1));
  parallel_ranges(s.batch * s.output_height, grain, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const size_t y = rows[row % s.output_height];
      const size_t line = row / s.output_height * s.input_height + y;
      const char* in = static_cast<const char*>(input) + line * s.input_width * in_stride;
      char* out = static_cast<char*>(output) + row * s.output_width * out_stride;
      for (size_t x = 0; x < s.output_width; ++x, out += out_stride) {
        std::copy_n(in + columns[x] * in_stride, pixel_bytes, out);
      }
    }
  });
}

}  // namespace enr::kernels
