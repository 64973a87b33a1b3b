// quantized_decomposed: embeddings whose rows are stored in bytes, nibbles or pairs of bits.

#include <algorithm>
#include <optional>

#include "base/thread_pool.h"
#include "kernels/quantize/quantize.h"
#include "ops/families.h"
#include "ops/quantized/storage_type.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// How a row's numbers lie in its bytes: kPerByte of them, unsigned less kOffset, the first in the high or low bits.
struct Bytes {
  static constexpr size_t kPerByte = 1;
};
struct Nibbles {
  static constexpr size_t kPerByte = 2;
  static constexpr int kOffset = 8;
  static constexpr bool kIsHighFirst = true;
};
struct Crumbs {
  static constexpr size_t kPerByte = 4;
  static constexpr int kOffset = 2;
  static constexpr bool kIsHighFirst = false;
};

template <class Packing>
void unpack(const uint8_t* bytes, size_t count, int8_t* out) noexcept {
  constexpr int kBits = 8 / Packing::kPerByte;
  for (size_t i = 0; i < count; ++i) {
    for (size_t place = 0; place < Packing::kPerByte; ++place) {
      const size_t field = Packing::kIsHighFirst ? Packing::kPerByte - 1 - place : place;
      const int value = (bytes[i] >> (kBits * static_cast<int>(field))) & ((1 << kBits) - 1);
      out[i * Packing::kPerByte + place] = static_cast<int8_t>(value - Packing::kOffset);
    }
  }
}

// A table of rows with one scale and zero point for each group of columns.
struct Rows {
  const std::byte* data;
  size_t columns, groups;
  const float* scales;
  const float* zero_points;  // null: 0
};

// Columns [begin, end) of a row from its numbers, of which the first is `numbers`.
template <class T>
void scale_columns(const Rows& rows, size_t row, size_t begin, size_t end, const T* numbers, float* out) noexcept {
  const size_t group_size = rows.columns / rows.groups;
  while (begin < end) {
    const size_t group = begin / group_size, at = row * rows.groups + group;
    const size_t count = std::min(end, (group + 1) * group_size) - begin;
    const float scale = rows.scales[at], zero = rows.zero_points == nullptr ? 0.0f : rows.zero_points[at];
    kernels::dequantize_by(numbers, out, count, scale, zero);
    numbers += count;
    out += count;
    begin += count;
  }
}

template <class Packing>
void read_row(const Rows& rows, size_t row, bool is_signed, float* out) noexcept {
  const auto* bytes = reinterpret_cast<const uint8_t*>(rows.data + row * (rows.columns / Packing::kPerByte));
  if constexpr (Packing::kPerByte == 1) {
    if (is_signed) {
      scale_columns(rows, row, 0, rows.columns, reinterpret_cast<const int8_t*>(bytes), out);
    } else {
      scale_columns(rows, row, 0, rows.columns, bytes, out);
    }
  } else {
    constexpr size_t kTile = 512;
    int8_t numbers[kTile];
    for (size_t begin = 0; begin < rows.columns; begin += kTile) {
      const size_t count = std::min(kTile, rows.columns - begin);
      unpack<Packing>(bytes + begin / Packing::kPerByte, count / Packing::kPerByte, numbers);
      scale_columns(rows, row, begin, begin + count, numbers, out + begin);
    }
  }
}

template <class Packing>
void embed(OpContext& context, const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
           const Tensor& indices, Tensor& out) {
  require_rank(weight, 2, "weight");
  if (weight.dtype != DType::kUInt8 && weight.dtype != DType::kInt8) {
    fail_execution("weight: expected uint8 or int8, got ", dtype_name(weight.dtype));
  }
  require_index_dtype(indices, "indices");
  require_floating(out.dtype, "out");
  const int64_t rows = weight.size(0);
  const int64_t columns = weight.size(1) * static_cast<int64_t>(Packing::kPerByte);
  if ((scales.rank != 1 && scales.rank != 2) || scales.size(0) != rows) {
    fail_execution("weight_scales: expected [", rows, "] or [", rows, ", groups], got shape ", scales.sizes());
  }
  if (zero_points != nullptr) require_sizes(*zero_points, scales.sizes(), "weight_zero_points");
  const int64_t groups = scales.rank == 2 ? scales.size(1) : 1;
  if (groups < 1 || columns % groups != 0) {
    fail_execution("weight_scales: expected groups that divide rows of ", columns, " values, got ", groups);
  }
  const auto* index = row_major_as<int64_t>(context, indices);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    if (index[i] < 0 || index[i] >= rows)
      fail_execution("indices: expected 0 to ", rows - 1, ", got ", index[i], " at ", i);
  }
  Shape shape(indices.sizes());
  shape.push_back(columns);
  context.resize(out, shape);
  const Rows source{row_major(context, weight), static_cast<size_t>(columns), static_cast<size_t>(groups),
                    row_major_as<float>(context, scales),
                    zero_points == nullptr ? nullptr : row_major_as<float>(context, *zero_points)};
  RowMajorOut result(context, out, DType::kFloat32);
  auto* to = result.as<float>();
  const size_t grain = (1 << 14) / (source.columns + 1) + 1;
  parallel_ranges(static_cast<size_t>(indices.numel()), grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      read_row<Packing>(source, static_cast<size_t>(index[i]), weight.dtype == DType::kInt8, to + i * source.columns);
    }
  });
  result.commit();
}

template <class Packing>
void embedding_out(OpContext& context, const Tensor& weight, const Tensor& scales, const Tensor* zero_points, int64_t,
                   int64_t, const Tensor& indices, Tensor& out) {
  embed<Packing>(context, weight, scales, zero_points, indices, out);
}
template <class Packing>
void embedding_dtype_out(OpContext& context, const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                         int64_t, int64_t, const Tensor& indices, std::optional<DType>, Tensor& out) {
  embed<Packing>(context, weight, scales, zero_points, indices, out);
}

}  // namespace

void register_quantized_embedding(OperatorTable& table) {
  static constexpr char kNames[] =
      "weight, weight_scales, weight_zero_points, weight_quant_min, weight_quant_max, indices, out";
  static constexpr char kNamesWithDtype[] =
      "weight, weight_scales, weight_zero_points, weight_quant_min, weight_quant_max, indices, dtype, out";
  table.add<embedding_out<Bytes>>("quantized_decomposed::embedding_byte.out", kNames);
  table.add<embedding_dtype_out<Bytes>>("quantized_decomposed::embedding_byte.dtype_out", kNamesWithDtype);
  table.add<embedding_out<Nibbles>>("quantized_decomposed::embedding_4bit.out", kNames);
  table.add<embedding_dtype_out<Nibbles>>("quantized_decomposed::embedding_4bit.dtype_out", kNamesWithDtype);
  table.add<embedding_out<Crumbs>>("quantized_decomposed::embedding_2bit.out", kNames);
  table.add<embedding_dtype_out<Crumbs>>("quantized_decomposed::embedding_2bit.dtype_out", kNamesWithDtype);
}

}  // namespace enr::ops
