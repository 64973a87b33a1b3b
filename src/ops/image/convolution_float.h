#pragma once

// Convolutions of float32 (and the half types through it), on the NHWC kernels; a third spatial dim is a sum of
// two-dimensional convolutions.

#include "ops/context.h"
#include "ops/image/convolution_arguments.h"

namespace enr::ops {

// `out` has its final sizes, and elements.
void convolve_float(OpContext& context, const ConvolutionArguments& arguments, const Tensor& input,
                    const Tensor& weight, const Tensor* bias, Tensor& out);

}  // namespace enr::ops
