#include "kernels/depthwise/depthwise.h"

namespace enr::kernels {

size_t depthwise_packed_bytes(const DepthwiseShape& shape) noexcept {
  return (shape.kernel_height * shape.kernel_width + 1) * shape.output_channels() * sizeof(float);
}

void depthwise_pack(const DepthwiseShape& shape, const float* weights, size_t tap_stride, size_t channel_stride,
                    const float* bias, void* packed) noexcept {
  float* out = static_cast<float*>(packed);
  const size_t taps = shape.kernel_height * shape.kernel_width;
  for (size_t k = 0; k < shape.output_channels(); ++k) {
    *out++ = bias != nullptr ? bias[k] : 0.0f;
    for (size_t tap = 0; tap < taps; ++tap) *out++ = weights[tap * tap_stride + k * channel_stride];
  }
}

void depthwise_rows(const DepthwiseShape& shape, const void* packed, const float* input, float* output,
                    size_t row_begin, size_t row_end, const GemmEpilogue& epilogue) noexcept {
  const size_t channels = shape.output_channels();
  const size_t in_stride = shape.input_pixel_stride != 0 ? shape.input_pixel_stride : shape.channels;
  const size_t out_stride = shape.output_pixel_stride != 0 ? shape.output_pixel_stride : channels;
  for (size_t y = row_begin; y < row_end; ++y) {
    for (size_t x = 0; x < shape.output_width; ++x) {
      const size_t pixel = y * shape.output_width + x;
      float* to = output + pixel * out_stride;
      for (size_t k = 0; k < channels; ++k) {
        const float* weights = static_cast<const float*>(packed) + k * (shape.kernel_height * shape.kernel_width + 1);
        float sum = *weights++;
        for (size_t i = 0; i < shape.kernel_height; ++i) {
          const size_t in_y = y * shape.stride_height + i * shape.dilation_height - shape.pad_top;
          for (size_t j = 0; j < shape.kernel_width; ++j, ++weights) {
            const size_t in_x = x * shape.stride_width + j * shape.dilation_width - shape.pad_left;
            if (in_y >= shape.input_height || in_x >= shape.input_width) continue;
            sum += *weights * input[(in_y * shape.input_width + in_x) * in_stride + k / shape.multiplier];
          }
        }
        if (epilogue.residual != nullptr) {
          sum += epilogue.residual_scale * epilogue.residual[pixel * epilogue.residual_stride + k];
        }
        sum = sum < epilogue.min ? epilogue.min : sum;
        to[k] = sum > epilogue.max ? epilogue.max : sum;
      }
      if (epilogue.activation != nullptr && channels != 0) {
        epilogue.activation(to, channels, epilogue.activation_context);
      }
    }
  }
}

void depthwise(const DepthwiseShape& shape, const void* packed, const float* input, float* output,
               const GemmEpilogue& epilogue) noexcept {
  const size_t in_stride = shape.input_pixel_stride != 0 ? shape.input_pixel_stride : shape.channels;
  const size_t out_stride = shape.output_pixel_stride != 0 ? shape.output_pixel_stride : shape.output_channels();
  for (size_t b = 0; b < shape.batch; ++b) {
    const size_t pixels = b * shape.output_height * shape.output_width;
    GemmEpilogue image = epilogue;
    if (image.residual != nullptr) image.residual += pixels * image.residual_stride;
    depthwise_rows(shape, packed, input + b * shape.input_height * shape.input_width * in_stride,
                   output + pixels * out_stride, 0, shape.output_height, image);
  }
}

}  // namespace enr::kernels
