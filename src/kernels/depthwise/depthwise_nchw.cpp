#include "kernels/depthwise/depthwise_nchw.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/depthwise/plane_strip.h"

namespace enr::kernels {

namespace {

constexpr size_t kScratchFloats = 12288;  // on the stack, and near to what first-level caches hold
constexpr size_t kMaxKernelWidth = 64;
constexpr size_t kGrainWork = 200'000;  // multiply-adds in about 10 us

// How a plane is cut into strips. `rows` is 0 where not even one output row's input fits the scratch memory.
struct StripPlan {
  size_t rows = 0;  // output rows in a strip
  size_t input_rows = 0;
  size_t phase_width = 0;
  size_t row_pitch = 0;
  bool is_whole = false;  // one strip is the plane, so its padding can stay from plane to plane
};

StripPlan plan_strips(const DepthwiseShape& s) noexcept {
  StripPlan plan;
  if (s.kernel_width > kMaxKernelWidth || s.output_width > kScratchFloats || s.input_width > kScratchFloats)
    return plan;
  const size_t lanes = plane_strip_kernels().lanes;
  const auto whole = [&](size_t count) { return (count + lanes - 1) / lanes * lanes; };
  // Room for whole registers of outputs after the last tap's offset, and of the input's copy.
  const size_t taps_end = (s.kernel_width - 1) * s.dilation_width / s.stride_width + 1 + whole(s.output_width);
  const size_t copy_end =
      s.pad_left / s.stride_width + 1 + whole((s.input_width + s.stride_width - 1) / s.stride_width);
  plan.phase_width = std::max(taps_end, copy_end);
  plan.row_pitch = plan.phase_width * s.stride_width;
  const size_t most_rows = kScratchFloats / plan.row_pitch;
  const size_t kernel_rows = (s.kernel_height - 1) * s.dilation_height + 1;
  if (most_rows < kernel_rows) return plan;
  plan.rows = std::min((most_rows - kernel_rows) / s.stride_height + 1, s.output_height);
  plan.input_rows = (plan.rows - 1) * s.stride_height + kernel_rows;
  plan.is_whole = plan.rows == s.output_height;
  return plan;
}

// Input rows [first, first + plan.input_rows) with their padding; rows outside of the plane are zeros already where the
// strip is the whole plane.
void fill_strip(const DepthwiseShape& s, const StripPlan& plan, ptrdiff_t first, const float* plane,
                float* scratch) noexcept {
  for (size_t i = 0; i < plan.input_rows; ++i) {
    const ptrdiff_t y = first + static_cast<ptrdiff_t>(i);
    float* row = scratch + i * plan.row_pitch;
    if (y >= 0 && y < static_cast<ptrdiff_t>(s.input_height)) {
      plane_strip_kernels().copy_row(plane + static_cast<size_t>(y) * s.input_width, s.input_width, s.pad_left,
                                     s.stride_width, plan.phase_width, row);
    } else if (!plan.is_whole) {
      std::fill_n(row, plan.row_pitch, 0.0f);
    }
  }
}

void convolve_planes(const DepthwiseShape& s, const StripPlan& plan, const float* weights, const float* bias,
                     const float* input, float* output, float min, float max, size_t begin, size_t end) noexcept {
  alignas(64) float scratch[kScratchFloats];
  size_t offsets[kMaxKernelWidth];
  for (size_t kx = 0; kx < s.kernel_width; ++kx) {
    const size_t column = kx * s.dilation_width;
    offsets[kx] = column % s.stride_width * plan.phase_width + column / s.stride_width;
  }
  const PlaneStrip strip{s.kernel_height,
                         s.kernel_width,
                         s.stride_height,
                         s.stride_width,
                         plan.row_pitch,
                         s.dilation_height * plan.row_pitch,
                         offsets,
                         s.output_width,
                         min,
                         max};
  // A copied row never ends in what follows its strip row, so the padding right of it stays zero.
  std::fill_n(scratch, std::min(kScratchFloats, plan.input_rows * plan.row_pitch + 64), 0.0f);
  const size_t channels = s.output_channels();
  for (size_t plane = begin; plane < end; ++plane) {
    const size_t channel = plane % channels;
    const size_t source = plane / channels * s.channels + channel / s.multiplier;
    const float* in = input + source * s.input_height * s.input_width;
    float* out = output + plane * s.output_height * s.output_width;
    for (size_t y = 0; y < s.output_height; y += plan.rows) {
      fill_strip(s, plan, static_cast<ptrdiff_t>(y * s.stride_height) - static_cast<ptrdiff_t>(s.pad_top), in, scratch);
      plane_strip_kernels().convolve(strip, std::min(plan.rows, s.output_height - y), scratch,
                                     weights + channel * s.kernel_height * s.kernel_width,
                                     bias == nullptr ? 0.0f : bias[channel], out + y * s.output_width);
    }
  }
}

// The definition, for rows that do not fit the scratch memory.
void convolve_plain(const DepthwiseShape& s, const float* weights, const float* bias, const float* input, float* output,
                    float min, float max, size_t begin, size_t end) noexcept {
  const size_t channels = s.output_channels();
  for (size_t plane = begin; plane < end; ++plane) {
    const size_t channel = plane % channels;
    const float* in = input + (plane / channels * s.channels + channel / s.multiplier) * s.input_height * s.input_width;
    float* out = output + plane * s.output_height * s.output_width;
    const float* w = weights + channel * s.kernel_height * s.kernel_width;
    for (size_t i = 0; i < s.output_height * s.output_width; ++i) {
      const size_t y = i / s.output_width * s.stride_height, x = i % s.output_width * s.stride_width;
      float sum = bias == nullptr ? 0.0f : bias[channel];
      for (size_t tap = 0; tap < s.kernel_height * s.kernel_width; ++tap) {
        const size_t in_y = y + tap / s.kernel_width * s.dilation_height - s.pad_top;
        const size_t in_x = x + tap % s.kernel_width * s.dilation_width - s.pad_left;
        if (in_y < s.input_height && in_x < s.input_width) sum += w[tap] * in[in_y * s.input_width + in_x];
      }
      sum = sum < min ? min : sum;
      out[i] = sum > max ? max : sum;
    }
  }
}

}  // namespace

bool prefers_depthwise_nchw(const DepthwiseShape& s) noexcept {
  // Measured: small planes and larger kernels win more from whole registers of channels than the transposes cost.
  const bool is_simple = s.kernel_height == 3 && s.kernel_width == 3 && s.dilation_height == 1 && s.stride_height <= 2;
  return is_simple && s.output_width >= 40 && plan_strips(s).rows >= std::min<size_t>(4, s.output_height);
}

void depthwise_nchw(const DepthwiseShape& shape, const float* weights, const float* bias, const float* input,
                    float* output, float min, float max) noexcept {
  if (shape.output_height == 0 || shape.output_width == 0) return;
  const StripPlan plan = plan_strips(shape);
  const size_t work = shape.output_height * shape.output_width * shape.kernel_height * shape.kernel_width;
  parallel_ranges(shape.batch * shape.output_channels(), std::max<size_t>(1, kGrainWork / (work + 1)),
                  [&](size_t begin, size_t end) {
                    if (plan.rows == 0) {
                      convolve_plain(shape, weights, bias, input, output, min, max, begin, end);
                    } else {
                      convolve_planes(shape, plan, weights, bias, input, output, min, max, begin, end);
                    }
                  });
}

}  // namespace enr::kernels
