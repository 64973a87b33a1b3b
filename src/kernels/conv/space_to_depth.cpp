#include "kernels/conv/space_to_depth.h"

#include <algorithm>
#include <cstring>

#include "base/ranges.h"
#include "base/thread_pool.h"

namespace enr::kernels {

namespace {

// Columns of the output whose pixel 2 * column - pad + phase of the input exists.
Range columns_inside(size_t pad, size_t phase, size_t width, size_t columns) noexcept {
  const size_t begin = std::min((pad - std::min(pad, phase) + 1) / 2, columns);
  const size_t reached = width + pad;
  const size_t end = reached <= phase ? 0 : (reached - phase + 1) / 2;
  return {begin, std::clamp(end, begin, columns)};
}

// `from`: the first pair's first pixel in the first plane. kChannels: 0 for any number.
template <size_t kChannels>
void split_pairs(const float* from, size_t plane, size_t any_channels, size_t pairs, float* out) noexcept {
  const size_t channels = kChannels == 0 ? any_channels : kChannels;
  for (size_t x = 0; x < pairs; ++x, from += 2, out += 4 * channels) {
    for (size_t c = 0; c < channels; ++c) {
      out[c] = from[c * plane];
      out[channels + c] = from[c * plane + 1];
    }
  }
}

// `row`: the input's. Writes 2 * channels of each pixel of out.
void split_row(const ConvShape& s, const float* row, size_t columns, float* out) noexcept {
  const size_t channels = s.input_channels, step = 4 * channels;
  const Range first = columns_inside(s.pad_left, 0, s.input_width, columns);
  const Range second = columns_inside(s.pad_left, 1, s.input_width, columns);
  const Range both = {std::max(first.begin, second.begin), std::min(first.end, second.end)};
  const size_t plane = s.input_height * s.input_width;
  const auto split_one = [&](size_t x, size_t phase) {
    const Range& inside = phase == 0 ? first : second;
    float* to = out + x * step + phase * channels;
    if (x < inside.begin || x >= inside.end) {
      std::fill_n(to, channels, 0.0f);
      return;
    }
    const size_t in_x = 2 * x + phase - s.pad_left;
    for (size_t c = 0; c < channels; ++c)
      to[c] = s.is_planar ? row[c * plane + in_x] : row[in_x * s.input_pixel_stride + c];
  };
  const auto split_edge = [&](size_t begin, size_t end) {
    for (size_t x = begin; x < end; ++x) split_one(x, 0), split_one(x, 1);
  };
  if (both.begin >= both.end) return split_edge(0, columns);
  split_edge(0, both.begin);
  split_edge(both.end, columns);
  const size_t in_x = 2 * both.begin - s.pad_left, pairs = both.size();
  float* to = out + both.begin * step;
  if (s.is_planar) {
    const auto split = channels == 3 ? split_pairs<3> : channels == 1 ? split_pairs<1> : split_pairs<0>;
    split(row + in_x, plane, channels, pairs, to);
    return;
  }
  const float* from = row + in_x * s.input_pixel_stride;
  for (size_t x = 0; x < pairs; ++x, to += step, from += 2 * s.input_pixel_stride) {
    std::memcpy(to, from, channels * sizeof(float));
    std::memcpy(to + channels, from + s.input_pixel_stride, channels * sizeof(float));
  }
}

}  // namespace

ConvShape space_to_depth_shape(const ConvShape& s) noexcept {
  ConvShape out;
  out.batch = s.batch;
  out.kernel_height = (s.kernel_height + 1) / 2;
  out.kernel_width = (s.kernel_width + 1) / 2;
  const size_t height = s.output_height(), width = s.output_width();
  out.input_height = height == 0 ? 0 : height + out.kernel_height - 1;
  out.input_width = width == 0 ? 0 : width + out.kernel_width - 1;
  out.input_channels = 4 * s.input_channels;
  out.output_channels = s.output_channels;
  out.input_pixel_stride = out.input_channels;
  out.output_pixel_stride = s.output_pixel_stride;
  return out;
}

void space_to_depth(const ConvShape& s, const float* input, float* out) noexcept {
  const ConvShape split = space_to_depth_shape(s);
  const size_t image = s.input_height * s.input_width * s.input_pixel_stride;
  const size_t row_floats = s.input_width * (s.is_planar ? 1 : s.input_pixel_stride);
  parallel_for(s.batch * split.input_height, [&](size_t i) {
    float* to = out + i * split.input_width * split.input_channels;
    const float* from = input + i / split.input_height * image;
    for (size_t phase = 0; phase < 2; ++phase, to += 2 * s.input_channels) {
      const size_t y = 2 * (i % split.input_height) + phase;  // of the padded input
      if (y >= s.pad_top && y - s.pad_top < s.input_height) {
        split_row(s, from + (y - s.pad_top) * row_floats, split.input_width, to);
        continue;
      }
      for (size_t x = 0; x < split.input_width; ++x) {
        std::fill_n(to + x * split.input_channels, 2 * s.input_channels, 0.0f);
      }
    }
  });
}

}  // namespace enr::kernels
