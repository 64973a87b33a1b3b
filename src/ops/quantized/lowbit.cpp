// torchao's embeddings of 1 to 8 bits.

#include <algorithm>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "ops/families.h"
#include "ops/quantized/lowbit_weights.h"

namespace enr::ops {

namespace {

const int64_t* checked_indices(OpContext& context, const Tensor& indices, int64_t rows) {
  require_rank(indices, 1, "indices");
  require_index_dtype(indices, "indices");
  const auto* numbers = row_major_as<int64_t>(context, indices);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= rows) {
      fail_execution("indices: expected 0 to ", rows - 1, ", got ", numbers[i], " at ", i);
    }
  }
  return numbers;
}

template <int kBits>
void embedding_out(OpContext& context, const Tensor& packed, int64_t rows, int64_t size, const Tensor& scales,
                   const Tensor& zeros, const Tensor& indices, Tensor& out) {
  const std::byte* data = nullptr;
  const LowbitHeader header = read_lowbit_header(context, packed, 2, data);
  require_bits(kBits, header.numbers[1]);
  if (header.numbers[0] != 1 || header.numbers[2] != 32 || header.numbers[3] != 128) {
    fail_execution("packed_weight_qvals: expected chunks of 32 to 128 numbers in version 1, got ", header.numbers[2],
                   " to ", header.numbers[3], " in version ", header.numbers[0]);
  }
  const auto given = static_cast<size_t>(packed.numel()) - kLowbitHeaderBytes;
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (rows < 1 || rows > kLimit || size < 32 || size > kLimit || size % 32 != 0 ||
      given != static_cast<size_t>(rows) * packed_bytes(kBits, static_cast<size_t>(size))) {
    fail_execution("packed_weight_qvals: expected ", rows, " x ", size, " weights of ", kBits, " bits, got ", given,
                   " bytes");
  }
  require_dtype(scales, DType::kFloat32, "weight_scales");
  require_rank(scales, 2, "weight_scales");
  const int64_t groups = scales.size(1);
  if (scales.size(0) != rows || groups < 1 || size % groups != 0 || size / groups % 32 != 0) {
    fail_execution("weight_scales: expected [", rows, ", groups of a multiple of 32 in ", size, "], got ",
                   scales.sizes());
  }
  require_dtype(zeros, DType::kInt8, "weight_zeros");
  require_sizes(zeros, scales.sizes(), "weight_zeros");
  require_dtype(out, DType::kFloat32, "out");
  const int64_t* chosen = checked_indices(context, indices, rows);
  const float* scale = row_major_as<float>(context, scales);
  const auto* zero = reinterpret_cast<const int8_t*>(row_major(context, zeros));
  context.resize(out, {indices.size(0), size});
  RowMajorOut result(context, out);
  const auto width = static_cast<size_t>(size), group = static_cast<size_t>(size / groups);
  parallel_ranges(static_cast<size_t>(indices.size(0)), 8, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto row = static_cast<size_t>(chosen[i]);
      const std::byte* at = data + row * packed_bytes(kBits, width);
      float* to = result.as<float>() + i * width;
      for (size_t d = 0; d < width;) {
        int8_t numbers[128];
        const size_t count = width - d >= 128 ? 128 : width - d >= 64 ? 64 : 32;
        unpack_chunk(kBits, count, at, numbers);
        at += packed_bytes(kBits, count);
        for (size_t l = 0; l < count; ++l, ++d) {
          const size_t parameters = row * static_cast<size_t>(groups) + d / group;
          to[d] = static_cast<float>(numbers[l] - zero[parameters]) * scale[parameters];
        }
      }
    }
  });
  result.commit();
}

// Embeddings that are the rows of a linear layer's weights.
template <int kBits>
void shared_embedding_out(OpContext& context, const Tensor& packed_weights, int64_t group_size, int64_t n, int64_t k,
                          const Tensor& indices, Tensor& out) {
  require_dtype(out, DType::kFloat32, "out");
  const LinearWeights weights(context, packed_weights, kBits, group_size, n, k);
  const int64_t* chosen = checked_indices(context, indices, n);
  context.resize(out, {indices.size(0), k});
  RowMajorOut result(context, out);
  const auto columns = static_cast<size_t>(k);
  std::vector<float> rows(weights.block_rows() * columns), bias(weights.block_rows());
  for (int64_t i = 0; i < indices.size(0); ++i) {
    const size_t row = static_cast<size_t>(chosen[i]), inside = row % weights.block_rows();
    weights.unpack_block(row - inside, rows.data(), bias.data());
    std::copy_n(rows.data() + inside * columns, columns, result.as<float>() + static_cast<size_t>(i) * columns);
  }
  result.commit();
}

}  // namespace

void register_lowbit(OperatorTable& table) {
  register_lowbit_linear(table);
  for_each_width([&]<int kBits>() {
    table.add<embedding_out<kBits>>(
        concat("torchao::_embedding_", kBits, "bit.out"),
        "packed_weight_qvals, num_embeddings, embedding_dim, weight_scales, weight_zeros, indices, out");
    table.add<shared_embedding_out<kBits>>(concat("torchao::_shared_embedding_", kBits, "bit.out"),
                                           "packed_weights, group_size, n, k, indices, out");
  });
}

}  // namespace enr::ops
