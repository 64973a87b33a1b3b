#pragma once

// Windows of convolutions as rows of a product: which input bytes an output pixel sees.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/qgemm/qtile.h"

namespace enr::kernels {

// Appends the bytes of windows to rows of a tile.
class WindowWriter {
 public:
  using Copy = void (*)(const uint8_t* const*, size_t, size_t, uint8_t, void*) noexcept;

  WindowWriter(Copy copy, size_t activation_bytes, uint8_t flip, void* to) noexcept
      : copy_(copy), activation_bytes_(activation_bytes), flip_(flip), to_(static_cast<std::byte*>(to)) {}

  // Runs of the same length are copied together.
  void append(const uint8_t* run, size_t length) noexcept {
    if (length == 0) return;
    if (count_ == kRuns || (count_ != 0 && length != length_)) flush();
    length_ = length;
    runs_[count_++] = run;
  }
  void flush() noexcept {
    copy_(runs_, count_, length_, flip_, to_);
    to_ += count_ * length_ * activation_bytes_;
    count_ = 0;
  }

 private:
  static constexpr size_t kRuns = 16;

  Copy copy_;
  size_t activation_bytes_;
  uint8_t flip_;
  std::byte* to_;
  const uint8_t* runs_[kRuns];
  size_t count_ = 0, length_ = 0;
};

// One image of the input, from one group's first channel on.
struct WindowSource {
  const uint8_t* image = nullptr;
  const uint8_t* padding = nullptr;  // a row of the kernel's pixels of padding
  size_t channels = 0;               // of the group
};

// Of the taps at first, first + dilation, ... those inside of [0, size) are [begin, end).
struct TapRange {
  size_t begin, end;
  TapRange(ptrdiff_t first, size_t taps, size_t dilation, size_t size) noexcept {
    const ptrdiff_t step = static_cast<ptrdiff_t>(dilation);
    const ptrdiff_t before = first >= 0 ? 0 : (-first + step - 1) / step;
    const ptrdiff_t until =
        first >= static_cast<ptrdiff_t>(size) ? 0 : (static_cast<ptrdiff_t>(size) - first + step - 1) / step;
    end = std::min(taps, static_cast<size_t>(until));
    begin = std::min(end, static_cast<size_t>(before));
  }
};

inline void write_window(const ConvShape& s, const WindowSource& from, size_t y, size_t x, WindowWriter& to) noexcept {
  const ptrdiff_t top = static_cast<ptrdiff_t>(y * s.stride_height) - static_cast<ptrdiff_t>(s.pad_top);
  const ptrdiff_t left = static_cast<ptrdiff_t>(x * s.stride_width) - static_cast<ptrdiff_t>(s.pad_left);
  const TapRange rows(top, s.kernel_height, s.dilation_height, s.input_height);
  const TapRange columns(left, s.kernel_width, s.dilation_width, s.input_width);
  const bool contiguous = s.input_pixel_stride == from.channels && s.dilation_width == 1;
  for (size_t ky = 0; ky < s.kernel_height; ++ky) {
    if (ky < rows.begin || ky >= rows.end || columns.begin == columns.end) {
      to.append(from.padding, s.kernel_width * from.channels);
      continue;
    }
    const ptrdiff_t row =
        (top + static_cast<ptrdiff_t>(ky * s.dilation_height)) * static_cast<ptrdiff_t>(s.input_width);
    const ptrdiff_t first = row + left + static_cast<ptrdiff_t>(columns.begin * s.dilation_width);
    const uint8_t* pixel = from.image + static_cast<size_t>(first) * s.input_pixel_stride;
    to.append(from.padding, columns.begin * from.channels);
    if (contiguous) {
      to.append(pixel, (columns.end - columns.begin) * from.channels);
    } else {
      for (size_t kx = columns.begin; kx < columns.end; ++kx, pixel += s.dilation_width * s.input_pixel_stride) {
        to.append(pixel, from.channels);
      }
    }
    to.append(from.padding, (s.kernel_width - columns.end) * from.channels);
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

// The input position, or SIZE_MAX where it lies outside.
inline size_t transpose_input(size_t padded_position, size_t tap, size_t dilation, size_t stride,
                              size_t size) noexcept {
  if (padded_position < tap * dilation) return SIZE_MAX;
  const size_t position = (padded_position - tap * dilation) / stride;
  return position < size ? position : SIZE_MAX;
}

// y and x: of the output; only the taps of their phase.
inline void write_window(const ConvTransposeShape& s, const WindowSource& from, size_t y, size_t x,
                         WindowWriter& to) noexcept {
  for (size_t ky = 0; ky < s.kernel_height; ++ky) {
    if (!TransposePhase::reaches(y + s.pad_top, ky, s.dilation_height, s.stride_height)) continue;
    const size_t iy = transpose_input(y + s.pad_top, ky, s.dilation_height, s.stride_height, s.input_height);
    for (size_t kx = 0; kx < s.kernel_width; ++kx) {
      if (!TransposePhase::reaches(x + s.pad_left, kx, s.dilation_width, s.stride_width)) continue;
      const size_t ix = transpose_input(x + s.pad_left, kx, s.dilation_width, s.stride_width, s.input_width);
      const bool inside = iy != SIZE_MAX && ix != SIZE_MAX;
      to.append(inside ? from.image + (iy * s.input_width + ix) * s.input_pixel_stride : from.padding, from.channels);
    }
  }
}

}  // namespace enr::kernels
