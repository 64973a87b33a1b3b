#include "kernels/conv/conv.h"

#include <utility>

#include "base/error.h"
#include "kernels/conv/direct.h"
#include "kernels/conv/groups.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/tile.h"

namespace enr::kernels {

namespace {

size_t output_extent(size_t input, size_t pad, size_t kernel, size_t dilation, size_t stride) noexcept {
  const size_t reach = (kernel - 1) * dilation + 1;
  return input + pad < reach ? 0 : (input + pad - reach) / stride + 1;
}

// Images one pixel wide are rows: the same pixels in the same order, and longer tiles.
void lay_down(ConvShape& s) noexcept {
  if (s.input_width != 1 || s.kernel_width != 1 || s.pad_left + s.pad_right != 0 || s.is_planar) return;
  std::swap(s.input_height, s.input_width);
  std::swap(s.kernel_height, s.kernel_width);
  std::swap(s.stride_height, s.stride_width);
  std::swap(s.dilation_height, s.dilation_width);
  std::swap(s.pad_top, s.pad_left);
  std::swap(s.pad_bottom, s.pad_right);
}

}  // namespace

size_t ConvShape::output_height() const noexcept {
  return output_extent(input_height, pad_top + pad_bottom, kernel_height, dilation_height, stride_height);
}

size_t ConvShape::output_width() const noexcept {
  return output_extent(input_width, pad_left + pad_right, kernel_width, dilation_width, stride_width);
}

ConvWeights choose_conv_weights(const ConvShape& shape, WeightsPlace place) noexcept {
  if (!fits_winograd(shape)) return ConvWeights::kGemm;
  ConvWeights best = ConvWeights::kGemm;
  double cost = direct_cost(shape, place);
  for (const ConvWeights format :
       {ConvWeights::kWinograd2, ConvWeights::kWinograd3, ConvWeights::kWinograd4, ConvWeights::kWinogradHalf}) {
    const WinogradFormat windows = winograd_format(format);
    if (!fits_winograd(shape, windows)) continue;
    const double transformed = winograd_cost(shape, windows, place);
    if (transformed >= cost) continue;
    cost = transformed;
    best = format;
  }
  return best;
}

size_t conv_groups_at_once(const ConvShape& s) noexcept {
  // Beside the multiplications of a pixel's vectors of outputs: what a group's tiles take to start and to end.
  constexpr size_t kGroupWork = 10;
  const size_t lanes = gemm_kernels().narrow_width, taps = s.kernel_height * s.kernel_width;
  return fastest_group_merge(s.groups, [&](size_t merged) {
    const size_t vectors = (merged * s.output_channels / s.groups + lanes - 1) / lanes;
    const size_t work = vectors * taps * merged * (s.input_channels / s.groups);
    return (merged == s.groups && fits_winograd(s) ? work / 2 : work) + kGroupWork;
  });
}

bool reads_parts(const ConvShape& shape, ConvWeights format) noexcept {
  return format != ConvWeights::kGemm && shape.stride_height == 1;
}

ConvPlan::ConvPlan(const ConvShape& shape, std::optional<ConvWeights> weights, std::vector<ConvPart> parts)
    : shape_(shape), weights_(weights.value_or(choose_conv_weights(shape))), parts_(std::move(parts)) {
  const ConvShape& s = shape_;
  if (s.groups == 0 || s.input_channels % s.groups != 0 || s.output_channels % s.groups != 0) {
    fail_execution("convolution: ", s.input_channels, " input and ", s.output_channels,
                   " output channels, expected multiples of groups = ", s.groups);
  }
  if (s.kernel_height == 0 || s.kernel_width == 0 || s.stride_height == 0 || s.stride_width == 0 ||
      s.dilation_height == 0 || s.dilation_width == 0) {
    fail_execution("convolution: kernel ", s.kernel_height, "x", s.kernel_width, ", stride ", s.stride_height, "x",
                   s.stride_width, ", dilation ", s.dilation_height, "x", s.dilation_width, ", expected at least 1");
  }
  if (s.is_planar && s.groups != 1) fail_execution("convolution: planes of ", s.groups, " groups, expected 1");
  running_ = shape_;
  if (running_.input_pixel_stride == 0) running_.input_pixel_stride = s.input_channels;
  if (running_.output_pixel_stride == 0) running_.output_pixel_stride = s.output_channels;
  lay_down(running_);
  size_t part_channels = 0;
  for (const ConvPart& part : parts_) part_channels += part.channels;
  if (!parts_.empty() && (!reads_parts(running_, weights_) || part_channels != s.input_channels)) {
    fail_execution("convolution: parts of ", part_channels, " channels, expected ", s.input_channels,
                   " and a format of Winograd's for stride 1");
  }
  if (weights_ == ConvWeights::kGemm) {
    direct_ = plan_direct(running_, input_grid(running_), output_grid(running_));
    workspace_bytes_ = direct_.lanes * direct_.lane_floats * sizeof(float);
    return;
  }
  const WinogradFormat format = winograd_format(weights_);
  if (!fits_winograd(running_, format))
    fail_execution("convolution: the packed weights are not of this filter's format");
  const ConvShape transformed = winograd_shape(running_);
  if (parts_.empty()) parts_.push_back({transformed.input_channels, transformed.input_pixel_stride});
  winograd_ = plan_winograd(running_, format, parts_);
  workspace_bytes_ = (winograd_.lanes * winograd_.lane_floats + winograd_.image_floats) * sizeof(float);
}

size_t ConvPlan::packed_bytes() const noexcept {
  return weights_ == ConvWeights::kGemm ? direct_packed_bytes(running_)
                                        : winograd_packed_bytes(running_, winograd_format(weights_));
}

void ConvPlan::pack(const float* weights, const float* bias, void* packed) const noexcept {
  if (weights_ == ConvWeights::kGemm) {
    pack_direct(running_, weights, bias, packed);
  } else {
    pack_winograd(running_, winograd_format(weights_), weights, bias, packed);
  }
}

void ConvPlan::run(const float* input, const void* packed, float* output, const GemmEpilogue& epilogue,
                   void* workspace) const noexcept {
  if (weights_ == ConvWeights::kGemm) {
    run_direct(running_, direct_, input_grid(running_), output_grid(running_), input, packed, output, epilogue,
               static_cast<float*>(workspace));
  } else {
    run_parts(&input, packed, output, epilogue, workspace);
  }
}

void ConvPlan::run_parts(const float* const* inputs, const void* packed, float* output, const GemmEpilogue& epilogue,
                         void* workspace) const noexcept {
  run_winograd(running_, winograd_format(weights_), winograd_, parts_, inputs, packed, output, epilogue,
               static_cast<float*>(workspace));
}

void ConvPlan::run_rows(const float* input, const void* packed, float* output, size_t image, size_t row, size_t row_end,
                        const GemmEpilogue& epilogue, void* workspace) const noexcept {
  run_direct_rows(running_, direct_, input_grid(running_), output_grid(running_), input, packed, output, image, row,
                  row_end, epilogue, static_cast<float*>(workspace));
}

}  // namespace enr::kernels
