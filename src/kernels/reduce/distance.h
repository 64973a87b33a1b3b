#pragma once

// Distances of one point to many, per instruction set. C headers only.

#include <stddef.h>

namespace enr::kernels {

// out[i] = the distance of x and point i < n, of which coordinate c < dims is points[c * stride + i].
template <class T>
using DistanceFunction = void (*)(const T* x, const T* points, size_t stride, size_t dims, T* out, size_t n) noexcept;

// The number of coordinates that differ, the sum and the root of the squares of their differences, the largest one.
template <class T>
struct DistanceKernels {
  DistanceFunction<T> count, sum, euclidean, largest;
};

struct DistanceTable {
  DistanceKernels<float> f32;
  DistanceKernels<double> f64;
};

const DistanceTable& distance_table();

}  // namespace enr::kernels
