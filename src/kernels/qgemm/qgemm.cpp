#include "kernels/qgemm/qgemm.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/half.h"

namespace enr::kernels {

namespace {

// Packed: of each output its bias (int32 or float bits), its block scales, then k weights without their zero point.
size_t block_count(const QWeights& w) noexcept {
  return w.block_size == 0 ? 1 : (w.k + w.block_size - 1) / w.block_size;
}

int32_t weight_at(const QWeights& w, size_t j, size_t p) noexcept {
  const bool output_major = w.layout == WeightLayout::kOutputMajor;
  const size_t row = output_major ? j : p, column = output_major ? p : j;
  const uint8_t* bytes = static_cast<const uint8_t*>(w.data) + row * w.row_bytes;
  if (w.type == QWeightType::kInt8) return static_cast<int8_t>(bytes[column]) - w.zero_point;
  if (w.type == QWeightType::kUInt8) return bytes[column] - w.zero_point;
  return (bytes[column / 2] >> (column % 2 * 4) & 15) - w.zero_point;
}

struct PackedHeader {
  int32_t input_zero_point;
  int32_t flip;  // 0x80 where activations are uint8: they are computed as int8
};

struct PackedColumn {
  float* scales;
  int32_t* bias;
  int16_t* weights;
};

PackedColumn column_of(const QWeights& w, const void* packed, size_t j) noexcept {
  const size_t blocks = block_count(w);
  const size_t column_bytes = (blocks + 1) * 4 + (w.k + 1) / 2 * 4;
  std::byte* base = static_cast<std::byte*>(const_cast<void*>(packed)) + 64 + j * column_bytes;
  return {reinterpret_cast<float*>(base), reinterpret_cast<int32_t*>(base) + blocks,
          reinterpret_cast<int16_t*>(base + (blocks + 1) * 4)};
}

void pack_weights(const QWeights& w, void* packed) noexcept {
  for (size_t j = 0; j < w.n; ++j) {
    for (size_t p = 0; p < w.k; ++p) column_of(w, packed, j).weights[p] = static_cast<int16_t>(weight_at(w, j, p));
  }
}

template <class Store>
void dynamic_rows(size_t m, const QWeights& w, const int8_t* a, size_t a_stride, const Quantization* rows,
                  const void* packed, QClamp clamp, Store store) noexcept {
  const size_t blocks = block_count(w), size = w.block_size == 0 ? w.k : w.block_size;
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < w.n; ++j) {
      const PackedColumn column = column_of(w, packed, j);
      float sum = 0;
      for (size_t block = 0; block < blocks; ++block) {
        int32_t partial = 0;
        for (size_t p = block * size; p < std::min(w.k, (block + 1) * size); ++p) {
          partial += (a[i * a_stride + p] - rows[i].zero_point) * column.weights[p];
        }
        sum += static_cast<float>(partial) * column.scales[block];
      }
      const float value = sum * rows[i].scale + std::bit_cast<float>(*column.bias);
      store(i, j, std::min(std::max(value, clamp.min), clamp.max));
    }
  }
}

}  // namespace

size_t qgemm_packed_bytes(const QWeights& w) noexcept {
  return 64 + w.n * ((block_count(w) + 1) * 4 + (w.k + 1) / 2 * 4);
}

size_t qgemm_workspace_bytes(size_t, size_t, size_t, size_t) noexcept { return 0; }
size_t qgemm_workspace_bytes(size_t, size_t, size_t) noexcept { return 0; }

void qgemm_pack_static(const QWeights& w, const int32_t* bias, const QStatic& q, void* packed) noexcept {
  const int32_t flip = q.is_unsigned ? 0x80 : 0;
  *static_cast<PackedHeader*>(packed) = {q.input_zero_point - flip, flip};
  pack_weights(w, packed);
  for (size_t j = 0; j < w.n; ++j) {
    const PackedColumn column = column_of(w, packed, j);
    *column.scales = q.scales[q.scale_count == 1 ? 0 : j];
    *column.bias = bias != nullptr ? bias[j] : 0;
  }
}

void qgemm_static(size_t m, size_t n, size_t k, const void* a, size_t a_stride, const void* packed,
                  const QOutput& output, void* c, size_t c_stride, QWorkspace) noexcept {
  const QWeights w{.n = n, .k = k};
  const PackedHeader header = *static_cast<const PackedHeader*>(packed);
  for (size_t i = 0; i < m; ++i) {
    const uint8_t* row = static_cast<const uint8_t*>(a) + i * a_stride;
    for (size_t j = 0; j < n; ++j) {
      const PackedColumn column = column_of(w, packed, j);
      int32_t sum = *column.bias;
      for (size_t p = 0; p < k; ++p) {
        sum += (static_cast<int8_t>(row[p] ^ header.flip) - header.input_zero_point) * column.weights[p];
      }
      const float scaled =
          std::min(static_cast<float>(sum) * *column.scales, static_cast<float>(output.max - output.zero_point));
      const int32_t value = static_cast<int32_t>(std::lrint(scaled)) + output.zero_point;
      static_cast<uint8_t*>(c)[i * c_stride + j] = static_cast<uint8_t>(std::max(value, output.min));
    }
  }
}

void qgemm_pack_dynamic(const QWeights& w, const QDynamic& q, void* packed) noexcept {
  pack_weights(w, packed);
  for (size_t j = 0; j < w.n; ++j) {
    const PackedColumn column = column_of(w, packed, j);
    for (size_t block = 0; block < block_count(w); ++block) {
      column.scales[block] = w.block_size != 0 ? bfloat16_value(q.block_scales[j * block_count(w) + block])
                                               : q.scales[q.scale_count == 1 ? 0 : j];
    }
    *column.bias = std::bit_cast<int32_t>(q.bias != nullptr ? q.bias[j] : 0.0f);
  }
}

void qgemm_dynamic(size_t m, const QWeights& w, const int8_t* a, size_t a_stride, const Quantization* rows,
                   const void* packed, QClamp clamp, float* c, size_t c_stride, QWorkspace) noexcept {
  dynamic_rows(m, w, a, a_stride, rows, packed, clamp,
               [&](size_t i, size_t j, float value) { c[i * c_stride + j] = value; });
}

void qgemm_dynamic_f16(size_t m, const QWeights& w, const int8_t* a, size_t a_stride, const Quantization* rows,
                       const void* packed, QClamp clamp, uint16_t* c, size_t c_stride, QWorkspace) noexcept {
  dynamic_rows(m, w, a, a_stride, rows, packed, clamp,
               [&](size_t i, size_t j, float value) { c[i * c_stride + j] = half_bits(value); });
}

}  // namespace enr::kernels
