#include "kernels/qconv/qconv.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv/groups.h"
#include "kernels/conv/lanes.h"
#include "kernels/qconv/qlines.h"
#include "kernels/qconv/qwinograd.h"
#include "kernels/qconv/run.h"

namespace enr::kernels {

namespace {

QWeights group_weights(const ConvShape& s, const QConvWeights& w, size_t group) noexcept {
  const size_t n = s.output_channels / s.groups, k = filter_size(s);
  return {.type = w.type,
          .n = n,
          .k = k,
          .data = w.data != nullptr ? static_cast<const uint8_t*>(w.data) + group * n * k : nullptr,
          .row_bytes = k,
          .zero_point = w.zero_point};
}

size_t winograd_tile(QConvFormat format) noexcept { return format == QConvFormat::kWinograd4 ? 4 : 2; }

// How many groups threads compute at the same time; 1 where all threads share each.
size_t group_lanes(const ConvShape& s, size_t group_products) noexcept {
  constexpr size_t kThreadProducts = 512 * 1024;  // that pay for a thread
  const size_t threads = std::min({num_threads(), kMaxLanes, s.groups});
  if (threads <= 1 || (s.groups % threads != 0 && s.groups < 4 * threads)) return 1;
  return std::clamp<size_t>(s.groups * group_products / kThreadProducts, 1, threads);
}

size_t group_bytes(const ConvShape& s) noexcept { return round_up_64(qgemm_packed_bytes(group_weights(s, {}, 0))); }

}  // namespace

QConvFormat choose_static_format(const ConvShape& shape, QWeightType type) noexcept {
  switch (preferred_qwinograd_tile(shape, type)) {
    case 2:
      return QConvFormat::kWinograd2;
    case 4:
      return QConvFormat::kWinograd4;
    default:
      return prefers_qlines(shape, type) ? QConvFormat::kLines : QConvFormat::kGemm;
  }
}

size_t qconv_groups_at_once(const ConvShape& s, QWeightType type, QKind kind) noexcept {
  // Beside the multiplications of a pixel's vectors of outputs: the copies of its windows, or of its line.
  constexpr size_t kGroupWork = 200, kCopiedBytes = 16, kLineWork = 14;
  const QGemmTable& table = qgemm_table();
  const size_t lanes = table.panel / 2, taps = s.kernel_height * s.kernel_width;
  const auto steps = [&](size_t inputs) { return (inputs + table.int8.group - 1) / table.int8.group; };
  return fastest_group_merge(s.groups, [&](size_t merged) {
    ConvShape shape = s;
    shape.groups = s.groups / merged;
    const size_t vectors = (s.output_channels / shape.groups + lanes - 1) / lanes;
    const size_t channels = s.input_channels / shape.groups, depth = taps * channels;
    if (kind == QKind::kStatic && prefers_qlines(shape, type)) {
      return vectors * s.kernel_height * steps(s.kernel_width * channels) + kLineWork;
    }
    return vectors * steps(depth) + depth * table.int8.bytes / kCopiedBytes + kGroupWork;
  });
}

QConvPlan::QConvPlan(const ConvShape& shape, QConvFormat format) : shape_(shape), format_(format) {
  check_conv_shape(shape_, "convolution");
  if (format_ == QConvFormat::kLines) {
    if (!fits_qlines(shape_)) fail_execution("convolution: pixels or the columns of windows are not neighbours");
    lines_ = plan_qlines(shape_);
    workspace_bytes_ = qlines_workspace_bytes(lines_);
    return;
  }
  if (format_ != QConvFormat::kGemm) {
    const size_t tile = winograd_tile(format_);
    if (!fits_qwinograd(shape_, tile)) fail_execution("convolution: Winograd's format does not serve this filter");
    winograd_ = plan_qwinograd(shape_, tile);
    workspace_bytes_ = qwinograd_workspace_bytes(shape_, winograd_);
    return;
  }
  const size_t pixels = shape_.batch * shape_.output_height() * shape_.output_width();
  const size_t outputs = shape_.output_channels / shape_.groups, depth = filter_size(shape_);
  lanes_ = group_lanes(shape_, pixels * outputs * depth);
  lane_bytes_ = lanes_ > 1 ? round_up_64(qgemm_workspace_bytes(pixels, outputs, depth, 1))
                           : qgemm_workspace_bytes(pixels, outputs, depth);
  workspace_bytes_ = padding_bytes(shape_) + lanes_ * lane_bytes_;
}

size_t QConvPlan::packed_bytes() const noexcept {
  switch (format_) {
    case QConvFormat::kGemm:
      return shape_.groups * group_bytes(shape_);
    case QConvFormat::kLines:
      return qlines_packed_bytes(shape_);
    default:
      return qwinograd_packed_bytes(shape_, winograd_.tile);
  }
}

void QConvPlan::pack_static(const QConvWeights& weights, const int32_t* bias, const QStatic& quantization,
                            void* packed) const {
  if (format_ == QConvFormat::kLines) return pack_qlines(shape_, weights, bias, quantization, packed);
  if (format_ != QConvFormat::kGemm) {
    return pack_qwinograd(shape_, winograd_.tile, weights, bias, quantization, packed);
  }
  for (size_t group = 0; group < shape_.groups; ++group) {
    const size_t first = group * (shape_.output_channels / shape_.groups);
    qgemm_pack_static(group_weights(shape_, weights, group), bias != nullptr ? bias + first : nullptr,
                      scales_from(quantization, first), static_cast<std::byte*>(packed) + group * group_bytes(shape_));
  }
}

void QConvPlan::pack_dynamic(const QConvWeights& weights, const QDynamic& quantization, void* packed) const noexcept {
  for (size_t group = 0; group < shape_.groups; ++group) {
    const size_t first = group * (shape_.output_channels / shape_.groups);
    qgemm_pack_dynamic(group_weights(shape_, weights, group), scales_from(quantization, first),
                       static_cast<std::byte*>(packed) + group * group_bytes(shape_));
  }
}

void QConvPlan::run(const QConvCall& call, void* workspace) const noexcept {
  switch (format_) {
    case QConvFormat::kGemm:
      return run_gemm(call, workspace);
    case QConvFormat::kLines:
      return run_qlines(shape_, lines_, call, workspace);
    default:
      return run_qwinograd(shape_, winograd_, call, workspace);
  }
}

void QConvPlan::run_gemm(const QConvCall& call, void* workspace) const noexcept {
  const ConvShape& s = shape_;
  const size_t height = s.output_height(), width = s.output_width();
  if (s.batch * height * width == 0) return;
  const PaddedInput input(s, call, workspace);
  const bool is_pointwise = s.kernel_height == 1 && s.kernel_width == 1 && s.stride_height == 1 &&
                            s.stride_width == 1 && height == s.input_height && width == s.input_width;
  for_each_in_lanes(s.groups, lanes_, [&](size_t group, size_t lane) {
    const size_t first = group * (s.output_channels / s.groups);
    QProduct product = product_of(call, group_weights(s, {}, group), first);
    product.packed = static_cast<const std::byte*>(call.packed) + group * group_bytes(s);
    product.m = s.batch * height * width;
    if (is_pointwise) {
      product.a = input.source(0, group, 0).image;
      product.a_stride = s.input_pixel_stride;
    }
    product.c_stride = s.output_pixel_stride;
    product.rows = call.images;
    product.rows_each = height * width;
    const uint8_t flip = static_cast<uint8_t>(static_cast<const QPackedHeader*>(product.packed)->flip);
    run_qproduct(product,
                 [&](size_t row, size_t count, std::byte* a, size_t a_stride) {
                   while (count != 0) {
                     const size_t x = row % width, part = std::min(count, width - x), line = row / width;
                     const WindowSource source = input.source(line / height, group, flip);
                     write_windows(s, source, line % height, x, WindowRows(source, part, a, a_stride));
                     row += part;
                     count -= part;
                     a += part * a_stride;
                   }
                 },
                 {static_cast<std::byte*>(input.rest) + lane * lane_bytes_, lane_bytes_});
  });
}

}  // namespace enr::kernels
