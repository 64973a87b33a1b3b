#include "base/thread_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/window.h"

namespace enr::kernels {

namespace {

Window row_window(const PoolShape& s, size_t y, size_t dilation) noexcept {
  return window_of(y, s.kernel_height, s.stride_height, dilation, s.pad_top, s.pad_bottom, s.input_height);
}
Window column_window(const PoolShape& s, size_t x, size_t dilation) noexcept {
  return window_of(x, s.kernel_width, s.stride_width, dilation, s.pad_left, s.pad_right, s.input_width);
}

// body(b, y, x, output pixel) over all output pixels.
template <class Body>
void for_each_pixel(const PoolShape& s, const Body& body) noexcept {
  const size_t work = s.output_width * s.channels * s.kernel_height * s.kernel_width / 8 + 1;
  parallel_ranges(s.batch * s.output_height, std::max<size_t>(1, 16384 / work), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      for (size_t x = 0; x < s.output_width; ++x) {
        body(row / s.output_height, row % s.output_height, x, row * s.output_width + x);
      }
    }
  });
}

// body(tap, input offset of the pixel) over the valid taps.
template <class Body>
void for_each_tap(const PoolShape& s, size_t b, const Window& rows, const Window& columns, size_t dilation_height,
                  size_t dilation_width, const Body& body) noexcept {
  const size_t stride = s.input_pixel_stride != 0 ? s.input_pixel_stride : s.channels;
  for (size_t i = rows.begin; i < rows.end; ++i) {
    const size_t y = static_cast<size_t>(rows.first + static_cast<ptrdiff_t>(i * dilation_height));
    for (size_t j = columns.begin; j < columns.end; ++j) {
      const size_t x = static_cast<size_t>(columns.first + static_cast<ptrdiff_t>(j * dilation_width));
      body(i * s.kernel_width + j, ((b * s.input_height + y) * s.input_width + x) * stride);
    }
  }
}

size_t output_stride(const PoolShape& s) noexcept {
  return s.output_pixel_stride != 0 ? s.output_pixel_stride : s.channels;
}

template <class T>
T clamp_keep_nan(T value, T min, T max) noexcept {
  value = value < min ? min : value;
  return value > max ? max : value;
}

}  // namespace

template <class T>
void max_pool_nhwc(const PoolShape& s, const T* input, T* output, T min, T max) noexcept {
  for_each_pixel(s, [&](size_t b, size_t y, size_t x, size_t pixel) {
    const Window rows = row_window(s, y, s.dilation_height), columns = column_window(s, x, s.dilation_width);
    T* out = output + pixel * output_stride(s);
    for (size_t c = 0; c < s.channels; ++c) out[c] = lowest_value<T>();
    for_each_tap(s, b, rows, columns, s.dilation_height, s.dilation_width, [&](size_t, size_t offset) {
      for (size_t c = 0; c < s.channels; ++c) {
        const T value = input[offset + c];
        out[c] = value > out[c] || value != value ? value : out[c];
      }
    });
    for (size_t c = 0; c < s.channels; ++c) out[c] = clamp_keep_nan(out[c], min, max);
  });
}

void average_pool_nhwc(const PoolShape& s, AverageDivisor divisor, int64_t given_divisor, const float* input,
                       float* output, float min, float max) noexcept {
  for_each_pixel(s, [&](size_t b, size_t y, size_t x, size_t pixel) {
    const Window rows = row_window(s, y, 1), columns = column_window(s, x, 1);
    float* out = output + pixel * output_stride(s);
    for (size_t c = 0; c < s.channels; ++c) out[c] = 0.0f;
    for_each_tap(s, b, rows, columns, 1, 1, [&](size_t, size_t offset) {
      for (size_t c = 0; c < s.channels; ++c) out[c] += input[offset + c];
    });
    const size_t valid = (rows.end - rows.begin) * (columns.end - columns.begin);
    float count = static_cast<float>(given_divisor);
    if (divisor == AverageDivisor::kExcludePadding) count = static_cast<float>(std::max<size_t>(valid, 1));
    if (divisor == AverageDivisor::kIncludePadding) {
      count = static_cast<float>((rows.padded_end - rows.first) * (columns.padded_end - columns.first));
    }
    if (valid == 0) count = 1.0f;
    for (size_t c = 0; c < s.channels; ++c) out[c] = clamp_keep_nan(out[c] / count, min, max);
  });
}

void argmax_pool_nhwc(const PoolShape& s, const float* input, float* output, uint32_t* index) noexcept {
  for_each_pixel(s, [&](size_t b, size_t y, size_t x, size_t pixel) {
    const Window rows = row_window(s, y, 1), columns = column_window(s, x, 1);
    uint32_t* best_tap = index + pixel * output_stride(s);
    for (size_t c = 0; c < s.channels; ++c) {
      float best = lowest_value<float>();
      best_tap[c] = static_cast<uint32_t>(rows.begin * s.kernel_width + columns.begin);
      for_each_tap(s, b, rows, columns, 1, 1, [&](size_t tap, size_t offset) {
        const float value = input[offset + c];
        if (!(value > best || value != value)) return;
        best = value;
        best_tap[c] = static_cast<uint32_t>(tap);
      });
      if (output != nullptr) output[pixel * output_stride(s) + c] = best;
    }
  });
}

void global_average_nhwc(size_t batch, size_t pixels, size_t channels, size_t input_pixel_stride, const float* input,
                         float* output, float min, float max) noexcept {
  const size_t stride = input_pixel_stride != 0 ? input_pixel_stride : channels;
  for (size_t b = 0; b < batch; ++b) {
    float* out = output + b * channels;
    for (size_t c = 0; c < channels; ++c) out[c] = 0.0f;
    for (size_t p = 0; p < pixels; ++p) {
      const float* in = input + (b * pixels + p) * stride;
      for (size_t c = 0; c < channels; ++c) out[c] += in[c];
    }
    for (size_t c = 0; c < channels; ++c) out[c] = clamp_keep_nan(out[c] / static_cast<float>(pixels), min, max);
  }
}

template void max_pool_nhwc(const PoolShape&, const float*, float*, float, float) noexcept;
template void max_pool_nhwc(const PoolShape&, const int8_t*, int8_t*, int8_t, int8_t) noexcept;
template void max_pool_nhwc(const PoolShape&, const uint8_t*, uint8_t*, uint8_t, uint8_t) noexcept;

}  // namespace enr::kernels
