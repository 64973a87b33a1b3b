#include "kernels/conv/conv.h"

#include <cstring>

#include "base/error.h"
#include "kernels/conv/direct.h"
#include "kernels/conv/winograd.h"

namespace enr::kernels {

namespace {

size_t output_extent(size_t input, size_t pad, size_t kernel, size_t dilation, size_t stride) noexcept {
  const size_t reach = (kernel - 1) * dilation + 1;
  return input + pad < reach ? 0 : (input + pad - reach) / stride + 1;
}

}  // namespace

size_t ConvShape::output_height() const noexcept {
  return output_extent(input_height, pad_top + pad_bottom, kernel_height, dilation_height, stride_height);
}

size_t ConvShape::output_width() const noexcept {
  return output_extent(input_width, pad_left + pad_right, kernel_width, dilation_width, stride_width);
}

ConvWeights choose_conv_weights(const ConvShape& shape) noexcept {
  if (!fits_winograd(shape)) return ConvWeights::kGemm;
  const double direct = direct_cost(shape), two = winograd_cost(shape, 2), four = winograd_cost(shape, 4);
  if (direct <= two && direct <= four) return ConvWeights::kGemm;
  return two < four ? ConvWeights::kWinograd2 : ConvWeights::kWinograd4;
}

ConvPlan::ConvPlan(const ConvShape& shape, std::optional<ConvWeights> weights)
    : shape_(shape), weights_(weights.value_or(choose_conv_weights(shape))) {
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
  if (shape_.input_pixel_stride == 0) shape_.input_pixel_stride = s.input_channels;
  if (shape_.output_pixel_stride == 0) shape_.output_pixel_stride = s.output_channels;
  if (weights_ == ConvWeights::kGemm) {
    direct_ = plan_direct(shape_);
    workspace_bytes_ = direct_.lanes * direct_.lane_floats * sizeof(float);
    return;
  }
  if (!fits_winograd(shape_)) fail_execution("convolution: the packed weights are not of this filter's format");
  winograd_ = plan_winograd(shape_, weights_ == ConvWeights::kWinograd2 ? 2 : 4);
  workspace_bytes_ = winograd_.lanes * winograd_.lane_floats * sizeof(float);
}

size_t ConvPlan::packed_bytes() const noexcept {
  return weights_ == ConvWeights::kGemm ? direct_packed_bytes(shape_) : winograd_packed_bytes(shape_, winograd_.m);
}

void ConvPlan::pack(const float* weights, const float* bias, void* packed) const noexcept {
  if (weights_ == ConvWeights::kGemm) {
    pack_direct(shape_, weights, bias, packed);
  } else {
    pack_winograd(shape_, winograd_.m, weights, bias, packed);
  }
}

void ConvPlan::run(const float* input, const void* packed, float* output, const GemmEpilogue& epilogue,
                   void* workspace) const noexcept {
  if (weights_ == ConvWeights::kGemm) {
    run_direct(shape_, direct_, input, packed, output, epilogue, static_cast<float*>(workspace));
  } else {
    run_winograd(shape_, winograd_, input, packed, output, epilogue, static_cast<float*>(workspace));
  }
}

size_t ConvTransposeShape::output_height() const noexcept {
  const size_t full =
      (input_height - 1) * stride_height + (kernel_height - 1) * dilation_height + 1 + adjustment_height;
  return input_height == 0 || full < pad_top + pad_bottom ? 0 : full - pad_top - pad_bottom;
}

size_t ConvTransposeShape::output_width() const noexcept {
  const size_t full = (input_width - 1) * stride_width + (kernel_width - 1) * dilation_width + 1 + adjustment_width;
  return input_width == 0 || full < pad_left + pad_right ? 0 : full - pad_left - pad_right;
}

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
}

size_t ConvTransposePlan::packed_bytes() const noexcept {
  return sizeof(float) * shape_.output_channels *
         (1 + shape_.kernel_height * shape_.kernel_width * (shape_.input_channels / shape_.groups));
}

void ConvTransposePlan::pack(const float* weights, const float* bias, void* packed) const noexcept {
  float* out = static_cast<float*>(packed);
  const size_t count = shape_.kernel_height * shape_.kernel_width * (shape_.input_channels / shape_.groups);
  for (size_t o = 0; o < shape_.output_channels; ++o) {
    *out++ = bias != nullptr ? bias[o] : 0.0f;
    for (size_t i = 0; i < count; ++i) *out++ = weights[o * count + i];
  }
}

void ConvTransposePlan::run(const float* input, const void* packed, float* output, const GemmEpilogue& epilogue,
                            void*) const noexcept {
  const ConvTransposeShape& s = shape_;
  const size_t group_inputs = s.input_channels / s.groups, group_outputs = s.output_channels / s.groups;
  const size_t count = 1 + s.kernel_height * s.kernel_width * group_inputs;
  const size_t height = s.output_height(), width = s.output_width();
  for (size_t pixel = 0; pixel < s.batch * height * width; ++pixel) {
    const size_t n = pixel / (height * width), y = pixel / width % height, x = pixel % width;
    for (size_t o = 0; o < s.output_channels; ++o) {
      const float* filter = static_cast<const float*>(packed) + o * count;
      float sum = *filter++;
      for (size_t ky = 0; ky < s.kernel_height; ++ky) {
        for (size_t kx = 0; kx < s.kernel_width; ++kx, filter += group_inputs) {
          const size_t fy = y + s.pad_top - ky * s.dilation_height, fx = x + s.pad_left - kx * s.dilation_width;
          if (fy % s.stride_height != 0 || fy / s.stride_height >= s.input_height || fx % s.stride_width != 0 ||
              fx / s.stride_width >= s.input_width) {
            continue;
          }
          const float* from = input +
                              ((n * s.input_height + fy / s.stride_height) * s.input_width + fx / s.stride_width) *
                                  s.input_pixel_stride +
                              o / group_outputs * group_inputs;
          for (size_t i = 0; i < group_inputs; ++i) sum += from[i] * filter[i];
        }
      }
      if (epilogue.residual != nullptr) {
        sum += epilogue.residual_scale * epilogue.residual[pixel * epilogue.residual_stride + o];
      }
      sum = sum < epilogue.min ? epilogue.min : sum;
      output[pixel * s.output_pixel_stride + o] = sum > epilogue.max ? epilogue.max : sum;
    }
    if (epilogue.activation != nullptr) {
      epilogue.activation(output + pixel * s.output_pixel_stride, s.output_channels, epilogue.activation_context);
    }
  }
}

}  // namespace enr::kernels
