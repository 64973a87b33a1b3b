#include "kernels/resize/resize_kernels.h"

#include "kernels/isa.h"
#include "kernels/simd/partial.h"

namespace enr::kernels::ENR_ISA {

namespace {

ENR_INLINE F32 blend(F32 a, F32 b, F32 weight) { return fma(b, weight, a - a * weight); }

struct Corners {
  const float *top_left, *top_right, *bottom_left, *bottom_right;
};

template <bool kPartial>
ENR_INLINE F32 pixel(const Corners& at, size_t c, size_t count, F32 weight_x, F32 weight_y) {
  const auto get = [&](const float* p) { return kPartial ? load_first(p + c, count) : load(p + c); };
  const F32 top = blend(get(at.top_left), get(at.top_right), weight_x);
  const F32 bottom = blend(get(at.bottom_left), get(at.bottom_right), weight_x);
  return blend(top, bottom, weight_y);
}

void bilinear_nhwc(const LinearColumns& columns, size_t count, size_t channels, const float* top, const float* bottom,
                   float weight, size_t input_stride, float* output, size_t output_stride) noexcept {
  const F32 weight_y = splat(weight);
  for (size_t x = 0; x < count; ++x, output += output_stride) {
    const size_t left = (size_t)columns.low[x] * input_stride, right = (size_t)columns.high[x] * input_stride;
    const Corners at{top + left, top + right, bottom + left, bottom + right};
    const F32 weight_x = splat(columns.weight[x]);
    size_t c = 0;
    for (; c + kF32Lanes <= channels; c += kF32Lanes) {
      store(output + c, pixel<false>(at, c, kF32Lanes, weight_x, weight_y));
    }
    if (c < channels) store_first(output + c, pixel<true>(at, c, channels - c, weight_x, weight_y), channels - c);
  }
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
