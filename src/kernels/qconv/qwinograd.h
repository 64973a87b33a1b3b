#pragma once

// Winograd's convolution F(2x2, 3x3) of statically quantised images, exact: 3x3 kernels of stride and dilation 1, one
// group. Transformed activations and weights fit 16 bits, so that it pays where products are of 16 bits anyway.

#include <cstddef>

#include "kernels/qconv/qconv.h"

namespace enr::kernels {

// Whether the sums cannot overflow, and whether it is faster.
bool fits_qwinograd(const ConvShape& shape) noexcept;
bool prefers_qwinograd(const ConvShape& shape) noexcept;

// shape: with its pixel strides filled in.
QWinogradPlan plan_qwinograd(const ConvShape& shape) noexcept;
size_t qwinograd_packed_bytes(const ConvShape& shape) noexcept;
void pack_qwinograd(const ConvShape& shape, const QConvWeights& weights, const int32_t* bias,
                    const QStatic& quantization, void* packed) noexcept;
size_t qwinograd_workspace_bytes(const ConvShape& shape, const QWinogradPlan& plan) noexcept;
void run_qwinograd(const ConvShape& shape, const QWinogradPlan& plan, const QConvCall& call, void* workspace) noexcept;

}  // namespace enr::kernels
