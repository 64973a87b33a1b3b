#pragma once

// Winograd's convolution, one group and dilation 1: kernels of 3x3 with stride 1, and of 5 to 8 pixels a side with
// stride 2, whose image is turned from space to depth first. Blocks of windows are transformed, multiplied and
// transformed back while they are in cache.

#include <cstddef>
#include <span>

#include "kernels/conv/conv.h"

namespace enr::kernels {

// A format of weights but kGemm.
struct WinogradFormat {
  size_t rows, columns;  // of a window's outputs
  bool is_half;
};
WinogradFormat winograd_format(ConvWeights format) noexcept;

bool fits_winograd(const ConvShape& shape) noexcept;
bool fits_winograd(const ConvShape& shape, const WinogradFormat& format) noexcept;

// The convolution of stride 1 whose windows are transformed. Here and below shape has its pixel strides filled in.
ConvShape winograd_shape(const ConvShape& shape) noexcept;

// parts: of the image of winograd_shape.
WinogradPlan plan_winograd(const ConvShape& shape, const WinogradFormat& format,
                           std::span<const ConvPart> parts) noexcept;
size_t winograd_packed_bytes(const ConvShape& shape, const WinogradFormat& format) noexcept;
void pack_winograd(const ConvShape& shape, const WinogradFormat& format, const float* weights, const float* bias,
                   void* packed) noexcept;
// inputs: the image of each part, or shape's image alone where its stride is 2.
void run_winograd(const ConvShape& shape, const WinogradFormat& format, const WinogradPlan& plan,
                  std::span<const ConvPart> parts, const float* const* inputs, const void* packed, float* output,
                  const GemmEpilogue& epilogue, float* workspace) noexcept;

// About how long it takes, in multiply-adds of a direct convolution.
double winograd_cost(const ConvShape& shape, const WinogradFormat& format, WeightsPlace place) noexcept;
double direct_cost(const ConvShape& shape, WeightsPlace place) noexcept;

}  // namespace enr::kernels
