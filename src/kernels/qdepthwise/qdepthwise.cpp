#include "kernels/qdepthwise/qdepthwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "kernels/qdepthwise/qdepthwise_table.h"
#include "kernels/qgemm/qpack.h"

namespace enr::kernels {

ENR_SELECT_VNNI_ISA(QDepthwiseTable, qdepthwise_table)

const QDepthwiseTable& qdepthwise_wide_table() {
  static const QDepthwiseTable& chosen = ENR_PICK_ISA(qdepthwise_table);
  return chosen;
}

namespace {

constexpr size_t kMaxBlock = 64;  // channels
constexpr size_t kThreadProducts = 96 * 1024;

// In front of packed weights.
struct alignas(64) Header {
  int32_t flip = 0;     // 0x80 where activations are uint8, which are then computed as int8
  int32_t is_wide = 0;  // packed for qdepthwise_wide_table
  int32_t is_plain = 0;
  int32_t has_offsets = 0;
};

const QDepthwiseTable& table_of(bool is_wide) noexcept {
  return is_wide ? qdepthwise_wide_table() : qdepthwise_table();
}

// Whether half a block of the last channels, or less, are taken of two outputs at once.
bool pairs_rest(const DepthwiseShape& s, const QDepthwiseTable& table) noexcept {
  const size_t half = table.block / 2, rest = s.channels % table.block;
  return table.pairs && s.multiplier == 1 && (s.kernel_width == 3 || s.kernel_width == 5) && s.channels >= half &&
         rest != 0 && rest <= half;
}

// Blocks of input channels. Where channels have several outputs, those of the same number among a channel's outputs are
// a set: sets have packed weights, and are computed, one after the other.
struct Blocks {
  const QDepthwiseTable& table;
  size_t channels, count, groups;
  bool has_last_row, has_pairs;
  size_t columns, bytes;  // of weights

  Blocks(const DepthwiseShape& s, const QDepthwiseTable& t) noexcept
      : table(t),
        channels(s.channels),
        count((channels + t.block - 1) / t.block),
        groups(t.group_rows == 2 ? s.kernel_height / 2 : (s.kernel_height + t.group_rows - 1) / t.group_rows),
        has_last_row(groups * t.group_rows < s.kernel_height),
        has_pairs(pairs_rest(s, t)),
        columns(groups * s.kernel_width + (has_last_row ? (s.kernel_width + 1) / 2 : 0)),
        bytes(t.vectors * t.lanes * 4 * (3 + columns)) {}

  bool is_paired(size_t block) const noexcept { return has_pairs && block + 1 == count; }
  size_t width(size_t block) const noexcept {
    return std::min(channels, is_paired(block) ? table.block / 2 : table.block);
  }
  size_t first_channel(size_t block) const noexcept { return std::min(block * table.block, channels - width(block)); }
};

constexpr size_t kMaxKernelRows = 64;

// Whether no table serves the shape.
bool is_plain(const DepthwiseShape& s) noexcept { return s.kernel_height > kMaxKernelRows - 4; }

// Then: of each output channel its scale, what its sum starts from, its offset, and its taps in 16 bits.
size_t plain_bytes(const DepthwiseShape& s) noexcept { return 12 + (s.kernel_height * s.kernel_width + 1) / 2 * 4; }

size_t packed_bytes(const DepthwiseShape& s, bool is_wide, bool plain) noexcept {
  if (plain) return sizeof(Header) + s.output_channels() * plain_bytes(s);
  const Blocks blocks(s, table_of(is_wide));
  return sizeof(Header) + s.multiplier * blocks.count * blocks.bytes;
}

// The weights as they are given.
struct Source {
  const DepthwiseShape& shape;
  QWeightType type;
  const uint8_t* weights;
  int32_t zero_point;
  size_t tap_stride, channel_stride;
  const int32_t* bias;
  const QStatic& quantization;

  int32_t weight(size_t ky, size_t kx, size_t channel) const noexcept {
    const uint8_t byte = weights[(ky * shape.kernel_width + kx) * tap_stride + channel * channel_stride];
    return (type == QWeightType::kUInt8 ? byte : static_cast<int8_t>(byte)) - zero_point;
  }
  float scale(size_t channel) const noexcept {
    return quantization.scales[quantization.scale_count == 1 ? 0 : channel];
  }
  float offset(size_t channel) const noexcept {
    return quantization.offsets != nullptr ? quantization.offsets[channel] : 0.0f;
  }
  // The bias less what the activations' zero point (as int8, plus offset) contributes. Wraps as the sums do.
  int32_t start(size_t channel, int32_t offset) const noexcept {
    int32_t sum = 0;
    for (size_t ky = 0; ky < shape.kernel_height; ++ky) {
      for (size_t kx = 0; kx < shape.kernel_width; ++kx) sum += weight(ky, kx, channel);
    }
    const int32_t taken = quantization.input_zero_point - (quantization.is_unsigned ? 128 : 0) + offset;
    const uint32_t first = static_cast<uint32_t>(bias != nullptr ? bias[channel] : 0);
    return static_cast<int32_t>(first - static_cast<uint32_t>(taken) * static_cast<uint32_t>(sum));
  }
};

void pack_block(const Source& source, const Blocks& blocks, size_t set, size_t block, std::byte* to) noexcept {
  const QDepthwiseTable& table = blocks.table;
  const DepthwiseShape& s = source.shape;
  const size_t vector_bytes = table.lanes * 4, column_bytes = table.vectors * vector_bytes;
  for (size_t q = 0; q < table.vectors; ++q) {
    for (size_t i = 0; i < table.lanes; ++i) {
      const size_t width = blocks.width(block), place_in_block = table.lane_channel(q, i);
      if (place_in_block >= width && !blocks.is_paired(block)) continue;
      const size_t channel = (blocks.first_channel(block) + place_in_block % width) * s.multiplier + set;
      std::byte* lane = to + q * vector_bytes + i * 4;
      const int32_t offset = source.quantization.is_unsigned ? table.unsigned_offset : table.offset;
      const int32_t start = source.start(channel, offset);
      const float scale = source.scale(channel);
      std::memcpy(lane, &start, 4);
      const float offset_of_result = source.offset(channel);
      std::memcpy(lane + column_bytes, &scale, 4);
      std::memcpy(lane + 2 * column_bytes, &offset_of_result, 4);
      for (size_t ky = 0; ky < s.kernel_height; ++ky) {
        for (size_t kx = 0; kx < s.kernel_width; ++kx) {
          const int16_t weight = static_cast<int16_t>(source.weight(ky, kx, channel));
          const bool in_group = ky < blocks.groups * table.group_rows;
          const size_t column = 3 + ky / table.group_rows * s.kernel_width + (in_group ? kx : kx / 2);
          const size_t place = in_group ? ky % table.group_rows : kx % 2;
          std::memcpy(lane + column * column_bytes + place * table.weight_bytes, &weight, table.weight_bytes);
        }
      }
    }
  }
}

void pack_plain(const Source& source, std::byte* to) noexcept {
  const DepthwiseShape& s = source.shape;
  for (size_t channel = 0; channel < s.output_channels(); ++channel, to += plain_bytes(s)) {
    const float scale = source.scale(channel);
    const int32_t start = source.start(channel, 0);
    std::memcpy(to, &scale, 4);
    const float offset = source.offset(channel);
    std::memcpy(to + 4, &start, 4);
    std::memcpy(to + 8, &offset, 4);
    int16_t* tap = reinterpret_cast<int16_t*>(to + 12);
    for (size_t ky = 0; ky < s.kernel_height; ++ky) {
      for (size_t kx = 0; kx < s.kernel_width; ++kx) *tap++ = static_cast<int16_t>(source.weight(ky, kx, channel));
    }
  }
}

// One call of qdepthwise.
struct Run {
  DepthwiseShape shape;
  const Header& header;
  const std::byte* packed;
  const uint8_t* input;
  uint8_t* output;
  const QOutput& range;
  uint8_t padding[kMaxBlock];

  Run(const DepthwiseShape& s, const void* packed_weights, const void* in, int32_t input_zero_point,
      const QOutput& output_range, void* out) noexcept
      : shape(s),
        header(*static_cast<const Header*>(packed_weights)),
        packed(static_cast<const std::byte*>(packed_weights) + sizeof(Header)),
        input(static_cast<const uint8_t*>(in)),
        output(static_cast<uint8_t*>(out)),
        range(output_range) {
    if (shape.input_pixel_stride == 0) shape.input_pixel_stride = shape.channels;
    if (shape.output_pixel_stride == 0) shape.output_pixel_stride = shape.output_channels();
    std::memset(padding, input_zero_point, sizeof padding);
  }

  const uint8_t* input_row(size_t image, size_t y) const noexcept {
    return input + (image * shape.input_height + y) * shape.input_width * shape.input_pixel_stride;
  }

  // Rows of the output, counted through all images.
  void rows(size_t begin, size_t end) const noexcept {
    header.is_plain != 0 ? plain_rows(begin, end) : blocks_rows(begin, end);
  }

  void blocks_rows(size_t begin, size_t end) const noexcept {
    const DepthwiseShape& s = shape;
    const Blocks blocks(s, table_of(header.is_wide != 0));
    QDepthwiseRow kernel_rows[kMaxKernelRows];
    QDepthwiseCall call;
    call.padding = padding;
    call.groups = blocks.groups;
    call.has_last_row = blocks.has_last_row;
    call.kernel_width = s.kernel_width;
    call.stride = s.stride_width;
    call.dilation = s.dilation_width;
    call.input_width = s.input_width;
    call.pad_left = s.pad_left;
    call.output_width = s.output_width;
    call.flip = static_cast<uint8_t>(header.flip);
    call.output_step = s.output_pixel_stride;
    call.low = static_cast<float>(range.min - range.zero_point);
    call.high = static_cast<float>(range.max - range.zero_point);
    call.zero_point = range.zero_point - header.flip;
    call.has_offsets = header.has_offsets != 0;
    call.rows = kernel_rows;
    for (size_t row = begin; row < end; ++row) {
      const size_t image = row / s.output_height, y = row % s.output_height;
      for (size_t block = 0; block < blocks.count; ++block) {
        const size_t channel = blocks.first_channel(block);
        call.channels = blocks.width(block);
        call.is_paired = blocks.is_paired(block);
        for (size_t ky = 0; ky < blocks.groups * blocks.table.group_rows + blocks.has_last_row; ++ky) {
          // Rows beyond the kernel have weights of 0.
          const size_t iy = y * s.stride_height + ky * s.dilation_height - s.pad_top;
          const bool inside = ky < s.kernel_height && iy < s.input_height;
          kernel_rows[ky] =
              inside ? QDepthwiseRow{input_row(image, iy) + channel, s.input_pixel_stride} : QDepthwiseRow{padding, 0};
        }
        uint8_t* to = output + row * s.output_width * s.output_pixel_stride + channel * s.multiplier;
        if (s.multiplier == 1) {
          call.packed = packed + block * blocks.bytes;
          call.output = to;
          blocks.table.row(call);
        } else {
          multiplied_row(blocks, block, call, to);
        }
      }
    }
  }

  // A row of a block, a few columns at a time, set by set.
  void multiplied_row(const Blocks& blocks, size_t block, QDepthwiseCall call, uint8_t* to) const noexcept {
    constexpr size_t kColumns = 16;
    const DepthwiseShape& s = shape;
    uint8_t columns[kColumns * kMaxBlock];
    call.output_step = blocks.width(block);
    call.output = columns;
    for (size_t x = 0; x < s.output_width; x += kColumns, to += kColumns * s.output_pixel_stride) {
      call.pad_left = s.pad_left - x * s.stride_width;
      call.output_width = std::min(kColumns, s.output_width - x);
      for (size_t set = 0; set < s.multiplier; ++set) {
        call.packed = packed + (set * blocks.count + block) * blocks.bytes;
        blocks.table.row(call);
        for (size_t i = 0; i < call.output_width; ++i) {
          const uint8_t* from = columns + i * call.output_step;
          uint8_t* pixel = to + i * s.output_pixel_stride + set;
          for (size_t c = 0; c < call.channels; ++c) pixel[c * s.multiplier] = from[c];
        }
      }
    }
  }

  void plain_rows(size_t begin, size_t end) const noexcept {
    const DepthwiseShape& s = shape;
    for (size_t pixel = begin * s.output_width; pixel < end * s.output_width; ++pixel) {
      const size_t row = pixel / s.output_width, x = pixel % s.output_width;
      const size_t image = row / s.output_height, y = row % s.output_height;
      for (size_t channel = 0; channel < s.output_channels(); ++channel) {
        output[pixel * s.output_pixel_stride + channel] = plain_output(image, y, x, channel);
      }
    }
  }

  uint8_t plain_output(size_t image, size_t y, size_t x, size_t channel) const noexcept {
    const DepthwiseShape& s = shape;
    const std::byte* from = packed + channel * plain_bytes(s);
    const int16_t* taps = reinterpret_cast<const int16_t*>(from + 12);
    int32_t sum = *reinterpret_cast<const int32_t*>(from + 4);
    for (size_t tap = 0; tap < s.kernel_height * s.kernel_width; ++tap) {
      const size_t iy = y * s.stride_height + tap / s.kernel_width * s.dilation_height - s.pad_top;
      const size_t ix = x * s.stride_width + tap % s.kernel_width * s.dilation_width - s.pad_left;
      const bool inside = iy < s.input_height && ix < s.input_width;
      const uint8_t byte =
          inside ? input_row(image, iy)[ix * s.input_pixel_stride + channel / s.multiplier] : padding[0];
      sum += static_cast<int8_t>(byte ^ header.flip) * taps[tap];
    }
    const float scaled =
        static_cast<float>(sum) * *reinterpret_cast<const float*>(from) + *reinterpret_cast<const float*>(from + 8);
    const float clamped = std::clamp(scaled, static_cast<float>(range.min - range.zero_point),
                                     static_cast<float>(range.max - range.zero_point));
    return static_cast<uint8_t>(static_cast<int32_t>(std::lrint(clamped)) + range.zero_point);
  }
};

}  // namespace

size_t qdepthwise_packed_bytes(const DepthwiseShape& shape) noexcept {
  const size_t plain = packed_bytes(shape, false, true);
  if (is_plain(shape)) return plain;
  return std::max({plain, packed_bytes(shape, false, false), packed_bytes(shape, true, false)});
}

void qdepthwise_pack(const DepthwiseShape& shape, QWeightType type, const void* weights, int32_t weight_zero_point,
                     size_t tap_stride, size_t channel_stride, const int32_t* bias, const QStatic& quantization,
                     void* packed) noexcept {
  // A uint8 weight less its zero point may not fit 8 bits. Where there are few channels, smaller blocks are filled
  // better.
  const bool is_wide = type == QWeightType::kUInt8 ||
                       (shape.channels < qdepthwise_table().block && shape.channels <= qdepthwise_wide_table().block &&
                        !pairs_rest(shape, qdepthwise_table()));
  const Source source{
      shape, type,        static_cast<const uint8_t*>(weights), weight_zero_point, tap_stride, channel_stride,
      bias,  quantization};
  // Tables leave it to narrowing to clamp scaled sums.
  const bool plain =
      is_plain(shape) || may_exceed_int32(shape.kernel_height * shape.kernel_width, shape.output_channels(), bias,
                                          quantization.scales, quantization.scale_count);
  std::memset(packed, 0, packed_bytes(shape, is_wide, plain));
  std::byte* to = static_cast<std::byte*>(packed) + sizeof(Header);
  *static_cast<Header*>(packed) = {quantization.is_unsigned ? 0x80 : 0, is_wide, plain,
                                   quantization.offsets != nullptr};
  if (plain) return pack_plain(source, to);
  const Blocks blocks(shape, table_of(is_wide));
  for (size_t set = 0; set < shape.multiplier; ++set) {
    for (size_t block = 0; block < blocks.count; ++block, to += blocks.bytes) {
      pack_block(source, blocks, set, block, to);
    }
  }
}

void qdepthwise(const DepthwiseShape& shape, const void* packed, const void* input, int32_t input_zero_point,
                const QOutput& range, void* output) noexcept {
  const Run run(shape, packed, input, input_zero_point, range, output);
  const size_t row_products = shape.output_width * shape.output_channels() * shape.kernel_height * shape.kernel_width;
  parallel_ranges(shape.batch * shape.output_height, kThreadProducts / std::max<size_t>(row_products, 1) + 1,
                  [&](size_t begin, size_t end) { run.rows(begin, end); });
}

void qdepthwise_rows(const DepthwiseShape& shape, const void* packed, const void* input, int32_t input_zero_point,
                     const QOutput& range, void* output, size_t row_begin, size_t row_end) noexcept {
  Run(shape, packed, input, input_zero_point, range, output).rows(row_begin, row_end);
}

}  // namespace enr::kernels
