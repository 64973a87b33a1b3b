#include "kernels/random/random.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "kernels/random/random_table.h"

namespace enr::kernels {

ENR_SELECT_ISA(RandomTable, random_table)

namespace {

constexpr size_t kBlockGrain = 512;  // blocks that pay for a thread

// Runs fill(start, blocks, out) over an array, the end of its last block through a copy.
template <class T, class Fill>
void fill_blocks(RandomStream& stream, T* out, size_t n, const Fill& fill) {
  constexpr size_t kOutputs = kRandomOutputs<T>;
  const size_t whole = n / kOutputs, rest = n % kOutputs;
  const uint64_t start = stream.take((whole + (rest != 0)) * kRandomBlock);
  const auto start_of = [&](size_t block) { return start + block * kRandomBlock * kRandomIncrement; };
  parallel_ranges(whole, kBlockGrain,
                  [&](size_t begin, size_t end) { fill(start_of(begin), end - begin, out + begin * kOutputs); });
  if (rest == 0) return;
  T last[kOutputs];
  fill(start_of(whole), 1, last);
  std::copy_n(last, rest, out + whole * kOutputs);
}

}  // namespace

void random_uniform(RandomStream& stream, float* out, size_t n, float low, float span, int bits) {
  fill_blocks(stream, out, n, [&](uint64_t start, size_t blocks, float* to) {
    random_table().f32.uniform(start, blocks, low, span, bits, to);
  });
}
void random_uniform(RandomStream& stream, double* out, size_t n, double low, double span) {
  fill_blocks(stream, out, n, [&](uint64_t start, size_t blocks, double* to) {
    random_table().f64.uniform(start, blocks, low, span, 52, to);
  });
}
void random_normal(RandomStream& stream, float* out, size_t n, float mean, float deviation) {
  fill_blocks(stream, out, n, [&](uint64_t start, size_t blocks, float* to) {
    random_table().f32.normal(start, blocks, mean, deviation, to);
  });
}
void random_normal(RandomStream& stream, double* out, size_t n, double mean, double deviation) {
  fill_blocks(stream, out, n, [&](uint64_t start, size_t blocks, double* to) {
    random_table().f64.normal(start, blocks, mean, deviation, to);
  });
}
void random_exponential(RandomStream& stream, double* out, size_t n, double mean) {
  fill_blocks(stream, out, n,
              [&](uint64_t start, size_t blocks, double* to) { random_table().exponential(start, blocks, mean, to); });
}

}  // namespace enr::kernels
