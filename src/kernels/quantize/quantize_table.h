#pragma once

// What an instruction set offers for quantising; quantize.h is the family's public face.

#include <stddef.h>
#include <stdint.h>

namespace enr::kernels {

// Storage types in the order of the table.
enum QuantizedType : int { kQuantizedI8, kQuantizedU8, kQuantizedI16, kQuantizedU16, kQuantizedTypes };

struct QuantizeTable {
  // out = round(clamp(in * factor)) + zero_point; low and high are the output's bounds less the zero point. [0] reads
  // floats, [1] halves.
  void (*quantize[2][kQuantizedTypes])(const void* in, void* out, size_t n, float factor, float low, float high,
                                       int32_t zero_point) noexcept;
  void (*dequantize[2][kQuantizedTypes])(const void* in, void* out, size_t n, float scale, float zero_point) noexcept;
  // The sum of x * (w - zero_point).
  float (*dot)(const float* x, const int8_t* w, size_t n, float zero_point) noexcept;
  // The extremes of 0 and n numbers; a NaN may count or not.
  void (*extremes[2])(const void* in, size_t n, float* min, float* max) noexcept;
};

const QuantizeTable& quantize_table();

}  // namespace enr::kernels
