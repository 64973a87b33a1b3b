// quantized_decomposed: products of float rows and 8-bit weights. Weights become floats a block of columns at a time,
// in cache, and are multiplied there, or go
// into the sums as they are: they are read from memory once, as bytes.

#include <algorithm>
#include <optional>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"
#include "kernels/quantize/quantize.h"
#include "ops/families.h"
#include "ops/quantized/storage_type.h"
#include "ops/strided_view.h"
#include "ops/type_rules.h"

namespace enr::ops {

namespace {

// Columns of the product computed together: their weights fit a core's own cache.
size_t block_columns(size_t inner, size_t columns) noexcept {
  constexpr size_t kBlockFloats = 64 * 1024, kLeast = 16;
  const size_t fitting = kBlockFloats / std::max<size_t>(inner, 1) / kLeast * kLeast;
  return std::min(columns, std::max(kLeast, fitting));
}

// C = A * B for blocks of B's columns; fill(first, count, block) makes the floats of a block, [n, k] or [k, n] as
// b_transposed says.
template <class Fill>
void multiply_blocks(OpContext& context, size_t m, size_t n, size_t k, const float* a, bool b_transposed, float* c,
                     const Fill& fill) {
  if (m == 0 || n == 0) return;
  const size_t width = block_columns(k, n), blocks = (n + width - 1) / width;
  const size_t lanes = std::min(blocks, num_threads());
  const size_t workspace_bytes = kernels::batch_matmul_workspace_bytes(1, m, width, k);
  const size_t lane_bytes = (width * k * sizeof(float) + 63) / 64 * 64 + (workspace_bytes + 63) / 64 * 64;
  std::byte* memory = context.scratch(lanes * lane_bytes);
  parallel_for(lanes, [&](size_t lane) {
    auto* block = reinterpret_cast<float*>(memory + lane * lane_bytes);
    for (size_t i = lane; i < blocks; i += lanes) {
      const size_t first = i * width, count = std::min(width, n - first);
      fill(first, count, block);
      kernels::BatchMatmul call;
      call.m = m;
      call.n = count;
      call.k = k;
      call.b_transposed = b_transposed;
      call.a = a;
      call.a_stride = k;
      call.b = block;
      call.b_stride = b_transposed ? k : count;
      call.c = c + first;
      call.c_stride = n;
      kernels::batch_matmul(call, memory + (lane + 1) * lane_bytes - (workspace_bytes + 63) / 64 * 64);
    }
  });
}

void mixed_mm_out(OpContext& context, const Tensor& input, const Tensor& weight, const Tensor& scales,
                  const Tensor* zero_points, Tensor& out) {
  require_rank(input, 2, "input");
  require_rank(weight, 2, "weight");
  require_dtype(weight, DType::kInt8, "weight");
  require_floating(input.dtype, "input");
  require_dtype(out, input.dtype, "out");
  if (input.size(1) != weight.size(0)) {
    fail_execution("weight: expected sizes to multiply with ", input.sizes(), ", got ", weight.sizes());
  }
  const int64_t inner = weight.size(0);
  require_sizes(scales, Sizes(&inner, 1), "weight_scales");
  if (zero_points != nullptr) require_sizes(*zero_points, Sizes(&inner, 1), "weight_zero_points");
  context.resize(out, {input.size(0), weight.size(1)});
  const auto* w = reinterpret_cast<const int8_t*>(row_major(context, weight));
  const auto* scale = row_major_as<float>(context, scales);
  const auto* zero = zero_points == nullptr ? nullptr : row_major_as<float>(context, *zero_points);
  const auto* in = row_major_as<float>(context, input);
  RowMajorOut result(context, out, DType::kFloat32);
  const auto k = static_cast<size_t>(inner), n = static_cast<size_t>(weight.size(1));
  multiply_blocks(context, static_cast<size_t>(input.size(0)), n, k, in, false, result.as<float>(),
                  [&](size_t first, size_t count, float* block) {
                    for (size_t i = 0; i < k; ++i) {
                      kernels::dequantize_by(w + i * n + first, block + i * count, count, scale[i],
                                             zero == nullptr ? 0.0f : zero[i]);
                    }
                  });
  result.commit();
}

void mixed_linear_out(OpContext& context, const Tensor& input, const Tensor& weight, const Tensor& scales,
                      const Tensor* zero_points, std::optional<DType>, Tensor& out) {
  require_rank(weight, 2, "weight");
  require_dtype(weight, DType::kInt8, "weight");
  require_floating(input.dtype, "input");
  require_floating(out.dtype, "out");
  const int64_t inner = weight.size(1);
  const int64_t columns = weight.size(0);
  if (input.rank == 0 || input.size(input.rank - 1u) != inner) {
    fail_execution("input: expected a last size of ", inner, ", got ", input.sizes());
  }
  if ((scales.rank != 1 && scales.rank != 2) || scales.size(0) != columns) {
    fail_execution("weight_scales: expected [", columns, "] or [", columns, ", groups], got shape ", scales.sizes());
  }
  const int64_t groups = scales.rank == 2 ? scales.size(1) : 1;
  if (groups < 1) fail_execution("weight_scales: expected at least one group, got shape ", scales.sizes());
  if (zero_points != nullptr) require_sizes(*zero_points, scales.sizes(), "weight_zero_points");
  Shape shape(input.sizes());
  shape[shape.rank - 1] = columns;
  context.resize(out, shape);
  const auto* w = reinterpret_cast<const int8_t*>(row_major(context, weight));
  const auto* scale = row_major_as<float>(context, scales);
  const auto* zero = zero_points == nullptr ? nullptr : row_major_as<float>(context, *zero_points);
  const auto* in = row_major_as<float>(context, input);
  RowMajorOut result(context, out, DType::kFloat32);
  const auto m = static_cast<size_t>(product(input.sizes(), 0, input.rank - 1u)), n = static_cast<size_t>(columns);
  const auto k = static_cast<size_t>(inner), row_groups = static_cast<size_t>(groups);
  const size_t group_size = std::max<size_t>(1, (k + row_groups - 1) / row_groups);
  // Calls body(first, count, scale, zero point) for each group of a weight's row.
  const auto each_group = [&](size_t row, const auto& body) {
    for (size_t begin = 0; begin < k; begin += group_size) {
      const size_t at = row * row_groups + begin / group_size;
      body(begin, std::min(group_size, k - begin), scale[at], zero == nullptr ? 0.0f : zero[at]);
    }
  };
  auto* to = result.as<float>();
  constexpr size_t kDotRows = 4;  // below, floats of the weights would not be used often enough
  if (m < kDotRows) {
    parallel_ranges(n, (1 << 15) / std::max<size_t>(k, 1) + 1, [&](size_t from, size_t end) {
      for (size_t j = from; j < end; ++j) {
        for (size_t i = 0; i < m; ++i) {
          float total = 0;
          each_group(j, [&](size_t begin, size_t count, float factor, float z) {
            total += kernels::dot_bytes(in + i * k + begin, w + j * k + begin, count, z) * factor;
          });
          to[i * n + j] = total;
        }
      }
    });
  } else {
    multiply_blocks(context, m, n, k, in, true, to, [&](size_t first, size_t count, float* block) {
      for (size_t j = 0; j < count; ++j) {
        each_group(first + j, [&](size_t begin, size_t length, float factor, float z) {
          kernels::dequantize_by(w + (first + j) * k + begin, block + j * k + begin, length, factor, z);
        });
      }
    });
  }
  result.commit();
}

}  // namespace

void register_mixed_products(OperatorTable& table) {
  table.add<mixed_mm_out>("quantized_decomposed::mixed_mm.out",
                          "input, weight, weight_scales, weight_zero_points, out");
  table.add<mixed_linear_out>("quantized_decomposed::mixed_linear.out",
                              "input, weight, weight_scales, weight_zero_points, dtype, out");
}

}  // namespace enr::ops
