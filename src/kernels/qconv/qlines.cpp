#include "kernels/qconv/qlines.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/ranges.h"
#include "base/thread_pool.h"
#include "kernels/conv/lanes.h"
#include "kernels/qconv/run.h"
#include "kernels/qgemm/qpack.h"

namespace enr::kernels {

namespace {

// The lines a block sees stay in the first-level cache, with the weights of a panel.
constexpr size_t kBlockBytes = 16 * 1024;

const QActivations& activations() noexcept { return qgemm_table().int8; }

size_t channels_of(const ConvShape& s) noexcept { return s.input_channels / s.groups; }
size_t outputs_of(const ConvShape& s) noexcept { return s.output_channels / s.groups; }

// Of a window of one group, and with what the products take more.
size_t piece_size(const ConvShape& s) noexcept { return s.kernel_width * channels_of(s); }
size_t padded_piece_size(const ConvShape& s) noexcept {
  return (piece_size(s) + activations().group - 1) / activations().group * activations().group;
}

// The pixels of a line that windows reach.
size_t line_pixels(const ConvShape& s) noexcept { return (s.output_width() - 1) * s.stride_width + s.kernel_width; }

QWeights lined_weights(const ConvShape& s) noexcept {
  const size_t k = s.kernel_height * padded_piece_size(s);
  return {.type = QWeightType::kInt8, .n = outputs_of(s), .k = k, .row_bytes = k};
}
size_t group_bytes(const ConvShape& s) noexcept { return round_up_64(qgemm_packed_bytes(lined_weights(s))); }

size_t input_lines(const ConvShape& s, size_t output_lines) noexcept {
  return (output_lines - 1) * s.stride_height + (s.kernel_height - 1) * s.dilation_height + 1;
}

class Run {
 public:
  // Of one group.
  Run(const ConvShape& s, const QLinesPlan& plan, const QConvCall& call, const uint8_t* padding, size_t group) noexcept
      : s_(s),
        plan_(plan),
        call_(call),
        padding_(padding),
        panels_(lined_weights(s)),
        group_(group),
        packed_(static_cast<const std::byte*>(call.packed) + group * group_bytes(s)),
        header_(*reinterpret_cast<const QPackedHeader*>(packed_)),
        channels_(channels_of(s)),
        input_stride_(s.input_pixel_stride != 0 ? s.input_pixel_stride : s.input_channels),
        pixels_(line_pixels(s)) {}

  // Lines of an image's output.
  void block(Range lines, size_t image, std::byte* scratch) const noexcept {
    const size_t first = lines.begin * s_.stride_height, count = input_lines(s_, lines.size());
    for (size_t i = 0; i < count; ++i) copy_line(image, first + i - s_.pad_top, scratch + i * plan_.line_bytes);
    for (size_t panel = 0; panel < panels_.count; ++panel) {
      multiply(lines, image, panel, scratch, scratch + plan_.lines * plan_.line_bytes);
    }
  }

 private:
  // Line `row` of the image, which may lie outside of it.
  void copy_line(size_t image, size_t row, std::byte* to) const noexcept {
    if (row >= s_.input_height) return copy(padding_, 1, pixels_ * channels_, to);
    const uint8_t* from = static_cast<const uint8_t*>(call_.input) +
                          (image * s_.input_height + row) * s_.input_width * input_stride_ + group_ * channels_;
    const size_t left = std::min(s_.pad_left, pixels_), inside = std::min(s_.input_width, pixels_ - left);
    const size_t bytes = channels_ * activations().bytes;
    copy(padding_, 1, left * channels_, to);
    if (input_stride_ == channels_) {
      copy(from, 1, inside * channels_, to + left * bytes);
    } else {
      copy(from, inside, channels_, to + left * bytes);
    }
    copy(padding_, 1, (pixels_ - left - inside) * channels_, to + (left + inside) * bytes);
  }

  // `pieces` of `count` numbers, a pixel apart, which become neighbours.
  void copy(const uint8_t* from, size_t pieces, size_t count, std::byte* to) const noexcept {
    if (count == 0 || pieces == 0) return;
    qgemm_table().copy_int8({.from = from,
                             .from_stride = input_stride_,
                             .rows = pieces,
                             .count = count,
                             .flip = static_cast<uint8_t>(header_.flip),
                             .to = to,
                             .to_stride = count * activations().bytes});
  }

  void multiply(Range lines, size_t image, size_t panel, const std::byte* a, void* wide) const noexcept {
    const size_t full = qgemm_table().panel, width = panels_.width(panel), output_width = s_.output_width();
    const QOutput& output = call_.output_range;
    QLineTile tile;
    tile.a = a;
    tile.a_stride = s_.stride_width * channels_ * activations().bytes;
    tile.rows = output_width;
    tile.panel = panels_.at(packed_, panel);
    tile.vectors = width == full ? 2 : 1;
    tile.columns = std::min(width, outputs_of(s_) - panel * full);
    tile.k = s_.kernel_height * padded_piece_size(s_);
    tile.lines = s_.kernel_height;
    tile.line_stride = s_.dilation_height * plan_.line_bytes;
    tile.strips = lines.size();
    tile.strip_stride = s_.stride_height * plan_.line_bytes;
    tile.wide = qgemm_table().wide_bytes(tile.k) == 0 ? nullptr : wide;
    tile.c = static_cast<uint8_t*>(call_.output) +
             (image * s_.output_height() + lines.begin) * output_width * s_.output_pixel_stride +
             group_ * outputs_of(s_) + panel * full;
    tile.c_stride = s_.output_pixel_stride;
    tile.c_strip_stride = output_width * s_.output_pixel_stride;
    tile.low = static_cast<float>(output.min - output.zero_point);
    tile.high = static_cast<float>(output.max - output.zero_point);
    tile.zero_point = output.zero_point - header_.flip;
    tile.flip = static_cast<uint8_t>(header_.flip);
    tile.has_offsets = header_.has_offsets != 0;
    qgemm_table().static_lines(tile);
  }

  const ConvShape& s_;
  const QLinesPlan& plan_;
  const QConvCall& call_;
  const uint8_t* padding_;
  QPanels panels_;
  size_t group_;
  const std::byte* packed_;
  const QPackedHeader& header_;
  size_t channels_, input_stride_, pixels_;
};

}  // namespace

bool fits_qlines(const ConvShape& s) noexcept {
  return s.dilation_width == 1 &&
         (s.groups > 1 || s.input_pixel_stride == 0 || s.input_pixel_stride == s.input_channels);
}

bool prefers_qlines(const ConvShape& s, QWeightType type) noexcept {
  constexpr size_t kMaxPiece = 48;  // longer ones are copied fast
  return outputs_of(s) <= qgemm_table().line_outputs && type == QWeightType::kInt8 && fits_qlines(s) &&
         s.kernel_width > 1 && piece_size(s) <= kMaxPiece;
}

QLinesPlan plan_qlines(const ConvShape& s) noexcept {
  QLinesPlan plan;
  const size_t height = s.output_height();
  if (s.batch * height * s.output_width() == 0) return plan;
  const size_t bytes = (line_pixels(s) * channels_of(s) + padded_piece_size(s) - piece_size(s)) * activations().bytes;
  plan.line_bytes = round_up_64(bytes + activations().slack);
  const size_t threads = num_threads();
  plan.blocks = height;
  for (size_t blocks = 1; blocks < height; ++blocks) {
    const size_t tasks = s.batch * blocks * s.groups;
    if (tasks % threads != 0 && tasks < 4 * threads) continue;
    if (input_lines(s, (height + blocks - 1) / blocks) * plan.line_bytes > kBlockBytes) continue;
    plan.blocks = blocks;
    break;
  }
  plan.lines = input_lines(s, (height + plan.blocks - 1) / plan.blocks);
  plan.lanes = std::min(threads, s.batch * plan.blocks * s.groups);
  plan.lane_bytes = plan.lines * plan.line_bytes + round_up_64(qgemm_table().wide_bytes(lined_weights(s).k));
  return plan;
}

size_t qlines_packed_bytes(const ConvShape& s) noexcept { return s.groups * group_bytes(s); }

void pack_qlines(const ConvShape& s, const QConvWeights& weights, const int32_t* bias, const QStatic& quantization,
                 void* packed) {
  const size_t piece = piece_size(s), padded = padded_piece_size(s), pieces = s.output_channels * s.kernel_height;
  const auto* from = static_cast<const uint8_t*>(weights.data);
  std::vector<uint8_t> lined(pieces * padded);
  for (size_t i = 0; i < pieces; ++i) std::copy_n(from + i * piece, piece, lined.data() + i * padded);
  QWeights w = lined_weights(s);
  for (size_t group = 0; group < s.groups; ++group) {
    const size_t first = group * outputs_of(s);
    w.data = lined.data() + first * s.kernel_height * padded;
    qgemm_pack_static(w, bias != nullptr ? bias + first : nullptr, scales_from(quantization, first),
                      static_cast<std::byte*>(packed) + group * group_bytes(s));
  }
}

size_t qlines_workspace_bytes(const QLinesPlan& plan) noexcept {
  return plan.line_bytes + plan.lanes * plan.lane_bytes;
}

void run_qlines(const ConvShape& s, const QLinesPlan& plan, const QConvCall& call, void* workspace) noexcept {
  if (plan.line_bytes == 0 || s.output_channels == 0) return;
  auto* padding = static_cast<uint8_t*>(workspace);
  std::memset(padding, call.input_zero_point, line_pixels(s) * channels_of(s));
  std::byte* scratch = static_cast<std::byte*>(workspace) + plan.line_bytes;
  // Threads take neighbouring groups of one block after the other.
  for_each_in_lanes(s.batch * plan.blocks * s.groups, plan.lanes, [&](size_t i, size_t lane) {
    const size_t group = i % s.groups, block = i / s.groups;
    Run(s, plan, call, padding, group)
        .block(part_of(s.output_height(), plan.blocks, block % plan.blocks), block / plan.blocks,
               scratch + lane * plan.lane_bytes);
  });
}

}  // namespace enr::kernels
