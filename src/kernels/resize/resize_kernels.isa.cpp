#include "kernels/resize/resize_kernels.h"

#include "kernels/isa.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

namespace {

ENR_INLINE F32 blend(F32 a, F32 b, F32 weight) { return fma(b, weight, a - a * weight); }

struct Rows {
  const float *top, *bottom;
  size_t stride;
  F32 weight;
};

// Channels [c, c + kRegisters registers) of one input column, between the two rows.
template <size_t kRegisters, bool kPartial>
ENR_INLINE void blend_column(const Rows& rows, int32_t column, size_t c, size_t channels, F32 (&v)[kRegisters]) {
  const size_t offset = (size_t)column * rows.stride + c;
#pragma GCC unroll 4
  for (size_t r = 0; r < kRegisters; ++r) {
    const float *top = rows.top + offset + r * kF32Lanes, *bottom = rows.bottom + offset + r * kF32Lanes;
    v[r] = kPartial ? blend(load_first(top, channels), load_first(bottom, channels), rows.weight)
                    : blend(load(top), load(bottom), rows.weight);
  }
}

// kRegisters registers of channels along the row. An input column is blended once, however many outputs it is a part
// of.
template <size_t kRegisters, bool kPartial>
void bilinear_channels(const LinearColumns& columns, size_t count, const Rows& rows, size_t c, size_t channels,
                       float* output, size_t output_stride) {
  F32 left[kRegisters], right[kRegisters];
  int32_t low = -1, high = -1;
  for (size_t x = 0; x < count; ++x, output += output_stride) {
    if (columns.low[x] != low) {
      low = columns.low[x];
      if (low == high) {
#pragma GCC unroll 4
        for (size_t r = 0; r < kRegisters; ++r) left[r] = right[r];
      } else {
        blend_column<kRegisters, kPartial>(rows, low, c, channels, left);
      }
    }
    if (columns.high[x] != high) {
      high = columns.high[x];
      blend_column<kRegisters, kPartial>(rows, high, c, channels, right);
    }
    const F32 weight = splat(columns.weight[x]);
#pragma GCC unroll 4
    for (size_t r = 0; r < kRegisters; ++r) {
      const F32 v = blend(left[r], right[r], weight);
      if constexpr (kPartial) {
        store_first(output + c, v, channels);
      } else {
        store(output + c + r * kF32Lanes, v);
      }
    }
  }
}

void bilinear_nhwc(const LinearColumns& columns, size_t count, size_t channels, const float* top, const float* bottom,
                   float weight, size_t input_stride, float* output, size_t output_stride) noexcept {
  const Rows rows{top, bottom, input_stride, splat(weight)};
  size_t c = 0;
  for (; c + 4 * kF32Lanes <= channels; c += 4 * kF32Lanes) {
    bilinear_channels<4, false>(columns, count, rows, c, kF32Lanes, output, output_stride);
  }
  for (; c + kF32Lanes <= channels; c += kF32Lanes) {
    bilinear_channels<1, false>(columns, count, rows, c, kF32Lanes, output, output_stride);
  }
  if (c < channels) bilinear_channels<1, true>(columns, count, rows, c, channels - c, output, output_stride);
}

ENR_INLINE F32 gather(const float* p, const int32_t* indices) {
#if defined(__AVX512F__)
  return (F32)_mm512_i32gather_ps(_mm512_loadu_si512(indices), p, 4);
#elif defined(__AVX2__)
  return (F32)_mm256_i32gather_ps(p, _mm256_loadu_si256((const __m256i*)indices), 4);
#else
  F32 v;
  for (size_t i = 0; i < kF32Lanes; ++i) v[i] = p[indices[i]];
  return v;
#endif
}

void stretch_row(const LinearColumns& columns, size_t count, const float* input, float* output) noexcept {
  size_t i = 0;
  for (; i + kF32Lanes <= count; i += kF32Lanes) {
    store(output + i, blend(gather(input, columns.low + i), gather(input, columns.high + i), load(columns.weight + i)));
  }
  for (; i < count; ++i) {
    const float left = input[columns.low[i]], right = input[columns.high[i]];
    output[i] = right * columns.weight[i] + (left - left * columns.weight[i]);
  }
}

void blend_rows(const float* top, const float* bottom, float weight, size_t count, float* output) noexcept {
  const F32 w = splat(weight);
  size_t i = 0;
  for (; i + kF32Lanes <= count; i += kF32Lanes) store(output + i, blend(load(top + i), load(bottom + i), w));
  if (i < count) {
    store_first(output + i, blend(load_first(top + i, count - i), load_first(bottom + i, count - i), w), count - i);
  }
}

void pick_row_32(const uint32_t* columns, size_t count, const uint32_t* input, uint32_t* output) noexcept {
  size_t i = 0;
  for (; i + kF32Lanes <= count; i += kF32Lanes) {
    store((float*)output + i, gather((const float*)input, (const int32_t*)columns + i));
  }
  for (; i < count; ++i) output[i] = input[columns[i]];
}

}  // namespace

const ResizeKernels& resize_kernels() {
  static const ResizeKernels table = {bilinear_nhwc, stretch_row, blend_rows, pick_row_32};
  return table;
}

}  // namespace enr::kernels::ENR_ISA
