#pragma once

// What random.cpp and its instruction-set files agree on. C headers only.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// Numbers of the stream that a block of outputs is made of: 32 floats or 16 doubles. The same for each instruction set,
// so that results are.
inline constexpr size_t kRandomBlock = 16;
template <class T>
inline constexpr size_t kRandomOutputs = kRandomBlock * sizeof(uint64_t) / sizeof(T);

// Fill whole blocks; `start` as RandomStream::take gives it. Uniform: low + span * u with `bits` random bits in u,
// which lies in [0, 1).
template <class T>
struct RandomKernels {
  void (*uniform)(uint64_t start, size_t blocks, T low, T span, int bits, T* out) noexcept;
  void (*normal)(uint64_t start, size_t blocks, T mean, T deviation, T* out) noexcept;
};

struct RandomTable {
  RandomKernels<float> f32;
  RandomKernels<double> f64;
  void (*exponential)(uint64_t start, size_t blocks, double mean, double* out) noexcept;
};

const RandomTable& random_table();

}  // namespace enr::kernels
