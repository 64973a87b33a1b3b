// torchao's operators on weights of 1 to 8 bits, packed when a model is exported: linear layers with activations
// quantised to 8 bits for each row, and embeddings.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm.h"
#include "ops/families.h"
#include "ops/strided_view.h"

namespace enr::ops {

namespace {

// Bits ------------------------------------------------------------------------------------------------------------

struct BitPlace {
  uint8_t row, bit;
};

// A chunk holds `slots` groups of lanes; a slot's bits, lowest first, lie in rows of as many bytes as there are lanes.
struct BitLayout {
  size_t slots, rows;
  std::array<std::array<BitPlace, 8>, 8> places;  // [slot][bit]
};

constexpr BitLayout kLayouts[] = {
    {8, 1, {{{{{0, 7}}}, {{{0, 6}}}, {{{0, 5}}}, {{{0, 4}}}, {{{0, 3}}}, {{{0, 2}}}, {{{0, 1}}}, {{{0, 0}}}}}},
    {4, 1, {{{{{0, 6}, {0, 7}}}, {{{0, 4}, {0, 5}}}, {{{0, 2}, {0, 3}}}, {{{0, 0}, {0, 1}}}}}},
    {8,
     3,
     {{{{{0, 3}, {0, 4}, {0, 5}}},
       {{{0, 0}, {0, 1}, {0, 2}}},
       {{{1, 3}, {1, 4}, {1, 5}}},
       {{{1, 0}, {1, 1}, {1, 2}}},
       {{{2, 3}, {2, 4}, {2, 5}}},
       {{{2, 0}, {2, 1}, {2, 2}}},
       {{{0, 6}, {0, 7}, {2, 7}}},
       {{{1, 6}, {1, 7}, {2, 6}}}}}},
    {2, 1, {{{{{0, 0}, {0, 1}, {0, 2}, {0, 3}}}, {{{0, 4}, {0, 5}, {0, 6}, {0, 7}}}}}},
    {8,
     5,
     {{{{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}}},
       {{{0, 5}, {0, 6}, {0, 7}, {4, 0}, {4, 1}}},
       {{{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}}},
       {{{1, 5}, {1, 6}, {1, 7}, {4, 2}, {4, 3}}},
       {{{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}}},
       {{{2, 5}, {2, 6}, {2, 7}, {4, 4}, {4, 5}}},
       {{{3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 4}}},
       {{{3, 5}, {3, 6}, {3, 7}, {4, 6}, {4, 7}}}}}},
    {4,
     3,
     {{{{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}}},
       {{{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}}},
       {{{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {2, 5}}},
       {{{0, 6}, {0, 7}, {1, 6}, {1, 7}, {2, 6}, {2, 7}}}}}},
    {8,
     7,
     {{{{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}}},
       {{{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}}},
       {{{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {2, 5}, {2, 6}}},
       {{{3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 4}, {3, 5}, {3, 6}}},
       {{{4, 0}, {4, 1}, {4, 2}, {4, 3}, {4, 4}, {4, 5}, {4, 6}}},
       {{{5, 0}, {5, 1}, {5, 2}, {5, 3}, {5, 4}, {5, 5}, {5, 6}}},
       {{{6, 0}, {6, 1}, {6, 2}, {6, 3}, {6, 4}, {6, 5}, {6, 6}}},
       {{{0, 7}, {1, 7}, {2, 7}, {3, 7}, {4, 7}, {5, 7}, {6, 7}}}}}},
    {1, 1, {{{{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}, {0, 7}}}}}},
};

// Chunks of 64 numbers take the slots of two widths in another order.
constexpr std::array<size_t, 8> kSlotsOf1Bit = {4, 0, 5, 1, 6, 2, 7, 3}, kSlotsOf5Bits = {0, 2, 1, 3, 4, 6, 5, 7};

// `count` signed numbers (32, 64 or 128) of so many bits.
void unpack_chunk(int bits, size_t count, const std::byte* in, int8_t* out) noexcept {
  const BitLayout& layout = kLayouts[bits - 1];
  const size_t lanes = count == 32 && layout.slots == 8 ? 1 : std::min<size_t>(16, count / layout.slots);
  const int offset = bits == 8 ? 0 : 1 << (bits - 1);
  for (size_t v = 0; v < count; ++v) {
    const size_t lane = v % lanes, group = v / lanes / layout.slots;
    size_t slot = v / lanes % layout.slots;
    if (count == 64 && bits == 1) slot = kSlotsOf1Bit[slot];
    if (count == 64 && bits == 5) slot = kSlotsOf5Bits[slot];
    unsigned value = 0;
    for (size_t b = 0; b < static_cast<size_t>(bits); ++b) {
      const BitPlace place = layout.places[slot][b];
      const auto byte = std::to_integer<unsigned>(in[(group * layout.rows + place.row) * lanes + lane]);
      value |= (byte >> place.bit & 1u) << b;
    }
    out[v] = static_cast<int8_t>(static_cast<int>(value) - offset);
  }
}

size_t packed_bytes(int bits, size_t count) noexcept { return count / 8 * static_cast<size_t>(bits); }

// Packed weights --------------------------------------------------------------------------------------------------

constexpr size_t kHeaderBytes = 64;

struct Header {
  int32_t magic, type;
  std::array<int32_t, 14> numbers;
};
static_assert(sizeof(Header) == kHeaderBytes);

Header read_header(OpContext& context, const Tensor& packed, int expected_type, const std::byte*& data) {
  require_rank(packed, 1, "packed_weights");
  if (dtype_size(packed.dtype) != 1) {
    fail_execution("packed_weights: expected int8, got ", dtype_name(packed.dtype));
  }
  if (static_cast<size_t>(packed.numel()) < kHeaderBytes) {
    fail_execution("packed_weights: expected at least a header of ", kHeaderBytes, " bytes, got ", packed.numel());
  }
  const std::byte* bytes = row_major(context, packed);
  Header header;
  std::memcpy(&header, bytes, kHeaderBytes);
  if (header.magic != 6712) fail_execution("packed_weights: these are not packed weights of torchao");
  if (header.type != expected_type) {
    fail_execution("packed_weights: expected the universal format (", expected_type, "), got format ", header.type,
                   ", made for one kind of processor");
  }
  data = bytes + kHeaderBytes;
  return header;
}

void require_bits(int expected, int32_t bits) {
  if (bits != expected) fail_execution("packed_weights: expected ", expected, "-bit weights, got ", bits, "-bit ones");
}

// Weights [n, k] in columns of `nr` rows: for each group along k, chunks of nr * kr numbers, then scales, sums and
// zero points of the group; a bias after the last group.
class LinearWeights {
 public:
  LinearWeights(OpContext& context, const Tensor& packed, int bits, int64_t group_size, int64_t n, int64_t k)
      : bits_(bits) {
    const Header header = read_header(context, packed, 1, data_);
    require_bits(bits, header.numbers[0]);
    has_zeros_ = header.numbers[1] != 0;
    has_bias_ = header.numbers[2] != 0;
    const int32_t nr = header.numbers[3], kr = header.numbers[4], sr = header.numbers[5];
    const bool is_known = nr > 0 && kr > 0 && sr > 0 && nr <= 128 && kr <= 128 && kr % sr == 0 &&
                          (nr * kr == 32 || nr * kr == 64 || nr * kr == 128);
    if (!is_known) fail_execution("packed_weights: no layout has nr ", nr, ", kr ", kr, " and sr ", sr);
    constexpr int64_t kLimit = int64_t{1} << 31;
    if (n < 1 || n > kLimit) fail_execution("n: expected at least 1, got ", n);
    if (k < 1 || k > kLimit) fail_execution("k: expected at least 1, got ", k);
    if (group_size < 1 || k % group_size != 0 || group_size % kr != 0) {
      fail_execution("group_size: ", group_size, " must divide k ", k, " and be a multiple of ", kr);
    }
    nr_ = static_cast<size_t>(nr);
    kr_ = static_cast<size_t>(kr);
    sr_ = static_cast<size_t>(sr);
    n_ = static_cast<size_t>(n);
    k_ = static_cast<size_t>(k);
    group_ = static_cast<size_t>(group_size);
    const size_t groups = k_ / group_;
    block_bytes_ = nr_ * (k_ / 8 * static_cast<size_t>(bits) + groups * (has_zeros_ ? 12 : 8) + (has_bias_ ? 4 : 0));
    const size_t blocks = (n_ + nr_ - 1) / nr_, given = static_cast<size_t>(packed.numel()) - kHeaderBytes;
    if (k_ % 8 != 0 || given / block_bytes_ < blocks) {
      fail_execution("packed_weights: ", given, " bytes do not hold ", n, " x ", k, " weights of ", bits, " bits");
    }
  }

  // Rows [first, first + nr) as float32, `k` apart, and their biases.
  void unpack_block(size_t first, float* rows, float* bias) const {
    const std::byte* at = data_ + first / nr_ * block_bytes_;
    std::vector<int8_t> chunk(nr_ * kr_), numbers(nr_ * group_);
    std::vector<float> scales(nr_);
    std::vector<int32_t> zeros(nr_);
    for (size_t g = 0; g < k_ / group_; ++g) {
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
      for (size_t j = 0; j < std::min(nr_, n_ - first); ++j) {
        float* row = rows + j * k_ + g * group_;
        for (size_t i = 0; i < group_; ++i) {
          row[i] = static_cast<float>(int64_t{numbers[j * group_ + i]} - zeros[j]) * scales[j];
        }
      }
    }
    for (size_t j = 0; j < std::min(nr_, n_ - first); ++j) {
      bias[j] = 0;
      if (has_bias_) std::memcpy(&bias[j], at + j * sizeof(float), sizeof(float));
    }
  }

  // All of them as the right-hand side of a product.
  AlignedBuffer pack() const {
    std::vector<float> rows(n_ * k_), bias(n_);
    for (size_t first = 0; first < n_; first += nr_) unpack_block(first, rows.data() + first * k_, bias.data() + first);
    AlignedBuffer packed(kernels::gemm_packed_bytes(n_, k_));
    kernels::gemm_pack(kernels::WeightLayout::kOutputMajor, n_, k_, rows.data(), k_, bias.data(), packed.data());
    return packed;
  }

  size_t block_rows() const noexcept { return nr_; }

 private:
  int bits_;
  const std::byte* data_ = nullptr;
  bool has_zeros_ = false, has_bias_ = false;
  size_t nr_ = 1, kr_ = 1, sr_ = 1, n_ = 0, k_ = 0, group_ = 1, block_bytes_ = 1;
};

// Each row rounded to 256 levels between its smallest and largest number, 0 included.
void round_row(const float* in, size_t count, float* out) noexcept {
  float low = 0, high = 0;
  for (size_t i = 0; i < count; ++i) {
    low = std::min(low, in[i]);
    high = std::max(high, in[i]);
  }
  const float scale = (high - low) / 255;
  if (!(scale > 0) || !std::isfinite(scale)) {
    std::copy_n(in, count, out);
    return;
  }
  const float zero = -128 - std::round(low / scale), inverse = 1 / scale;
  for (size_t i = 0; i < count; ++i) {
    const float level = std::nearbyint(in[i] * inverse + zero);
    out[i] = (std::min(std::max(level, -128.0f), 127.0f) - zero) * scale;
  }
}

// Operators -------------------------------------------------------------------------------------------------------

template <int kBits>
void linear_out(OpContext& context, const Tensor& activations, const Tensor& packed_weights, int64_t group_size,
                int64_t n, int64_t k, Tensor& out) {
  require_rank(activations, 2, "activations");
  require_dtype(activations, DType::kFloat32, "activations");
  require_dtype(out, DType::kFloat32, "out");
  const LinearWeights weights(context, packed_weights, kBits, group_size, n, k);
  if (activations.size(1) != k) {
    fail_execution("activations: expected ", k, " columns, got shape ", activations.sizes());
  }
  const auto m = static_cast<size_t>(activations.size(0)), columns = static_cast<size_t>(k);
  context.resize(out, {activations.size(0), n});
  if (m == 0) return;
  std::shared_ptr<const AlignedBuffer> packed;
  if (packed_weights.is_constant) {
    const std::string packing = concat("torchao linear ", kBits, " ", n, "x", k, " ", group_size);
    packed = context.weights().get(packed_weights.data, packing, [&] { return weights.pack(); });
  } else {
    packed = std::make_shared<const AlignedBuffer>(weights.pack());
  }
  const float* in = row_major_as<float>(context, activations);
  auto* rounded = context.scratch_of<float>(m * columns);
  parallel_ranges(m, std::max<size_t>(1, 4096 / columns), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) round_row(in + i * columns, columns, rounded + i * columns);
  });
  RowMajorOut result(context, out);
  const auto width = static_cast<size_t>(n);
  kernels::gemm(m, width, columns, rounded, columns, packed->data(), result.as<float>(), width);
  result.commit();
}

const int64_t* checked_indices(OpContext& context, const Tensor& indices, int64_t rows) {
  require_rank(indices, 1, "indices");
  require_index_dtype(indices, "indices");
  const auto* numbers = row_major_as<int64_t>(context, indices);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= rows) {
      fail_execution("indices: ", numbers[i], " is out of range for ", rows, " embeddings");
    }
  }
  return numbers;
}

template <int kBits>
void embedding_out(OpContext& context, const Tensor& packed, int64_t rows, int64_t size, const Tensor& scales,
                   const Tensor& zeros, const Tensor& indices, Tensor& out) {
  const std::byte* data = nullptr;
  const Header header = read_header(context, packed, 2, data);
  require_bits(kBits, header.numbers[1]);
  if (header.numbers[0] != 1 || header.numbers[2] != 32 || header.numbers[3] != 128) {
    fail_execution("packed_weight_qvals: expected chunks of 32 to 128 numbers in version 1");
  }
  const auto given = static_cast<size_t>(packed.numel()) - kHeaderBytes;
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (rows < 1 || rows > kLimit || size < 32 || size > kLimit || size % 32 != 0 ||
      given != static_cast<size_t>(rows) * packed_bytes(kBits, static_cast<size_t>(size))) {
    fail_execution("packed_weight_qvals: ", given, " bytes do not hold ", rows, " x ", size, " weights of ", kBits,
                   " bits");
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

template <int kBits>
void register_width(OperatorTable& table) {
  table.add<linear_out<kBits>>(concat("torchao::_linear_8bit_act_", kBits, "bit_weight.out"));
  table.add<embedding_out<kBits>>(concat("torchao::_embedding_", kBits, "bit.out"));
  table.add<shared_embedding_out<kBits>>(concat("torchao::_shared_embedding_", kBits, "bit.out"));
}

}  // namespace

void register_lowbit(OperatorTable& table) {
  register_width<1>(table);
  register_width<2>(table);
  register_width<3>(table);
  register_width<4>(table);
  register_width<5>(table);
  register_width<6>(table);
  register_width<7>(table);
  register_width<8>(table);
}

}  // namespace enr::ops
