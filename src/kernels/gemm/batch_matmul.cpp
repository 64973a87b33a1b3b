#include "kernels/gemm/gemm.h"

namespace enr::kernels {

size_t batch_matmul_workspace_bytes(size_t, size_t, size_t, size_t) noexcept { return 0; }

void batch_matmul(const BatchMatmul& call, void*) noexcept {
  for (size_t batch = 0; batch < call.batch_outer * call.batch_inner; ++batch) {
    const size_t outer = batch / call.batch_inner, inner = batch % call.batch_inner;
    const float* a = call.a + outer * call.a_outer_stride + inner * call.a_inner_stride;
    const float* b = call.b + outer * call.b_outer_stride + inner * call.b_inner_stride;
    float* c = call.c + outer * call.c_outer_stride + inner * call.c_inner_stride;
    for (size_t i = 0; i < call.m; ++i) {
      for (size_t j = 0; j < call.n; ++j) {
        float sum = 0.0f;
        for (size_t p = 0; p < call.k; ++p) {
          sum += a[i * call.a_stride + p] * (call.b_transposed ? b[j * call.b_stride + p] : b[p * call.b_stride + j]);
        }
        sum *= call.alpha;
        if (call.addend != nullptr) {
          sum += call.beta * call.addend[outer * call.addend_outer_stride + inner * call.addend_inner_stride +
                                         i * call.addend_stride + j];
        }
        sum = sum < call.min ? call.min : sum;
        c[i * call.c_stride + j] = sum > call.max ? call.max : sum;
      }
    }
  }
}

}  // namespace enr::kernels
