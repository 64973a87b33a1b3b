#include "kernels/conv/windows.h"

#include <algorithm>
#include <cstring>

#include "kernels/transpose/layout.h"

namespace enr::kernels {

namespace {

// A call of memcpy takes longer than the few floats of a window's piece.
void copy_floats(float* to, const float* from, size_t count) noexcept {
  constexpr size_t kFew = 64, kStep = 4;
  if (count > kFew) {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) std::memcpy(to + i, from + i, kStep * sizeof(float));
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace

Range kernel_rows(const ConvShape& s, size_t y) noexcept {
  const ptrdiff_t first = static_cast<ptrdiff_t>(y * s.stride_height) - static_cast<ptrdiff_t>(s.pad_top);
  const auto dilation = static_cast<ptrdiff_t>(s.dilation_height);
  const auto height = static_cast<ptrdiff_t>(s.input_height), count = static_cast<ptrdiff_t>(s.kernel_height);
  const ptrdiff_t begin = std::min(first >= 0 ? 0 : (-first + dilation - 1) / dilation, count);
  const ptrdiff_t end = first >= height ? 0 : std::min(count, (height - first + dilation - 1) / dilation);
  return {static_cast<size_t>(begin), static_cast<size_t>(std::max(begin, end))};
}

Source source_of(const ConvShape& s, const PixelGrid& from, const float* input, const Area& area) noexcept {
  if (s.is_planar) return {input + area.image * s.input_channels * from.images, from.rows, 1};
  return {input + (from.first + area.image * from.images) * s.input_pixel_stride + area.group * group_inputs(s),
          from.rows * s.input_pixel_stride, s.input_pixel_stride};
}

Source copy_band(const ConvShape& s, const Source& from, const Area& area, float* band, bool is_there) noexcept {
  const size_t channels = group_inputs(s);
  if (channels == 0) return from;
  const auto first_y = static_cast<ptrdiff_t>(area.y * s.stride_height) - static_cast<ptrdiff_t>(s.pad_top);
  const auto first_x = static_cast<ptrdiff_t>(area.x * s.stride_width) - static_cast<ptrdiff_t>(s.pad_left);
  const auto rows =
      static_cast<ptrdiff_t>(reach(area.y_end - area.y, s.stride_height, s.kernel_height, s.dilation_height));
  const auto columns =
      static_cast<ptrdiff_t>(reach(area.x_end - area.x, s.stride_width, s.kernel_width, s.dilation_width));
  const ptrdiff_t begin = std::clamp<ptrdiff_t>(-first_x, 0, columns);
  const ptrdiff_t end = std::clamp<ptrdiff_t>(static_cast<ptrdiff_t>(s.input_width) - first_x, begin, columns);
  const auto row_floats = static_cast<size_t>(columns) * channels;
  if (!is_there) {
    // kernel_rows skips those outside.
    const ptrdiff_t row_begin = std::clamp<ptrdiff_t>(-first_y, 0, rows);
    const ptrdiff_t row_end = std::clamp<ptrdiff_t>(static_cast<ptrdiff_t>(s.input_height) - first_y, row_begin, rows);
    const auto pixels = static_cast<size_t>(end - begin);
    const size_t before = static_cast<size_t>(begin) * channels;
    for (ptrdiff_t row = row_begin; row < row_end; ++row) {
      float* out = band + static_cast<size_t>(row) * row_floats;
      std::fill(out, out + before, 0.0f);
      std::fill(out + static_cast<size_t>(end) * channels, out + row_floats, 0.0f);
      if (s.is_planar) continue;
      const float* in = from.at(first_y + row, first_x + begin);
      if (s.input_pixel_stride == channels) {
        std::memcpy(out + before, in, pixels * channels * sizeof(float));
      } else {
        for (size_t x = 0; x < pixels; ++x)
          copy_floats(out + before + x * channels, in + x * from.pixel_stride, channels);
      }
    }
    if (s.is_planar && row_end > row_begin && pixels != 0) {
      transpose_2d(band + static_cast<size_t>(row_begin) * row_floats + before, channels * sizeof(float),
                   row_floats * sizeof(float), from.at(first_y + row_begin, first_x + begin),
                   s.input_height * s.input_width * sizeof(float), s.input_width * sizeof(float),
                   static_cast<size_t>(row_end - row_begin), channels, pixels, sizeof(float));
    }
  }
  Source band_source = {band, row_floats, channels};
  band_source.origin = band_source.at(-first_y, -first_x);
  return band_source;
}

void copy_windows(const ConvShape& s, const Source& from, const Area& area, float* rows) noexcept {
  const size_t channels = group_inputs(s);
  const bool whole_rows = s.dilation_width == 1 && from.pixel_stride == channels;
  const size_t pieces = whole_rows ? 1 : s.kernel_width, floats = whole_rows ? s.kernel_width * channels : channels;
  if (floats == 0) return;
  for (size_t y = area.y; y < area.y_end; ++y) {
    const Range valid = kernel_rows(s, y);
    for (size_t x = area.x; x < area.x_end; ++x) {
      for (size_t ky = 0; ky < s.kernel_height; ++ky) {
        for (size_t piece = 0; piece < pieces; ++piece, rows += floats) {
          if (ky < valid.begin || ky >= valid.end) {
            std::fill(rows, rows + floats, 0.0f);
            continue;
          }
          const auto in_y = static_cast<ptrdiff_t>(y * s.stride_height + ky * s.dilation_height);
          const auto in_x = static_cast<ptrdiff_t>(x * s.stride_width + piece * s.dilation_width);
          copy_floats(rows,
                      from.at(in_y - static_cast<ptrdiff_t>(s.pad_top), in_x - static_cast<ptrdiff_t>(s.pad_left)),
                      floats);
        }
      }
    }
  }
}

}  // namespace enr::kernels
