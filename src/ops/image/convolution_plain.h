#pragma once

// Convolutions by their definition: float64, complex numbers, integers, and strides that leave too many phases.

#include "ops/context.h"
#include "ops/image/convolution_arguments.h"

namespace enr::ops {

// `out` has its final sizes, and elements.
void convolve_plain(OpContext& context, const ConvolutionArguments& arguments, const Tensor& input,
                    const Tensor& weight, const Tensor* bias, Tensor& out);

}  // namespace enr::ops
