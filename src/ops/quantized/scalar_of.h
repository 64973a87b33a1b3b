#pragma once

#include "ops/context.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

// The only element of a parameter tensor. Throws, naming the argument, where there are others.
inline double scalar_of(OpContext& context, const Tensor& tensor, const char* what) {
  if (tensor.numel() != 1) fail_execution(what, ": expected one element, got ", describe(tensor));
  return *row_major_as<double>(context, tensor);
}

}  // namespace enr::ops
