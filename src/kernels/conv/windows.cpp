#include "kernels/conv/windows.h"

#include <algorithm>
#include <cstring>

#include "kernels/transpose/layout.h"

namespace enr::kernels {

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
  for (ptrdiff_t row = 0; row < rows && !is_there; ++row) {
    const ptrdiff_t y = first_y + row;
    if (y < 0 || y >= static_cast<ptrdiff_t>(s.input_height)) continue;  // kernel_rows skips these
    float* out = band + static_cast<size_t>(row) * row_floats;
    std::fill(out, out + static_cast<size_t>(begin) * channels, 0.0f);
    if (s.is_planar) {
      const size_t plane = s.input_height * s.input_width;
      transpose_2d(out + static_cast<size_t>(begin) * channels, channels * sizeof(float), 0,
                   from.at(y, first_x + begin), plane * sizeof(float), 0, 1, channels, static_cast<size_t>(end - begin),
                   sizeof(float));
    } else if (s.input_pixel_stride == channels) {
      std::memcpy(out + static_cast<size_t>(begin) * channels, from.at(y, first_x + begin),
                  static_cast<size_t>(end - begin) * channels * sizeof(float));
    } else {
      for (ptrdiff_t x = begin; x < end; ++x) {
        std::memcpy(out + static_cast<size_t>(x) * channels, from.at(y, first_x + x), channels * sizeof(float));
      }
    }
    std::fill(out + static_cast<size_t>(end) * channels, out + row_floats, 0.0f);
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
          std::memcpy(rows,
                      from.at(in_y - static_cast<ptrdiff_t>(s.pad_top), in_x - static_cast<ptrdiff_t>(s.pad_left)),
                      floats * sizeof(float));
        }
      }
    }
  }
}

}  // namespace enr::kernels
