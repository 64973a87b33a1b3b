#pragma once

// Winograd's convolution: 3x3 kernels of stride and dilation 1, one group. Blocks of windows are transformed,
// multiplied and transformed back while they are in cache.

#include <cstddef>
#include <span>

#include "kernels/conv/conv.h"

namespace enr::kernels {

bool fits_winograd(const ConvShape& shape) noexcept;

// shape: with its pixel strides filled in; m: outputs along a side of a window, 2 or 4.
WinogradPlan plan_winograd(const ConvShape& shape, size_t m, std::span<const ConvPart> parts) noexcept;
size_t winograd_packed_bytes(const ConvShape& shape, size_t m) noexcept;
void pack_winograd(const ConvShape& shape, size_t m, const float* weights, const float* bias, void* packed) noexcept;
// inputs: the image of each part.
void run_winograd(const ConvShape& shape, const WinogradPlan& plan, std::span<const ConvPart> parts,
                  const float* const* inputs, const void* packed, float* output, const GemmEpilogue& epilogue,
                  float* workspace) noexcept;

// About how long it takes, in multiply-adds of a direct convolution.
double winograd_cost(const ConvShape& shape, size_t m, WeightsPlace place) noexcept;
double direct_cost(const ConvShape& shape, WeightsPlace place) noexcept;

}  // namespace enr::kernels
