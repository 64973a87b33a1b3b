#pragma once

// Arrays of random numbers, the same with any number of threads; logarithms, sines and cosines of them may differ in
// the last place between instruction sets.

#include <cstddef>

#include "base/random_stream.h"

namespace enr::kernels {

// low + span * u for u in [0, 1) with so many random bits (at most 24 for float; double always has 52).
void random_uniform(RandomStream& stream, float* out, size_t n, float low, float span, int bits);
void random_uniform(RandomStream& stream, double* out, size_t n, double low, double span);

void random_normal(RandomStream& stream, float* out, size_t n, float mean, float deviation);
void random_normal(RandomStream& stream, double* out, size_t n, double mean, double deviation);

void random_exponential(RandomStream& stream, double* out, size_t n, double mean);

}  // namespace enr::kernels
