#include <cmath>
#include <type_traits>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/pool/plane_kernels.h"
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

// One output, read through its windows.
template <class T>
void max_at(const PoolShape& s, const Window& rows, const Window& columns, const T* input, T* output,
            int64_t* index) noexcept {
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
  *output = best;
  if (index != nullptr) *index = best_position;
}

template <class T>
void average_at(const PoolShape& s, AverageDivisor divisor, int64_t given_divisor, const Window& rows,
                const Window& columns, const T* input, T* output) noexcept {
  Sum<T> sum{};
  for (size_t i = rows.begin; i < rows.end; ++i) {
    const T* line = input + (rows.first + static_cast<ptrdiff_t>(i)) * static_cast<ptrdiff_t>(s.input_width);
    for (size_t j = columns.begin; j < columns.end; ++j) sum += line[columns.first + static_cast<ptrdiff_t>(j)];
  }
  const size_t inside = (rows.end - rows.begin) * (columns.end - columns.begin);
  int64_t count = given_divisor;
  if (divisor == AverageDivisor::kExcludePadding) count = static_cast<int64_t>(inside);
  if (divisor == AverageDivisor::kIncludePadding) {
    count = (rows.padded_end - rows.first) * (columns.padded_end - columns.first);
  }
  *output = inside == 0 ? T{} : T(sum / static_cast<Sum<T>>(count));
}

// Output columns [begin, end) whose windows lie inside of the plane.
struct InnerColumns {
  size_t begin, end;
};

InnerColumns inner_columns(const PoolShape& s, size_t dilation) noexcept {
  const size_t span = (s.kernel_width - 1) * dilation + 1;
  InnerColumns inner{(s.pad_left + s.stride_width - 1) / s.stride_width, 0};
  if (s.input_width + s.pad_left >= span) inner.end = (s.input_width + s.pad_left - span) / s.stride_width + 1;
  inner.end = std::min(inner.end, s.output_width);
  inner.begin = std::min(inner.begin, inner.end);
  return inner;
}

PlaneRow make_row(const PoolShape& s, const Window& rows, const InnerColumns& inner, size_t dilation_height,
                  size_t dilation_width) noexcept {
  return {rows.end - rows.begin, dilation_height * s.input_width, s.kernel_width, s.stride_width,
          dilation_width,        inner.end - inner.begin};
}

// Position in the plane of the first tap of output column x.
size_t first_position(const PoolShape& s, const Window& rows, size_t x, size_t dilation_height) noexcept {
  const auto y = static_cast<size_t>(rows.first + static_cast<ptrdiff_t>(rows.begin * dilation_height));
  return y * s.input_width + x * s.stride_width - s.pad_left;
}

template <class T>
void max_plane(const PoolShape& s, const T* input, T* output, int64_t* index) noexcept {
  InnerColumns inner{0, 0};
  // The vector loops hold positions in 32 bits.
  if (std::is_same_v<T, float> && s.input_height * s.input_width < (size_t{1} << 31)) {
    inner = inner_columns(s, s.dilation_width);
  }
  for (size_t y = 0; y < s.output_height; ++y) {
    const Window rows = row_window(s, y, s.dilation_height);
    int64_t* index_row = index == nullptr ? nullptr : index + y * s.output_width;
    const auto border = [&](size_t begin, size_t end) {
      for (size_t x = begin; x < end; ++x) {
        max_at(s, rows, column_window(s, x, s.dilation_width), input, output + y * s.output_width + x,
               index == nullptr ? nullptr : index_row + x);
      }
    };
    if (rows.begin == rows.end || inner.begin == inner.end) {
      border(0, s.output_width);
      continue;
    }
    border(0, inner.begin);
    if constexpr (std::is_same_v<T, float>) {
      const size_t position = first_position(s, rows, inner.begin, s.dilation_height);
      plane_kernels().max(make_row(s, rows, inner, s.dilation_height, s.dilation_width), input + position,
                          output + y * s.output_width + inner.begin,
                          index == nullptr ? nullptr : index_row + inner.begin, static_cast<int32_t>(position));
    }
    border(inner.end, s.output_width);
  }
}

template <class T>
void average_plane(const PoolShape& s, AverageDivisor divisor, int64_t given_divisor, const T* input,
                   T* output) noexcept {
  const InnerColumns inner = std::is_same_v<T, float> ? inner_columns(s, 1) : InnerColumns{0, 0};
  for (size_t y = 0; y < s.output_height; ++y) {
    const Window rows = row_window(s, y, 1);
    const auto border = [&](size_t begin, size_t end) {
      for (size_t x = begin; x < end; ++x) {
        average_at(s, divisor, given_divisor, rows, column_window(s, x, 1), input, output + y * s.output_width + x);
      }
    };
    if (rows.begin == rows.end || inner.begin == inner.end) {
      border(0, s.output_width);
      continue;
    }
    border(0, inner.begin);
    if constexpr (std::is_same_v<T, float>) {
      float count = static_cast<float>(given_divisor);
      if (divisor == AverageDivisor::kExcludePadding)
        count = static_cast<float>((rows.end - rows.begin) * s.kernel_width);
      if (divisor == AverageDivisor::kIncludePadding) {
        count = static_cast<float>((rows.padded_end - rows.first) * static_cast<ptrdiff_t>(s.kernel_width));
      }
      plane_kernels().average(make_row(s, rows, inner, 1, 1), count, input + first_position(s, rows, inner.begin, 1),
                              output + y * s.output_width + inner.begin);
    }
    border(inner.end, s.output_width);
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
        if constexpr (std::is_same_v<T, float>) {
          sum =
              plane_kernels().sum(y_end - y_begin, input_width, x_end - x_begin, in + y_begin * input_width + x_begin);
        } else {
          for (size_t i = y_begin; i < y_end; ++i) {
            for (size_t j = x_begin; j < x_end; ++j) sum += in[i * input_width + j];
          }
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
