#pragma once

// Elementwise and spatial operations on statically quantised int8 and uint8 (T), with different parameters in and out,
// equal to XNNPACK's bit for bit. Arrays are contiguous unless a stride is given; large ones use the pool. Inputs and
// output may be the same array for the elementwise ones, and must not overlap otherwise.

#include <cstddef>
#include <cstdint>

#include "kernels/pool/pool.h"
#include "kernels/qelementwise/qbinary.h"
#include "kernels/quantize/quantize.h"
#include "kernels/resize/resize.h"

namespace enr::kernels {

// The parameters XNNPACK accepts; outside of them it refuses the node.
bool qadd_supports(float a_scale, float b_scale, float output_scale) noexcept;  // ratios in [2^-10, 2^8)
bool qmul_supports(float a_scale, float b_scale, float output_scale) noexcept;  // product ratio in [2^-16, 2^8)
bool qconvert_supports(float input_scale, float output_scale) noexcept;         // ratio in [2^-8, 2^7]

// min and max: in the output's quanta.
QBinaryParams make_qbinary(QBinary op, Quantization a, Quantization b, Quantization output, int32_t min,
                           int32_t max) noexcept;

// output[r][i] = op(a[r * a_row + i * a_step], b[r * b_row + i * b_step]) for r < rows, i < n; output is contiguous. A
// step is 0 or 1, so that rows and single elements can be broadcast.
struct QBroadcast {
  size_t rows = 1, n = 0;
  size_t a_row = 0, b_row = 0;
  uint8_t a_step = 1, b_step = 1;
};
template <class T>
void qbinary(const QBinaryParams& params, const QBroadcast& shape, const T* a, const T* b, T* output) noexcept;

// Any function of one 8-bit number is a table of 256, indexed by the byte. XNNPACK evaluates the function in float on
// the dequantised value, then quantises.
template <class T>
void make_lut(float (*function)(float value, const void* context), const void* context, Quantization input,
              Quantization output, uint8_t* table) noexcept;
// XNNPACK's own fixed-point rules, as tables: leaky ReLU, int8 to int8 of other parameters (convert, concatenate) and
// clamp.
template <class T>
void make_leaky_relu_lut(float negative_slope, Quantization input, Quantization output, uint8_t* table) noexcept;
template <class T>
void make_convert_lut(Quantization input, Quantization output, uint8_t* table) noexcept;
template <class T>
void make_clamp_lut(int32_t min, int32_t max, uint8_t* table) noexcept;

void apply_lut(const uint8_t* table, const void* in, void* out, size_t n) noexcept;
// Rows of n bytes, strided: for a slice of the channels.
void apply_lut_rows(const uint8_t* table, size_t rows, size_t n, const void* in, size_t in_stride, void* out,
                    size_t out_stride) noexcept;

// out = in, cut to [min, max].
template <class T>
void qclamp(const T* in, T* out, size_t n, int32_t min, int32_t max) noexcept;

// Mean (or sum, with divisor 1) over the middle dimension of [outer, reduced, inner]. input_row: from one reduced
// element's inner run to the next, 0 means inner; output is contiguous. was_signed: T is uint8, input and output are
// int8s and their zero points, all plus 128, and the result is that of the int8s plus 128, which may round otherwise.
template <class T>
void qmean(size_t outer, size_t reduced, size_t inner, size_t input_row, const T* in, T* out, Quantization input,
           Quantization output, size_t divisor, bool was_signed = false) noexcept;

// Average pooling: the exact sum, scaled in float, rounded to nearest even.
template <class T>
void qaverage_pool_nhwc(const PoolShape& shape, AverageDivisor divisor, const T* in, T* out, Quantization input,
                        Quantization output, int32_t min, int32_t max) noexcept;

// XNNPACK's fixed-point bilinear resize (11 bits each way); parameters do not change. Max pooling: max_pool_nhwc.
template <class T>
void qresize_bilinear_nhwc(const ResizeShape& shape, bool align_corners, const T* in, T* out) noexcept;

}  // namespace enr::kernels
