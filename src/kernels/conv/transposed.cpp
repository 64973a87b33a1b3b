#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/direct.h"
#include "kernels/gemm/driver.h"

namespace enr::kernels {

// The outputs whose row and column leave the same remainders by the stride: they see the same taps of the kernel, and
// are a convolution of stride 1 with these. Neighbouring columns may be taken together, as channels of one: then the
// window is that of all, and a tap that a column does not see has weights of zero.
struct ConvTransposePlan::Phase {
  ConvShape shape;
  PixelGrid from, to;
  DirectPlan plan;
  size_t packed_offset_bytes;
  // The last tap that is used and the distance to the one before, of rows and columns.
  size_t last_row, row_step;
  ptrdiff_t last_column;
  size_t column_step;
  size_t columns;  // that are taken together
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

// As many columns as the stride taken together: each of the side's outputs is so many.
Side joined_side(size_t stride, size_t kernel, size_t pad, size_t extent) noexcept {
  const auto step = static_cast<ptrdiff_t>(stride);
  // Output j * stride + r sees input j + (r + pad - tap) / stride, where that is whole.
  const ptrdiff_t last = static_cast<ptrdiff_t>(stride - 1 + pad) / step;
  const ptrdiff_t least = static_cast<ptrdiff_t>(pad) - static_cast<ptrdiff_t>(kernel - 1);
  const ptrdiff_t first = least >= 0 ? (least + step - 1) / step : -(-least / step);
  Side side = {};
  side.outputs = extent / stride;
  side.tap_step = stride;
  side.taps = last < first ? 0 : static_cast<size_t>(last - first + 1);
  side.dilation = 1;
  side.shift = first;
  return side;
}

// The last output of the side alone.
Side last_of(Side side, size_t stride) noexcept {
  side.first_output += (side.outputs - 1) * stride;
  side.shift += static_cast<ptrdiff_t>(side.outputs - 1);
  side.outputs = 1;
  return side;
}

// Whether few outputs leave so many of a vector's lanes idle that columns are faster together. Depends on the filter
// alone.
bool prefers_joined_columns(const ConvTransposeShape& s) noexcept {
  constexpr size_t kRowWork = 40;  // what starting a row of tiles takes, in multiplications of vectors
  if (s.groups != 1 || s.stride_width == 1 || s.dilation_width != 1 || s.input_channels == 0) return false;
  const size_t lanes = gemm_kernels().narrow_width;
  const auto work = [&](size_t outputs, size_t taps) {
    return (outputs + lanes - 1) / lanes * taps * s.input_channels + kRowWork;
  };
  size_t apart = 0;
  for (size_t r = 0; r < s.stride_width; ++r) {
    apart += work(s.output_channels, side_of(r, s.stride_width, 1, s.kernel_width, s.pad_left, 0).taps);
  }
  const size_t taps = joined_side(s.stride_width, s.kernel_width, s.pad_left, 0).taps;
  return work(s.output_channels * s.stride_width, taps) < apart;
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
  const size_t height = s.output_height(), width = s.output_width(), stride = s.stride_width;
  const auto rows_of = [&](size_t remainder) {
    return side_of(remainder, s.stride_height, s.dilation_height, s.kernel_height, s.pad_top, height);
  };
  const auto columns_of = [&](size_t remainder) {
    return side_of(remainder, stride, s.dilation_width, s.kernel_width, s.pad_left, width);
  };
  const auto make = [&](const Side& rows, const Side& columns, size_t joined) {
    Phase phase = {};
    ConvShape& c = phase.shape;
    c.batch = s.batch;
    c.output_channels = joined * s.output_channels;
    c.groups = s.groups;
    c.input_pixel_stride = shape_.input_pixel_stride;
    c.output_pixel_stride = joined == 1 ? shape_.output_pixel_stride : 1;
    phase.columns = joined;
    phase.from = {0, s.input_height * s.input_width, s.input_width, 1};
    const size_t pixel = joined == 1 ? 1 : s.output_channels;  // in what the grid counts
    phase.to = {(rows.first_output * width + columns.first_output) * pixel, height * width * pixel,
                s.stride_height * width * pixel, stride * pixel};
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
      phase.last_column = joined == 1
                              ? static_cast<ptrdiff_t>(columns.first_tap + (columns.taps - 1) * columns.tap_step)
                              : static_cast<ptrdiff_t>(s.pad_left) - columns.shift * static_cast<ptrdiff_t>(stride);
      phase.column_step = columns.tap_step;
    }
    if (rows.outputs != 0 && columns.outputs != 0) {
      phase.plan = plan_direct(c, phase.from, phase.to);
    } else {
      c.batch = 0;
    }
    workspace_bytes_ = std::max(workspace_bytes_, phase.plan.lanes * phase.plan.lane_floats * sizeof(float));
    return phase;
  };
  const auto add_packed = [&](std::vector<Phase>& phases, Phase phase) {
    phase.packed_offset_bytes = packed_bytes_;
    packed_bytes_ += direct_packed_bytes(phase.shape);
    phases.push_back(phase);
  };
  for (size_t i = 0; i < s.stride_height * stride; ++i) {
    add_packed(phases_, make(rows_of(i / stride), columns_of(i % stride), 1));
  }
  if (!prefers_joined_columns(s)) return;
  const Side joined = joined_side(stride, s.kernel_width, s.pad_left, width);
  for (size_t row = 0; row < s.stride_height; ++row) add_packed(joined_phases_, make(rows_of(row), joined, stride));
  for (size_t i = 0; i < s.stride_height * stride; ++i) {  // what is left at the ends of rows
    const Side columns = columns_of(i % stride);
    if (columns.outputs == 0 || columns.first_output >= width % stride) continue;
    joined_phases_.push_back(make(rows_of(i / stride), last_of(columns, stride), 1));
    joined_phases_.back().packed_offset_bytes = phases_[i].packed_offset_bytes;
  }
}

void ConvTransposePlan::pack(const float* weights, const float* bias, void* packed) const {
  const size_t inputs = shape_.input_channels / shape_.groups;
  std::vector<float> taken, biases;
  const auto pack_phase = [&](const Phase& phase) {
    const ConvShape& c = phase.shape;
    taken.clear();
    biases.clear();
    for (size_t column = 0; column < phase.columns; ++column) {
      if (bias != nullptr) biases.insert(biases.end(), bias, bias + shape_.output_channels);
      for (size_t o = 0; o < shape_.output_channels && c.input_channels != 0; ++o) {
        for (size_t y = 0; y < c.kernel_height; ++y) {
          for (size_t x = 0; x < c.kernel_width; ++x) {
            const size_t row = phase.last_row - y * phase.row_step;
            // Below zero it wraps around.
            const auto tap_column = static_cast<size_t>(phase.last_column + static_cast<ptrdiff_t>(column) -
                                                        static_cast<ptrdiff_t>(x * phase.column_step));
            if (tap_column >= shape_.kernel_width) {
              taken.insert(taken.end(), inputs, 0.0f);
              continue;
            }
            const float* tap = weights + ((o * shape_.kernel_height + row) * shape_.kernel_width + tap_column) * inputs;
            taken.insert(taken.end(), tap, tap + inputs);
          }
        }
      }
    }
    pack_direct(c, taken.data(), bias != nullptr ? biases.data() : nullptr,
                static_cast<std::byte*>(packed) + phase.packed_offset_bytes);
  };
  for (const Phase& phase : phases_) pack_phase(phase);
  for (const Phase& phase : joined_phases_) {
    if (phase.columns != 1) pack_phase(phase);
  }
}

void ConvTransposePlan::run(const float* input, const void* packed, float* output, const GemmEpilogue& epilogue,
                            void* workspace) const noexcept {
  // Columns are channels of one where pixels follow one another.
  const size_t channels = shape_.output_channels;
  const bool joins = !joined_phases_.empty() && shape_.output_pixel_stride == channels &&
                     (epilogue.residual == nullptr || epilogue.residual_stride == channels);
  GemmEpilogue in_floats = epilogue;
  in_floats.residual_stride = 1;
  for (const Phase& phase : joins ? joined_phases_ : phases_) {
    run_direct(phase.shape, phase.plan, phase.from, phase.to, input,
               static_cast<const std::byte*>(packed) + phase.packed_offset_bytes, output,
               phase.columns == 1 ? epilogue : in_floats, static_cast<float*>(workspace));
  }
}

}  // namespace enr::kernels
