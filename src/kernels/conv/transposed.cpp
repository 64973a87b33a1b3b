#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/direct.h"
#include "kernels/gemm/driver.h"

namespace enr::kernels {

// The outputs whose row and column leave the same remainders by the stride: they see the same taps of the kernel, and
// are a convolution of stride 1 with these.
struct ConvTransposePlan::Phase {
  ConvShape shape;
  PixelGrid from, to;
  DirectPlan plan;
  size_t packed_bytes, packed_offset_bytes;
  // The last tap that is used and the distance to the one before, of rows and columns.
  size_t last_row, row_step, last_column, column_step;
};

namespace {

// One side of a phase. Taps are first, first + step, ...; output j sees input j + shift + t * dilation of the t-th tap
// from the last.
struct Side {
  size_t first_output, outputs;
  size_t first_tap, tap_step, taps;
  size_t dilation;
  ptrdiff_t shift;
};

Side side_of(size_t remainder, size_t stride, size_t dilation, size_t kernel, size_t pad, size_t extent) noexcept {
  Side side = {};
  side.first_output = (remainder + stride - pad % stride) % stride;
  side.outputs = extent > side.first_output ? (extent - side.first_output + stride - 1) / stride : 0;
  const size_t divisor = std::gcd(stride, dilation);
  side.tap_step = stride / divisor;
  side.dilation = dilation / divisor;
  for (size_t tap = 0; tap < kernel; ++tap) {
    if (tap * dilation % stride != remainder) continue;
    if (side.taps == 0) side.first_tap = tap;
    ++side.taps;
  }
  const size_t last_tap = side.first_tap + (side.taps - 1) * side.tap_step;
  side.shift = static_cast<ptrdiff_t>((side.first_output + pad) / stride) -
               static_cast<ptrdiff_t>(side.taps == 0 ? 0 : (last_tap * dilation - remainder) / stride);
  return side;
}

// What a phase's convolution sees of one side of the input: leading pixels that no window meets are cut off.
struct Extent {
  size_t skipped, length, pad_before, pad_after;
};

Extent extent_of(const Side& side, size_t input) noexcept {
  const auto reach = static_cast<ptrdiff_t>(side.outputs + (side.taps - 1) * side.dilation);
  const auto length = static_cast<ptrdiff_t>(input);
  const ptrdiff_t begin = std::clamp<ptrdiff_t>(side.shift, 0, length);
  const ptrdiff_t end = std::clamp<ptrdiff_t>(side.shift + reach, begin, length);
  const ptrdiff_t before = std::min(std::max<ptrdiff_t>(-side.shift, 0), reach);
  return {static_cast<size_t>(begin), static_cast<size_t>(end - begin), static_cast<size_t>(before),
          static_cast<size_t>(reach - before - (end - begin))};
}

}  // namespace

size_t ConvTransposeShape::output_height() const noexcept {
  const size_t full =
      (input_height - 1) * stride_height + (kernel_height - 1) * dilation_height + 1 + adjustment_height;
  return input_height == 0 || full < pad_top + pad_bottom ? 0 : full - pad_top - pad_bottom;
}

size_t ConvTransposeShape::output_width() const noexcept {
  const size_t full = (input_width - 1) * stride_width + (kernel_width - 1) * dilation_width + 1 + adjustment_width;
  return input_width == 0 || full < pad_left + pad_right ? 0 : full - pad_left - pad_right;
}

ConvTransposePlan::~ConvTransposePlan() = default;
ConvTransposePlan::ConvTransposePlan(ConvTransposePlan&&) noexcept = default;
ConvTransposePlan& ConvTransposePlan::operator=(ConvTransposePlan&&) noexcept = default;

ConvTransposePlan::ConvTransposePlan(const ConvTransposeShape& shape) : shape_(shape) {
  const ConvTransposeShape& s = shape_;
  if (s.groups == 0 || s.input_channels % s.groups != 0 || s.output_channels % s.groups != 0) {
    fail_execution("transposed convolution: ", s.input_channels, " input and ", s.output_channels,
                   " output channels, expected multiples of groups = ", s.groups);
  }
  if (s.kernel_height == 0 || s.kernel_width == 0 || s.stride_height == 0 || s.stride_width == 0 ||
      s.dilation_height == 0 || s.dilation_width == 0) {
    fail_execution("transposed convolution: kernel ", s.kernel_height, "x", s.kernel_width, ", stride ",
                   s.stride_height, "x", s.stride_width, ", dilation ", s.dilation_height, "x", s.dilation_width,
                   ", expected at least 1");
  }
  if (shape_.input_pixel_stride == 0) shape_.input_pixel_stride = s.input_channels;
  if (shape_.output_pixel_stride == 0) shape_.output_pixel_stride = s.output_channels;
  const size_t height = s.output_height(), width = s.output_width();
  for (size_t i = 0; i < s.stride_height * s.stride_width; ++i) {
    const Side rows =
        side_of(i / s.stride_width, s.stride_height, s.dilation_height, s.kernel_height, s.pad_top, height);
    const Side columns =
        side_of(i % s.stride_width, s.stride_width, s.dilation_width, s.kernel_width, s.pad_left, width);
    Phase phase = {};
    ConvShape& c = phase.shape;
    c.batch = s.batch;
    c.output_channels = s.output_channels;
    c.groups = s.groups;
    c.input_pixel_stride = shape_.input_pixel_stride;
    c.output_pixel_stride = shape_.output_pixel_stride;
    phase.from = {0, s.input_height * s.input_width, s.input_width, 1};
    phase.to = {rows.first_output * width + columns.first_output, height * width, s.stride_height * width,
                s.stride_width};
    if (rows.taps == 0 || columns.taps == 0) {  // only the bias: a product of depth 0
      c.input_channels = 0;
      c.input_height = rows.outputs;
      c.input_width = columns.outputs;
    } else {
      const Extent y = extent_of(rows, s.input_height), x = extent_of(columns, s.input_width);
      c.input_channels = s.input_channels;
      c.kernel_height = rows.taps;
      c.kernel_width = columns.taps;
      c.dilation_height = rows.dilation;
      c.dilation_width = columns.dilation;
      c.input_height = y.length;
      c.input_width = x.length;
      c.pad_top = y.pad_before;
      c.pad_bottom = y.pad_after;
      c.pad_left = x.pad_before;
      c.pad_right = x.pad_after;
      phase.from.first = y.skipped * s.input_width + x.skipped;
      phase.last_row = rows.first_tap + (rows.taps - 1) * rows.tap_step;
      phase.row_step = rows.tap_step;
      phase.last_column = columns.first_tap + (columns.taps - 1) * columns.tap_step;
      phase.column_step = columns.tap_step;
    }
    phase.packed_bytes = direct_packed_bytes(c);
    phase.packed_offset_bytes = packed_bytes_;
    packed_bytes_ += phase.packed_bytes;
    if (rows.outputs != 0 && columns.outputs != 0) {
      phase.plan = plan_direct(c, phase.from, phase.to);
    } else {
      c.batch = 0;
    }
    workspace_bytes_ = std::max(workspace_bytes_, phase.plan.lanes * phase.plan.lane_floats * sizeof(float));
    phases_.push_back(phase);
  }
}

void ConvTransposePlan::pack(const float* weights, const float* bias, void* packed) const {
  const size_t inputs = shape_.input_channels / shape_.groups;
  std::vector<float> taken;
  for (const Phase& phase : phases_) {
    const ConvShape& c = phase.shape;
    taken.clear();
    for (size_t o = 0; o < c.output_channels && c.input_channels != 0; ++o) {
      for (size_t y = 0; y < c.kernel_height; ++y) {
        for (size_t x = 0; x < c.kernel_width; ++x) {
          const size_t row = phase.last_row - y * phase.row_step, column = phase.last_column - x * phase.column_step;
          const float* tap = weights + ((o * shape_.kernel_height + row) * shape_.kernel_width + column) * inputs;
          taken.insert(taken.end(), tap, tap + inputs);
        }
      }
    }
    pack_direct(c, taken.data(), bias, static_cast<std::byte*>(packed) + phase.packed_offset_bytes);
  }
}

void ConvTransposePlan::run(const float* input, const void* packed, float* output, const GemmEpilogue& epilogue,
                            void* workspace) const noexcept {
  for (const Phase& phase : phases_) {
    run_direct(phase.shape, phase.plan, phase.from, phase.to, input,
               static_cast<const std::byte*>(packed) + phase.packed_offset_bytes, output, epilogue,
               static_cast<float*>(workspace));
  }
}

}  // namespace enr::kernels
