#include "kernels/softmax/softmax.h"

#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/elementwise/float_scratch.h"
#include "kernels/isa.h"
#include "kernels/softmax/softmax_table.h"

namespace enr::kernels {

ENR_SELECT_ISA(SoftmaxTable, softmax_table)

namespace {

// Elements that pay for waking a thread.
constexpr size_t kGrain = 4096;

template <class T>
void run(const SoftmaxKernels<T>& kernels, bool logarithm, const T* in, T* out, size_t outer, size_t dim,
         size_t inner) {
  if (inner == 1) {
    parallel_ranges(outer, std::max<size_t>(kGrain / dim, 1), [&](size_t begin, size_t end) {
      kernels.rows(logarithm, in + begin * dim, out + begin * dim, end - begin, dim);
    });
    return;
  }
  const size_t blocks = (inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
  const size_t grain = std::max<size_t>(kGrain / (dim * std::min(inner, kSoftmaxColumns)), 1);
  parallel_ranges(outer * blocks, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t column = i % blocks * kSoftmaxColumns;
      const size_t offset = i / blocks * dim * inner + column;
      kernels.columns(logarithm, in + offset, inner, out + offset, inner, dim,
                      std::min(kSoftmaxColumns, inner - column));
    }
  });
}

void run_half(bool logarithm, DType dtype, const void* in, void* out, size_t outer, size_t dim, size_t inner) {
  const size_t block = dim * inner;
  with_float_blocks(outer, block, 0, [&](size_t begin, size_t count, float* scratch) {
    const size_t offset = begin * block * dtype_size(dtype);
    convert_fn(dtype, DType::kFloat32)(static_cast<const std::byte*>(in) + offset, scratch, count * block);
    run<float>(softmax_table().f32, logarithm, scratch, scratch, count, dim, inner);
    convert_fn(DType::kFloat32, dtype)(scratch, static_cast<std::byte*>(out) + offset, count * block);
  });
}

}  // namespace

void softmax(bool logarithm, DType dtype, const void* in, void* out, size_t outer, size_t dim, size_t inner) {
  if (outer == 0 || dim == 0 || inner == 0) return;
  if (dim == 1) inner *= std::exchange(outer, 1);
  if (dtype == DType::kFloat32) {
    run(softmax_table().f32, logarithm, static_cast<const float*>(in), static_cast<float*>(out), outer, dim, inner);
  } else if (dtype == DType::kFloat64) {
    run(softmax_table().f64, logarithm, static_cast<const double*>(in), static_cast<double*>(out), outer, dim, inner);
  } else {
    run_half(logarithm, dtype, in, out, outer, dim, inner);
  }
}

void softmax_row(const float* in, float* out, size_t n, float scale, const float* mask) noexcept {
  softmax_table().row(in, out, n, scale, mask);
}

}  // namespace enr::kernels
