#include <algorithm>
#include <vector>

#include "kernels/qconv/run.h"

namespace enr::kernels {

namespace {

// Output pixels that the same taps reach form a phase, of which there are as many as a stride has pixels; each is a
// product with the weights of its taps only.
struct Phase {
  TransposePhase rows, columns;

  Phase(const ConvTransposeShape& s, size_t index) noexcept
      : rows(index / s.stride_width, s.output_height(), s.stride_height, s.kernel_height, s.dilation_height, s.pad_top),
        columns(index % s.stride_width, s.output_width(), s.stride_width, s.kernel_width, s.dilation_width,
                s.pad_left) {}

  QWeights weights(const ConvTransposeShape& s) const noexcept {
    const size_t k = rows.taps * columns.taps * (s.input_channels / s.groups);
    return {.n = s.output_channels / s.groups, .k = k, .row_bytes = k};
  }
};

size_t phase_count(const ConvTransposeShape& s) noexcept { return s.stride_height * s.stride_width; }

size_t phase_bytes(const ConvTransposeShape& s, const Phase& phase) noexcept {
  return round_up_64(qgemm_packed_bytes(phase.weights(s)));
}

// Calls pack(weights, first output channel, packed) for every phase of every group, with the phase's weights.
template <class Pack>
void pack_phases(const ConvTransposeShape& s, const QConvWeights& w, void* packed, Pack pack) {
  const size_t channels = s.input_channels / s.groups, outputs = s.output_channels / s.groups;
  std::byte* to = static_cast<std::byte*>(packed);
  std::vector<uint8_t> taps(outputs * filter_size(s));
  for (size_t group = 0; group < s.groups; ++group) {
    for (size_t index = 0; index < phase_count(s); ++index) {
      const Phase phase(s, index);
      uint8_t* next = taps.data();
      for (size_t o = group * outputs; o < (group + 1) * outputs; ++o) {
        for (size_t ky = 0; ky < s.kernel_height; ++ky) {
          if (!TransposePhase::reaches(phase.rows.first + s.pad_top, ky, s.dilation_height, s.stride_height)) continue;
          for (size_t kx = 0; kx < s.kernel_width; ++kx) {
            if (!TransposePhase::reaches(phase.columns.first + s.pad_left, kx, s.dilation_width, s.stride_width))
              continue;
            const size_t tap = (o * s.kernel_height + ky) * s.kernel_width + kx;
            next = std::copy_n(static_cast<const uint8_t*>(w.data) + tap * channels, channels, next);
          }
        }
      }
      QWeights weights = phase.weights(s);
      weights.type = w.type;
      weights.zero_point = w.zero_point;
      weights.data = taps.data();
      pack(weights, group * outputs, to);
      to += phase_bytes(s, phase);
    }
  }
}

}  // namespace

QConvTransposePlan::QConvTransposePlan(const ConvTransposeShape& shape) : shape_(shape) {
  check_conv_shape(shape_, "transposed convolution");
  size_t product_bytes = 0;
  for (size_t index = 0; index < phase_count(shape_); ++index) {
    const Phase phase(shape_, index);
    const QWeights weights = phase.weights(shape_);
    product_bytes = std::max(
        product_bytes, qgemm_workspace_bytes(phase.rows.positions * phase.columns.positions, weights.n, weights.k));
  }
  workspace_bytes_ = padding_bytes(shape_) + product_bytes;
}

size_t QConvTransposePlan::packed_bytes() const noexcept {
  size_t bytes = 0;
  for (size_t index = 0; index < phase_count(shape_); ++index) bytes += phase_bytes(shape_, Phase(shape_, index));
  return shape_.groups * bytes;
}

void QConvTransposePlan::pack_static(const QConvWeights& weights, const int32_t* bias, const QStatic& quantization,
                                     void* packed) const {
  pack_phases(shape_, weights, packed, [&](const QWeights& phase, size_t first, void* to) {
    qgemm_pack_static(phase, bias != nullptr ? bias + first : nullptr, scales_from(quantization, first), to);
  });
}

void QConvTransposePlan::pack_dynamic(const QConvWeights& weights, const QDynamic& quantization, void* packed) const {
  pack_phases(shape_, weights, packed, [&](const QWeights& phase, size_t first, void* to) {
    qgemm_pack_dynamic(phase, scales_from(quantization, first), to);
  });
}

void QConvTransposePlan::run(const QConvCall& call, void* workspace) const noexcept {
  const ConvTransposeShape& s = shape_;
  const size_t height = s.output_height(), width = s.output_width();
  const PaddedInput input(s, call, workspace);
  const std::byte* packed = static_cast<const std::byte*>(call.packed);
  for (size_t group = 0; group < s.groups; ++group) {
    for (size_t index = 0; index < phase_count(s); ++index) {
      const Phase phase(s, index);
      QProduct product = product_of(call, phase.weights(s), group * (s.output_channels / s.groups));
      product.packed = packed;
      packed += phase_bytes(s, phase);
      const uint8_t flip = static_cast<uint8_t>(static_cast<const QPackedHeader*>(product.packed)->flip);
      const size_t columns = phase.columns.positions;
      product.m = phase.rows.positions * columns;
      product.c_stride = s.stride_width * s.output_pixel_stride;
      product.c_line = columns;
      product.c_line_stride = s.stride_height * width * s.output_pixel_stride;
      std::byte* first_image = static_cast<std::byte*>(product.c);
      for (size_t image = 0; image < s.batch; ++image) {
        const size_t pixel = (image * height + phase.rows.first) * width + phase.columns.first;
        product.c = first_image + pixel * s.output_pixel_stride * output_bytes(call.kind);
        product.rows = call.images != nullptr ? call.images + image : nullptr;
        product.rows_each = std::max<size_t>(product.m, 1);
        const WindowSource source = input.source(image, group, flip);
        run_qproduct(product,
                     [&](size_t row, size_t count, std::byte* a, size_t a_stride) {
                       while (count != 0) {
                         const size_t column = row % columns, part = std::min(count, columns - column);
                         write_windows(s, source, phase.rows.first + row / columns * s.stride_height,
                                       phase.columns.first + column * s.stride_width,
                                       WindowRows(source, part, a, a_stride));
                         row += part;
                         count -= part;
                         a += part * a_stride;
                       }
                     },
                     {input.rest, workspace_bytes_ - input.bytes});
      }
    }
  }
}

}  // namespace enr::kernels
