#include <array>
#include <type_traits>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/resize/coordinates.h"
#include "kernels/resize/resize.h"

namespace enr::kernels {

namespace {

template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
void bilinear_plane(const ResizeShape& s, const LinearAxis<Real<T>>& rows, size_t column_begin,
                    const std::array<LinearSource<Real<T>>, kResizeChunk>& columns, size_t column_count, const T* input,
                    T* output) noexcept {
  for (size_t row = 0; row < s.output_height; ++row) {
    const auto y = rows[row];
    const T* top = input + static_cast<size_t>(y.low) * s.input_width;
    const T* bottom = input + static_cast<size_t>(y.high) * s.input_width;
    T* out = output + row * s.output_width + column_begin;
    for (size_t i = 0; i < column_count; ++i) {
      const auto& x = columns[i];
      const Real<T> left = Real<T>{1} - x.weight;
      const Real<T> upper = left * static_cast<Real<T>>(top[x.low]) + x.weight * static_cast<Real<T>>(top[x.high]);
      const Real<T> lower =
          left * static_cast<Real<T>>(bottom[x.low]) + x.weight * static_cast<Real<T>>(bottom[x.high]);
      out[i] = T((Real<T>{1} - y.weight) * upper + y.weight * lower);
    }
  }
}

// One plane of float32: every input row is stretched once, the rows between are blends of two.
void bilinear_plane(const ResizeShape& s, const LinearAxis<float>& rows, size_t column_begin,
                    const LinearColumns& columns, size_t column_count, const float* input, float* output) noexcept {
  float buffer[2][kResizeChunk];
  size_t held[2] = {s.input_height, s.input_height};  // the input row each buffer holds
  const ResizeKernels& kernels = resize_kernels();
  // The buffer with the input row; the row may replace any but `other`.
  const auto stretched = [&](size_t row, size_t other) {
    const size_t slot = held[0] == row ? 0 : held[1] == row ? 1 : held[0] == other ? 1 : 0;
    if (held[slot] != row) {
      kernels.stretch_row(columns, column_count, input + row * s.input_width, buffer[slot]);
      held[slot] = row;
    }
    return buffer[slot];
  };
  for (size_t row = 0; row < s.output_height; ++row) {
    const auto y = rows[row];
    const auto low = static_cast<size_t>(y.low), high = static_cast<size_t>(y.high);
    const float* top = stretched(low, high);
    const float* bottom = stretched(high, low);
    kernels.blend_rows(top, bottom, y.weight, column_count, output + row * s.output_width + column_begin);
  }
}

template <size_t kSize>
void nearest_plane(const ResizeShape& s, const NearestAxis& rows, size_t column_begin, const uint32_t* columns,
                   size_t column_count, const char* input, char* output) noexcept {
  struct Element {
    char bytes[kSize];
  };
  for (size_t row = 0; row < s.output_height; ++row) {
    const Element* line = reinterpret_cast<const Element*>(input) + rows[row] * s.input_width;
    Element* out = reinterpret_cast<Element*>(output) + row * s.output_width + column_begin;
    if (row != 0 && rows[row] == rows[row - 1]) {
      std::copy_n(out - s.output_width, column_count, out);
    } else if constexpr (kSize == 4) {
      resize_kernels().pick_row_32(columns, column_count, reinterpret_cast<const uint32_t*>(line),
                                   reinterpret_cast<uint32_t*>(out));
    } else {
      for (size_t i = 0; i < column_count; ++i) out[i] = line[columns[i]];
    }
  }
}

// body(first plane, end plane) on the pool.
template <class Body>
void for_planes(const ResizeShape& s, const Body& body) noexcept {
  const size_t grain = std::max<size_t>(1, 16384 / (s.output_height * s.output_width + 1));
  parallel_ranges(s.batch * s.channels, grain, body);
}

}  // namespace

template <class T>
void resize_bilinear_nchw(const ResizeShape& s, bool align_corners, const T* input, T* output) noexcept {
  if (s.output_height == 0 || s.output_width == 0) return;
  const LinearAxis<Real<T>> rows(s.input_height, s.output_height, align_corners, s.scale_height);
  const LinearAxis<Real<T>> columns(s.input_width, s.output_width, align_corners, s.scale_width);
  for_planes(s, [&](size_t begin, size_t end) {
    std::conditional_t<std::is_same_v<T, float>, LinearColumns, std::array<LinearSource<Real<T>>, kResizeChunk>>
        sources;
    for (size_t first = 0; first < s.output_width; first += kResizeChunk) {
      const size_t count = std::min(kResizeChunk, s.output_width - first);
      if constexpr (std::is_same_v<T, float>) {
        fill_columns(columns, first, count, sources);
      } else {
        for (size_t i = 0; i < count; ++i) sources[i] = columns[first + i];
      }
      for (size_t plane = begin; plane < end; ++plane) {
        bilinear_plane(s, rows, first, sources, count, input + plane * s.input_height * s.input_width,
                       output + plane * s.output_height * s.output_width);
      }
    }
  });
}

void resize_nearest_nchw(const ResizeShape& s, const void* input, void* output, size_t element_size) noexcept {
  if (s.output_height == 0 || s.output_width == 0) return;
  const NearestAxis rows(s.input_height, s.output_height, s.scale_height);
  const NearestAxis columns(s.input_width, s.output_width, s.scale_width);
  auto* const plane_function = element_size == 1   ? nearest_plane<1>
                               : element_size == 2 ? nearest_plane<2>
                               : element_size == 4 ? nearest_plane<4>
                               : element_size == 8 ? nearest_plane<8>
                                                   : nearest_plane<16>;
  for_planes(s, [&](size_t begin, size_t end) {
    uint32_t sources[kResizeChunk];
    for (size_t first = 0; first < s.output_width; first += kResizeChunk) {
      const size_t count = std::min(kResizeChunk, s.output_width - first);
      for (size_t i = 0; i < count; ++i) sources[i] = static_cast<uint32_t>(columns[first + i]);
      for (size_t plane = begin; plane < end; ++plane) {
        plane_function(s, rows, first, sources, count,
                       static_cast<const char*>(input) + plane * s.input_height * s.input_width * element_size,
                       static_cast<char*>(output) + plane * s.output_height * s.output_width * element_size);
      }
    }
  });
}

template void resize_bilinear_nchw(const ResizeShape&, bool, const float*, float*) noexcept;
template void resize_bilinear_nchw(const ResizeShape&, bool, const double*, double*) noexcept;
template void resize_bilinear_nchw(const ResizeShape&, bool, const Half*, Half*) noexcept;
template void resize_bilinear_nchw(const ResizeShape&, bool, const BFloat16*, BFloat16*) noexcept;

}  // namespace enr::kernels
