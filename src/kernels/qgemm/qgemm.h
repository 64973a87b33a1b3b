#pragma once

// Products of 8-bit activations with constant 8-bit and 4-bit weights, accumulated exactly in int32. Thread-safe,
// spread over the pool by themselves; results do not depend on the number of threads or the instruction set (the float
// outputs of dynamically quantised products: up to the last bits). Sizes and strides count elements.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/gemm/gemm.h"
#include "kernels/quantize/quantize.h"

namespace enr::kernels {

enum class QWeightType : uint8_t {
  kInt8,   // int8, zero point 0
  kUInt8,  // uint8 with a zero point
  kInt4,   // value + zero point (8) in 4 bits, two to a byte: even indices of a row in the low half
};

// What goes in and comes out: 8 bits and 8 bits; int8 rows with their own parameters and floats or halves.
enum class QKind : uint8_t { kStatic, kDynamic, kDynamicF16 };

// The constant weights of a product: n outputs, k inputs.
struct QWeights {
  QWeightType type = QWeightType::kInt8;
  WeightLayout layout = WeightLayout::kOutputMajor;
  size_t n = 0, k = 0;
  const void* data = nullptr;
  size_t row_bytes = 0;  // from a row to the next
  int32_t zero_point = 0;
  // 0, or the weights of an output have a scale for each block of so many inputs (a multiple of 32; the last block may
  // be shorter).
  size_t block_size = 0;
  bool has_float_scales = false;  // of blocks: float rather than bfloat16
};

// Packed weights hold everything that is known before the activations are; 64-byte aligned, in the layout of the active
// instruction set.
size_t qgemm_packed_bytes(
    const QWeights& weights) noexcept;  // looks at type, n, k, block_size and has_float_scales only

// --- Statically quantised: 8-bit in, 8-bit out. Equal to XNNPACK bit for bit. ---

// How activations are stored. Weights of 8 bits only, without blocks.
struct QStatic {
  bool is_unsigned = false;  // input and output are uint8 rather than int8
  int32_t input_zero_point = 0;
  const float* scales = nullptr;  // requantization_scale of each output, or one for all
  size_t scale_count = 1;         // 1 or n
  // What is added to each output's scaled sum, in quanta: the rest of a real bias, whose whole multiples of the sums'
  // quanta are in the bias of integers. Null for 0.
  const float* offsets = nullptr;
};
struct QOutput {
  int32_t zero_point = 0;
  int32_t min = -128, max = 127;  // clamp, in quanta
};

void qgemm_pack_static(const QWeights& weights, const int32_t* bias, const QStatic& quantization,
                       void* packed) noexcept;

// Scratch of one call, 64-byte aligned; may grow with num_threads(). A call gets the size it was given: less than this
// makes it use fewer threads, but the size for one thread (threads = 1) is needed.
size_t qgemm_workspace_bytes(size_t m, size_t n, size_t k, size_t threads) noexcept;
size_t qgemm_workspace_bytes(size_t m, size_t n, size_t k) noexcept;  // for num_threads()

struct QWorkspace {
  void* data = nullptr;
  size_t size_bytes = 0;
};

// Whether products of uint8 are faster than those of int8, whose activations they copy first.
bool qgemm_reads_unsigned() noexcept;

// a and c are int8 or uint8 as packed. They must not overlap.
void qgemm_static(size_t m, size_t n, size_t k, const void* a, size_t a_stride, const void* packed,
                  const QOutput& output, void* c, size_t c_stride, QWorkspace workspace) noexcept;

// --- Dynamically quantised: int8 rows with their own parameters in, float or half out. ---

// scales: of each output, or of each [output, block] where weights.block_size is not 0: bfloat16 (block_scales), or
// float where weights.has_float_scales. bias: n floats or null.
struct QDynamic {
  const float* scales = nullptr;
  size_t scale_count = 1;  // 1, n or n * blocks
  const uint16_t* block_scales = nullptr;
  const float* bias = nullptr;
};
void qgemm_pack_dynamic(const QWeights& weights, const QDynamic& quantization, void* packed) noexcept;

struct QClamp {
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

// rows: the parameters of each row of a. `weights` is looked at for type, n, k, block_size and has_float_scales. Out:
// float, or uint16_t for the bits of halves. backwards: the weights used last come first, which a caller alternates
// where the cache holds a part of them.
template <class Out>
void qgemm_dynamic(size_t m, const QWeights& weights, const int8_t* a, size_t a_stride, const Quantization* rows,
                   const void* packed, QClamp clamp, Out* c, size_t c_stride, QWorkspace workspace,
                   bool backwards = false) noexcept;

}  // namespace enr::kernels
