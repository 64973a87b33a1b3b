#include <cmath>
#include <type_traits>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/window.h"

namespace enr::kernels {

namespace {

// Half kinds add in float, integers in int64.
template <class T>
using Sum =
    std::conditional_t<std::is_integral_v<T>, int64_t, std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <class T>
T lowest() noexcept {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return T(-std::numeric_limits<float>::infinity());
  }
}

template <class T>
bool is_nan(T value) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return value != value;
  }
}

Window row_window(const PoolShape& s, size_t y, size_t dilation) noexcept {
  return window_of(y, s.kernel_height, s.stride_height, dilation, s.pad_top, s.pad_bottom, s.input_height);
}
Window column_window(const PoolShape& s, size_t x, size_t dilation) noexcept {
  return window_of(x, s.kernel_width, s.stride_width, dilation, s.pad_left, s.pad_right, s.input_width);
}

// body(plane) over all planes, a plane costing `work` elementary steps.
template <class Body>
void for_each_plane(size_t planes, size_t work, const Body& body) noexcept {
  const size_t grain = std::max<size_t>(1, 16384 / std::max<size_t>(work, 1));
  parallel_ranges(planes, grain, [&](size_t begin, size_t end) {
    for (size_t plane = begin; plane < end; ++plane) body(plane);
  });
}

template <class T>
void max_plane(const PoolShape& s, const T* input, T* output, int64_t* index) noexcept {
  for (size_t y = 0; y < s.output_height; ++y) {
    const Window rows = row_window(s, y, s.dilation_height);
    for (size_t x = 0; x < s.output_width; ++x) {
      const Window columns = column_window(s, x, s.dilation_width);
      const auto position = [&](size_t i, size_t j) {
        return (rows.first + static_cast<ptrdiff_t>(i * s.dilation_height)) * static_cast<ptrdiff_t>(s.input_width) +
               columns.first + static_cast<ptrdiff_t>(j * s.dilation_width);
      };
      T best = lowest<T>();
      ptrdiff_t best_position =
          rows.begin < rows.end && columns.begin < columns.end ? position(rows.begin, columns.begin) : 0;
      for (size_t i = rows.begin; i < rows.end; ++i) {
        for (size_t j = columns.begin; j < columns.end; ++j) {
          const T value = input[position(i, j)];
          if (value > best || is_nan(value)) {
            best = value;
            best_position = position(i, j);
          }
        }
      }
      *output++ = best;
      if (index != nullptr) *index++ = best_position;
    }
  }
}

template <class T>
void average_plane(const PoolShape& s, AverageDivisor divisor, int64_t given_divisor, const T* input,
                   T* output) noexcept {
  for (size_t y = 0; y < s.output_height; ++y) {
    const Window rows = row_window(s, y, 1);
    for (size_t x = 0; x < s.output_width; ++x) {
      const Window columns = column_window(s, x, 1);
      Sum<T> sum{};
      for (size_t i = rows.begin; i < rows.end; ++i) {
        const T* line = input + (rows.first + static_cast<ptrdiff_t>(i)) * static_cast<ptrdiff_t>(s.input_width);
        for (size_t j = columns.begin; j < columns.end; ++j) {
          sum += line[columns.first + static_cast<ptrdiff_t>(j)];
        }
      }
      const size_t valid = (rows.end - rows.begin) * (columns.end - columns.begin);
      int64_t count = given_divisor;
      if (divisor == AverageDivisor::kExcludePadding) count = static_cast<int64_t>(valid);
      if (divisor == AverageDivisor::kIncludePadding) {
        count = (rows.padded_end - rows.first) * (columns.padded_end - columns.first);
      }
      *output++ = valid == 0 ? T{} : T(sum / static_cast<Sum<T>>(count));
    }
  }
}

}  // namespace

template <class T>
void max_pool_nchw(const PoolShape& shape, const T* input, T* output, int64_t* index) noexcept {
  const size_t in_plane = shape.input_height * shape.input_width;
  const size_t out_plane = shape.output_height * shape.output_width;
  for_each_plane(shape.batch * shape.channels, out_plane * shape.kernel_height * shape.kernel_width, [&](size_t plane) {
    max_plane(shape, input + plane * in_plane, output + plane * out_plane,
              index == nullptr ? nullptr : index + plane * out_plane);
  });
}

template <class T>
void average_pool_nchw(const PoolShape& shape, AverageDivisor divisor, int64_t given_divisor, const T* input,
                       T* output) noexcept {
  const size_t in_plane = shape.input_height * shape.input_width;
  const size_t out_plane = shape.output_height * shape.output_width;
  for_each_plane(shape.batch * shape.channels, out_plane * shape.kernel_height * shape.kernel_width, [&](size_t plane) {
    average_plane(shape, divisor, given_divisor, input + plane * in_plane, output + plane * out_plane);
  });
}

template <class T>
void adaptive_average_pool_nchw(size_t planes, size_t input_height, size_t input_width, size_t output_height,
                                size_t output_width, const T* input, T* output) noexcept {
  const size_t in_plane = input_height * input_width, out_plane = output_height * output_width;
  for_each_plane(planes, in_plane + out_plane, [&](size_t plane) {
    const T* in = input + plane * in_plane;
    T* out = output + plane * out_plane;
    for (size_t y = 0; y < output_height; ++y) {
      const size_t y_begin = y * input_height / output_height;
      const size_t y_end = ((y + 1) * input_height + output_height - 1) / output_height;
      for (size_t x = 0; x < output_width; ++x) {
        const size_t x_begin = x * input_width / output_width;
        const size_t x_end = ((x + 1) * input_width + output_width - 1) / output_width;
        Sum<T> sum{};
        for (size_t i = y_begin; i < y_end; ++i) {
          for (size_t j = x_begin; j < x_end; ++j) sum += in[i * input_width + j];
        }
        *out++ = T(sum / static_cast<Sum<T>>((y_end - y_begin) * (x_end - x_begin)));
      }
    }
  });
}

#define ENR_INSTANTIATE(T)                                                                           \
  template void max_pool_nchw(const PoolShape&, const T*, T*, int64_t*) noexcept;                    \
  template void average_pool_nchw(const PoolShape&, AverageDivisor, int64_t, const T*, T*) noexcept; \
  template void adaptive_average_pool_nchw(size_t, size_t, size_t, size_t, size_t, const T*, T*) noexcept;
ENR_INSTANTIATE(float)
ENR_INSTANTIATE(double)
ENR_INSTANTIATE(Half)
ENR_INSTANTIATE(BFloat16)
ENR_INSTANTIATE(int8_t)
ENR_INSTANTIATE(uint8_t)
ENR_INSTANTIATE(int16_t)
ENR_INSTANTIATE(int32_t)
ENR_INSTANTIATE(int64_t)
#undef ENR_INSTANTIATE

}  // namespace enr::kernels
