#pragma once

// float32 matrix products: C[m,n] = A[m,k] * B[k,n] + bias[n] + scale * residual[m,n], then clamp, then activation.
// Sizes and strides count floats. All functions are thread-safe and spread over the pool by themselves
// (base/thread_pool.h); results do not depend on the number of threads.

#include <cstddef>
#include <cstdint>
#include <limits>

namespace enr::kernels {

// Works in place on `count` neighbouring finished outputs, each by itself, while they are in cache. Any thread; must
// not throw.
using RowFunction = void (*)(float* row, size_t count, const void* context);

// What happens to a product before it is stored.
struct GemmEpilogue {
  // Added to the product: rows `residual_stride` apart (0: the same row for all). May be C itself with C's stride,
  // otherwise must not overlap C.
  const float* residual = nullptr;
  size_t residual_stride = 0;
  float residual_scale = 1.0f;
  // Clamp; a NaN stays.
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
  // After the clamp.
  RowFunction activation = nullptr;
  const void* activation_context = nullptr;

  // `count` outputs of each of several rows, `stride` apart: as one where they follow each other, since a call for a
  // few outputs takes longer than they do.
  void activate(float* outputs, size_t rows, size_t stride, size_t count) const noexcept {
    if (activation == nullptr) return;
    if (stride == count) return activation(outputs, rows * count, activation_context);
    for (size_t r = 0; r < rows; ++r) activation(outputs + r * stride, count, activation_context);
  }
};

// How the weights lie before packing; `stride` is the distance of its rows.
enum class WeightLayout {
  kOutputMajor,  // [n, k]: linear's weight
  kInputMajor,   // [k, n]: matmul's right-hand side
};

// Constant weights are packed once, in the layout of the active instruction set. The packed bytes must be 64-byte
// aligned. A bias of null packs zeros.
size_t gemm_packed_bytes(size_t n, size_t k) noexcept;
void gemm_pack(WeightLayout layout, size_t n, size_t k, const float* weights, size_t stride, const float* bias,
               void* packed) noexcept;

// A's rows are a_stride apart, C's c_stride; both are read and written in place and must not overlap. Any size may be
// 0.
void gemm(size_t m, size_t n, size_t k, const float* a, size_t a_stride, const void* packed, float* c, size_t c_stride,
          const GemmEpilogue& epilogue = {}) noexcept;

// The same with weights of 16 bits, which stay so until they are multiplied: half the memory, and products of few rows,
// which wait for it, take half the time.
enum class HalfType : uint8_t { kFloat16, kBFloat16 };
size_t gemm_half_packed_bytes(size_t n, size_t k) noexcept;
void gemm_half_pack(WeightLayout layout, size_t n, size_t k, const uint16_t* weights, size_t stride, const float* bias,
                    void* packed) noexcept;
void gemm_half(HalfType type, size_t m, size_t n, size_t k, const float* a, size_t a_stride, const void* packed,
               float* c, size_t c_stride, const GemmEpilogue& epilogue = {}) noexcept;

// Columns [column, column_end) of C over the depth [depth, depth_end) of k. Columns start at a multiple of
// gemm_column_step(), and end at one or at n.
struct GemmPart {
  size_t column = 0, column_end = 0;
  size_t depth = 0, depth_end = 0;
};
size_t gemm_column_step() noexcept;
// Rows of a tile. Products of some of A's rows are those of the whole where they start at a multiple of it.
size_t gemm_row_step() noexcept;

// On the calling thread. `a` and `c` point to the part's first column of A and of C, the epilogue's residual to that of
// a whole row. Sums from depth 0 on have bias and residual in them; those that reach k are clamped and activated.
void gemm_part(size_t m, size_t n, size_t k, const GemmPart& part, const float* a, size_t a_stride, const void* packed,
               float* c, size_t c_stride, const GemmEpilogue& epilogue = {}) noexcept;

// Products of matrices that are both known only at run time, over two batch dimensions (batch_outer * batch_inner).
// C = alpha * A * B + beta * addend. A batch stride of 0 broadcasts.
struct BatchMatmul {
  size_t batch_outer = 1, batch_inner = 1;
  size_t m = 0, n = 0, k = 0;
  bool b_transposed = false;  // B is [n, k] rather than [k, n]
  const float* a = nullptr;
  size_t a_stride = 0, a_outer_stride = 0, a_inner_stride = 0;
  const float* b = nullptr;
  size_t b_stride = 0, b_outer_stride = 0, b_inner_stride = 0;
  float* c = nullptr;
  size_t c_stride = 0, c_outer_stride = 0, c_inner_stride = 0;
  float alpha = 1.0f;
  // Null: nothing is added. A stride of 0 repeats a row.
  const float* addend = nullptr;
  size_t addend_stride = 0, addend_outer_stride = 0, addend_inner_stride = 0;
  float beta = 1.0f;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

// Scratch a call needs, 64-byte aligned; depends on the sizes only, and grows with none of them falling.
size_t batch_matmul_workspace_bytes(size_t batch, size_t m, size_t n, size_t k) noexcept;
void batch_matmul(const BatchMatmul& call, void* workspace) noexcept;

}  // namespace enr::kernels
