#pragma once

// Convolutions of statically quantised images that read windows where they lie: lines of the image between their
// padding, of which the next window is a stride further. A piece of a window is rounded up to what the products take
// at once; the weights beyond it are zeros.

#include <cstddef>

#include "kernels/qconv/qconv.h"

namespace enr::kernels {

bool fits_qlines(const ConvShape& shape) noexcept;
// Whether it is faster than copied windows.
bool prefers_qlines(const ConvShape& shape, QWeightType type) noexcept;

// shape: with its pixel strides filled in.
QLinesPlan plan_qlines(const ConvShape& shape) noexcept;
size_t qlines_packed_bytes(const ConvShape& shape) noexcept;
// May throw std::bad_alloc.
void pack_qlines(const ConvShape& shape, const QConvWeights& weights, const int32_t* bias, const QStatic& quantization,
                 void* packed);
size_t qlines_workspace_bytes(const QLinesPlan& plan) noexcept;
void run_qlines(const ConvShape& shape, const QLinesPlan& plan, const QConvCall& call, void* workspace) noexcept;

}  // namespace enr::kernels
