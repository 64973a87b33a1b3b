#pragma once

// Reductions over any set of dimensions of a strided tensor, and scans along one.

#include <span>

#include "base/dtype.h"
#include "kernels/elementwise/driver.h"

namespace enr::kernels {

enum class Reduce : uint8_t {
  kSum,
  kMean,
  kProd,
  kMin,  // NaN if any is, as eager's amin
  kMax,
  kAny,  // result 1 or 0: give out as bool
  kAll,
  kCountNonZero,
  kNorm0,  // how many are not zero, in the floating dtype
  kNorm1,
  kNorm2,
  kNormInf,
  kNormNegInf,
  kNormP,  // (sum |x|^p)^(1/p), p is params.p
  kVar,    // sum (x - mean)^2 / max(0, count - correction)
  kStd,
  kLogSumExp,
};

struct ReduceParams {
  double p = 2;
  double correction = 1;
};

// What computes: float32 for float16, bfloat16 and float32 (long sums go through float64), float64, int64 for integers
// and bool. The result is converted to out's dtype.
//
// `sizes` and `in.strides` have one entry per dimension; bit d of `reduced` says that dimension d is reduced. `out` is
// contiguous in the order of the kept dimensions. Nothing to reduce gives sum 0, mean NaN, prod 1, any 0, all 1; for
// min and max the caller refuses it first. The mean, norms, variance and log-sum-exp of integers are computed in
// float64.
void reduce(Reduce op, const ReduceParams& params, std::span<const int64_t> sizes, const ConstStrided& in,
            uint32_t reduced, DType out_dtype, void* out) noexcept;

// Variance (or its root) and mean of the same elements in one pass over memory, both in out_dtype.
void reduce_var_mean(bool root, double correction, std::span<const int64_t> sizes, const ConstStrided& in,
                     uint32_t reduced, DType out_dtype, void* var_out, void* mean_out) noexcept;

enum class ArgReduce : uint8_t { kArgMin, kArgMax };

// The first index of the smallest or largest element along dimension `dim`, the first NaN if there is one. `values`
// (in's dtype) or `indices` may be null. Both are contiguous in the order of the kept dimensions.
void arg_reduce(ArgReduce op, std::span<const int64_t> sizes, const ConstStrided& in, size_t dim, void* values,
                int64_t* indices) noexcept;

enum class Scan : uint8_t { kCumSum, kCumProd, kCumMax, kCumMin, kLogCumSumExp };

// Running sums, products or extremes along `dim`; out is contiguous. Computes as reduce does. `indices` (contiguous, or
// null) is written by kCumMax and kCumMin: where the extreme was last seen.
void scan(Scan op, std::span<const int64_t> sizes, const ConstStrided& in, size_t dim, DType out_dtype, void* out,
          int64_t* indices) noexcept;

}  // namespace enr::kernels
