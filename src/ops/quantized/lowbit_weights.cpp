#include "ops/quantized/lowbit_weights.h"

namespace enr::ops {

namespace {

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

}  // namespace

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

LowbitHeader read_lowbit_header(OpContext& context, const Tensor& packed, int expected_type, const std::byte*& data) {
  require_rank(packed, 1, "packed_weights");
  if (dtype_size(packed.dtype) != 1) {
    fail_execution("packed_weights: expected int8, got ", dtype_name(packed.dtype));
  }
  if (static_cast<size_t>(packed.numel()) < kLowbitHeaderBytes) {
    fail_execution("packed_weights: expected at least a header of ", kLowbitHeaderBytes, " bytes, got ",
                   packed.numel());
  }
  const std::byte* bytes = row_major(context, packed);
  LowbitHeader header;
  std::memcpy(&header, bytes, kLowbitHeaderBytes);
  if (header.magic != 6712) fail_execution("packed_weights: expected weights packed by torchao, got other bytes");
  if (header.type != expected_type) {
    fail_execution("packed_weights: expected the universal format (", expected_type, "), got format ", header.type,
                   ", made for one kind of processor");
  }
  data = bytes + kLowbitHeaderBytes;
  return header;
}

void require_bits(int expected, int32_t bits) {
  if (bits != expected) fail_execution("packed_weights: expected ", expected, "-bit weights, got ", bits, "-bit ones");
}

LinearWeights::LinearWeights(OpContext& context, const Tensor& packed, int bits, int64_t group_size, int64_t n,
                             int64_t k)
    : bits_(bits) {
  const LowbitHeader header = read_lowbit_header(context, packed, 1, data_);
  require_bits(bits, header.numbers[0]);
  has_zeros_ = header.numbers[1] != 0;
  has_bias_ = header.numbers[2] != 0;
  const int32_t nr = header.numbers[3], kr = header.numbers[4], sr = header.numbers[5];
  const bool is_known = nr > 0 && kr > 0 && sr > 0 && nr <= 128 && kr <= 128 && kr % sr == 0 &&
                        (nr * kr == 32 || nr * kr == 64 || nr * kr == 128);
  if (!is_known)
    fail_execution("packed_weights: expected a layout of torchao, got nr ", nr, ", kr ", kr, " and sr ", sr);
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (n < 1 || n > kLimit) fail_execution("n: expected at least 1, got ", n);
  if (k < 1 || k > kLimit) fail_execution("k: expected at least 1, got ", k);
  if (group_size < 1 || k % group_size != 0 || group_size % kr != 0) {
    fail_execution("group_size: expected a divisor of k ", k, " and multiple of ", kr, ", got ", group_size);
  }
  nr_ = static_cast<size_t>(nr);
  kr_ = static_cast<size_t>(kr);
  sr_ = static_cast<size_t>(sr);
  n_ = static_cast<size_t>(n);
  k_ = static_cast<size_t>(k);
  group_ = static_cast<size_t>(group_size);
  const size_t groups = k_ / group_;
  block_bytes_ = nr_ * (k_ / 8 * static_cast<size_t>(bits) + groups * (has_zeros_ ? 12 : 8) + (has_bias_ ? 4 : 0));
  const size_t blocks = (n_ + nr_ - 1) / nr_, given = static_cast<size_t>(packed.numel()) - kLowbitHeaderBytes;
  if (k_ % 8 != 0 || given / block_bytes_ < blocks) {
    fail_execution("packed_weights: expected ", n, " x ", k, " weights of ", bits, " bits, got ", given, " bytes");
  }
}

}  // namespace enr::ops
