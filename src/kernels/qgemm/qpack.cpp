#include "kernels/qgemm/qpack.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "base/thread_pool.h"

namespace enr::kernels {

namespace {

constexpr size_t kMaxPanel = 32;             // outputs
constexpr size_t kThreadBytes = 128 * 1024;  // of weights that pay for a thread

size_t round_up(size_t value, size_t multiple) noexcept { return (value + multiple - 1) / multiple * multiple; }

bool is_int4(const QWeights& w) noexcept { return w.type == QWeightType::kInt4; }

// The bytes of one block's weights; for 8 bits all inputs are one block.
size_t block_bytes(const QWeights& w, size_t inputs, size_t width) noexcept {
  const QGemmTable& table = qgemm_table();
  if (!is_int4(w)) return round_up(inputs, table.int8.group) * width;
  return round_up(inputs, 2 * table.int4.group) / 2 * width;
}

size_t scale_bytes(const QWeights& w) noexcept { return w.has_float_scales ? sizeof(float) : sizeof(uint16_t); }

size_t panel_bytes(const QWeights& w, size_t width) noexcept {
  size_t bytes = 12 * width;
  if (w.block_size == 0) {
    bytes += block_bytes(w, w.k, width);
  } else {
    const size_t whole = w.k / w.block_size, rest = w.k % w.block_size;
    bytes += whole * (scale_bytes(w) * width + block_bytes(w, w.block_size, width));
    if (rest != 0) bytes += scale_bytes(w) * width + block_bytes(w, rest, width);
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

// The eight 4-bit numbers of a word, each i-th one of the first four beside the i-th one of the last four.
uint32_t pair_halves(uint32_t numbers) noexcept {
  const auto spread = [](uint32_t four) {
    four = (four | four << 8) & 0x00ff00ffu;
    return (four | four << 4) & 0x0f0f0f0fu;
  };
  return spread(numbers & 0xffffu) | spread(numbers >> 16) << 4;
}

// Weights [begin, begin + count) of an output, as one step after the other takes them: `to` is where the output's bytes
// of the first step lie, step_bytes further those of the next. Gives their sum, as they are stored. begin is even.
struct ChunkWriter {
  const QWeights& w;
  size_t group, step_bytes;

  int32_t write(size_t output, size_t begin, size_t count, std::byte* to) const noexcept {
    if (w.layout == WeightLayout::kInputMajor) return write_any(output, begin, count, to);
    const uint8_t* row = static_cast<const uint8_t*>(w.data) + output * w.row_bytes;
    if (!is_int4(w)) return write_bytes(output, row + begin, begin, count, to);
    return group == 4 ? write_int4(output, row + begin / 2, begin, count, to) : write_any(output, begin, count, to);
  }

 private:
  int32_t write_any(size_t output, size_t begin, size_t count, std::byte* to) const noexcept {
    int32_t sum = 0;
    for (size_t p = 0; p < count; ++p) {
      const int32_t weight = stored_weight(w, output, begin + p);
      sum += weight;
      if (is_int4(w)) {
        to[p / (2 * group) * step_bytes + p % group] |= static_cast<std::byte>(weight << (p / group % 2 * 4));
      } else {
        to[p / group * step_bytes + p % group] = static_cast<std::byte>(weight);
      }
    }
    return sum;
  }

  int32_t write_bytes(size_t output, const uint8_t* from, size_t begin, size_t count, std::byte* to) const noexcept {
    const uint8_t flip = w.type == QWeightType::kUInt8 ? 0x80 : 0;
    const size_t whole = count / group * group;
    int32_t sum = 0;
    for (size_t p = 0; p < whole; ++p) sum += static_cast<int8_t>(from[p] ^ flip);
    if (group == 4) {
      copy_groups<uint32_t>(from, whole, 0x01010101u * flip, to);
    } else {
      copy_groups<uint16_t>(from, whole, 0x0101u * flip, to);
    }
    return sum + write_any(output, begin + whole, count - whole, to + whole / group * step_bytes);
  }

  template <class Word>
  void copy_groups(const uint8_t* from, size_t count, uint32_t flips, std::byte* to) const noexcept {
    for (size_t p = 0; p < count; p += sizeof(Word), to += step_bytes) {
      Word word;
      std::memcpy(&word, from + p, sizeof word);
      word = static_cast<Word>(word ^ flips);
      std::memcpy(to, &word, sizeof word);
    }
  }

  int32_t write_int4(size_t output, const uint8_t* from, size_t begin, size_t count, std::byte* to) const noexcept {
    const size_t whole = count / 8 * 8;
    int32_t sum = 0;
    for (size_t p = 0; p < whole / 2; ++p) sum += (from[p] & 15) + (from[p] >> 4);
    for (size_t p = 0; p < whole; p += 8, to += step_bytes) {
      uint32_t word;
      std::memcpy(&word, from + p / 2, 4);
      word = pair_halves(word);
      std::memcpy(to, &word, 4);
    }
    return sum + write_any(output, begin + whole, count - whole, to);
  }
};

// Writes the weights of one panel's outputs and calls sum_block(block, j, the sum of output j's weights without zero
// points).
template <class SumBlock>
void write_panel(const QWeights& w, size_t first_output, size_t outputs, const PanelWriter& out,
                 const void* block_scales, SumBlock sum_block) noexcept {
  constexpr size_t kChunk = 256;  // inputs; what a chunk of all outputs is written to stays in cache
  const QGemmTable& table = qgemm_table();
  const size_t group = is_int4(w) ? table.int4.group : table.int8.group;
  const size_t block_size = w.block_size == 0 ? std::max<size_t>(w.k, 1) : w.block_size;
  const size_t blocks = (w.k + block_size - 1) / block_size;
  const ChunkWriter writer{w, group, out.width * group};
  int32_t sums[kMaxPanel];
  std::byte* at = out.panel + 12 * out.width;
  for (size_t block = 0; block < blocks; ++block) {
    const size_t begin = block * block_size, inputs = std::min(block_size, w.k - begin);
    if (w.block_size != 0) {
      for (size_t j = 0; j < outputs; ++j) {
        const size_t size = scale_bytes(w);
        std::memcpy(at + size * j,
                    static_cast<const std::byte*>(block_scales) + ((first_output + j) * blocks + block) * size, size);
      }
      at += scale_bytes(w) * out.width;
    }
    std::fill_n(sums, outputs, 0);
    for (size_t done = 0; done < inputs; done += kChunk) {
      const size_t count = std::min(kChunk, inputs - done);
      std::byte* to = at + block_bytes(w, done, out.width);
      for (size_t j = 0; j < outputs; ++j) {
        sums[j] += writer.write(first_output + j, begin + done, count, to + j * group);
      }
    }
    for (size_t j = 0; j < outputs; ++j) {
      sum_block(block, j, sums[j] - stored_zero_point(w) * static_cast<int32_t>(inputs));
    }
    at += block_bytes(w, inputs, out.width);
  }
}

// Calls write(first output, outputs, panel) for every panel, with threads.
template <class WritePanel>
void pack_panels(const QWeights& w, void* packed, WritePanel write) noexcept {
  const QPanels panels(w);
  const size_t full = qgemm_table().panel;
  parallel_ranges(panels.count, kThreadBytes / panels.full_bytes + 1, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel) {
      std::byte* to = const_cast<std::byte*>(panels.at(packed, panel));
      std::memset(to, 0, panel + 1 == panels.count ? panels.last_bytes : panels.full_bytes);
      write(panel * full, std::min(full, w.n - panel * full), PanelWriter{to, panels.width(panel)});
    }
  });
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

bool may_exceed_int32(size_t k, size_t n, const int32_t* bias, const float* scales, size_t scale_count) noexcept {
  constexpr double kLargestProduct = 255.0 * 255.0, kLimit = 2147483000.0;
  for (size_t j = 0; j < n; ++j) {
    const double largest =
        static_cast<double>(k) * kLargestProduct + (bias != nullptr ? std::abs(static_cast<double>(bias[j])) : 0.0);
    if (std::min(largest, 2147483648.0) * double{scales[scale_count == 1 ? 0 : j]} >= kLimit) return true;
  }
  return false;
}

void qgemm_pack_static(const QWeights& w, const int32_t* bias, const QStatic& q, void* packed) noexcept {
  const int32_t flip = q.is_unsigned ? 0x80 : 0;
  const int32_t input_zero_point = q.input_zero_point - flip;
  const int32_t taken = input_zero_point + qgemm_table().int8.offset;
  pack_panels(w, packed, [&](size_t first, size_t outputs, const PanelWriter& out) {
    for (size_t j = 0; j < outputs; ++j) {
      out.integer(j) = bias != nullptr ? bias[first + j] : 0;
      out.scale(j) = q.scales[q.scale_count == 1 ? 0 : first + j];
      out.number_bits(j) = std::bit_cast<int32_t>(q.offsets != nullptr ? q.offsets[first + j] : 0.0f);
    }
    write_panel(w, first, outputs, out, nullptr, [&](size_t, size_t j, int32_t sum) {
      // Wraps as the sums do.
      const uint32_t start = static_cast<uint32_t>(out.integer(j));
      out.integer(j) = static_cast<int32_t>(start - static_cast<uint32_t>(taken) * static_cast<uint32_t>(sum));
    });
  });
  *static_cast<QPackedHeader*>(packed) = {input_zero_point, flip, stored_zero_point(w),
                                          may_exceed_int32(w.k, w.n, bias, q.scales, q.scale_count),
                                          q.offsets != nullptr};
}

void qgemm_pack_dynamic(const QWeights& w, const QDynamic& q, void* packed) noexcept {
  const size_t blocks = QPanels(w).blocks;
  const void* block_scales = w.has_float_scales ? static_cast<const void*>(q.scales) : q.block_scales;
  pack_panels(w, packed, [&](size_t first, size_t outputs, const PanelWriter& out) {
    for (size_t j = 0; j < outputs; ++j) {
      out.scale(j) = w.block_size != 0 ? 0.0f : q.scales[q.scale_count == 1 ? 0 : first + j];
      out.number_bits(j) = std::bit_cast<int32_t>(q.bias != nullptr ? q.bias[first + j] : 0.0f);
    }
    write_panel(w, first, outputs, out, block_scales, [&](size_t block, size_t j, int32_t sum) {
      if (w.block_size == 0) {
        out.integer(j) = sum;
      } else {
        const size_t at = (first + j) * blocks + block;
        const float scale = w.has_float_scales ? q.scales[at] : bfloat16_value(q.block_scales[at]);
        out.scale(j) += scale * static_cast<float>(sum);
      }
    });
  });
  *static_cast<QPackedHeader*>(packed) = {.weight_zero_point = stored_zero_point(w)};
}

}  // namespace enr::kernels
