#pragma once

// Weights of 1 to 8 bits as torchao packs them when a model is exported (its universal format).

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "ops/registry.h"
#include "ops/strided_view.h"

namespace enr::ops {

inline constexpr size_t kLowbitHeaderBytes = 64;

struct LowbitHeader {
  int32_t magic, type;
  std::array<int32_t, 14> numbers;
};
static_assert(sizeof(LowbitHeader) == kLowbitHeaderBytes);

// The header of packed weights of a format, checked; `data` is what follows it.
LowbitHeader read_lowbit_header(OpContext& context, const Tensor& packed, int expected_type, const std::byte*& data);

// Calls body<bits>() for every width.
template <class Body>
void for_each_width(const Body& body) {
  [&]<int... below>(std::integer_sequence<int, below...>) {
    (body.template operator()<below + 1>(), ...);
  }(std::make_integer_sequence<int, 8>());
}

void require_bits(int expected, int32_t bits);

// `count` signed numbers (32, 64 or 128) of so many bits.
void unpack_chunk(int bits, size_t count, const std::byte* in, int8_t* out) noexcept;

inline size_t packed_bytes(int bits, size_t count) noexcept { return count / 8 * static_cast<size_t>(bits); }

// Weights [n, k] in columns of `nr` rows: for each group along k, chunks of nr * kr numbers, then scales, sums and
// zero points of the group; a bias after the last group.
class LinearWeights {
 public:
  LinearWeights(OpContext& context, const Tensor& packed, int bits, int64_t group_size, int64_t n, int64_t k);

  // visit(row within the block, group, its numbers, scale, zero point) for rows [first, first + nr), and their biases.
  template <class Visit>
  void visit_block(size_t first, float* bias, const Visit& visit) const {
    const std::byte* at = data_ + first / nr_ * block_bytes_;
    std::vector<int8_t> chunk(nr_ * kr_), numbers(nr_ * group_);
    std::vector<float> scales(nr_);
    std::vector<int32_t> zeros(nr_);
    const size_t rows = std::min(nr_, n_ - first);
    for (size_t g = 0; g < groups(); ++g) {
      for (size_t begin = 0; begin < group_; begin += kr_) {
        unpack_chunk(bits_, nr_ * kr_, at, chunk.data());
        at += packed_bytes(bits_, nr_ * kr_);
        const size_t piece = kr_ / sr_;
        for (size_t i = 0; i < sr_ * nr_; ++i) {
          std::memcpy(&numbers[i % nr_ * group_ + begin + i / nr_ * piece], &chunk[i * piece], piece);
        }
      }
      std::memcpy(scales.data(), at, nr_ * sizeof(float));
      at += 2 * nr_ * sizeof(float);  // the sums follow
      if (has_zeros_) {
        std::memcpy(zeros.data(), at, nr_ * sizeof(int32_t));
        at += nr_ * sizeof(int32_t);
      }
      for (size_t j = 0; j < rows; ++j) visit(j, g, numbers.data() + j * group_, scales[j], zeros[j]);
    }
    for (size_t j = 0; j < rows; ++j) {
      bias[j] = 0;
      if (has_bias_) std::memcpy(&bias[j], at + j * sizeof(float), sizeof(float));
    }
  }

  // Rows [first, first + nr) as float32, `k` apart, and their biases.
  void unpack_block(size_t first, float* rows, float* bias) const {
    visit_block(first, bias, [&](size_t j, size_t g, const int8_t* numbers, float scale, int32_t zero) {
      float* row = rows + j * k_ + g * group_;
      for (size_t i = 0; i < group_; ++i) row[i] = static_cast<float>(int64_t{numbers[i]} - zero) * scale;
    });
  }

  size_t n() const noexcept { return n_; }
  size_t k() const noexcept { return k_; }
  size_t groups() const noexcept { return k_ / group_; }
  size_t group_size() const noexcept { return group_; }
  size_t block_rows() const noexcept { return nr_; }

 private:
  int bits_;
  const std::byte* data_ = nullptr;
  bool has_zeros_ = false, has_bias_ = false;
  size_t nr_ = 1, kr_ = 1, sr_ = 1, n_ = 0, k_ = 0, group_ = 1, block_bytes_ = 1;
};

void register_lowbit_linear(OperatorTable& table);

}  // namespace enr::ops
