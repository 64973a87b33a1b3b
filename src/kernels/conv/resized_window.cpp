#include "kernels/conv/resized_window.h"

#include <algorithm>

#include "kernels/resize/coordinates.h"

namespace enr::kernels {

namespace {

size_t position(ptrdiff_t first, size_t i) noexcept { return static_cast<size_t>(first + static_cast<ptrdiff_t>(i)); }

}  // namespace

void resize_window(const ConvPart& part, size_t height, size_t width, const float* image, ptrdiff_t y, ptrdiff_t x,
                   const Range& rows, const Range& columns, float* out, size_t row_stride) noexcept {
  const size_t line = part.width * part.pixel_stride, count = columns.end - columns.begin;
  if (count == 0) return;
  if (part.resize == ConvPart::Resize::kNearest) {
    const NearestAxis of_rows(part.height, height, std::nullopt), of_columns(part.width, width, std::nullopt);
    for (size_t row = rows.begin; row < rows.end; ++row) {
      const float* from = image + of_rows[position(y, row)] * line;
      for (size_t column = columns.begin; column < columns.end; ++column) {
        std::copy_n(from + of_columns[position(x, column)] * part.pixel_stride, part.channels,
                    out + row * row_stride + column * part.channels);
      }
    }
    return;
  }
  const LinearAxis<float> of_rows(part.height, height, part.align_corners, std::nullopt);
  LinearColumns sources;
  fill_columns(LinearAxis<float>(part.width, width, part.align_corners, std::nullopt), position(x, columns.begin),
               count, sources);
  for (size_t row = rows.begin; row < rows.end; ++row) {
    const LinearSource<float> source = of_rows[position(y, row)];
    resize_kernels().bilinear_nhwc(sources, count, part.channels, image + static_cast<size_t>(source.low) * line,
                                   image + static_cast<size_t>(source.high) * line, source.weight, part.pixel_stride,
                                   out + row * row_stride + columns.begin * part.channels, part.channels);
  }
}

}  // namespace enr::kernels
