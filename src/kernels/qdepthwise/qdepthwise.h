#pragma once

// Depthwise convolution of statically quantised 8-bit NHWC images: output channel k reads input channel k / multiplier.
// Equal to XNNPACK bit for bit; padding has the value of the input's zero point.

#include "kernels/depthwise/depthwise.h"
#include "kernels/qgemm/qgemm.h"

namespace enr::kernels {

// What is packed depends on channels, multiplier and kernel size only; 64-byte aligned.
size_t qdepthwise_packed_bytes(const DepthwiseShape& shape) noexcept;

// Element (y, x, k) of the weights is at weights[(y * kernel_width + x) * tap_stride + k * channel_stride], as in
// depthwise_pack. type is kInt8 or kUInt8; bias may be null.
void qdepthwise_pack(const DepthwiseShape& shape, QWeightType type, const void* weights, int32_t weight_zero_point,
                     size_t tap_stride, size_t channel_stride, const int32_t* bias, const QStatic& quantization,
                     void* packed) noexcept;

// Input and output are int8 or uint8 as packed; input_zero_point as packed. They must not overlap. Uses the pool.
void qdepthwise(const DepthwiseShape& shape, const void* packed, const void* input, int32_t input_zero_point,
                const QOutput& output_range, void* output) noexcept;

// Rows [row_begin, row_end) of the output, counted through all images, on this thread. Images are addressed as if they
// were whole.
void qdepthwise_rows(const DepthwiseShape& shape, const void* packed, const void* input, int32_t input_zero_point,
                     const QOutput& output_range, void* output, size_t row_begin, size_t row_end) noexcept;

}  // namespace enr::kernels
