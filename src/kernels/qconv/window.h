#pragma once

// Windows of convolutions as rows of a product: which input bytes an output pixel sees. Neighbouring output pixels are
// written together, one piece of their windows after the other.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/qgemm/qtile.h"

namespace enr::kernels {

// One image of the input, from one group's first channel on.
struct WindowSource {
  const uint8_t* image = nullptr;
  const uint8_t* padding = nullptr;  // as many bytes as a row of the kernel
  size_t pixel_stride = 0;
  size_t channels = 0;  // of the group
  uint8_t flip = 0;
};

// Rows of a tile that are being written, left to right.
class WindowRows {
 public:
  WindowRows(const WindowSource& source, size_t rows, std::byte* to, size_t to_stride) noexcept
      : source_(source), rows_(rows), to_(to), to_stride_(to_stride) {}

  void skip(size_t count) noexcept { to_ += count * qgemm_table().int8.bytes; }
  // `count` bytes to rows [begin, end); the first from `from`, the next ones step further.
  void write(size_t begin, size_t end, const uint8_t* from, size_t step, size_t count) const noexcept {
    if (begin >= end || count == 0) return;
    qgemm_table().copy_int8({.from = from,
                             .from_stride = step,
                             .rows = end - begin,
                             .count = count,
                             .flip = source_.flip,
                             .to = to_ + begin * to_stride_,
                             .to_stride = to_stride_});
  }
  void write_padding(size_t begin, size_t end, size_t count) const noexcept {
    write(begin, end, source_.padding, 0, count);
  }
  // The pixel at column `first` of an image row to the first row, `step` columns further to each next one; padding
  // where that is outside of [0, width). Rows [done_begin, done_end) are left alone.
  void write_pixels(const uint8_t* image_row, ptrdiff_t first, size_t step, size_t width, size_t done_begin,
                    size_t done_end) const noexcept {
    const Range inside(first, step, width, rows_);
    const auto write_part = [&](size_t begin, size_t end) {
      write_padding(begin, std::min(end, inside.begin), source_.channels);
      const size_t from = std::max(begin, inside.begin);
      const ptrdiff_t column = first + static_cast<ptrdiff_t>(from * step);
      write(from, std::min(end, inside.end), image_row + column * static_cast<ptrdiff_t>(source_.pixel_stride),
            step * source_.pixel_stride, source_.channels);
      write_padding(std::max(begin, inside.end), end, source_.channels);
    };
    if (done_begin >= done_end) return write_part(0, rows_);
    write_part(0, done_begin);
    write_part(done_end, rows_);
  }

  // To row i the `count` neighbouring pixels from column `first` of an image row on, padding where that is outside of
  // [0, width).
  void write_cut_row(size_t i, const uint8_t* image_row, ptrdiff_t first, size_t width, size_t count) const noexcept {
    const ptrdiff_t size = static_cast<ptrdiff_t>(count);
    const ptrdiff_t begin = std::clamp<ptrdiff_t>(-first, 0, size);
    const ptrdiff_t end = std::clamp<ptrdiff_t>(static_cast<ptrdiff_t>(width) - first, begin, size);
    WindowRows piece = *this;
    const auto bytes = [&](ptrdiff_t pixels) { return static_cast<size_t>(pixels) * source_.channels; };
    piece.write_padding(i, i + 1, bytes(begin));
    piece.skip(bytes(begin));
    if (end > begin) {
      piece.write(i, i + 1, image_row + (first + begin) * static_cast<ptrdiff_t>(source_.pixel_stride), 0,
                  bytes(end - begin));
    }
    piece.skip(bytes(end - begin));
    piece.write_padding(i, i + 1, bytes(size - end));
  }

  // Of the positions first, first + step, ..., the i in [begin, end) are those inside of [0, size), i < count.
  struct Range {
    size_t begin, end;
    Range(ptrdiff_t first, size_t step, size_t size, size_t count) noexcept {
      const ptrdiff_t s = static_cast<ptrdiff_t>(step), limit = static_cast<ptrdiff_t>(size);
      const ptrdiff_t before = first >= 0 ? 0 : (-first + s - 1) / s;
      const ptrdiff_t until = first >= limit ? 0 : (limit - first + s - 1) / s;
      end = std::min(count, static_cast<size_t>(until));
      begin = std::min(end, static_cast<size_t>(before));
    }
  };

  size_t rows() const noexcept { return rows_; }

 private:
  const WindowSource& source_;
  size_t rows_;
  std::byte* to_;
  size_t to_stride_;
};

// The windows of output pixels (y, x), (y, x + 1), ... of one row.
inline void write_windows(const ConvShape& s, const WindowSource& from, size_t y, size_t x, WindowRows to) noexcept {
  const ptrdiff_t top = static_cast<ptrdiff_t>(y * s.stride_height) - static_cast<ptrdiff_t>(s.pad_top);
  const ptrdiff_t left = static_cast<ptrdiff_t>(x * s.stride_width) - static_cast<ptrdiff_t>(s.pad_left);
  const size_t count = s.kernel_width * from.channels, row_bytes = s.input_width * from.pixel_stride;
  // A kernel's row is one piece where it lies wholly inside and its pixels are neighbours in memory.
  const bool neighbours = from.pixel_stride == from.channels && s.dilation_width == 1;
  WindowRows::Range whole(left, s.stride_width, s.input_width, to.rows());
  if (neighbours && s.kernel_width <= s.input_width) {
    whole = WindowRows::Range(left, s.stride_width, s.input_width - s.kernel_width + 1, to.rows());
  } else if (s.kernel_width != 1) {
    whole.end = whole.begin;
  }
  for (size_t ky = 0; ky < s.kernel_height; ++ky, to.skip(count)) {
    const ptrdiff_t row = top + static_cast<ptrdiff_t>(ky * s.dilation_height);
    if (row < 0 || row >= static_cast<ptrdiff_t>(s.input_height)) {
      to.write_padding(0, to.rows(), count);
      continue;
    }
    const uint8_t* image_row = from.image + static_cast<size_t>(row) * row_bytes;
    const ptrdiff_t first = left + static_cast<ptrdiff_t>(whole.begin * s.stride_width);
    to.write(whole.begin, whole.end, image_row + first * static_cast<ptrdiff_t>(from.pixel_stride),
             s.stride_width * from.pixel_stride, count);
    if (whole.begin == 0 && whole.end == to.rows()) continue;
    if (neighbours) {
      const auto write_cut = [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          to.write_cut_row(i, image_row, left + static_cast<ptrdiff_t>(i * s.stride_width), s.input_width,
                           s.kernel_width);
        }
      };
      write_cut(0, whole.begin);
      write_cut(whole.end, to.rows());
      continue;
    }
    WindowRows piece = to;
    for (size_t kx = 0; kx < s.kernel_width; ++kx, piece.skip(from.channels)) {
      const ptrdiff_t column = left + static_cast<ptrdiff_t>(kx * s.dilation_width);
      piece.write_pixels(image_row, column, s.stride_width, s.input_width, whole.begin, whole.end);
    }
  }
}

// The taps of one direction of a transposed convolution that reach output positions of one phase: position p with
// p % stride == phase, of which there are `positions` from `first` on.
struct TransposePhase {
  size_t first, positions, taps = 0;

  TransposePhase(size_t phase, size_t output, size_t stride, size_t kernel, size_t dilation, size_t pad) noexcept
      : first(phase), positions(phase < output ? (output - phase + stride - 1) / stride : 0) {
    for (size_t tap = 0; tap < kernel; ++tap) taps += reaches(phase + pad, tap, dilation, stride);
  }
  static bool reaches(size_t padded_position, size_t tap, size_t dilation, size_t stride) noexcept {
    return (padded_position + stride * tap * dilation - tap * dilation) % stride == 0;
  }
};

// The windows of output pixels (y, x), (y, x + stride), ... of one row and phase.
inline void write_windows(const ConvTransposeShape& s, const WindowSource& from, size_t y, size_t x,
                          WindowRows to) noexcept {
  const size_t padded_y = y + s.pad_top, padded_x = x + s.pad_left;
  for (size_t ky = 0; ky < s.kernel_height; ++ky) {
    if (!TransposePhase::reaches(padded_y, ky, s.dilation_height, s.stride_height)) continue;
    // Divisible, so that the sign does not matter.
    const ptrdiff_t row = (static_cast<ptrdiff_t>(padded_y) - static_cast<ptrdiff_t>(ky * s.dilation_height)) /
                          static_cast<ptrdiff_t>(s.stride_height);
    const bool inside = row >= 0 && row < static_cast<ptrdiff_t>(s.input_height);
    const uint8_t* image_row =
        inside ? from.image + static_cast<size_t>(row) * s.input_width * from.pixel_stride : nullptr;
    for (size_t kx = 0; kx < s.kernel_width; ++kx) {
      if (!TransposePhase::reaches(padded_x, kx, s.dilation_width, s.stride_width)) continue;
      if (inside) {
        const ptrdiff_t column = (static_cast<ptrdiff_t>(padded_x) - static_cast<ptrdiff_t>(kx * s.dilation_width)) /
                                 static_cast<ptrdiff_t>(s.stride_width);
        to.write_pixels(image_row, column, 1, s.input_width, 0, 0);
      } else {
        to.write_padding(0, to.rows(), from.channels);
      }
      to.skip(from.channels);
    }
  }
}

}  // namespace enr::kernels
