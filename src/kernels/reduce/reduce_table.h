#pragma once

// What an instruction set offers for reductions; reduce.h is the family's public face.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// Reduces at most kFewRows rows of `width` elements, at least a vector, at once; rows lie row_stride elements apart.
template <class T>
using ReduceFewRows = void (*)(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, T* out) noexcept;

// One way to gather elements of type T into an accumulator of type A. `c` is a parameter of the term, one for each
// output: the centre of a deviation, the exponent of a power; terms without one ignore it and take null.
template <class T, class A>
struct ReduceKernel {
  A start;
  // acc, with n contiguous elements added.
  A (*row)(const T* x, size_t n, const A* c, A acc) noexcept;
  // acc[w] for each of `width` columns, at most kReduceColumns, with `rows` rows added; rows lie row_stride elements
  // apart.
  void (*columns)(const T* x, ptrdiff_t row_stride, size_t rows, size_t width, const A* c, A* acc) noexcept;
  A (*combine)(A x, A y) noexcept;      // y's elements come after x's
  bool is_ordered = false;              // the elements' order counts
  ReduceFewRows<T> few_rows = nullptr;  // computes in T; may be null
};

inline constexpr size_t kReduceColumns = 512;
inline constexpr size_t kFewRows = 8;

enum SumTerm : int {
  kTermValue,
  kTermAbs,
  kTermSquare,
  kTermNonZero,
  kTermDeviation,  // (x - c)^2
  kTermPower,      // |x|^c
  kTermExp,        // exp(x - c)
  kSumTerms,
};

enum Extreme : int { kLargest, kSmallest, kLargestAbs, kSmallestAbs, kExtremes };

// An extreme and where it was; `seen` counts the elements so far, so that indices run on from call to call.
template <class T>
struct Best {
  T value;
  int64_t index;
  int64_t seen;
};

struct ReduceTable {
  ReduceKernel<float, double> sum_f32[kSumTerms];
  ReduceKernel<double, double> sum_f64[kSumTerms];
  ReduceKernel<int64_t, int64_t> sum_i64;
  ReduceKernel<float, double> prod_f32;
  ReduceKernel<double, double> prod_f64;
  ReduceKernel<int64_t, int64_t> prod_i64;
  // NaN wins over every number.
  ReduceKernel<float, float> extreme_f32[kExtremes];
  ReduceKernel<double, double> extreme_f64[kExtremes];
  // kLargest and kSmallest only.
  ReduceKernel<int64_t, int64_t> extreme_i64[2];
  ReduceKernel<int32_t, int32_t> extreme_i32[2];
  ReduceKernel<int16_t, int16_t> extreme_i16[2];
  ReduceKernel<int8_t, int8_t> extreme_i8[2];
  ReduceKernel<uint8_t, uint8_t> extreme_u8[2];
  ReduceKernel<uint64_t, uint64_t> extreme_u64[2];

  // Results that are not yet those of a kernel above.
  ReduceFewRows<float> mean_few_rows_f32, norm_few_rows_f32;  // the latter the root of the squares' sum
  ReduceFewRows<double> mean_few_rows_f64, norm_few_rows_f64;
  ReduceFewRows<uint8_t> any_few_rows, all_few_rows;  // of bytes that are true unless 0

  // kLargest and kSmallest: the first of equals, the first NaN before everything.
  ReduceKernel<float, Best<float>> arg_f32[2];
  ReduceKernel<double, Best<double>> arg_f64[2];
  ReduceKernel<int64_t, Best<int64_t>> arg_i64[2];
  ReduceKernel<int32_t, Best<int32_t>> arg_i32[2];
  // Rows only: no columns.
  ReduceKernel<int16_t, Best<int16_t>> arg_i16[2];
  ReduceKernel<int8_t, Best<int8_t>> arg_i8[2];
  ReduceKernel<uint8_t, Best<uint8_t>> arg_u8[2];
};
const ReduceTable& reduce_table();

}  // namespace enr::kernels
