#include "base/thread_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/pool_kernels.h"
#include "kernels/pool/window.h"

namespace enr::kernels {

namespace {

// Elements read in about 10 us: the least to give to another thread.
constexpr size_t kGrainElements = size_t{1} << 16;

PoolRow make_row(const PoolShape& s, size_t dilation_height, size_t dilation_width) noexcept {
  PoolRow row;
  row.rows = 0;
  row.first_tap_row = 0;
  row.pixel_stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels;
  row.output_pixel_stride = s.output_pixel_stride != 0 ? s.output_pixel_stride : s.channels;
  row.row_step = dilation_height * s.input_width * row.pixel_stride;
  row.input_width = s.input_width;
  row.output_width = s.output_width;
  row.channels = s.channels;
  row.kernel_width = s.kernel_width;
  row.stride_width = s.stride_width;
  row.dilation_width = dilation_width;
  row.pad_left = s.pad_left;
  row.pad_right = s.pad_right;
  return row;
}

// body(row, input elements before the window's first row, output elements before the row, padded rows) over all output
// rows.
template <class Body>
void for_each_row(const PoolShape& s, size_t dilation_height, size_t dilation_width, const Body& body) noexcept {
  const size_t work = s.output_width * s.channels * s.kernel_height * s.kernel_width + 1;
  const size_t grain = std::max<size_t>(1, kGrainElements / work);
  parallel_ranges(s.batch * s.output_height, grain, [&](size_t begin, size_t end) {
    PoolRow row = make_row(s, dilation_height, dilation_width);
    const size_t line = s.input_width * row.pixel_stride;
    for (size_t i = begin; i < end; ++i) {
      const size_t b = i / s.output_height, y = i % s.output_height;
      const Window window =
          window_of(y, s.kernel_height, s.stride_height, dilation_height, s.pad_top, s.pad_bottom, s.input_height);
      row.rows = window.end - window.begin;
      row.first_tap_row = window.begin;
      const size_t first =
          row.rows == 0 ? 0
                        : static_cast<size_t>(window.first + static_cast<ptrdiff_t>(window.begin * dilation_height));
      body(row, (b * s.input_height + first) * line, i * s.output_width * row.output_pixel_stride,
           static_cast<size_t>(std::max<ptrdiff_t>(window.padded_end - window.first, 0)));
    }
  });
}

template <class T>
MaxRowFunction<T> max_function() noexcept;
template <>
MaxRowFunction<float> max_function<float>() noexcept {
  return pool_kernels().max_f32;
}
template <>
MaxRowFunction<int8_t> max_function<int8_t>() noexcept {
  return pool_kernels().max_i8;
}
template <>
MaxRowFunction<uint8_t> max_function<uint8_t>() noexcept {
  return pool_kernels().max_u8;
}

}  // namespace

template <class T>
void max_pool_nhwc(const PoolShape& shape, const T* input, T* output, T min, T max) noexcept {
  const MaxRowFunction<T> function = max_function<T>();
  for_each_row(
      shape, shape.dilation_height, shape.dilation_width,
      [&](const PoolRow& row, size_t in, size_t out, size_t) { function(row, input + in, output + out, min, max); });
}

void average_pool_nhwc(const PoolShape& shape, AverageDivisor divisor, int64_t given_divisor, const float* input,
                       float* output, float min, float max) noexcept {
  const float fixed = divisor == AverageDivisor::kGiven ? static_cast<float>(given_divisor) : 0.0f;
  for_each_row(shape, 1, 1, [&](const PoolRow& row, size_t in, size_t out, size_t padded_rows) {
    pool_kernels().average(row, fixed, divisor == AverageDivisor::kIncludePadding ? padded_rows : 0, input + in,
                           output + out, min, max);
  });
}

void argmax_pool_nhwc(const PoolShape& shape, const float* input, float* output, uint32_t* index) noexcept {
  for_each_row(shape, 1, 1, [&](const PoolRow& row, size_t in, size_t out, size_t) {
    pool_kernels().argmax(row, input + in, output == nullptr ? nullptr : output + out, index + out);
  });
}

void global_average_nhwc(size_t batch, size_t pixels, size_t channels, size_t input_pixel_stride, const float* input,
                         float* output, float min, float max) noexcept {
  const size_t stride = input_pixel_stride != 0 ? input_pixel_stride : channels;
  const size_t block = 4 * pool_kernels().lanes;
  const size_t blocks = (channels + block - 1) / block;
  const size_t grain = std::max<size_t>(1, kGrainElements / (block * pixels + 1));
  parallel_ranges(batch * blocks, grain, [&](size_t begin, size_t end) {
    while (begin < end) {
      const size_t b = begin / blocks, first = begin % blocks;
      const size_t last = std::min(blocks, first + end - begin);
      const size_t channel = first * block;
      pool_kernels().global_average(pixels, std::min(channels, last * block) - channel, stride,
                                    input + b * pixels * stride + channel, output + b * channels + channel, min, max);
      begin += last - first;
    }
  });
}

template void max_pool_nhwc(const PoolShape&, const float*, float*, float, float) noexcept;
template void max_pool_nhwc(const PoolShape&, const int8_t*, int8_t*, int8_t, int8_t) noexcept;
template void max_pool_nhwc(const PoolShape&, const uint8_t*, uint8_t*, uint8_t, uint8_t) noexcept;

}  // namespace enr::kernels
