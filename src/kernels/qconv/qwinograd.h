#pragma once

// Winograd's convolutions F(2x2, 3x3) and F(4x4, 3x3) of statically quantised images, exact: 3x3 kernels of stride and
// dilation 1, one group. Transformed activations and weights fit 16 bits. Sums of products wrap around in 32 bits; what
// they come to, the result times 4 or 576, does not depend on it as long as the result itself fits the bits that are
// left.

#include <cstddef>

#include "kernels/qconv/qconv.h"

namespace enr::kernels {

// `tile`: outputs along the sides of a window, 2 or 4; 4 takes int8 weights only.

// Whether the sums fit.
bool fits_qwinograd(const ConvShape& shape, size_t tile) noexcept;
// The fastest tile, or 0 where plain products are faster.
size_t preferred_qwinograd_tile(const ConvShape& shape, QWeightType type) noexcept;

// shape: with its pixel strides filled in.
QWinogradPlan plan_qwinograd(const ConvShape& shape, size_t tile) noexcept;
size_t qwinograd_packed_bytes(const ConvShape& shape, size_t tile) noexcept;
void pack_qwinograd(const ConvShape& shape, size_t tile, const QConvWeights& weights, const int32_t* bias,
                    const QStatic& quantization, void* packed) noexcept;
size_t qwinograd_workspace_bytes(const ConvShape& shape, const QWinogradPlan& plan) noexcept;
void run_qwinograd(const ConvShape& shape, const QWinogradPlan& plan, const QConvCall& call, void* workspace) noexcept;

}  // namespace enr::kernels
