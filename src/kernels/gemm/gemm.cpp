#include "kernels/gemm/gemm.h"

#include "base/half.h"

namespace enr::kernels {

namespace {

// Packed: for each output its bias, then its k weights.
template <class T>
void pack_rows(WeightLayout layout, size_t n, size_t k, const T* weights, size_t stride, const float* bias,
               void* packed) noexcept {
  float* out = static_cast<float*>(packed);
  for (size_t j = 0; j < n; ++j) {
    *out++ = bias != nullptr ? bias[j] : 0.0f;
    for (size_t p = 0; p < k; ++p) {
      *out++ = static_cast<float>(layout == WeightLayout::kOutputMajor ? weights[j * stride + p] : weights[p * stride + j]);
    }
  }
}

}  // namespace

size_t gemm_packed_bytes(size_t n, size_t k) noexcept { return n * (k + 1) * sizeof(float); }

void gemm_pack(WeightLayout layout, size_t n, size_t k, const float* weights, size_t stride, const float* bias,
               void* packed) noexcept {
  pack_rows(layout, n, k, weights, stride, bias, packed);
}

void gemm_pack_f16(WeightLayout layout, size_t n, size_t k, const uint16_t* weights, size_t stride, const float* bias,
                   void* packed) noexcept {
  pack_rows(layout, n, k, reinterpret_cast<const Half*>(weights), stride, bias, packed);
}

void gemm_pack_bf16(WeightLayout layout, size_t n, size_t k, const uint16_t* weights, size_t stride, const float* bias,
                    void* packed) noexcept {
  pack_rows(layout, n, k, reinterpret_cast<const BFloat16*>(weights), stride, bias, packed);
}

void gemm(size_t m, size_t n, size_t k, const float* a, size_t a_stride, const void* packed, float* c, size_t c_stride,
          const GemmEpilogue& epilogue) noexcept {
  const float* b = static_cast<const float*>(packed);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      const float* column = b + j * (k + 1);
      float sum = column[0];
      for (size_t p = 0; p < k; ++p) sum += a[i * a_stride + p] * column[p + 1];
      if (epilogue.residual != nullptr) {
        sum += epilogue.residual_scale * epilogue.residual[i * epilogue.residual_stride + j];
      }
      sum = sum < epilogue.min ? epilogue.min : sum;
      c[i * c_stride + j] = sum > epilogue.max ? epilogue.max : sum;
    }
    if (epilogue.activation != nullptr && n != 0) {
      epilogue.activation(c + i * c_stride, n, epilogue.activation_context);
    }
  }
}

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
