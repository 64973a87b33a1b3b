#include "kernels/qgemm/qpack.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/half.h"

namespace enr::kernels {

namespace {

size_t round_up(size_t value, size_t multiple) noexcept { return (value + multiple - 1) / multiple * multiple; }

bool is_int4(const QWeights& w) noexcept { return w.type == QWeightType::kInt4; }

// The bytes of one block's weights; for 8 bits all inputs are one block.
size_t block_bytes(const QWeights& w, size_t inputs, size_t width) noexcept {
  const QGemmTable& table = qgemm_table();
  if (!is_int4(w)) return round_up(inputs, table.int8.group) * width;
  return round_up(inputs, 2 * table.int4.group) / 2 * width;
}

size_t panel_bytes(const QWeights& w, size_t width) noexcept {
  size_t bytes = 12 * width;
  if (w.block_size == 0) {
    bytes += block_bytes(w, w.k, width);
  } else {
    const size_t whole = w.k / w.block_size, rest = w.k % w.block_size;
    bytes += whole * (2 * width + block_bytes(w, w.block_size, width));
    if (rest != 0) bytes += 2 * width + block_bytes(w, rest, width);
  }
  return round_up(bytes, 64);
}

// As it is stored: uint8 less 128, int4 with its zero point.
int32_t stored_weight(const QWeights& w, size_t j, size_t p) noexcept {
  const bool output_major = w.layout == WeightLayout::kOutputMajor;
  const size_t row = output_major ? j : p, column = output_major ? p : j;
  const uint8_t* bytes = static_cast<const uint8_t*>(w.data) + row * w.row_bytes;
  if (is_int4(w)) return bytes[column / 2] >> (column % 2 * 4) & 15;
  return w.type == QWeightType::kUInt8 ? bytes[column] - 128 : static_cast<int8_t>(bytes[column]);
}

int32_t stored_zero_point(const QWeights& w) noexcept {
  return w.type == QWeightType::kUInt8 ? w.zero_point - 128 : w.zero_point;
}

// One panel that is being written.
struct PanelWriter {
  std::byte* panel;
  size_t width;

  int32_t& integer(size_t j) const noexcept { return reinterpret_cast<int32_t*>(panel)[j]; }
  float& scale(size_t j) const noexcept { return reinterpret_cast<float*>(panel)[width + j]; }
  int32_t& number_bits(size_t j) const noexcept { return reinterpret_cast<int32_t*>(panel)[2 * width + j]; }
};

// Writes the weights of an output and sums each block, without zero points: sums[block].
template <class Sum>
void write_output(const QWeights& w, size_t output, const PanelWriter& out, size_t j, const uint16_t* block_scales,
                  Sum sum_block) noexcept {
  const QGemmTable& table = qgemm_table();
  const int32_t zero_point = stored_zero_point(w);
  const size_t group = is_int4(w) ? table.int4.group : table.int8.group;
  const size_t block_size = w.block_size == 0 ? std::max<size_t>(w.k, 1) : w.block_size;
  std::byte* at = out.panel + 12 * out.width;
  for (size_t begin = 0, block = 0; begin < w.k; begin += block_size, ++block) {
    const size_t inputs = std::min(block_size, w.k - begin);
    if (w.block_size != 0) {
      std::memcpy(at + 2 * j, block_scales + block, 2);
      at += 2 * out.width;
    }
    int32_t sum = 0;
    for (size_t p = 0; p < inputs; ++p) {
      const int32_t weight = stored_weight(w, output, begin + p);
      sum += weight - zero_point;
      if (is_int4(w)) {
        std::byte& pair = at[p / (2 * group) * out.width * group + j * group + p % group];
        pair |= static_cast<std::byte>(weight << (p / group % 2 * 4));
      } else {
        at[p / group * out.width * group + j * group + p % group] = static_cast<std::byte>(weight);
      }
    }
    sum_block(block, sum);
    at += block_bytes(w, inputs, out.width);
  }
}

template <class PackOutput>
void pack_panels(const QWeights& w, void* packed, PackOutput pack_output) noexcept {
  const QPanels panels(w);
  std::memset(packed, 0, panels.total_bytes());
  const size_t full = qgemm_table().panel;
  for (size_t j = 0; j < w.n; ++j) {
    const size_t panel = j / full;
    pack_output(j, PanelWriter{const_cast<std::byte*>(panels.at(packed, panel)), panels.width(panel)}, j % full);
  }
}

}  // namespace

QPanels::QPanels(const QWeights& w) noexcept {
  const size_t full = qgemm_table().panel;
  count = std::max<size_t>(1, (w.n + full - 1) / full);
  const size_t rest = w.n - (count - 1) * full;
  last_width = rest <= full / 2 ? full / 2 : full;
  full_bytes = panel_bytes(w, full);
  last_bytes = panel_bytes(w, last_width);
  blocks = w.block_size == 0 ? 1 : std::max<size_t>(1, (w.k + w.block_size - 1) / w.block_size);
}

size_t QPanels::width(size_t panel) const noexcept { return panel + 1 == count ? last_width : qgemm_table().panel; }

size_t qgemm_packed_bytes(const QWeights& weights) noexcept { return QPanels(weights).total_bytes(); }

void qgemm_pack_static(const QWeights& w, const int32_t* bias, const QStatic& q, void* packed) noexcept {
  const int32_t flip = q.is_unsigned ? 0x80 : 0;
  const int32_t input_zero_point = q.input_zero_point - flip;
  const int32_t taken = input_zero_point + qgemm_table().int8.offset;
  pack_panels(w, packed, [&](size_t output, const PanelWriter& out, size_t j) {
    // Wraps as the sums do.
    uint32_t start = static_cast<uint32_t>(bias != nullptr ? bias[output] : 0);
    write_output(w, output, out, j, nullptr,
                 [&](size_t, int32_t sum) { start -= static_cast<uint32_t>(taken) * static_cast<uint32_t>(sum); });
    out.integer(j) = static_cast<int32_t>(start);
    out.scale(j) = q.scales[q.scale_count == 1 ? 0 : output];
  });
  *static_cast<QPackedHeader*>(packed) = {input_zero_point, flip, stored_zero_point(w)};
}

void qgemm_pack_dynamic(const QWeights& w, const QDynamic& q, void* packed) noexcept {
  const size_t blocks = QPanels(w).blocks;
  pack_panels(w, packed, [&](size_t output, const PanelWriter& out, size_t j) {
    const uint16_t* block_scales = w.block_size == 0 ? nullptr : q.block_scales + output * blocks;
    float taken = 0;
    write_output(w, output, out, j, block_scales, [&](size_t block, int32_t sum) {
      if (block_scales == nullptr) {
        out.integer(j) = sum;
      } else {
        taken += bfloat16_value(block_scales[block]) * static_cast<float>(sum);
      }
    });
    out.scale(j) = block_scales != nullptr ? taken : q.scales[q.scale_count == 1 ? 0 : output];
    out.number_bits(j) = std::bit_cast<int32_t>(q.bias != nullptr ? q.bias[output] : 0.0f);
  });
  *static_cast<QPackedHeader*>(packed) = {0, 0, stored_zero_point(w)};
}

}  // namespace enr::kernels
